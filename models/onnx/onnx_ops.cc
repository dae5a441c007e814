#include "models/onnx/onnx_ops.h"

#include <algorithm>
#include <optional>

#include "models/onnx/onnx_attribute_table.h"
#include "models/onnx/onnx_normalize.h"

namespace tcc {
namespace {

using namespace onnx_attributes;
using enum AttributeType;
using enum Presence;
using enum TypeClass;

// A row of a function of scalars: types and number of inputs are the kind's.
constexpr OnnxOp Scalar(std::string_view name, OpKind op, int since, std::string_view signature,
                        std::span<const OnnxAttribute> attributes,
                        Status (*normalize)(OnnxNodeContext&) = nullptr) {
  const ScalarKind& kind = *FindScalarKind(op);
  int most = kind.most == SIZE_MAX ? kManyInputs : static_cast<int>(kind.most);
  return {name, op, since,      signature, kind.types, static_cast<int>(kind.least),
          most, 1,  attributes, normalize};
}

// clang-format off
constexpr OnnxOp kOps[] = {
    // name, kind, since, signature, types, inputs from, to, outputs, attributes, normalize
    Scalar("Abs", OpKind::kAbs, 1, "T>T", kConsumedInputs),
    Scalar("Acos", OpKind::kAcos, 7, "T>T", {}),
    Scalar("Acosh", OpKind::kAcosh, 9, "T>T", {}),
    Scalar("Add", OpKind::kAdd, 1, "TT>T", kBinary, NormalizeBinary),
    {"AffineGrid", OpKind::kAffineGrid, 20, "TI>T", kAnyFloat, 2, 2, 1, kAffineGrid},
    {"And", OpKind::kAnd, 1, "BB>B", kAnyType, 2, 2, 1, kBinary, NormalizeBinary},
    {"ArgMax", OpKind::kArgMax, 1, "T>I", kNumber, 1, 1, 1, kArgReduction},
    {"ArgMin", OpKind::kArgMin, 1, "T>I", kNumber, 1, 1, 1, kArgReduction},
    Scalar("Asin", OpKind::kAsin, 7, "T>T", {}),
    Scalar("Asinh", OpKind::kAsinh, 9, "T>T", {}),
    Scalar("Atan", OpKind::kAtan, 7, "T>T", {}),
    Scalar("Atanh", OpKind::kAtanh, 9, "T>T", {}),
    {"Attention", OpKind::kAttention, 23, "TTUATUI>TTUT", kAnyFloat, 3, 7, 4, kAttention},
    {"AveragePool", OpKind::kAveragePool, 1, "T>T", kAnyFloat, 1, 1, 1, kAveragePool, NormalizePool},
    {"BatchNormalization", OpKind::kBatchNormalization, 1, "TUUVV>TV", kAnyFloat, 5, 5, 3, kBatchNormalization, NormalizeBatchNormalization},
    {"BitShift", OpKind::kBitShift, 11, "TT>T", kNumber, 2, 2, 1, kBitShift},
    {"BitwiseAnd", OpKind::kBitwiseAnd, 18, "TT>T", kNumber, 2, 2, 1, {}},
    {"BitwiseNot", OpKind::kBitwiseNot, 18, "T>T", kNumber, 1, 1, 1, {}},
    {"BitwiseOr", OpKind::kBitwiseOr, 18, "TT>T", kNumber, 2, 2, 1, {}},
    {"BitwiseXor", OpKind::kBitwiseXor, 18, "TT>T", kNumber, 2, 2, 1, {}},
    {"BlackmanWindow", OpKind::kCast, 17, "J>*", kAnyType, 1, 1, 1, kWindow, NormalizeBlackmanWindow},
    {"Cast", OpKind::kCast, 6, "S>*", kStored, 1, 1, 1, kCast, NormalizeCast},
    {"CastLike", OpKind::kCast, 15, "SS>*", kStored, 2, 2, 1, kCastLike, NormalizeCastLike},
    {"Ceil", OpKind::kCeil, 1, "T>T", kAnyFloat, 1, 1, 1, kConsumedInputs},
    Scalar("Celu", OpKind::kCelu, 12, "T>T", kAlpha1),
    {"CenterCropPad", OpKind::kCenterCropPad, 18, "TJ>T", kAnyType, 2, 2, 1, kCenterCropPad},
    {"Clip", OpKind::kClip, 1, "TTT>T", kNumber, 1, 3, 1, kClip, NormalizeClip},
    {"Col2Im", OpKind::kCol2Im, 18, "TII>T", kNumber, 3, 3, 1, kCol2Im},
    {"Compress", OpKind::kCompress, 9, "TB>T", kAnyType, 2, 2, 1, kAxisOptional},
    {"Concat", OpKind::kConcat, 4, "T>T", kAnyType, 1, kManyInputs, 1, kAxisRequired},
    {"ConcatFromSequence", OpKind::kConcat, 11, "L>T", kAnyType, 1, 1, 1, kConcatFromSequence},
    {"Constant", OpKind::kConstant, 1, ">*", kAnyType, 0, 0, 1, kConstant},
    {"ConstantOfShape", OpKind::kConstantOfShape, 9, "I>*", kAnyType, 1, 1, 1, kConstantOfShape, NormalizeConstantOfShape},
    {"Conv", OpKind::kConv, 1, "TTT>T", kAnyFloat, 2, 3, 1, kConv, NormalizeConv},
    {"ConvInteger", OpKind::kConvInteger, 10, "TUTU>K", kNumber, 2, 4, 1, kConv, NormalizeConv},
    {"ConvTranspose", OpKind::kConvTranspose, 1, "TTT>T", kAnyFloat, 2, 3, 1, kConvTranspose, NormalizeConvTranspose},
    Scalar("Cos", OpKind::kCos, 7, "T>T", {}),
    Scalar("Cosh", OpKind::kCosh, 9, "T>T", {}),
    {"CumProd", OpKind::kCumProd, 26, "TJ>T", kNumber, 2, 2, 1, kCumulative},
    {"CumSum", OpKind::kCumSum, 11, "TJ>T", kNumber, 2, 2, 1, kCumulative},
    {"DFT", OpKind::kDFT, 17, "TJI>T", kAnyFloat, 1, 3, 1, kDFT},
    {"DepthToSpace", OpKind::kDepthToSpace, 1, "T>T", kAnyType, 1, 1, 1, kDepthToSpace},
    {"DequantizeLinear", OpKind::kDequantizeLinear, 10, "TFT>*", kQuantized, 2, 3, 1, kDequantizeLinear, NormalizeDequantizeLinear},
    {"Det", OpKind::kDet, 11, "T>T", kAnyFloat, 1, 1, 1, {}},
    Scalar("Div", OpKind::kDiv, 1, "TT>T", kBinary, NormalizeBinary),
    {"Dropout", OpKind::kDropout, 1, "TFB>TB", kAnyFloat, 1, 3, 2, kDropout, NormalizeDropout},
    {"DynamicQuantizeLinear", OpKind::kQuantizeLinear, 11, "T>*", kAnyFloat, 1, 1, 3, {}, NormalizeDynamicQuantizeLinear},
    {"Einsum", OpKind::kEinsum, 12, "T>T", kNumber, 1, kManyInputs, 1, kEinsum},
    Scalar("Elu", OpKind::kElu, 1, "T>T", kElu),
    Scalar("Equal", OpKind::kEqual, 1, "TT>B", kBinary, NormalizeBinary),
    Scalar("Erf", OpKind::kErf, 9, "T>T", {}),
    Scalar("Exp", OpKind::kExp, 1, "T>T", kConsumedInputs),
    {"Expand", OpKind::kExpand, 8, "TI>T", kAnyType, 2, 2, 1, {}},
    {"EyeLike", OpKind::kEyeLike, 9, "A>*", kAnyType, 1, 1, 1, kEyeLike, NormalizeEyeLike},
    {"Flatten", OpKind::kFlatten, 1, "T>T", kAnyType, 1, 1, 1, kAxis1},
    {"Floor", OpKind::kFloor, 1, "T>T", kAnyFloat, 1, 1, 1, kConsumedInputs},
    {"GRU", OpKind::kGRU, 7, "TTTTJT>T", kAnyFloat, 3, 6, 2, kGru},
    {"Gather", OpKind::kGather, 1, "TJ>T", kAnyType, 2, 2, 1, kAxis0},
    {"GatherElements", OpKind::kGatherElements, 11, "TJ>T", kAnyType, 2, 2, 1, kAxis0},
    {"GatherND", OpKind::kGatherND, 11, "TI>T", kAnyType, 2, 2, 1, kGatherND},
    Scalar("Gelu", OpKind::kGelu, 20, "T>T", kGelu, NormalizeGelu),
    {"Gemm", OpKind::kGemm, 1, "TTT>T", kNumber, 2, 3, 1, kGemm},
    {"GlobalAveragePool", OpKind::kGlobalAveragePool, 1, "T>T", kAnyFloat, 1, 1, 1, {}},
    {"GlobalLpPool", OpKind::kGlobalLpPool, 2, "T>T", kAnyFloat, 1, 1, 1, kGlobalLpPool},
    {"GlobalMaxPool", OpKind::kGlobalMaxPool, 1, "T>T", kAnyFloat, 1, 1, 1, {}},
    Scalar("Greater", OpKind::kGreater, 1, "TT>B", kBinary, NormalizeBinary),
    Scalar("GreaterOrEqual", OpKind::kGreaterOrEqual, 12, "TT>B", {}),
    {"GridSample", OpKind::kGridSample, 16, "TF>T", kAnyType, 2, 2, 1, kGridSample},
    {"GroupNormalization", OpKind::kGroupNormalization, 18, "T>T", kAnyFloat, 3, 3, 1, kGroupNormalization},
    {"HammingWindow", OpKind::kCast, 17, "J>*", kAnyType, 1, 1, 1, kWindow, NormalizeHammingWindow},
    {"HannWindow", OpKind::kCast, 17, "J>*", kAnyType, 1, 1, 1, kWindow, NormalizeHannWindow},
    Scalar("HardSigmoid", OpKind::kHardSigmoid, 1, "T>T", kHardSigmoid),
    Scalar("HardSwish", OpKind::kHardSwish, 14, "T>T", {}),
    {"Hardmax", OpKind::kHardmax, 1, "T>T", kAnyFloat, 1, 1, 1, kAxisOptional, NormalizeSoftmax},
    Scalar("Identity", OpKind::kIdentity, 1, "T>T", {}),
    {"If", OpKind::kIf, 1, "B>*", kAnyType, 1, 1, kManyOutputs, kIf},
    {"InstanceNormalization", OpKind::kInstanceNormalization, 1, "T>T", kAnyFloat, 3, 3, 1, kInstanceNormalization},
    {"IsInf", OpKind::kIsInf, 10, "F>B", kAnyFloat, 1, 1, 1, kIsInf},
    {"IsNaN", OpKind::kIsNaN, 9, "F>B", kAnyFloat, 1, 1, 1, {}},
    {"LRN", OpKind::kLRN, 1, "T>T", kAnyFloat, 1, 1, 1, kLRN},
    {"LSTM", OpKind::kLSTM, 7, "TTTTJTTT>T", kAnyFloat, 3, 8, 3, kLstm},
    {"LayerNormalization", OpKind::kLayerNormalization, 1, "T>T*", kAnyFloat, 2, 3, 3, kLayerNormalization, NormalizeLayerNormalization},
    Scalar("LeakyRelu", OpKind::kLeakyRelu, 1, "T>T", kLeakyRelu),
    Scalar("Less", OpKind::kLess, 1, "TT>B", kBinary, NormalizeBinary),
    Scalar("LessOrEqual", OpKind::kLessOrEqual, 12, "TT>B", {}),
    Scalar("Log", OpKind::kLog, 1, "T>T", kConsumedInputs),
    {"LogSoftmax", OpKind::kLogSoftmax, 1, "T>T", kAnyFloat, 1, 1, 1, kAxisOptional, NormalizeSoftmax},
    {"Loop", OpKind::kLoop, 1, "IBA>*", kAnyType, 0, kManyInputs, kManyOutputs, kLoop},
    {"LpNormalization", OpKind::kLpNormalization, 1, "T>T", kAnyFloat, 1, 1, 1, kLpNormalization},
    {"LpPool", OpKind::kLpPool, 2, "T>T", kAnyFloat, 1, 1, 1, kLpPool, NormalizePool},
    {"MatMul", OpKind::kMatMul, 1, "TT>T", kNumber, 2, 2, 1, {}},
    {"MatMulInteger", OpKind::kMatMulInteger, 10, "TUTU>K", kNumber, 2, 4, 1, {}},
    Scalar("Max", OpKind::kMax, 1, "T>T", kConsumedInputs),
    {"MaxPool", OpKind::kMaxPool, 1, "T>TI", kNumber, 1, 1, 2, kMaxPool, NormalizePool},
    {"MaxUnpool", OpKind::kMaxUnpool, 9, "TII>T", kAnyFloat, 2, 3, 1, kMaxUnpool},
    {"Mean", OpKind::kAdd, 1, "T>T", kAnyFloat, 1, kManyInputs, 1, kConsumedInputs, NormalizeMean},
    {"MeanVarianceNormalization", OpKind::kMeanVarianceNormalization, 9, "T>T", kAnyFloat, 1, 1, 1, kMeanVarianceNormalization},
    {"MelWeightMatrix", OpKind::kCast, 17, "JJJFF>*", kAnyType, 5, 5, 1, kMelWeightMatrix, NormalizeMelWeightMatrix},
    Scalar("Min", OpKind::kMin, 1, "T>T", kConsumedInputs),
    Scalar("Mish", OpKind::kMish, 18, "T>T", {}),
    Scalar("Mod", OpKind::kMod, 10, "TT>T", kMod),
    Scalar("Mul", OpKind::kMul, 1, "TT>T", kBinary, NormalizeBinary),
    Scalar("Neg", OpKind::kNeg, 1, "T>T", kConsumedInputs),
    {"NegativeLogLikelihoodLoss", OpKind::kNegativeLogLikelihoodLoss, 12, "TJT>T", kAnyFloat, 2, 3, 1, kLoss},
    {"NonZero", OpKind::kNonZero, 9, "A>I", kAnyType, 1, 1, 1, {}},
    {"Not", OpKind::kNot, 1, "B>B", kAnyType, 1, 1, 1, {}},
    {"OneHot", OpKind::kOneHot, 9, "UVT>T", kAnyType, 3, 3, 1, kAxisLast},
    {"Optional", OpKind::kIdentity, 15, "T>T", kAnyType, 0, 1, 1, kOptionalType},
    {"OptionalGetElement", OpKind::kIdentity, 15, "T>T", kAnyType, 0, 1, 1, {}},
    {"OptionalHasElement", OpKind::kConstant, 15, "A>B", kAnyType, 0, 1, 1, {}},
    {"Or", OpKind::kOr, 1, "BB>B", kAnyType, 2, 2, 1, kBinary, NormalizeBinary},
    Scalar("PRelu", OpKind::kPRelu, 1, "TT>T", kConsumedInputs, NormalizePRelu),
    {"Pad", OpKind::kPad, 2, "TITJ>T", kAnyType, 1, 4, 1, kPad, NormalizePad},
    {"Pow", OpKind::kPow, 1, "TU>T", kNumber, 2, 2, 1, kBinary, NormalizeBinary},
    {"QLinearConv", OpKind::kConvInteger, 10, "TFTUFUFVK>V", kNumber, 8, 9, 1, kConv, NormalizeQLinearConv},
    {"QLinearMatMul", OpKind::kMatMulInteger, 10, "TFTUFUFV>V", kNumber, 8, 8, 1, {}, NormalizeQLinearMatMul},
    {"QuantizeLinear", OpKind::kQuantizeLinear, 10, "TFQ>*", kNumber, 2, 3, 1, kQuantizeLinear, NormalizeQuantizeLinear},
    {"RMSNormalization", OpKind::kRMSNormalization, 23, "TV>V", kAnyFloat, 2, 2, 1, kLayerNormalization, NormalizeRMSNormalization},
    {"RNN", OpKind::kRNN, 7, "TTTTJT>T", kAnyFloat, 3, 6, 2, kRnn},
    {"Range", OpKind::kRange, 11, "T>T", kNumber, 3, 3, 1, {}},
    Scalar("Reciprocal", OpKind::kReciprocal, 1, "T>T", kConsumedInputs),
    {"ReduceL1", OpKind::kReduceL1, 1, "TI>T", kNumber, 1, 2, 1, kReduce, NormalizeAxes},
    {"ReduceL2", OpKind::kReduceL2, 1, "TI>T", kNumber, 1, 2, 1, kReduce, NormalizeAxes},
    {"ReduceLogSum", OpKind::kReduceLogSum, 1, "TI>T", kNumber, 1, 2, 1, kReduce, NormalizeAxes},
    {"ReduceLogSumExp", OpKind::kReduceLogSumExp, 1, "TI>T", kNumber, 1, 2, 1, kReduce, NormalizeAxes},
    {"ReduceMax", OpKind::kReduceMax, 1, "TI>T", kAnyType, 1, 2, 1, kReduce, NormalizeAxes},
    {"ReduceMean", OpKind::kReduceMean, 1, "TI>T", kNumber, 1, 2, 1, kReduce, NormalizeAxes},
    {"ReduceMin", OpKind::kReduceMin, 1, "TI>T", kAnyType, 1, 2, 1, kReduce, NormalizeAxes},
    {"ReduceProd", OpKind::kReduceProd, 1, "TI>T", kNumber, 1, 2, 1, kReduce, NormalizeAxes},
    {"ReduceSum", OpKind::kReduceSum, 1, "TI>T", kNumber, 1, 2, 1, kReduceSum, NormalizeAxes},
    {"ReduceSumSquare", OpKind::kReduceSumSquare, 1, "TI>T", kNumber, 1, 2, 1, kReduce, NormalizeAxes},
    Scalar("Relu", OpKind::kRelu, 1, "T>T", kConsumedInputs),
    {"Reshape", OpKind::kReshape, 5, "TI>T", kAnyType, 2, 2, 1, kReshape},
    {"Resize", OpKind::kResize, 10, "TFFI>T", kAnyType, 1, 4, 1, kResize, NormalizeResize},
    {"ReverseSequence", OpKind::kReverseSequence, 10, "TI>T", kAnyType, 2, 2, 1, kReverseSequence},
    {"RoiAlign", OpKind::kRoiAlign, 10, "TTI>T", kAnyFloat, 3, 3, 1, kRoiAlign, NormalizeRoiAlign},
    {"RotaryEmbedding", OpKind::kRotaryEmbedding, 23, "TTTI>T", kAnyFloat, 3, 4, 1, kRotaryEmbedding},
    {"Round", OpKind::kRound, 11, "T>T", kAnyFloat, 1, 1, 1, {}},
    {"STFT", OpKind::kDFT, 17, "TJTJ>T", kAnyFloat, 2, 4, 1, kSTFT, NormalizeSTFT},
    {"Scan", OpKind::kLoop, 8, "A>*", kAnyType, 1, kManyInputs, kManyOutputs, kScan},
    {"Scatter", OpKind::kScatterElements, 9, "TJT>T", kAnyType, 3, 3, 1, kAxis0},
    {"ScatterElements", OpKind::kScatterElements, 11, "TJT>T", kAnyType, 3, 3, 1, kScatterElements},
    {"ScatterND", OpKind::kScatterND, 11, "TIT>T", kAnyType, 3, 3, 1, kScatterND},
    Scalar("Selu", OpKind::kSelu, 1, "T>T", kSelu),
    {"SequenceAt", OpKind::kIdentity, 11, "LJ>T", kAnyType, 2, 2, 1, {}},
    {"SequenceConstruct", OpKind::kIdentity, 11, "T>L", kAnyType, 1, kManyInputs, 1, {}},
    {"SequenceEmpty", OpKind::kIdentity, 11, ">L", kAnyType, 0, 0, 1, kSequenceEmpty},
    {"SequenceErase", OpKind::kIdentity, 11, "LJ>L", kAnyType, 1, 2, 1, {}},
    {"SequenceInsert", OpKind::kIdentity, 11, "LTJ>L", kAnyType, 2, 3, 1, {}},
    {"SequenceLength", OpKind::kConstant, 11, "L>I", kAnyType, 1, 1, 1, {}},
    {"Shape", OpKind::kShape, 1, "A>I", kAnyType, 1, 1, 1, kShape},
    Scalar("Shrink", OpKind::kShrink, 9, "T>T", kShrink),
    Scalar("Sigmoid", OpKind::kSigmoid, 1, "T>T", kConsumedInputs),
    Scalar("Sign", OpKind::kSign, 9, "T>T", {}),
    {"SimplifiedLayerNormalization", OpKind::kRMSNormalization, 1, "TV>V*", kAnyFloat, 2, 2, 2, kLayerNormalization, NormalizeRMSNormalization},
    Scalar("Sin", OpKind::kSin, 7, "T>T", {}),
    Scalar("Sinh", OpKind::kSinh, 9, "T>T", {}),
    {"Size", OpKind::kSize, 1, "A>I", kAnyType, 1, 1, 1, {}},
    {"Slice", OpKind::kSlice, 1, "TJJJJ>T", kAnyType, 1, 5, 1, kSlice, NormalizeSlice},
    {"Softmax", OpKind::kSoftmax, 1, "T>T", kAnyFloat, 1, 1, 1, kAxisOptional, NormalizeSoftmax},
    {"SoftmaxCrossEntropyLoss", OpKind::kNegativeLogLikelihoodLoss, 12, "TJT>T", kAnyFloat, 2, 3, 2, kLoss, NormalizeSoftmaxCrossEntropyLoss},
    Scalar("Softplus", OpKind::kSoftplus, 1, "T>T", {}),
    Scalar("Softsign", OpKind::kSoftsign, 1, "T>T", {}),
    {"SpaceToDepth", OpKind::kSpaceToDepth, 1, "T>T", kAnyType, 1, 1, 1, kSpaceToDepth},
    {"Split", OpKind::kSplit, 2, "TI>T", kAnyType, 1, 2, kManyOutputs, kSplit, NormalizeSplit},
    {"SplitToSequence", OpKind::kSplit, 11, "TJ>L", kAnyType, 1, 2, 1, kSplitToSequence},
    Scalar("Sqrt", OpKind::kSqrt, 1, "T>T", kConsumedInputs),
    {"Squeeze", OpKind::kSqueeze, 1, "TI>T", kAnyType, 1, 2, 1, kAxesUntil12, NormalizeAxes},
    Scalar("Sub", OpKind::kSub, 1, "TT>T", kBinary, NormalizeBinary),
    {"Sum", OpKind::kAdd, 1, "T>T", kAnyFloat, 1, kManyInputs, 1, kConsumedInputs, NormalizeSum},
    Scalar("Swish", OpKind::kSwish, 24, "T>T", kAlpha1),
    Scalar("Tan", OpKind::kTan, 7, "T>T", {}),
    Scalar("Tanh", OpKind::kTanh, 1, "T>T", kConsumedInputs),
    {"TensorScatter", OpKind::kTensorScatter, 24, "TTI>T", kAnyType, 2, 3, 1, kTensorScatter},
    Scalar("ThresholdedRelu", OpKind::kThresholdedRelu, 1, "T>T", kAlpha1),
    {"Tile", OpKind::kTile, 6, "TI>T", kAnyType, 2, 2, 1, {}},
    {"TopK", OpKind::kTopK, 1, "TI>TI", kNumber, 1, 2, 2, kTopK, NormalizeTopK},
    {"Transpose", OpKind::kTranspose, 1, "T>T", kAnyType, 1, 1, 1, kTranspose},
    {"Trilu", OpKind::kTrilu, 14, "TI>T", kAnyType, 1, 2, 1, kTrilu},
    {"Unique", OpKind::kUnique, 11, "T>TI", kAnyType, 1, 1, 4, kUnique},
    {"Unsqueeze", OpKind::kUnsqueeze, 1, "TI>T", kAnyType, 1, 2, 1, kAxesUntil12, NormalizeAxes},
    {"Upsample", OpKind::kResize, 7, "TF>T", kAnyType, 1, 2, 1, kUpsample, NormalizeUpsample},
    {"Where", OpKind::kWhere, 9, "BTT>T", kAnyType, 3, 3, 1, {}},
    {"Xor", OpKind::kXor, 1, "BB>B", kAnyType, 2, 2, 1, kBinary, NormalizeBinary},
    {"com.microsoft.Attention", OpKind::kAttention, 1, "TTTJTTJ>T", kAnyFloat, 2, 7, 2, kAttentionOfMicrosoft, NormalizeAttentionOfMicrosoft},
    {"com.microsoft.BiasGelu", OpKind::kGelu, 1, "TT>T", kAnyFloat, 2, 2, 1, {}, NormalizeBiasGelu},
    {"com.microsoft.DequantizeLinear", OpKind::kDequantizeLinear, 1, "TFT>*", kQuantized, 2, 3, 1, kMicrosoftQuantize, NormalizeDequantizeLinear},
    {"com.microsoft.DynamicQuantizeLSTM", OpKind::kLSTM, 1, "TUUTJTTTTUTU>T", kAnyFloat, 3, 12, 3, kDynamicQuantizeLstm, NormalizeDynamicQuantizeLSTM},
    {"com.microsoft.DynamicQuantizeMatMul", OpKind::kMatMulInteger, 1, "FTFTF>*", kNumber, 3, 5, 1, {}, NormalizeDynamicQuantizeMatMul},
    {"com.microsoft.EmbedLayerNormalization", OpKind::kLayerNormalization, 1, "JJTTTTTJJ>TKT", kAnyFloat, 1, 9, 3, kEmbedLayerNormalization, NormalizeEmbedLayerNormalization},
    {"com.microsoft.FastGelu", OpKind::kGelu, 1, "TT>T", kAnyFloat, 1, 2, 1, {}, NormalizeFastGelu},
    {"com.microsoft.FusedConv", OpKind::kConv, 1, "TTTT>T", kAnyFloat, 2, 4, 1, kFusedConv, NormalizeFusedConv},
    {"com.microsoft.FusedGemm", OpKind::kGemm, 1, "TTT>T", kAnyFloat, 2, 3, 1, kFusedGemm, NormalizeFusedGemm},
    {"com.microsoft.FusedMatMul", OpKind::kMatMul, 1, "TT>T", kAnyFloat, 2, 2, 1, kFusedMatMul, NormalizeFusedMatMul},
    Scalar("com.microsoft.Gelu", OpKind::kGelu, 1, "T>T", {}, NormalizeGelu),
    {"com.microsoft.MatMulIntegerToFloat", OpKind::kMatMulInteger, 1, "TUFFTUF>*", kNumber, 4, 7, 1, {}, NormalizeMatMulIntegerToFloat},
    {"com.microsoft.MatMulNBits", OpKind::kMatMul, 1, "TUTAKT>T", kAnyFloat, 3, 6, 1, kMatMulNBits, NormalizeMatMulNBits},
    {"com.microsoft.MultiHeadAttention", OpKind::kAttention, 1, "TTTTJTTTJJ>T", kAnyFloat, 1, 10, 3, kMultiHeadAttention, NormalizeMultiHeadAttention},
    {"com.microsoft.QGemm", OpKind::kMatMulInteger, 1, "TFTUFUKFT>T", kNumber, 6, 9, 1, kQGemm, NormalizeQGemm},
    {"com.microsoft.QLinearAdd", OpKind::kAdd, 1, "TFTTFTFT>T", kNumber, 7, 8, 1, {}, NormalizeQLinearBinary},
    {"com.microsoft.QLinearAveragePool", OpKind::kAveragePool, 1, "TFTFT>T", kNumber, 2, 5, 1, kQLinearAveragePool, NormalizeQLinearAveragePool},
    {"com.microsoft.QLinearConcat", OpKind::kConcat, 1, "FTA>T", kNumber, 5, kManyInputs, 1, kAxisRequired, NormalizeQLinearConcat},
    {"com.microsoft.QLinearGlobalAveragePool", OpKind::kGlobalAveragePool, 1, "TFTFT>T", kNumber, 2, 5, 1, kQLinearGlobalAveragePool, NormalizeQLinearUnary},
    {"com.microsoft.QLinearLeakyRelu", OpKind::kLeakyRelu, 1, "TFTFT>T", kNumber, 2, 5, 1, kLeakyRelu, NormalizeQLinearUnary},
    {"com.microsoft.QLinearMul", OpKind::kMul, 1, "TFTTFTFT>T", kNumber, 7, 8, 1, {}, NormalizeQLinearBinary},
    {"com.microsoft.QLinearSigmoid", OpKind::kSigmoid, 1, "TFTFT>T", kNumber, 2, 5, 1, {}, NormalizeQLinearUnary},
    {"com.microsoft.QLinearSoftmax", OpKind::kSoftmax, 1, "TFTFT>T", kNumber, 2, 5, 1, kQLinearSoftmax, NormalizeQLinearSoftmax},
    {"com.microsoft.QLinearWhere", OpKind::kWhere, 1, "BTFTTFTFT>T", kNumber, 9, 9, 1, {}, NormalizeQLinearWhere},
    {"com.microsoft.QuantizeLinear", OpKind::kQuantizeLinear, 1, "TFQ>*", kNumber, 2, 3, 1, kMicrosoftQuantize, NormalizeQuantizeLinear},
    Scalar("com.microsoft.QuickGelu", OpKind::kSwish, 1, "T>T", kQuickGelu),
    {"com.microsoft.RotaryEmbedding", OpKind::kRotaryEmbedding, 1, "TITT>T", kAnyFloat, 4, 4, 1, kRotaryEmbeddingOfMicrosoft, NormalizeRotaryEmbeddingOfMicrosoft},
    {"com.microsoft.SimplifiedLayerNormalization", OpKind::kRMSNormalization, 1, "TV>V*", kAnyFloat, 2, 2, 2, kLayerNormalization, NormalizeRMSNormalization},
    {"com.microsoft.SkipLayerNormalization", OpKind::kLayerNormalization, 1, "T>T**T", kAnyFloat, 3, 5, 4, kSkipNormalization, NormalizeSkipLayerNormalization},
    {"com.microsoft.SkipSimplifiedLayerNormalization", OpKind::kRMSNormalization, 1, "T>T**T", kAnyFloat, 3, 4, 4, kSkipNormalization, NormalizeSkipLayerNormalization},
};
// clang-format on

char LetterAt(std::string_view letters, size_t index) {
  return letters[std::min(index, letters.size() - 1)];
}

class TypeChecker {
 public:
  TypeChecker(const OnnxOp& op, const std::string& where) : op_(op), where_(where) {}

