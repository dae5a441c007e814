#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/expr.h"
#include "ir/support/status.h"
#include "ir/support/tensor.h"

namespace tcc {

// What a node does. Names and meanings are ONNX's, normalised to one form whatever opset the model
// came in: parameters that moved from attributes to inputs are inputs, defaults are filled in.
// A kind is a row here, a row in the importer (models/onnx_ops.cc) and a lowering (lower/).
//
// The one form, where opsets differ. Inputs in brackets may be kNoValue or missing at the end; an
// attribute with a default is always there. What is not named here is as in ONNX's newest opset.
//   Clip(x, [min], [max])              HardSigmoid {alpha, beta: double}, LeakyRelu {alpha: double}
//   Cast(x) {to: "f32"}                the output value has that dtype; CastLike is a Cast
//   Mod(a, b) {fmod}                   Dropout(x) is the identity; its mask is other nodes
//   Reshape(x, shape) {allowzero}      Flatten {axis}, Concat {axis}, Gather {axis}
//   Squeeze(x, [axes])                 Unsqueeze(x, axes), Transpose {[perm]}, Shape {start, [end]}
//   Slice(x, starts, ends, [axes], [steps])      Pad(x, pads, [value], [axes]) {mode}
//   ConstantOfShape(shape) {value: Tensor of one element}
//   Reduce*(x, [axes]) {keepdims, noop_with_empty_axes}
//   Conv(x, w, [b]) {auto_pad, group, [kernel_shape], [strides], [pads], [dilations]}
//   MaxPool, AveragePool {auto_pad, ceil_mode, kernel_shape, strides, pads, dilations}, the latter
//                        {count_include_pad}; pads are absent where auto_pad is not "NOTSET"
//   Gemm(a, b, [c]) {alpha, beta: double, transA, transB}
//   BatchNormalization(x, scale, b, mean, var) {epsilon: double}
//   Softmax, LogSoftmax {axis}         over that axis alone (opset 13)
//
// enumerator; the text is the same without the k
// clang-format off
#define TCC_OP_KINDS(X) \
  /* scalar functions of one, two or three broadcast operands */ \
  X(Abs) X(Ceil) X(Clip) X(Div) X(Erf) X(Exp) X(Floor) X(HardSigmoid) X(HardSwish) X(LeakyRelu) \
  X(Log) X(Max) X(Min) X(Mod) X(Mul) X(Neg) X(Pow) X(Reciprocal) X(Relu) X(Round) X(Sigmoid) \
  X(Sign) X(Sqrt) X(Sub) X(Tanh) X(Add) X(Where) X(Cast) X(Equal) X(Less) X(LessOrEqual) \
  X(Greater) X(GreaterOrEqual) X(And) X(Or) X(Not) X(Identity) X(Dropout) \
  /* another view of the same elements */ \
  X(Reshape) X(Flatten) X(Transpose) X(Squeeze) X(Unsqueeze) X(Concat) X(Slice) X(Expand) X(Pad) \
  X(Gather) X(Shape) X(Constant) X(ConstantOfShape) \
  /* contractions, windows, reductions */ \
  X(Conv) X(Gemm) X(MatMul) X(MaxPool) X(AveragePool) X(GlobalAveragePool) X(GlobalMaxPool) \
  X(BatchNormalization) X(Softmax) X(LogSoftmax) X(ReduceMean) X(ReduceSum) X(ReduceMax) \
  X(ReduceMin) X(ReduceProd) \
  /* a repack that AssignLayouts inserts */ \
  X(Repack)
// clang-format on

enum class OpKind : uint16_t {
#define TCC_OP_KIND(name) k##name,
  TCC_OP_KINDS(TCC_OP_KIND)
#undef TCC_OP_KIND
};

std::string_view ToString(OpKind op);
std::optional<OpKind> FindOpKind(std::string_view name);

using ValueId = int32_t;
inline constexpr ValueId kNoValue = -1;  // an optional input or output left out

using Attribute =
    std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>, Tensor>;

// Order of the dimensions of an activation in memory; set on nodes by AssignLayouts. Channels-last
// is N, spatial..., C. A node's operands keep ONNX's meaning; only the storage order differs.
enum class DataLayout : uint8_t { kChannelsFirst, kChannelsLast };

struct Value {
  std::string name;  // unique in the graph
  DType dtype;
  // Constants, or formulas over Shape variables. The importer fills it in for inputs and constants,
  // and for outputs where the model states it; of what lies between, shape inference does.
  std::vector<Expr> shape;
  std::optional<Tensor> constant;  // an initializer, or folded
};

struct Node {
  std::string name;  // for messages; not empty
  OpKind op;
  std::vector<ValueId> inputs;  // kNoValue for an optional one that is absent
  std::vector<ValueId> outputs;
  std::map<std::string, Attribute> attributes;  // ordered: dumps and hashes must not vary
  DataLayout layout = DataLayout::kChannelsFirst;

  int64_t Int(const std::string& key, int64_t fallback) const;
  double Float(const std::string& key, double fallback) const;
  std::string String(const std::string& key, const std::string& fallback) const;
  std::vector<int64_t> Ints(const std::string& key,
                            const std::vector<int64_t>& fallback = {}) const;
};

// A network: nodes in topological order over values in single assignment.
struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;  // without initializers, in the model's order
  std::vector<ValueId> outputs;
  std::vector<Var> shape_vars;  // one for each dimension name left free

  const Value& value(ValueId id) const { return values[id]; }
  ValueId AddValue(Value value);
  const Tensor* ConstantOf(ValueId id) const;  // nullptr for kNoValue and for what is computed
};

// The shape as numbers; nullopt where a dimension is still symbolic.
std::optional<std::vector<int64_t>> StaticShape(const Value& value);
std::vector<Expr> ToExprs(const std::vector<int64_t>& shape);

// Node by node: "conv1 = Conv(x, w, b) {strides: [2, 2]} : f32[1x64x112x112]". Deterministic.
std::string Print(const Graph& graph);
// Reads what Print wrote, constants excepted: those are taken from `constants` by name.
StatusOr<Graph> ParseGraph(const std::string& text, const Graph& constants);

// Names unique and defined before use, every input a value, no cycle, constants of their value's
// type and shape.
Status VerifyGraph(const Graph& graph);

}  // namespace tcc
