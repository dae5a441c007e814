#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "compiler/compile_graph.h"
#include "graph/passes/infer_shapes.h"
#include "graph/variants/interpret_graph.h"
#include "runtime/executor/executor.h"
#include "support/random.h"
#include "tests/compiler/run_compiled.h"

// LSTM, GRU and RNN against the formulas of ONNX's specification, written down here once more in
// plain loops over doubles.
namespace tcc {
namespace {

constexpr int64_t kSteps = 5, kBatch = 2, kInput = 3, kHidden = 4;

struct Case {
  OpKind op;
  std::string direction = "forward";
  bool batch_first = false;
  bool bias = true;
  bool initial = false;
  std::vector<int32_t> lengths = {};
  bool peepholes = false;
  bool input_forget = false;
  bool linear_before_reset = false;
  bool constant_weights = true;
  double clip = 0;
  std::string activations = {};
};

int64_t GatesOf(OpKind op) {
  return op == OpKind::kLSTM ? 4 : op == OpKind::kGRU ? 3 : 1;
}

using Vector = std::vector<double>;

// An operand: its values in row-major order.
struct Operand {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values = {};
  bool constant = false;
};

Tensor ToTensor(const Operand& operand) {
  return MakeTensor(
      kFloat32, operand.shape,
      {reinterpret_cast<const uint8_t*>(operand.values.data()), operand.values.size() * 4});
}

Operand Drawn(Random& random, const std::string& name, std::vector<int64_t> shape) {
  Operand operand{.name = name, .shape = std::move(shape)};
  int64_t count = 1;
  for (int64_t dim : operand.shape) count *= dim;
  for (int64_t i = 0; i < count; ++i) {
    operand.values.push_back(static_cast<float>(random.Below(2001)) / 1000.0f - 1.0f);
  }
  return operand;
}

struct Operands {
  Operand x, w, r, b, h0, c0, p;
  std::vector<int32_t> lengths;
};

double Apply(const std::string& name, double x) {
  if (name == "Sigmoid") return 1 / (1 + std::exp(-x));
  if (name == "Tanh") return std::tanh(x);
  if (name == "Relu") return std::max(x, 0.0);
  if (name == "HardSigmoid") return std::clamp(0.2 * x + 0.5, 0.0, 1.0);
  FAIL("activation " << name);
  return 0;
}

// One direction of one sequence of the batch.
class Sequence {
 public:
  Sequence(const Case& what, const Operands& operands, int64_t direction, int64_t batch)
      : case_(what), in_(operands), d_(direction), n_(batch), gates_(GatesOf(what.op)) {
    std::vector<std::string> names = {"Tanh"};
    if (what.op == OpKind::kLSTM) names = {"Sigmoid", "Tanh", "Tanh"};
    if (what.op == OpKind::kGRU) names = {"Sigmoid", "Tanh"};
    activations_ = what.activations.empty() ? names : std::vector<std::string>{};
    for (size_t begin = 0; begin < what.activations.size();) {
      size_t end = std::min(what.activations.find(',', begin), what.activations.size());
      activations_.push_back(what.activations.substr(begin, end - begin));
      begin = end + 1;
    }
    if (activations_.size() > names.size()) {
      activations_.erase(activations_.begin(),
                         activations_.begin() + static_cast<int64_t>(names.size()) * direction);
    }
    h = State(in_.h0);
    c = State(in_.c0);
  }

  void Step(int64_t t) {
    std::vector<Vector> from_x, from_h;
    for (int64_t g = 0; g < gates_; ++g) {
      from_x.push_back(Product(in_.w, g, kInput, [&](int64_t i) { return X(t, i); }));
      from_h.push_back(Product(in_.r, g, kHidden, [&](int64_t i) { return h[i]; }));
    }
    Vector next_h(kHidden), next_c(kHidden);
    for (int64_t j = 0; j < kHidden; ++j) {
      auto sum = [&](int64_t g) {
        return from_x[g][j] + from_h[g][j] + Bias(g, j) + Bias(g + gates_, j);
      };
      if (case_.op == OpKind::kLSTM) Lstm(j, sum, next_h, next_c);
      if (case_.op == OpKind::kRNN) next_h[j] = Activated(0, sum(0));
      if (case_.op == OpKind::kGRU) {
        double z = Activated(0, sum(0));
        double candidate;
        if (case_.linear_before_reset) {
          double reset = Activated(0, sum(1));
          candidate = from_x[2][j] + Bias(2, j) + reset * (from_h[2][j] + Bias(5, j));
        } else {
          Vector reset(kHidden);
          for (int64_t i = 0; i < kHidden; ++i) {
            reset[i] = Activated(0, from_x[1][i] + from_h[1][i] + Bias(1, i) + Bias(4, i));
          }
          candidate = from_x[2][j] + Bias(2, j) + Bias(5, j);
          for (int64_t i = 0; i < kHidden; ++i)
            candidate += Weight(in_.r, 2, j, i, kHidden) * reset[i] * h[i];
        }
        next_h[j] = (1 - z) * Activated(1, candidate) + z * h[j];
      }
    }
    h = next_h;
    c = next_c;
  }

