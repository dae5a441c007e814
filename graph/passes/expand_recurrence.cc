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
  int64_t directions = 1, hidden = 0, gates = 1;
  Expr steps, batch, input;  // numbers, or formulas over Shape variables
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
      : node_(node),
        operands_(graph, node),
        writer_(graph, nodes_, node.name),
        dtype_(graph.value(node.inputs[kX]).dtype) {
    for (size_t i = 0; i <= kPeepholes; ++i) {
      inputs_.push_back(operands_.Has(i) ? node.inputs[i] : kNoValue);
    }
    extents_.gates = node.op == OpKind::kLSTM ? 4 : node.op == OpKind::kGRU ? 3 : 1;
  }

  StatusOr<ExpandedRecurrence> Expand() {
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
    return ExpandedRecurrence{std::move(nodes_), std::move(operands_).Finish().agreements};
  }

 private:
  bool batch_first() const { return node_.Int("layout", 0) != 0; }
  bool RunsBack(size_t direction) const { return backward_only_ || direction == 1; }

  const std::string& NameOf(size_t input) const { return graph().value(node_.inputs[input]).name; }

  Status CheckRank(size_t input, size_t rank) const {
    if (operands_.Rank(input) == rank) return OkStatus();
    return operands_.Error("input '{}' has rank {}; expected {}", NameOf(input),
                           operands_.Rank(input), rank);
  }

  const Graph& graph() const { return writer_.graph(); }

  Status ReadExtents() {
    TCC_RETURN_IF_ERROR(CheckRank(kX, 3));
    TCC_RETURN_IF_ERROR(CheckRank(kR, 3));
    std::string direction = node_.String("direction", "forward");
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
      return operands_.Error("direction '{}'", direction);
    }
    backward_only_ = direction == "reverse";
    extents_.directions = direction == "bidirectional" ? 2 : 1;
    const std::vector<Expr>& x = operands_.Shape(kX);
    extents_.steps = x[batch_first() ? 1 : 0];
    extents_.batch = x[batch_first() ? 0 : 1];
    extents_.input = x[2];
    std::optional<int64_t> hidden = AsConstant(operands_.Shape(kR)[2]);
    if (!hidden) {
      return operands_.NotSupported("input '{}' has shape {}; expected a number as its dimension 2",
                                    NameOf(kR), ShapeText(operands_.Shape(kR)));
    }
    extents_.hidden = *hidden;
    int64_t stated = node_.Int("hidden_size", extents_.hidden);
    if (stated == extents_.hidden) return OkStatus();
    return operands_.Error("hidden_size is {}; R says {}", stated, extents_.hidden);
  }

  // Takes for granted that free extents are the expected ones.
  Status CheckShape(size_t input, const std::vector<Expr>& expected) {
    if (!operands_.Has(input)) return OkStatus();
    TCC_RETURN_IF_ERROR(CheckRank(input, expected.size()));
    const std::vector<Expr>& shape = operands_.Shape(input);
    for (size_t d = 0; d < shape.size(); ++d) {
      std::string what = fmt::format("dimension {} of '{}' and what '{}' gives for it", d,
                                     NameOf(input), NameOf(kX));
      if (operands_.Agree(expected[d], shape[d], what).ok()) continue;
      return operands_.Error("input '{}' has shape {}; expected {}", NameOf(input),
                             ShapeText(shape), ShapeText(expected));
    }
    return OkStatus();
  }

  Status CheckOperands() {
    const Extents& e = extents_;
    const Expr directions = e.directions, hidden = e.hidden, rows = e.gates * e.hidden;
    std::vector<Expr> state = {directions, e.batch, hidden};
    if (batch_first()) std::swap(state[0], state[1]);
    TCC_RETURN_IF_ERROR(CheckShape(kW, {directions, rows, e.input}));
    TCC_RETURN_IF_ERROR(CheckShape(kR, {directions, rows, hidden}));
    TCC_RETURN_IF_ERROR(CheckShape(kB, {directions, Times(rows, 2)}));
    TCC_RETURN_IF_ERROR(CheckShape(kLengths, {e.batch}));
    TCC_RETURN_IF_ERROR(CheckShape(kInitialH, state));
    TCC_RETURN_IF_ERROR(CheckShape(kInitialC, state));
    return CheckShape(kPeepholes, {directions, Times(hidden, 3)});
  }

  void MakeTimeFirst() {
    for (size_t input : {kX, kInitialH, kInitialC}) {
      if (operands_.Has(input)) inputs_[input] = writer_.Transpose(inputs_[input], {1, 0, 2});
    }
  }

  // Returns whether each step lies within its sequence, as bool[steps, batch, 1].
  ValueId StepMask() {
    ValueId lengths = writer_.Unsqueeze(inputs_[kLengths], 0);
    return writer_.Unsqueeze(Less(StepNumbers(graph().value(lengths).dtype), lengths), 2);
  }

  // Returns 0, 1, ... as [steps, 1].
  ValueId StepNumbers(DType dtype) {
    if (std::optional<int64_t> known = AsConstant(extents_.steps)) {
      Tensor steps = MakeZeroTensor(dtype, {*known, 1});
      for (int64_t t = 0; t < *known; ++t) SetElementInt(steps, t, t);
      return writer_.Constant("numbers", steps);
    }
    ValueId first = writer_.Constant("first", ScalarTensor(dtype, 0));
    ValueId steps = writer_.Elements("steps", dtype, {}, {extents_.steps});
    ValueId one = writer_.Constant("one", ScalarTensor(dtype, 1));
    return writer_.Unsqueeze(writer_.Emit(OpKind::kRange, {first, steps, one}), 1);
  }

  // Returns whether each sequence has a step at all, as bool[batch, 1].
  ValueId SequenceMask() {
    ValueId lengths = writer_.Unsqueeze(inputs_[kLengths], 1);
    DType dtype = graph().value(lengths).dtype;
    return Less(writer_.Constant("numbers", MakeZeroTensor(dtype, {})), lengths);
  }

  ValueId Less(ValueId a, ValueId b) {
    ValueId below = writer_.Emit(OpKind::kLess, {a, b});
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
        writer_.Dims({extents_.steps, extents_.batch, Expr(extents_.gates * extents_.hidden)});
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
    if (inputs_[input] == kNoValue) return ZeroState();
    ValueId state = writer_.Row(inputs_[input], static_cast<int64_t>(d), extents_.directions);
    if (has_steps_ == kNoValue) return state;
    return Where(writer_, has_steps_, state, writer_.Scalar(dtype_, 0));
  }

  ValueId ZeroState() {
    if (std::optional<int64_t> batch = AsConstant(extents_.batch)) {
      return writer_.Constant("zero", MakeZeroTensor(dtype_, {*batch, extents_.hidden}));
    }
    if (zeros_ != kNoValue) return zeros_;
    ValueId shape = writer_.Dims({extents_.batch, Expr(extents_.hidden)});
    zeros_ =
        writer_.Emit(OpKind::kConstantOfShape, {shape}, {{"value", MakeZeroTensor(dtype_, {1})}});
    writer_.graph().values[zeros_].dtype = dtype_;
    return zeros_;
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
  NodeLowering operands_;
  std::vector<Node> nodes_;
  NodeWriter writer_;
  DType dtype_;
  std::vector<ValueId> inputs_;   // time first
  ValueId has_steps_ = kNoValue;  // of each sequence, where lengths are given
  ValueId zeros_ = kNoValue;      // the first state of a free batch
  Extents extents_;
  bool backward_only_ = false;
};

}  // namespace

bool IsRecurrence(const Node& node) {
  return node.op == OpKind::kLSTM || node.op == OpKind::kGRU || node.op == OpKind::kRNN;
}

StatusOr<ExpandedRecurrence> ExpandRecurrence(Graph& graph, const Node& node) {
  return RecurrenceExpander(graph, node).Expand();
}

}  // namespace tcc
