#include "graph/passes/expand_recurrence.h"

#include <algorithm>
#include <optional>

#include "graph/ops/node_lowering.h"
#include "graph/passes/recurrence_activation.h"
#include "ir/graph/constants.h"
#include "ir/graph/graph_bodies.h"
#include "support/check.h"

namespace tcc {
namespace {

// The inputs of all three operators, in their order.
enum Input : size_t { kX, kW, kR, kB, kLengths, kInitialH, kInitialC, kPeepholes };

struct Extents {
  int64_t directions = 1, steps = 0, batch = 0, input = 0, hidden = 0, gates = 1;
};

// The operands of one direction, inside the body.
struct Cell {
  ValueId recurrence = kNoValue;  // [gates * hidden, hidden]
  ValueId bias = kNoValue;       // the bias of a GRU's candidate before its reset: [gates * hidden]
  ValueId peepholes = kNoValue;  // [3 * hidden]
  ValueId h = kNoValue, c = kNoValue, x = kNoValue, mask = kNoValue;
  std::vector<RecurrenceActivation> activations;
};

struct State {
  ValueId h = kNoValue, c = kNoValue;
};

ValueId Where(NodeWriter& writer, ValueId mask, ValueId value, ValueId other) {
  ValueId result = writer.Emit(OpKind::kWhere, {mask, value, other});
  writer.graph().values[result].dtype = writer.graph().value(value).dtype;
  return result;
}

// Writes one step, from the old state to the new one, into a body.
class StepWriter {
 public:
  StepWriter(NodeWriter& body, const Node& node, const Extents& extents, const Cell& cell)
      : body_(body), node_(node), extents_(extents), cell_(cell) {}

  State Write() {
    if (node_.op == OpKind::kLSTM) return WriteLstm();
    if (node_.op == OpKind::kGRU) return WriteGru();
    return {Activated(0, Product(cell_.h, cell_.recurrence, cell_.x)), kNoValue};
  }

 private:
  // Returns a * b^T + c.
  ValueId Product(ValueId a, ValueId b, ValueId c) {
    return body_.Emit(
        OpKind::kGemm, {a, b, c},
        {{"alpha", 1.0}, {"beta", 1.0}, {"transA", int64_t{0}}, {"transB", int64_t{1}}});
  }
  ValueId Add(ValueId a, ValueId b) { return body_.Emit(OpKind::kAdd, {a, b}); }
  ValueId Mul(ValueId a, ValueId b) { return body_.Emit(OpKind::kMul, {a, b}); }
  ValueId OneMinus(ValueId a) {
    return body_.Emit(OpKind::kSub, {body_.Scalar(body_.graph().value(a).dtype, 1), a});
  }
  // Returns the gate at `index` of several side by side.
  ValueId Gate(ValueId gates, int64_t index, int64_t count = 1) {
    return body_.Slice(gates, 1, index * extents_.hidden, (index + count) * extents_.hidden);
  }
  ValueId Activated(size_t function, ValueId x) {
    auto clip = node_.attributes.find("clip");
    if (clip != node_.attributes.end()) {
      DType dtype = body_.graph().value(x).dtype;
      double bound = std::get<double>(clip->second);
      x = body_.Emit(OpKind::kClip, {x, body_.Scalar(dtype, -bound), body_.Scalar(dtype, bound)});
    }
    return ApplyActivation(body_, cell_.activations[function], x);
  }

  // Gates i, o, f, c; peepholes i, o, f.
  State WriteLstm() {
    ValueId gates = Product(cell_.h, cell_.recurrence, cell_.x);
    auto peeped = [&](int64_t gate, ValueId c) {
      ValueId value = Gate(gates, gate);
      if (cell_.peepholes == kNoValue) return value;
      int64_t begin = gate * extents_.hidden;
      return Add(value, Mul(body_.Slice(cell_.peepholes, 0, begin, begin + extents_.hidden), c));
    };
    ValueId in = Activated(0, peeped(0, cell_.c));
    bool coupled = node_.Int("input_forget", 0) != 0;
    ValueId forget = coupled ? OneMinus(in) : Activated(0, peeped(2, cell_.c));
    ValueId candidate = Activated(1, Gate(gates, 3));
    ValueId c = Add(Mul(forget, cell_.c), Mul(in, candidate));
    ValueId out = Activated(0, peeped(1, c));
    return {Mul(out, ApplyActivation(body_, cell_.activations[2], c)), c};
  }