  Vector h, c;

 private:
  void Lstm(int64_t j, const std::function<double(int64_t)>& sum, Vector& next_h, Vector& next_c) {
    auto peephole = [&](int64_t gate, double cell) {
      if (in_.p.values.empty()) return 0.0;
      return in_.p.values[(d_ * 3 + gate) * kHidden + j] * cell;
    };
    double i = Activated(0, sum(0) + peephole(0, c[j]));
    double f = case_.input_forget ? 1 - i : Activated(0, sum(2) + peephole(2, c[j]));
    next_c[j] = f * c[j] + i * Activated(1, sum(3));
    double o = Activated(0, sum(1) + peephole(1, next_c[j]));
    next_h[j] = o * Apply(activations_[2], next_c[j]);
  }

  double Activated(size_t function, double x) const {
    if (case_.clip > 0) x = std::clamp(x, -case_.clip, case_.clip);
    return Apply(activations_[function], x);
  }

  Vector State(const Operand& operand) const {
    Vector state(kHidden, 0);
    if (operand.values.empty()) return state;
    int64_t directions = case_.direction == "bidirectional" ? 2 : 1;
    int64_t row = case_.batch_first ? n_ * directions + d_ : d_ * kBatch + n_;
    for (int64_t j = 0; j < kHidden; ++j) state[j] = operand.values[row * kHidden + j];
    return state;
  }

  double X(int64_t t, int64_t i) const {
    int64_t row = case_.batch_first ? n_ * kSteps + t : t * kBatch + n_;
    return in_.x.values[row * kInput + i];
  }
  double Weight(const Operand& weight, int64_t g, int64_t j, int64_t i, int64_t columns) const {
    return weight.values[((d_ * gates_ + g) * kHidden + j) * columns + i];
  }
  double Bias(int64_t g, int64_t j) const {
    if (in_.b.values.empty()) return 0;
    return in_.b.values[(d_ * 2 * gates_ + g) * kHidden + j];
  }
  Vector Product(const Operand& weight, int64_t g, int64_t columns,
                 const std::function<double(int64_t)>& of) const {
    Vector sums(kHidden, 0);
    for (int64_t j = 0; j < kHidden; ++j) {
      for (int64_t i = 0; i < columns; ++i) sums[j] += Weight(weight, g, j, i, columns) * of(i);
    }
    return sums;
  }

