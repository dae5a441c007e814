#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/expr/expr.h"
#include "support/status.h"
#include "support/tensor.h"

namespace tcc {

// The operators. Names and meanings are ONNX's, normalised to one form for all opsets: parameters
// that moved from attributes to inputs are inputs, defaults are filled in. A kind is a row here, a
// row in the importer (models/onnx/onnx_ops.cc) and a lowering (graph/ops/lowerings.h; a function
// of scalars: graph/ops/elementwise.cc).
//
// The one form, where opsets differ. Inputs in brackets may be kNoValue or missing at the end; an
// attribute with a default is always there. Everything else is as in ONNX's newest opset.
//   Clip(x, [min], [max])              HardSigmoid {alpha, beta: double}, LeakyRelu {alpha: double}
//   Cast(x, [overflow]) {to: "f32"}    the output value has that dtype; CastLike is a Cast
//   Mod(a, b) {fmod}                   Dropout(x) is the identity; its mask is other nodes
//   Gelu(x) {approximate: none or tanh}          Sum and Mean are Adds
//   QuantizeLinear(x, scale, [zero], [overflow]) {axis, [block_size], to: "u8"}, DequantizeLinear
//                        likewise to a float; QLinear* and their like are written with these two,
//                        ConvInteger and MatMulInteger; overflow[2]: f8 of too large, too small.
//                        A zero of DequantizeLinear may also have the scale's type
//   Reshape(x, shape) {allowzero}      Flatten {axis}, Concat {axis}, Gather {axis}
//   Squeeze(x, [axes])                 Unsqueeze(x, axes), Transpose {[perm]}, Shape {start, [end]}
//   Slice(x, starts, ends, [axes], [steps])      Pad(x, pads, [value], [axes]) {mode}
//   ConstantOfShape(shape) {value: Tensor of one element}
//   Reduce*(x, [axes]) {keepdims, noop_with_empty_axes}
//   Conv(x, w, [b]) {auto_pad, group, [kernel_shape], [strides], [pads], [dilations]}
//   ConvInteger(x, w, [x zero], [w zero]) {as Conv}     sums in i32, as those of
//                        MatMulInteger(a, b, [a zero], [b zero]). A pass may give it a w of f32 and
//                        sums of that type, which holds them
//   MatMulWords(x, words, scale, [zero]) {bits: 2, 4 or 8}: x times a matrix of signed numbers less
//                        a zero and times a scale, both [blocks, columns] of f32; words [depth / n,
//                        columns] of i32 hold n = 32 / bits along the depth, the lowest first. Sums
//                        are f32. Only passes make it
//   ConvTranspose(x, w, [b]) {as Conv, [output_padding], [output_shape]}
//   MaxPool, AveragePool {auto_pad, ceil_mode, kernel_shape, strides, pads, dilations}, the latter
//                        {count_include_pad}; pads are absent where auto_pad is not "NOTSET"
//   Gemm(a, b, [c]) {alpha, beta: double, transA, transB}
//   BatchNormalization(x, scale, b, mean, var) {epsilon: double, [training_mode], [momentum]}: both
//                        or neither
//   LayerNormalization(x, scale, [bias]) {axis, epsilon: double, stash_type: "f32"}; its further
//                        outputs, mean and inverse deviation, have that type
//   RMSNormalization(x, scale) {as LayerNormalization}: [inverse root] as a second output
//   NegativeLogLikelihoodLoss(x, target, [weight]) {reduction, [ignore_index]}: a
//                        SoftmaxCrossEntropyLoss is one of a LogSoftmax
//   RotaryEmbedding(x, cos, sin, [positions]) {interleaved, [num_heads], rotary_embedding_dim}
//   Resize(x, [roi], [scales], [sizes]) {mode, coordinate_transformation_mode, nearest_mode, ...};
//                        an Upsample is one; empty roi, scales or sizes are as good as absent
//   Split(x, [split]) {axis}           without `split` in equal parts, as many as outputs
//   TopK(x, k) {axis, largest}         always sorted
//   EyeLike(x) {k, to: "f32"}          Compress, Unique {[axis]}
//   ScatterElements {axis, reduction}, ScatterND {reduction: none, add, mul, max or min}
//   TensorScatter(cache, update, [start]) {axis, mode: linear or circular}
//   RoiAlign {coordinate_transformation_mode: half_pixel or output_half_pixel, ...}
//   DFT(x, [length], [axis]) {[axis], inverse, onesided}; an STFT is one of gathered frames
//   Softmax, LogSoftmax, Hardmax {axis}          over that axis alone (opset 13)
//
// Loop(trip_count, condition, carried..., scanned..., captured...) {carried: how many;
//                        scan_input_axes, scan_output_axes, [scan_input_directions],
//                        [scan_output_directions]: as of ONNX's Scan, one each}. Either of the
//                        first two may be kNoValue; what is scanned limits the trip count too. Its
//                        body reads (iteration, condition, carried..., slices..., captured...) and
//                        gives (condition, carried..., slices...); outputs are the carried values,
//                        then the stacked slices. Scan, LSTM, GRU and RNN become Loops.
// If(condition, captured...)           bodies: then, else; both read (captured...)

// How fusion and layouts may treat an operator.
enum class OpForm : uint8_t {
  kElementwise,  // each output element from the operands' elements at its place, broadcast
  kView,         // the same elements in the same order under another shape: no code
  kMovement,     // each output element is one input element, or a constant, from elsewhere
  kReduction,    // combines the elements of rows or windows; works in any storage order
  kContraction,  // sums of products: an epilogue may follow, operands are read many times
  kUnlowered,    // has no lowering: control flow, and what passes expand or evaluate
};

// The types that an operand may have. kQuantized and kStored also include the f8 and 4-bit types,
// which only Cast, QuantizeLinear and DequantizeLinear take.
enum class TypeClass : uint8_t {
  kAnyFloat,
  kNumber,
  kAnyInteger,
  kAnyUnsigned,
  kBoolean,
  kAnyType,
  kQuantized,
  kStored
};
std::string_view ToString(TypeClass types);
bool Accepts(TypeClass types, DType dtype);

// The columns: enumerator, whose text is the same without the k; types of the operands, which have
// one type and broadcast; least and most operands. Each is a function of scalars.
// clang-format off
#define TCC_SCALAR_KINDS(X) \
  X(Abs, kNumber, 1, 1) X(Acos, kAnyFloat, 1, 1) X(Acosh, kAnyFloat, 1, 1) \
  X(Asin, kAnyFloat, 1, 1) X(Asinh, kAnyFloat, 1, 1) X(Atan, kAnyFloat, 1, 1) \
  X(Atanh, kAnyFloat, 1, 1) X(BitwiseNot, kAnyInteger, 1, 1) X(Ceil, kNumber, 1, 1) \
  X(Celu, kAnyFloat, 1, 1) X(Cos, kAnyFloat, 1, 1) X(Cosh, kAnyFloat, 1, 1) X(Div, kNumber, 2, 2) \
  X(Elu, kAnyFloat, 1, 1) X(Erf, kAnyFloat, 1, 1) X(Exp, kAnyFloat, 1, 1) X(Floor, kNumber, 1, 1) \
  X(Gelu, kAnyFloat, 1, 1) X(HardSigmoid, kAnyFloat, 1, 1) X(HardSwish, kAnyFloat, 1, 1) \
  X(IsInf, kAnyFloat, 1, 1) X(IsNaN, kAnyFloat, 1, 1) X(LeakyRelu, kAnyFloat, 1, 1) \
  X(Log, kAnyFloat, 1, 1) X(Max, kNumber, 1, SIZE_MAX) X(Min, kNumber, 1, SIZE_MAX) \
  X(Mish, kAnyFloat, 1, 1) X(Mod, kNumber, 2, 2) X(Mul, kNumber, 2, 2) X(Neg, kNumber, 1, 1) \
  X(Reciprocal, kAnyFloat, 1, 1) X(Relu, kNumber, 1, 1) X(Round, kNumber, 1, 1) \
  X(Selu, kAnyFloat, 1, 1) X(Shrink, kNumber, 1, 1) X(Sigmoid, kAnyFloat, 1, 1) \
  X(Sign, kNumber, 1, 1) X(Sin, kAnyFloat, 1, 1) X(Sinh, kAnyFloat, 1, 1) \
  X(Softplus, kAnyFloat, 1, 1) X(Softsign, kAnyFloat, 1, 1) X(Sqrt, kAnyFloat, 1, 1) \
  X(Sub, kNumber, 2, 2) X(Swish, kAnyFloat, 1, 1) X(Tan, kAnyFloat, 1, 1) X(Tanh, kAnyFloat, 1, 1) \
  X(ThresholdedRelu, kAnyFloat, 1, 1) X(Add, kNumber, 2, 2) X(BitShift, kAnyUnsigned, 2, 2) \
  X(BitwiseAnd, kAnyInteger, 2, 2) X(BitwiseOr, kAnyInteger, 2, 2) \
  X(BitwiseXor, kAnyInteger, 2, 2) X(PRelu, kNumber, 2, 2) X(Xor, kBoolean, 2, 2) \
  X(Equal, kAnyType, 2, 2) X(Less, kNumber, 2, 2) X(LessOrEqual, kNumber, 2, 2) \
  X(Greater, kNumber, 2, 2) X(GreaterOrEqual, kNumber, 2, 2) X(And, kBoolean, 2, 2) \
  X(Or, kBoolean, 2, 2) X(Not, kBoolean, 1, 1) X(Identity, kAnyType, 1, 1)

// The columns: enumerator, form.
#define TCC_TENSOR_KINDS(X) \
  /* elementwise, but with operands that differ in type, or may be absent */ \
  X(Clip, kElementwise) X(Pow, kElementwise) X(Where, kElementwise) X(Cast, kElementwise) \
  X(Dropout, kElementwise) X(QuantizeLinear, kElementwise) X(DequantizeLinear, kElementwise) \
  /* another view or order of elements */ \
  X(Reshape, kView) X(Flatten, kView) X(Transpose, kMovement) X(Squeeze, kView) \
  X(Unsqueeze, kView) X(Concat, kMovement) X(Split, kMovement) X(Slice, kMovement) \
  X(Expand, kMovement) X(Tile, kMovement) X(Pad, kMovement) X(CenterCropPad, kMovement) \
  X(Gather, kMovement) X(GatherElements, kMovement) X(GatherND, kMovement) \
  X(TensorScatter, kMovement) X(DepthToSpace, kMovement) X(SpaceToDepth, kMovement) \
  X(ReverseSequence, kMovement) X(Trilu, kMovement) X(OneHot, kMovement) X(EyeLike, kMovement) \
  X(Range, kMovement) X(Shape, kMovement) X(Size, kMovement) X(Constant, kUnlowered) \
  X(ConstantOfShape, kMovement) \
  /* sampling at computed coordinates */ \
  X(Resize, kMovement) X(GridSample, kMovement) X(AffineGrid, kMovement) X(RoiAlign, kReduction) \
  /* order matters: writes to computed places, running results, sorting */ \
  X(ScatterElements, kMovement) X(ScatterND, kMovement) X(MaxUnpool, kMovement) \
  X(CumProd, kMovement) X(CumSum, kMovement) X(TopK, kMovement) \
  /* as many results as values say: of constants only */ \
  X(NonZero, kUnlowered) X(Compress, kUnlowered) X(Unique, kUnlowered) \
  /* contractions and windows */ \
  X(Conv, kContraction) X(ConvInteger, kContraction) X(ConvTranspose, kContraction) \
  X(Gemm, kContraction) X(MatMul, kContraction) X(MatMulInteger, kContraction) \
  X(MatMulWords, kContraction) X(Einsum, kContraction) X(Attention, kContraction) \
  X(RotaryEmbedding, kMovement) X(MaxPool, kReduction) X(AveragePool, kReduction) \
  X(LpPool, kReduction) X(GlobalAveragePool, kReduction) X(GlobalMaxPool, kReduction) \
  X(GlobalLpPool, kReduction) X(Col2Im, kReduction) X(LRN, kReduction) \
  /* reductions and normalizations */ \
  X(BatchNormalization, kElementwise) X(InstanceNormalization, kReduction) \
  X(LayerNormalization, kReduction) X(GroupNormalization, kReduction) \
  X(RMSNormalization, kReduction) X(LpNormalization, kReduction) \
  X(MeanVarianceNormalization, kReduction) X(Softmax, kReduction) X(LogSoftmax, kReduction) \
  X(Hardmax, kReduction) X(ReduceMean, kReduction) X(ReduceSum, kReduction) \
  X(ReduceMax, kReduction) X(ReduceMin, kReduction) X(ReduceProd, kReduction) \
  X(ReduceL1, kReduction) X(ReduceL2, kReduction) X(ReduceLogSum, kReduction) \
  X(ReduceLogSumExp, kReduction) X(ReduceSumSquare, kReduction) X(ArgMax, kReduction) \
  X(ArgMin, kReduction) X(NegativeLogLikelihoodLoss, kReduction) X(Det, kReduction) \
  X(DFT, kReduction) \
  /* control flow */ \
  X(Loop, kUnlowered) X(If, kUnlowered) X(LSTM, kUnlowered) X(GRU, kUnlowered) X(RNN, kUnlowered) \
  /* a repack that AssignLayouts inserts */ \
  X(Repack, kMovement)

#define TCC_OP_KINDS(X) TCC_TENSOR_KINDS(X) TCC_SCALAR_KINDS(X)
// clang-format on

enum class OpKind : uint16_t {
#define TCC_OP_KIND(name, ...) k##name,
  TCC_OP_KINDS(TCC_OP_KIND)
#undef TCC_OP_KIND
};

std::string_view ToString(OpKind op);
std::optional<OpKind> FindOpKind(std::string_view name);
OpForm FormOf(OpKind op);

struct ScalarKind {
  OpKind op;
  TypeClass types;
  size_t least;
  size_t most;
};

inline constexpr ScalarKind kScalarKinds[] = {
#define TCC_SCALAR_KIND(name, types, least, most) {OpKind::k##name, TypeClass::types, least, most},
    TCC_SCALAR_KINDS(TCC_SCALAR_KIND)
#undef TCC_SCALAR_KIND
};

// Returns nullptr unless the operator is a function of scalars.
constexpr const ScalarKind* FindScalarKind(OpKind op) {
  for (const ScalarKind& row : kScalarKinds) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

using ValueId = int32_t;
inline constexpr ValueId kNoValue = -1;  // an absent optional input or output

using Attribute =
    std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>, Tensor>;

// The order of an activation's dimensions in memory, set on nodes by AssignLayouts. Channels-last
// is N, spatial..., C. A node's operands keep ONNX's meaning; only the storage order differs.
enum class DataLayout : uint8_t { kChannelsFirst, kChannelsLast };

struct Value {
  std::string name;  // unique in the graph
  DType dtype;
  // The extents: constants, or formulas over Shape variables. The importer sets them for inputs and
  // constants, and for outputs where the model states them; shape inference sets the others.
  std::vector<Expr> shape = {};
  std::optional<Tensor> constant = {};  // an initializer or a folded constant
  // The elements, flat, of a small tensor of integers or bools that Shape variables decide: numbers
  // or formulas. Empty where they are unknown, and for constants. Operands that decide shapes are
  // read from here, so that a value with elements needs no node that computes it.
  std::vector<Expr> elements = {};
};

// Two formulas over Shape variables that a run must find equal: extents that meet in one node.
struct Agreement {
  Expr a;
  Expr b;
  std::string where;  // for messages: "node 'add1' (Add): dimension 1 of 'x' and 'y'"
};

struct Node;

// A network: nodes in topological order over values, each assigned once.
struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;  // without initializers, in the model's order
  std::vector<ValueId> outputs;
  std::vector<Var> shape_vars;        // one for each dimension name left free
  std::vector<Agreement> agreements;  // what shape inference assumed; a run checks them first
  // The model's metadata by key: "model.domain". No pass reads them.
  std::map<std::string, std::string> properties;

  const Value& value(ValueId id) const;  // expects an id of this graph, not kNoValue
  ValueId AddValue(Value value);
  const Tensor* ConstantOf(ValueId id) const;  // nullptr for kNoValue and computed values
};

struct Node {
  std::string name;  // for messages; not empty
  OpKind op;
  std::vector<ValueId> inputs = {};  // kNoValue for an optional one that is absent
  std::vector<ValueId> outputs = {};
  std::map<std::string, Attribute> attributes = {};  // ordered: dumps and hashes must not vary
  DataLayout layout = DataLayout::kChannelsFirst;
  // The bodies of Loop and If. A body sees no value of the enclosing graph: values that it uses are
  // operands of the node (or its own copies of constants).
  std::vector<Graph> bodies = {};