  Status Check(char letter, size_t index, const Value& value) {
    switch (letter) {
      case 'T':
        return Same(t_, op_.types, index, value);
      case 'U':
        return Same(u_, TypeClass::kNumber, index, value);
      case 'V':
        return Same(v_, TypeClass::kNumber, index, value);
      case 'A':
        return InClass(TypeClass::kAnyType, index, value);
      case 'F':
        return InClass(TypeClass::kAnyFloat, index, value);
      case 'Q':
        return InClass(TypeClass::kQuantized, index, value);
      case 'S':
        return InClass(TypeClass::kStored, index, value);
      case 'B':
        return Expect(value.dtype.is_bool(), "bool", index, value);
      case 'I':
        return Expect(value.dtype == kInt64, "i64", index, value);
      case 'K':
        return Expect(value.dtype == kInt32, "i32", index, value);
      default:
        break;  // J
    }
    return Expect(value.dtype == kInt64 || value.dtype == kInt32, "i32 or i64", index, value);
  }

  DType Result(char letter) const {
    if (letter == 'T') return t_.value_or(kFloat32);
    if (letter == 'U') return u_.value_or(kFloat32);
    if (letter == 'V') return v_.value_or(kFloat32);
    if (letter == 'K') return kInt32;
    if (letter == 'B') return kBool;
    return letter == 'I' ? kInt64 : kFloat32;
  }