  const Case& case_;
  const Operands& in_;
  int64_t d_, n_, gates_;
  std::vector<std::string> activations_;
};

// Y, Y_h and, of an LSTM, Y_c.
std::vector<Vector> Expected(const Case& what, const Operands& operands) {
  int64_t directions = what.direction == "bidirectional" ? 2 : 1;
  Vector y(kSteps * directions * kBatch * kHidden, 0);
  Vector y_h(directions * kBatch * kHidden), y_c(y_h);
  for (int64_t d = 0; d < directions; ++d) {
    for (int64_t n = 0; n < kBatch; ++n) {
      Sequence sequence(what, operands, d, n);
      int64_t length = operands.lengths.empty() ? kSteps : operands.lengths[n];
      bool back = what.direction == "reverse" || d == 1;
      for (int64_t k = 0; k < length; ++k) {
        int64_t t = back ? length - 1 - k : k;
        sequence.Step(t);
        int64_t row = what.batch_first ? (n * kSteps + t) * directions + d
                                       : (t * directions + d) * kBatch + n;
        std::ranges::copy(sequence.h, y.begin() + row * kHidden);
      }
      int64_t row = what.batch_first ? n * directions + d : d * kBatch + n;
      if (length == 0) continue;  // as ONNX Runtime has it: zeros, not the initial state
      std::ranges::copy(sequence.h, y_h.begin() + row * kHidden);
      std::ranges::copy(sequence.c, y_c.begin() + row * kHidden);
    }
  }
  if (what.op == OpKind::kLSTM) return {y, y_h, y_c};
  return {y, y_h};
}

Operands DrawOperands(const Case& what) {
  Random random(7);
  int64_t directions = what.direction == "bidirectional" ? 2 : 1;
  int64_t rows = GatesOf(what.op) * kHidden;
  std::vector<int64_t> state = {directions, kBatch, kHidden};
  if (what.batch_first) std::swap(state[0], state[1]);
  Operands operands;
  operands.x = Drawn(random, "X",
                     what.batch_first ? std::vector<int64_t>{kBatch, kSteps, kInput}
                                      : std::vector<int64_t>{kSteps, kBatch, kInput});
  operands.w = Drawn(random, "W", {directions, rows, kInput});
  operands.r = Drawn(random, "R", {directions, rows, kHidden});
  operands.w.constant = operands.r.constant = what.constant_weights;
  if (what.bias) operands.b = Drawn(random, "B", {directions, 2 * rows});
  operands.b.constant = what.constant_weights;
  if (what.initial) operands.h0 = Drawn(random, "h0", state);
  if (what.initial && what.op == OpKind::kLSTM) operands.c0 = Drawn(random, "c0", state);
  if (what.peepholes) operands.p = Drawn(random, "P", {directions, 3 * kHidden});
  operands.p.constant = true;
  operands.lengths = what.lengths;
  return operands;
}

Graph GraphOf(const Case& what, const Operands& operands, std::vector<Tensor>& feeds) {
  Graph graph;
  graph.name = "recurrence";
  Node node;
  node.name = "cell";
  node.op = what.op;
  auto add = [&](const std::string& name, const Tensor& tensor, bool constant) {
    Value value{
        .name = name, .dtype = tensor.dtype, .shape = ToExprs(tensor.shape), .constant = {}};
    if (constant) value.constant = tensor;
    ValueId id = graph.AddValue(std::move(value));
    node.inputs.push_back(id);
    if (constant) return;
    graph.inputs.push_back(id);
    feeds.push_back(tensor);
  };
  auto add_operand = [&](const Operand& operand) {
    if (operand.values.empty()) {
      node.inputs.push_back(kNoValue);
    } else {
      add(operand.name, ToTensor(operand), operand.constant);
    }
  };
  for (const Operand* operand : {&operands.x, &operands.w, &operands.r, &operands.b}) {
    add_operand(*operand);
  }
  if (operands.lengths.empty()) {
    node.inputs.push_back(kNoValue);
  } else {
    add("lengths",
        MakeTensor(kInt32, {kBatch},
                   {reinterpret_cast<const uint8_t*>(operands.lengths.data()), kBatch * 4}),
        false);
  }
  add_operand(operands.h0);
  if (what.op == OpKind::kLSTM) {
    add_operand(operands.c0);
    add_operand(operands.p);
  }
  for (const char* name : {"Y", "Y_h", "Y_c"}) {
    if (name == std::string("Y_c") && what.op != OpKind::kLSTM) continue;
    ValueId id = graph.AddValue({.name = name, .dtype = kFloat32, .shape = {}, .constant = {}});
    node.outputs.push_back(id);
    graph.outputs.push_back(id);
  }
  node.attributes = {{"direction", what.direction},
                     {"hidden_size", kHidden},
                     {"layout", int64_t{what.batch_first}}};
  if (what.op == OpKind::kLSTM) node.attributes["input_forget"] = int64_t{what.input_forget};
  if (what.op == OpKind::kGRU) {
    node.attributes["linear_before_reset"] = int64_t{what.linear_before_reset};
  }
  if (what.clip > 0) node.attributes["clip"] = what.clip;
  if (!what.activations.empty()) node.attributes["activations"] = what.activations;
  graph.nodes.push_back(std::move(node));
  return graph;
}

void CheckClose(const StatusOr<std::vector<Tensor>>& got, const std::vector<Vector>& expected) {
  INFO(got.status());
  REQUIRE(got.ok());
  REQUIRE(got->size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    auto values = (*got)[i].values<float>();
    REQUIRE(values.size() == expected[i].size());
    double worst = 0;
    for (size_t j = 0; j < values.size(); ++j) {
      worst = std::max(worst, std::abs(values[j] - expected[i][j]));
    }
    INFO("output " << i);
    CHECK(worst < 2e-6);
  }
}

void CheckCase(const Case& what) {
  INFO(ToString(what.op) << " " << what.direction << (what.batch_first ? " batch first" : ""));
  Operands operands = DrawOperands(what);
  std::vector<Tensor> feeds;
  Graph graph = GraphOf(what, operands, feeds);
  std::vector<Vector> expected = Expected(what, operands);
  Graph inferred = graph;
  Status status = InferShapes(inferred);
  INFO(status);
  REQUIRE(status.ok());
  CheckClose(InterpretGraph(inferred, feeds), expected);
  CheckClose(Executor(Loaded(Compiled(graph, "native"))).Run(feeds), expected);
}

constexpr OpKind kOps[] = {OpKind::kLSTM, OpKind::kGRU, OpKind::kRNN};

TEST_CASE("LSTM, GRU and RNN run in every direction and layout", "[compiler][recurrence]") {
  for (OpKind op : kOps) {
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      for (bool batch_first : {false, true}) {
        CheckCase({.op = op, .direction = direction, .batch_first = batch_first});
        CheckCase({.op = op, .direction = direction, .batch_first = batch_first, .initial = true});
      }
    }
  }
}

TEST_CASE("sequences may end before their batch does", "[compiler][recurrence]") {
  for (OpKind op : kOps) {
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      CheckCase({.op = op, .direction = direction, .initial = true, .lengths = {3, 5}});
    }
  }
}