  // Gates z, r, h.
  State WriteGru() {
    ValueId update;
    ValueId candidate;
    if (node_.Int("linear_before_reset", 0) != 0) {
      ValueId gates = Product(cell_.h, cell_.recurrence, cell_.bias);
      update = Activated(0, Add(Gate(gates, 0), Gate(cell_.x, 0)));
      ValueId reset = Activated(0, Add(Gate(gates, 1), Gate(cell_.x, 1)));
      candidate = Add(Mul(reset, Gate(gates, 2)), Gate(cell_.x, 2));
    } else {
      int64_t hidden = extents_.hidden;
      ValueId first = body_.Slice(cell_.recurrence, 0, 0, 2 * hidden);
      ValueId last = body_.Slice(cell_.recurrence, 0, 2 * hidden, 3 * hidden);
      ValueId gates = Product(cell_.h, first, Gate(cell_.x, 0, 2));
      update = Activated(0, Gate(gates, 0));
      ValueId reset = Activated(0, Gate(gates, 1));
      candidate = Product(Mul(reset, cell_.h), last, Gate(cell_.x, 2));
    }
    candidate = Activated(1, candidate);
    return {Add(Mul(OneMinus(update), candidate), Mul(update, cell_.h)), kNoValue};
  }

  NodeWriter& body_;
  const Node& node_;
  const Extents& extents_;
  const Cell& cell_;
};

class RecurrenceExpander {
 public:
  RecurrenceExpander(Graph& graph, const Node& node)
      : node_(node), writer_(graph, nodes_, node.name), dtype_(graph.value(node.inputs[kX]).dtype) {
    for (size_t i = 0; i <= kPeepholes; ++i) inputs_.push_back(Has(i) ? node.inputs[i] : kNoValue);
    extents_.gates = node.op == OpKind::kLSTM ? 4 : node.op == OpKind::kGRU ? 3 : 1;
  }

  StatusOr<std::vector<Node>> Expand() {
    TCC_RETURN_IF_ERROR(ReadExtents());
    TCC_RETURN_IF_ERROR(CheckOperands());
    std::vector<std::string> defaults = {"Tanh"};
    if (node_.op == OpKind::kLSTM) defaults = {"Sigmoid", "Tanh", "Tanh"};
    if (node_.op == OpKind::kGRU) defaults = {"Sigmoid", "Tanh"};
    auto directions = static_cast<size_t>(extents_.directions);
    TCC_ASSIGN_OR_RETURN(std::vector<RecurrenceActivation> activations,
                         ReadActivations(node_, defaults, directions));
    if (batch_first()) MakeTimeFirst();
    ValueId mask = inputs_[kLengths] == kNoValue ? kNoValue : StepMask();
    if (mask != kNoValue) has_steps_ = SequenceMask();
    std::vector<std::vector<ValueId>> results(3);  // Y, Y_h and Y_c by direction
    for (size_t d = 0; d < directions; ++d) {
      auto begin = activations.begin() + static_cast<int64_t>(d * defaults.size());
      std::vector<RecurrenceActivation> own(begin, begin + static_cast<int64_t>(defaults.size()));
      std::vector<ValueId> of_direction = AddLoop(d, std::move(own), mask);
      for (size_t i = 0; i < of_direction.size(); ++i) results[i].push_back(of_direction[i]);
    }
    SetResult(0, results[0], 1, {2, 0, 1, 3});
    SetResult(1, results[1], 0, {1, 0, 2});
    if (node_.op == OpKind::kLSTM) SetResult(2, results[2], 0, {1, 0, 2});
    return std::move(nodes_);
  }

 private:
  bool Has(size_t input) const {
    return input < node_.inputs.size() && node_.inputs[input] != kNoValue;
  }
  bool batch_first() const { return node_.Int("layout", 0) != 0; }
  bool RunsBack(size_t direction) const { return backward_only_ || direction == 1; }

  template <typename... Args>
  Status Error(fmt::format_string<Args...> format, Args&&... args) const {
    return InvalidInput("node '{}' ({}): {}", node_.name, ToString(node_.op),
                        fmt::format(format, std::forward<Args>(args)...));
  }