  int64_t Int(const std::string& key, int64_t fallback) const;
  double Float(const std::string& key, double fallback) const;
  std::string String(const std::string& key, const std::string& fallback) const;
  std::vector<int64_t> Ints(const std::string& key,
                            const std::vector<int64_t>& fallback = {}) const;
};

// Returns the shape as numbers; nullopt where a dimension is still symbolic.
std::optional<std::vector<int64_t>> StaticShape(const Value& value);
// Returns the formulas as numbers; nullopt where one is not a constant.
std::optional<std::vector<int64_t>> AsNumbers(const std::vector<Expr>& formulas);
std::vector<Expr> ToExprs(const std::vector<int64_t>& shape);

// Prints the graph node by node: "conv1 = Conv(x, w, b) {strides: [2, 2]} : f32[1x64x112x112]". The
// text is deterministic.
std::string Print(const Graph& graph);
// Parses the text of Print. Constants are not in the text; they are taken from `constants` by name.
StatusOr<Graph> ParseGraph(const std::string& text, const Graph& constants);

// Checks that names are unique and defined before use (constants and values with elements are),
// that every input is a value, that there is no cycle, that functions of scalars have as many
// operands as their kind, and that constants have their value's type and shape.
Status VerifyGraph(const Graph& graph);
// Checks that the node has between `least` and `most` inputs and that the first `least` are
// present; else InvalidArgument.
Status CheckOperandCount(const Node& node, size_t least, size_t most);

}  // namespace tcc