TEST_CASE("a sequence of no steps ends in zeros and not in its initial state",
          "[compiler][recurrence]") {
  for (OpKind op : kOps) {
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      CheckCase({.op = op, .direction = direction, .initial = true, .lengths = {0, 4}});
    }
    CheckCase({.op = op, .batch_first = true, .initial = true, .lengths = {2, 0}});
    CheckCase({.op = op, .initial = true, .lengths = {0, 0}});
    CheckCase({.op = op, .lengths = {0, 3}});
  }
}

TEST_CASE("an LSTM has peepholes, a coupled forget gate and a clip", "[compiler][recurrence]") {
  CheckCase({.op = OpKind::kLSTM, .direction = "bidirectional", .peepholes = true});
  CheckCase({.op = OpKind::kLSTM, .initial = true, .peepholes = true, .input_forget = true});
  CheckCase({.op = OpKind::kLSTM, .clip = 0.3});
}

TEST_CASE("a GRU resets before or after its product", "[compiler][recurrence]") {
  for (bool after : {false, true}) {
    CheckCase({.op = OpKind::kGRU,
               .direction = "bidirectional",
               .initial = true,
               .linear_before_reset = after});
    CheckCase({.op = OpKind::kGRU, .bias = false, .linear_before_reset = after, .clip = 0.4});
  }
}

TEST_CASE("each direction may have its own activations", "[compiler][recurrence]") {
  CheckCase({.op = OpKind::kRNN, .direction = "bidirectional", .activations = "Relu,Tanh"});
  CheckCase({.op = OpKind::kLSTM, .activations = "HardSigmoid,Relu,Tanh"});
  CheckCase({.op = OpKind::kGRU,
             .direction = "bidirectional",
             .activations = "Sigmoid,Tanh,HardSigmoid,Relu"});
}

TEST_CASE("weights may be computed", "[compiler][recurrence]") {
  for (OpKind op : kOps) {
    CheckCase({.op = op, .direction = "bidirectional", .constant_weights = false});
    CheckCase({.op = op, .linear_before_reset = true, .constant_weights = false});
  }
}

// The graph with these numbers of steps and sequences, which may be free.
Graph WithSizes(Graph graph, const Case& what, const Expr& steps, const Expr& batch) {
  size_t batch_axis = what.batch_first ? 0 : 1;
  for (ValueId id : graph.inputs) {
    Value& value = graph.values[id];
    bool is_lengths = value.name == "lengths";
    value.shape[is_lengths ? 0 : batch_axis] = batch;
    if (value.name == "X") value.shape[1 - batch_axis] = steps;
  }
  return graph;
}

// Random inputs of a graph of known sizes; sequences end anywhere.
std::vector<Tensor> DrawFeeds(const Graph& graph, int64_t steps) {
  Random random(11);
  std::vector<Tensor> feeds;
  for (ValueId id : graph.inputs) {
    const Value& value = graph.value(id);
    Tensor tensor = MakeZeroTensor(value.dtype, *StaticShape(value));
    int64_t count = *ElementCount(tensor.shape);
    for (int64_t i = 0; i < count; ++i) {
      bool is_length = value.dtype == kInt32;
      SetElement(tensor, i,
                 is_length ? static_cast<double>(random.Between(0, steps))
                           : static_cast<double>(random.Between(-1000, 1000)) / 1000);
    }
    feeds.push_back(std::move(tensor));
  }
  return feeds;
}