 private:
  Status Same(std::optional<DType>& type, TypeClass types, size_t index, const Value& value) {
    TCC_RETURN_IF_ERROR(InClass(types, index, value));
    if (!type) type = value.dtype;
    return Expect(*type == value.dtype, ToString(*type), index, value);
  }

  Status InClass(TypeClass types, size_t index, const Value& value) {
    if (Accepts(types, value.dtype)) return OkStatus();
    return Unsupported("{}: input {} ('{}') is {}; supported is {}", where_, index, value.name,
                       ToString(value.dtype), ToString(types));
  }

  Status Expect(bool holds, const std::string& expected, size_t index, const Value& value) {
    if (holds) return OkStatus();
    return InvalidInput("{}: input {} ('{}') is {}; expected {}", where_, index, value.name,
                        ToString(value.dtype), expected);
  }

  const OnnxOp& op_;
  const std::string& where_;
  std::optional<DType> t_;
  std::optional<DType> u_;
  std::optional<DType> v_;
};

}  // namespace

std::string_view ToString(AttributeType type) {
  switch (type) {
    case AttributeType::kInt:
      return "INT";
    case AttributeType::kFloat:
      return "FLOAT";
    case AttributeType::kString:
      return "STRING";
    case AttributeType::kInts:
      return "INTS";
    case AttributeType::kFloats:
      return "FLOATS";
    case AttributeType::kTensor:
      return "TENSOR";
    case AttributeType::kSparseTensor:
      return "SPARSE_TENSOR";
    case AttributeType::kStrings:
      return "STRINGS";
    case AttributeType::kGraph:
      return "GRAPH";
    case AttributeType::kType:
      return "TYPE_PROTO";
  }
  return "";
}

std::span<const OnnxOp> AllOnnxOps() {
  return kOps;
}

const OnnxOp* FindOnnxOp(std::string_view name) {
  for (const OnnxOp& row : kOps) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

StatusOr<std::vector<DType>> CheckTypes(const Graph& graph, const OnnxOp& op,
                                        const std::vector<ValueId>& inputs, size_t outputs,
                                        const std::string& where) {
  size_t arrow = op.signature.find('>');
  std::string_view in = op.signature.substr(0, arrow);
  std::string_view out = op.signature.substr(arrow + 1);
  TypeChecker checker(op, where);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == kNoValue) continue;
    TCC_RETURN_IF_ERROR(checker.Check(LetterAt(in, i), i, graph.value(inputs[i])));
  }
  std::vector<DType> types;
  for (size_t i = 0; i < outputs; ++i) types.push_back(checker.Result(LetterAt(out, i)));
  return types;
}

}  // namespace tcc
