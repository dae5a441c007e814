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
// row in the importer (models/onnx/onnx_ops.cc) and a lowering (lower/).
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
//   MatMulWords(x, words, scale, [zero]) {bits: 4 or 8}: x times a matrix of signed numbers less a
//                        zero and times a scale, both [blocks, columns] of f32; words [depth / n,
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
//
// The columns: enumerator; its text is the same without the k.
// clang-format off
#define TCC_OP_KINDS(X) \
  /* scalar functions of one, two or three broadcast operands */ \
  X(Abs) X(Acos) X(Acosh) X(Asin) X(Asinh) X(Atan) X(Atanh) X(BitwiseNot) X(Ceil) X(Celu) X(Clip) \
  X(Cos) X(Cosh) X(Div) X(Elu) X(Erf) X(Exp) X(Floor) X(Gelu) X(HardSigmoid) X(HardSwish) \
  X(IsInf) X(IsNaN) X(LeakyRelu) X(Log) X(Max) X(Min) X(Mish) X(Mod) X(Mul) X(Neg) X(Pow) \
  X(Reciprocal) X(Relu) X(Round) X(Selu) X(Shrink) X(Sigmoid) X(Sign) X(Sin) X(Sinh) X(Softplus) \
  X(Softsign) X(Sqrt) X(Sub) X(Swish) X(Tan) X(Tanh) X(ThresholdedRelu) X(Add) X(BitShift) \
  X(BitwiseAnd) X(BitwiseOr) X(BitwiseXor) X(PRelu) X(Xor) X(Where) X(Cast) X(Equal) X(Less) \
  X(LessOrEqual) X(Greater) X(GreaterOrEqual) X(And) X(Or) X(Not) X(Identity) X(Dropout) \
  X(QuantizeLinear) X(DequantizeLinear) \
  /* another view or order of elements */ \
  X(Reshape) X(Flatten) X(Transpose) X(Squeeze) X(Unsqueeze) X(Concat) X(Split) X(Slice) X(Expand) \
  X(Tile) X(Pad) X(CenterCropPad) X(Gather) X(GatherElements) X(GatherND) X(TensorScatter) \
  X(DepthToSpace) X(SpaceToDepth) X(ReverseSequence) X(Trilu) X(OneHot) X(EyeLike) X(Range) \
  X(Shape) X(Size) X(Constant) X(ConstantOfShape) \
  /* sampling at computed coordinates */ \
  X(Resize) X(GridSample) X(AffineGrid) X(RoiAlign) \
  /* order matters: writes to computed places, running results, sorting */ \
  X(ScatterElements) X(ScatterND) X(MaxUnpool) X(CumProd) X(CumSum) X(TopK) \
  /* as many results as values say: of constants only */ \
  X(NonZero) X(Compress) X(Unique) \
  /* contractions and windows */ \
  X(Conv) X(ConvInteger) X(ConvTranspose) X(Gemm) X(MatMul) X(MatMulInteger) X(MatMulWords) \
  X(Einsum) X(Attention) X(RotaryEmbedding) X(MaxPool) X(AveragePool) X(LpPool) \
  X(GlobalAveragePool) X(GlobalMaxPool) X(GlobalLpPool) X(Col2Im) X(LRN) \
  /* reductions and normalizations */ \
  X(BatchNormalization) X(InstanceNormalization) X(LayerNormalization) X(GroupNormalization) \
  X(RMSNormalization) X(LpNormalization) X(MeanVarianceNormalization) X(Softmax) X(LogSoftmax) \
  X(Hardmax) X(ReduceMean) X(ReduceSum) X(ReduceMax) X(ReduceMin) X(ReduceProd) X(ReduceL1) \
  X(ReduceL2) X(ReduceLogSum) X(ReduceLogSumExp) X(ReduceSumSquare) X(ArgMax) X(ArgMin) \
  X(NegativeLogLikelihoodLoss) X(Det) X(DFT) \
  /* control flow */ \
  X(Loop) X(If) X(LSTM) X(GRU) X(RNN) \
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
  std::vector<Expr> shape;
  std::optional<Tensor> constant;  // an initializer or a folded constant
};

struct Node;

// A network: nodes in topological order over values, each assigned once.
struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;  // without initializers, in the model's order
  std::vector<ValueId> outputs;
  std::vector<Var> shape_vars;  // one for each dimension name left free

  const Value& value(ValueId id) const;  // expects an id of this graph, not kNoValue
  ValueId AddValue(Value value);
  const Tensor* ConstantOf(ValueId id) const;  // nullptr for kNoValue and computed values
};

struct Node {
  std::string name;  // for messages; not empty
  OpKind op;
  std::vector<ValueId> inputs;  // kNoValue for an optional one that is absent
  std::vector<ValueId> outputs;
  std::map<std::string, Attribute> attributes;  // ordered: dumps and hashes must not vary
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
std::vector<Expr> ToExprs(const std::vector<int64_t>& shape);

// Prints the graph node by node: "conv1 = Conv(x, w, b) {strides: [2, 2]} : f32[1x64x112x112]". The
// text is deterministic.
std::string Print(const Graph& graph);
// Parses the text of Print. Constants are not in the text; they are taken from `constants` by name.
StatusOr<Graph> ParseGraph(const std::string& text, const Graph& constants);

// Checks that names are unique and defined before use, that every input is a value, that there is
// no cycle, and that constants have their value's type and shape.
Status VerifyGraph(const Graph& graph);

}  // namespace tcc