// Runs one artefact at several numbers of steps and sequences, against the graph of these.
void CheckFreeSizes(const Case& what) {
  INFO(ToString(what.op) << " " << what.direction << (what.batch_first ? " batch first" : ""));
  std::vector<Tensor> unused;
  const Graph graph = GraphOf(what, DrawOperands(what), unused);
  const Var steps = ShapeVar("T", 0, 16, 4), batch = ShapeVar("B", 1, 8, 2);
  Graph free = WithSizes(graph, what, steps, batch);
  free.shape_vars = {steps, batch};
  Executor executor(Loaded(Compiled(free, "native")));
  for (auto [t, b] : {std::pair{4, 2}, {1, 1}, {0, 3}, {7, 3}, {16, 8}}) {
    INFO(t << " steps of " << b);
    Graph bound = WithSizes(graph, what, t, b);
    std::vector<Tensor> feeds = DrawFeeds(bound, t);
    std::vector<Vector> expected;
    for (const Tensor& tensor : tcc::Expected(bound, feeds)) {
      auto values = tensor.values<float>();
      expected.emplace_back(values.begin(), values.end());
    }
    CheckClose(executor.Run(feeds), expected);
  }
}

TEST_CASE("one artefact runs any number of steps and sequences", "[compiler][recurrence]") {
  for (OpKind op : kOps) {
    CheckFreeSizes({.op = op, .direction = "bidirectional"});
    CheckFreeSizes({.op = op, .direction = "reverse", .batch_first = true, .initial = true});
    CheckFreeSizes({.op = op, .direction = "bidirectional", .initial = true, .lengths = {1, 2}});
  }
}

TEST_CASE("an LSTM is one product before a loop of the plan", "[compiler][recurrence]") {
  Case what{.op = OpKind::kLSTM};
  std::vector<Tensor> feeds;
  Graph graph = GraphOf(what, DrawOperands(what), feeds);
  CompileOptions options;
  options.target = *FindTarget("native");
  StatusOr<Artefact> artefact = CompileGraph(graph, options);
  REQUIRE(artefact.ok());
  const std::vector<Instruction>& body = artefact->plan.body;
  INFO(ToString(artefact->plan));
  auto loop = std::ranges::find_if(body, [](const Instruction& instruction) {
    return std::holds_alternative<PlanLoop>(instruction.op);
  });
  REQUIRE(loop != body.end());
  const auto& plan_loop = std::get<PlanLoop>(loop->op);
  CHECK(plan_loop.extent == SizeExpr(kSteps));
  CHECK(plan_loop.swaps.size() == 2);
  auto calls = [](const std::vector<Instruction>& instructions) {
    return std::ranges::count_if(instructions, [](const Instruction& one) {
      return std::holds_alternative<PlanCall>(one.op);
    });
  };
  CHECK(calls(body) == 1);
  // The product, the new cell, the new output.
  CHECK(calls(plan_loop.body) == 3);
}

TEST_CASE("operands of other extents and unknown activations of a recurrence are refused",
          "[compiler][recurrence]") {
  Case what{.op = OpKind::kLSTM};
  Operands operands = DrawOperands(what);
  auto error = [&](const Operands& wrong, const std::string& activations) {
    std::vector<Tensor> feeds;
    Case own = what;
    own.activations = activations;
    Graph graph = GraphOf(own, wrong, feeds);
    Status status = InferShapes(graph);
    return status.ok() ? "no error" : Message(status);
  };
  Operands wrong = operands;
  wrong.w.shape = {1, 3 * kHidden, 4};
  CHECK_THAT(error(wrong, ""), Catch::Matchers::Contains("'W' has shape 1x12x4; expected 1x16x3"));
  CHECK_THAT(error(operands, "Tanh"), Catch::Matchers::Contains("has 1 activations; expected 3"));
  CHECK_THAT(
      error(operands, "Tanh,Sine,Tanh"),
      Catch::Matchers::Contains("activation 'Sine' is not supported; supported are Affine, Elu, "));
}

}  // namespace
}  // namespace tcc