  StatusOr<std::vector<int64_t>> ShapeOf(size_t input, size_t rank) const {
    const Value& value = graph().value(node_.inputs[input]);
    std::optional<std::vector<int64_t>> shape = StaticShape(value);
    if (!shape) {
      return Unsupported("node '{}' ({}): input '{}' has shape {}; expected known dimensions",
                         node_.name, ToString(node_.op), value.name, ShapeText(value.shape));
    }
    if (shape->size() == rank) return *shape;
    return Error("input '{}' has rank {}; expected {}", value.name, shape->size(), rank);
  }

  const Graph& graph() const { return writer_.graph(); }

  Status ReadExtents() {
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> x, ShapeOf(kX, 3));
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> r, ShapeOf(kR, 3));
    std::string direction = node_.String("direction", "forward");
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
      return Error("direction '{}'", direction);
    }
    backward_only_ = direction == "reverse";
    extents_.directions = direction == "bidirectional" ? 2 : 1;
    extents_.steps = x[batch_first() ? 1 : 0];
    extents_.batch = x[batch_first() ? 0 : 1];
    extents_.input = x[2];
    extents_.hidden = r[2];
    int64_t stated = node_.Int("hidden_size", extents_.hidden);
    if (stated == extents_.hidden) return OkStatus();
    return Error("hidden_size is {}; R says {}", stated, extents_.hidden);
  }

  Status CheckShape(size_t input, std::vector<int64_t> expected) const {
    if (!Has(input)) return OkStatus();
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> shape, ShapeOf(input, expected.size()));
    if (shape == expected) return OkStatus();
    return Error("input '{}' has shape {}; expected {}", graph().value(node_.inputs[input]).name,
                 ShapeToString(shape), ShapeToString(expected));
  }

  Status CheckOperands() const {
    const Extents& e = extents_;
    int64_t rows = e.gates * e.hidden;
    std::vector<int64_t> state = {e.directions, e.batch, e.hidden};
    if (batch_first()) std::swap(state[0], state[1]);
    TCC_RETURN_IF_ERROR(CheckShape(kW, {e.directions, rows, e.input}));
    TCC_RETURN_IF_ERROR(CheckShape(kR, {e.directions, rows, e.hidden}));
    TCC_RETURN_IF_ERROR(CheckShape(kB, {e.directions, 2 * rows}));
    TCC_RETURN_IF_ERROR(CheckShape(kLengths, {e.batch}));
    TCC_RETURN_IF_ERROR(CheckShape(kInitialH, state));
    TCC_RETURN_IF_ERROR(CheckShape(kInitialC, state));
    return CheckShape(kPeepholes, {e.directions, 3 * e.hidden});
  }

  void MakeTimeFirst() {
    for (size_t input : {kX, kInitialH, kInitialC}) {
      if (Has(input)) inputs_[input] = writer_.Transpose(inputs_[input], {1, 0, 2});
    }
  }

  // Returns whether each step lies within its sequence, as bool[steps, batch, 1].
  ValueId StepMask() {
    DType dtype = graph().value(inputs_[kLengths]).dtype;
    Tensor steps = MakeZeroTensor(dtype, {extents_.steps, 1});
    for (int64_t t = 0; t < extents_.steps; ++t) SetElementInt(steps, t, t);
    return writer_.Unsqueeze(BelowLengths(steps, 0), 2);
  }

  // Returns whether each sequence has a step at all, as bool[batch, 1].
  ValueId SequenceMask() {
    return BelowLengths(MakeZeroTensor(graph().value(inputs_[kLengths]).dtype, {}), 1);
  }

  // Returns whether numbers are below the lengths, which have a new dimension `axis`.
  ValueId BelowLengths(const Tensor& numbers, int64_t axis) {
    ValueId lengths = writer_.Unsqueeze(inputs_[kLengths], axis);
    ValueId below = writer_.Emit(OpKind::kLess, {writer_.Constant("numbers", numbers), lengths});
    writer_.graph().values[below].dtype = kBool;
    return below;
  }

  // Returns the product of the input: [steps, batch, gates * hidden].
  ValueId InputProduct(size_t d, ValueId bias) {
    ValueId weight = writer_.Row(inputs_[kW], static_cast<int64_t>(d), extents_.directions);
    ValueId rows = writer_.Emit(OpKind::kFlatten, {inputs_[kX]}, {{"axis", int64_t{2}}});
    std::vector<ValueId> operands = {rows, weight};
    if (bias != kNoValue) operands.push_back(bias);
    ValueId product = writer_.Emit(
        OpKind::kGemm, operands,
        {{"alpha", 1.0}, {"beta", 1.0}, {"transA", int64_t{0}}, {"transB", int64_t{1}}});
    ValueId shape =
        writer_.Ints({extents_.steps, extents_.batch, extents_.gates * extents_.hidden});
    return writer_.Emit(OpKind::kReshape, {product, shape}, {{"allowzero", int64_t{1}}});
  }

  struct Biases {
    ValueId outside = kNoValue;  // added to the input's product
    ValueId inside = kNoValue;   // added to the state's product: a GRU candidate's, before reset
  };

  Biases SplitBias(size_t d) {
    if (inputs_[kB] == kNoValue) return {};
    int64_t rows = extents_.gates * extents_.hidden;
    ValueId both = writer_.Row(inputs_[kB], static_cast<int64_t>(d), extents_.directions);
    ValueId of_input = writer_.Slice(both, 0, 0, rows);
    ValueId of_state = writer_.Slice(both, 0, rows, 2 * rows);
    bool reset_after = node_.op == OpKind::kGRU && node_.Int("linear_before_reset", 0) != 0;
    if (!reset_after) return {.outside = writer_.Emit(OpKind::kAdd, {of_input, of_state})};
    return {.outside = of_input, .inside = of_state};
  }

  // Returns the state before the first step: [batch, hidden]. A sequence without steps has zeros as
  // its last state, whatever its first one.
  ValueId InitialState(size_t input, size_t d) {
    if (inputs_[input] == kNoValue) {
      return writer_.Constant("zero", MakeZeroTensor(dtype_, {extents_.batch, extents_.hidden}));
    }
    ValueId state = writer_.Row(inputs_[input], static_cast<int64_t>(d), extents_.directions);
    if (has_steps_ == kNoValue) return state;
    return Where(writer_, has_steps_, state, writer_.Scalar(dtype_, 0));
  }

  // A body under construction and the operands of its inputs.
  struct LoopParts {
    Node loop;
    Graph body;
    std::vector<ValueId> operands;

    ValueId AddInput(const Graph& around, const std::string& name, ValueId operand) {
      const Value& outside = around.value(operand);
      Value inside{.name = name, .dtype = outside.dtype, .constant = outside.constant};
      if (outside.constant) inside.shape = outside.shape;
      ValueId id = body.AddValue(std::move(inside));
      if (outside.constant) return id;
      operands.push_back(operand);
      body.inputs.push_back(id);
      return id;
    }
    // Adds an operand that is not captured: even a constant stays outside.
    ValueId AddOwnInput(const Graph& around, const std::string& name, ValueId operand) {
      ValueId id = body.AddValue({.name = name, .dtype = around.value(operand).dtype});
      operands.push_back(operand);
      body.inputs.push_back(id);
      return id;
    }
  };

  // Returns Y [steps, batch, hidden], Y_h and, of an LSTM, Y_c [batch, hidden] of one direction.
  std::vector<ValueId> AddLoop(size_t d, std::vector<RecurrenceActivation> activations,
                               ValueId mask) {
    Biases biases = SplitBias(d);
    ValueId x = InputProduct(d, biases.outside);
    bool is_lstm = node_.op == OpKind::kLSTM;
    LoopParts parts;
    parts.body.name = "step";
    parts.body.shape_vars = graph().shape_vars;
    for (DType dtype : {kInt64, kBool}) {
      parts.operands.push_back(kNoValue);
      parts.body.inputs.push_back(parts.body.AddValue(
          {.name = dtype == kBool ? "condition" : "iteration", .dtype = dtype}));
    }
    Cell cell{.activations = std::move(activations)};
    cell.h = parts.AddOwnInput(graph(), "h", InitialState(kInitialH, d));
    if (is_lstm) cell.c = parts.AddOwnInput(graph(), "c", InitialState(kInitialC, d));
    cell.x = parts.AddOwnInput(graph(), "x", x);
    if (mask != kNoValue) cell.mask = parts.AddOwnInput(graph(), "within", mask);
    auto direction = static_cast<int64_t>(d);
    cell.recurrence =
        parts.AddInput(graph(), "R", writer_.Row(inputs_[kR], direction, extents_.directions));
    if (biases.inside != kNoValue) cell.bias = parts.AddInput(graph(), "bias", biases.inside);
    if (inputs_[kPeepholes] != kNoValue) {
      cell.peepholes = parts.AddInput(
          graph(), "P", writer_.Row(inputs_[kPeepholes], direction, extents_.directions));
    }
    WriteBody(cell, parts.body);
    return EmitLoop(d, std::move(parts), mask != kNoValue);
  }

  void WriteBody(const Cell& cell, Graph& body) {
    std::vector<Node> nodes;
    NodeWriter writer(body, nodes, node_.name);
    State state = StepWriter(writer, node_, extents_, cell).Write();
    ValueId stacked = state.h;
    if (cell.mask != kNoValue) {
      stacked = Where(writer, cell.mask, state.h, writer.Scalar(dtype_, 0));
      state.h = Where(writer, cell.mask, state.h, cell.h);
      if (state.c != kNoValue) state.c = Where(writer, cell.mask, state.c, cell.c);
    }
    body.outputs = {writer.Constant("true", ScalarTensor(kBool, 1)), state.h};
    if (state.c != kNoValue) body.outputs.push_back(state.c);
    body.outputs.push_back(stacked);
    body.nodes = std::move(nodes);
  }

  std::vector<ValueId> EmitLoop(size_t d, LoopParts parts, bool masked) {
    int64_t carried = node_.op == OpKind::kLSTM ? 2 : 1;
    Node& loop = parts.loop;
    loop.op = OpKind::kLoop;
    loop.attributes["carried"] = carried;
    std::vector<int64_t> axes(masked ? 2 : 1, 0);
    loop.attributes["scan_input_axes"] = axes;
    loop.attributes["scan_output_axes"] = std::vector<int64_t>{0};
    if (RunsBack(d)) {
      loop.attributes["scan_input_directions"] = std::vector<int64_t>(axes.size(), 1);
      loop.attributes["scan_output_directions"] = std::vector<int64_t>{1};
    }
    loop.inputs = std::move(parts.operands);
    for (int64_t i = 0; i < carried + 1; ++i) {
      loop.outputs.push_back(writer_.graph().AddValue(
          {.name = fmt::format("{}/direction{}/result{}", node_.name, d, i), .dtype = dtype_}));
    }
    loop.name = fmt::format("{}/direction{}", node_.name, d);
    loop.bodies.push_back(std::move(parts.body));
    std::vector<ValueId> results = {loop.outputs.back(), loop.outputs[0]};
    if (carried == 2) results.push_back(loop.outputs[1]);
    writer_.EmitNode(std::move(loop));
    return results;
  }

  // Stacks the directions along a new dimension, batch first if that is asked for.
  void SetResult(size_t output, const std::vector<ValueId>& directions, int64_t axis,
                 const std::vector<int64_t>& batch_first_perm) {
    if (output >= node_.outputs.size() || node_.outputs[output] == kNoValue) return;
    std::vector<ValueId> parts;
    for (ValueId part : directions) parts.push_back(writer_.Unsqueeze(part, axis));
    ValueId result = parts[0];
    if (parts.size() > 1) result = writer_.Emit(OpKind::kConcat, parts, {{"axis", axis}});
    if (batch_first()) result = writer_.Transpose(result, batch_first_perm);
    writer_.EmitAs(node_.outputs[output], OpKind::kIdentity, {result});
  }

  const Node& node_;
  std::vector<Node> nodes_;
  NodeWriter writer_;
  DType dtype_;
  std::vector<ValueId> inputs_;   // time first
  ValueId has_steps_ = kNoValue;  // of each sequence, where lengths are given
  Extents extents_;
  bool backward_only_ = false;
};

}  // namespace

bool IsRecurrence(const Node& node) {
  return node.op == OpKind::kLSTM || node.op == OpKind::kGRU || node.op == OpKind::kRNN;
}

StatusOr<std::vector<Node>> ExpandRecurrence(Graph& graph, const Node& node) {
  return RecurrenceExpander(graph, node).Expand();
}

}  // namespace tcc
