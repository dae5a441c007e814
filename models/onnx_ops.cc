#include "models/onnx_ops.h"

#include "models/onnx_normalize.h"

namespace tcc {
namespace {

using enum AttributeType;
using enum Presence;
using enum TypeClass;

constexpr OnnxAttribute kAxis0[] = {{"axis", kInt, kDefault, 0}};
constexpr OnnxAttribute kAxis1[] = {{"axis", kInt, kDefault, 1}};
constexpr OnnxAttribute kAxisRequired[] = {{"axis", kInt, kRequired}};
constexpr OnnxAttribute kAxisOptional[] = {{"axis", kInt, kOptional}};
constexpr OnnxAttribute kAxesUntil12[] = {
    {.name = "axes", .type = kInts, .presence = kOptional, .until = 12}};

constexpr OnnxAttribute kBatchNormalization[] = {
    {"epsilon", kFloat, kDefault, 1e-5f},
    {"momentum", kFloat, kIgnored},
    {.name = "spatial", .type = kInt, .presence = kFixed, .number = 1, .until = 8},
    {.name = "training_mode", .type = kInt, .presence = kFixed, .number = 0, .since = 14}};

// Both say how to round to float8 types, which nothing is cast to here.
constexpr OnnxAttribute kCast[] = {
    {"to", kInt, kRequired},
    {.name = "saturate", .type = kInt, .presence = kIgnored, .since = 19},
    {.name = "round_mode", .type = kString, .presence = kIgnored, .since = 24}};

constexpr OnnxAttribute kCastLike[] = {
    {.name = "saturate", .type = kInt, .presence = kIgnored, .since = 19},
    {.name = "round_mode", .type = kString, .presence = kIgnored, .since = 24}};

constexpr OnnxAttribute kClip[] = {
    {.name = "min", .type = kFloat, .presence = kOptional, .until = 10},
    {.name = "max", .type = kFloat, .presence = kOptional, .until = 10}};

constexpr OnnxAttribute kConstant[] = {{"value", kTensor, kOptional},
                                       {"value_int", kInt, kOptional},
                                       {"value_ints", kInts, kOptional},
                                       {"value_float", kFloat, kOptional},
                                       {"value_floats", kFloats, kOptional}};

constexpr OnnxAttribute kConstantOfShape[] = {{"value", kTensor, kOptional}};

constexpr OnnxAttribute kConv[] = {{"auto_pad", kString, kDefault, 0, "NOTSET"},
                                   {"dilations", kInts, kOptional},
                                   {"group", kInt, kDefault, 1},
                                   {"kernel_shape", kInts, kOptional},
                                   {"pads", kInts, kOptional},
                                   {"strides", kInts, kOptional}};

constexpr OnnxAttribute kDropout[] = {
    {.name = "ratio", .type = kFloat, .presence = kIgnored, .until = 11},
    {.name = "seed", .type = kInt, .presence = kIgnored, .since = 12}};

constexpr OnnxAttribute kGemm[] = {{"alpha", kFloat, kDefault, 1},
                                   {"beta", kFloat, kDefault, 1},
                                   {"transA", kInt, kDefault, 0},
                                   {"transB", kInt, kDefault, 0}};

constexpr OnnxAttribute kHardSigmoid[] = {{"alpha", kFloat, kDefault, 0.2f},
                                          {"beta", kFloat, kDefault, 0.5f}};
constexpr OnnxAttribute kLeakyRelu[] = {{"alpha", kFloat, kDefault, 0.01f}};
constexpr OnnxAttribute kMod[] = {{"fmod", kInt, kDefault, 0}};

constexpr OnnxAttribute kPad[] = {
    {"mode", kString, kDefault, 0, "constant"},
    {.name = "pads", .type = kInts, .presence = kOptional, .until = 10},
    {.name = "value", .type = kFloat, .presence = kOptional, .until = 10}};

constexpr OnnxAttribute kMaxPool[] = {{"auto_pad", kString, kDefault, 0, "NOTSET"},
                                      {"kernel_shape", kInts, kRequired},
                                      {"pads", kInts, kOptional},
                                      {"strides", kInts, kOptional},
                                      {"ceil_mode", kInt, kDefault, 0},
                                      {"dilations", kInts, kOptional},
                                      // The order of the Indices output, which is not supported.
                                      {"storage_order", kInt, kIgnored}};

constexpr OnnxAttribute kAveragePool[] = {{"auto_pad", kString, kDefault, 0, "NOTSET"},
                                          {"kernel_shape", kInts, kRequired},
                                          {"pads", kInts, kOptional},
                                          {"strides", kInts, kOptional},
                                          {"ceil_mode", kInt, kDefault, 0},
                                          {"dilations", kInts, kOptional},
                                          {"count_include_pad", kInt, kDefault, 0}};

constexpr OnnxAttribute kReduceSum[] = {
    {"keepdims", kInt, kDefault, 1},
    {"noop_with_empty_axes", kInt, kDefault, 0},
    {.name = "axes", .type = kInts, .presence = kOptional, .until = 12}};

constexpr OnnxAttribute kReduce[] = {
    {"keepdims", kInt, kDefault, 1},
    {"noop_with_empty_axes", kInt, kDefault, 0},
    {.name = "axes", .type = kInts, .presence = kOptional, .until = 17}};

constexpr OnnxAttribute kReshape[] = {{"allowzero", kInt, kDefault, 0}};
constexpr OnnxAttribute kShape[] = {{"start", kInt, kDefault, 0}, {"end", kInt, kOptional}};

constexpr OnnxAttribute kSlice[] = {
    {.name = "starts", .type = kInts, .presence = kOptional, .until = 9},
    {.name = "ends", .type = kInts, .presence = kOptional, .until = 9},
    {.name = "axes", .type = kInts, .presence = kOptional, .until = 9}};

constexpr OnnxAttribute kTranspose[] = {{"perm", kInts, kOptional}};

// clang-format off
constexpr OnnxOp kOps[] = {
    // name, kind, since, signature, types, inputs from, to, outputs, attributes, normalize
    {"Abs", OpKind::kAbs, 6, "T>T", kNumber, 1, 1, 1, {}},
    {"Add", OpKind::kAdd, 7, "TT>T", kNumber, 2, 2, 1, {}},
    {"And", OpKind::kAnd, 7, "BB>B", kAnyType, 2, 2, 1, {}},
    {"AveragePool", OpKind::kAveragePool, 1, "T>T", kAnyFloat, 1, 1, 1, kAveragePool, NormalizePool},
    {"BatchNormalization", OpKind::kBatchNormalization, 7, "TUUVV>T", kAnyFloat, 5, 5, 1, kBatchNormalization},
    {"Cast", OpKind::kCast, 6, "A>*", kAnyType, 1, 1, 1, kCast, NormalizeCast},
    {"CastLike", OpKind::kCast, 15, "AA>*", kAnyType, 2, 2, 1, kCastLike, NormalizeCastLike},
    {"Ceil", OpKind::kCeil, 6, "T>T", kAnyFloat, 1, 1, 1, {}},
    {"Clip", OpKind::kClip, 6, "TTT>T", kNumber, 1, 3, 1, kClip, NormalizeClip},
    {"Concat", OpKind::kConcat, 4, "T>T", kAnyType, 1, kManyInputs, 1, kAxisRequired},
    {"Constant", OpKind::kConstant, 1, ">*", kAnyType, 0, 0, 1, kConstant},
    {"ConstantOfShape", OpKind::kConstantOfShape, 9, "I>*", kAnyType, 1, 1, 1, kConstantOfShape, NormalizeConstantOfShape},
    {"Conv", OpKind::kConv, 1, "TTT>T", kAnyFloat, 2, 3, 1, kConv, NormalizeConv},
    {"Div", OpKind::kDiv, 7, "TT>T", kNumber, 2, 2, 1, {}},
    {"Dropout", OpKind::kDropout, 7, "TFB>TB", kAnyFloat, 1, 3, 2, kDropout, NormalizeDropout},
    {"Equal", OpKind::kEqual, 7, "TT>B", kAnyType, 2, 2, 1, {}},
    {"Erf", OpKind::kErf, 9, "T>T", kAnyFloat, 1, 1, 1, {}},
    {"Exp", OpKind::kExp, 6, "T>T", kAnyFloat, 1, 1, 1, {}},
    {"Expand", OpKind::kExpand, 8, "TI>T", kAnyType, 2, 2, 1, {}},
    {"Flatten", OpKind::kFlatten, 1, "T>T", kAnyType, 1, 1, 1, kAxis1},
    {"Floor", OpKind::kFloor, 6, "T>T", kAnyFloat, 1, 1, 1, {}},
    {"Gather", OpKind::kGather, 1, "TJ>T", kAnyType, 2, 2, 1, kAxis0},
    {"Gemm", OpKind::kGemm, 7, "TTT>T", kNumber, 2, 3, 1, kGemm},
    {"GlobalAveragePool", OpKind::kGlobalAveragePool, 1, "T>T", kAnyFloat, 1, 1, 1, {}},
    {"GlobalMaxPool", OpKind::kGlobalMaxPool, 1, "T>T", kAnyFloat, 1, 1, 1, {}},
    {"Greater", OpKind::kGreater, 7, "TT>B", kNumber, 2, 2, 1, {}},
    {"GreaterOrEqual", OpKind::kGreaterOrEqual, 12, "TT>B", kNumber, 2, 2, 1, {}},
    {"HardSigmoid", OpKind::kHardSigmoid, 6, "T>T", kAnyFloat, 1, 1, 1, kHardSigmoid},
    {"HardSwish", OpKind::kHardSwish, 14, "T>T", kAnyFloat, 1, 1, 1, {}},
    {"Identity", OpKind::kIdentity, 1, "T>T", kAnyType, 1, 1, 1, {}},
    {"LeakyRelu", OpKind::kLeakyRelu, 6, "T>T", kAnyFloat, 1, 1, 1, kLeakyRelu},
    {"Less", OpKind::kLess, 7, "TT>B", kNumber, 2, 2, 1, {}},
    {"LessOrEqual", OpKind::kLessOrEqual, 12, "TT>B", kNumber, 2, 2, 1, {}},
    {"Log", OpKind::kLog, 6, "T>T", kAnyFloat, 1, 1, 1, {}},
    {"LogSoftmax", OpKind::kLogSoftmax, 1, "T>T", kAnyFloat, 1, 1, 1, kAxisOptional, NormalizeSoftmax},
    {"MatMul", OpKind::kMatMul, 1, "TT>T", kNumber, 2, 2, 1, {}},
    {"Max", OpKind::kMax, 6, "T>T", kNumber, 1, kManyInputs, 1, {}},
    {"MaxPool", OpKind::kMaxPool, 1, "T>T", kNumber, 1, 1, 1, kMaxPool, NormalizePool},
    {"Min", OpKind::kMin, 6, "T>T", kNumber, 1, kManyInputs, 1, {}},
    {"Mod", OpKind::kMod, 10, "TT>T", kNumber, 2, 2, 1, kMod},
    {"Mul", OpKind::kMul, 7, "TT>T", kNumber, 2, 2, 1, {}},
    {"Neg", OpKind::kNeg, 6, "T>T", kNumber, 1, 1, 1, {}},
    {"Not", OpKind::kNot, 1, "B>B", kAnyType, 1, 1, 1, {}},
    {"Or", OpKind::kOr, 7, "BB>B", kAnyType, 2, 2, 1, {}},
    {"Pad", OpKind::kPad, 2, "TITJ>T", kAnyType, 1, 4, 1, kPad, NormalizePad},
    {"Pow", OpKind::kPow, 7, "TU>T", kNumber, 2, 2, 1, {}},
    {"Reciprocal", OpKind::kReciprocal, 6, "T>T", kAnyFloat, 1, 1, 1, {}},
    {"ReduceMax", OpKind::kReduceMax, 1, "TI>T", kAnyType, 1, 2, 1, kReduce, NormalizeAxes},
    {"ReduceMean", OpKind::kReduceMean, 1, "TI>T", kNumber, 1, 2, 1, kReduce, NormalizeAxes},
    {"ReduceMin", OpKind::kReduceMin, 1, "TI>T", kAnyType, 1, 2, 1, kReduce, NormalizeAxes},
    {"ReduceProd", OpKind::kReduceProd, 1, "TI>T", kNumber, 1, 2, 1, kReduce, NormalizeAxes},
    {"ReduceSum", OpKind::kReduceSum, 1, "TI>T", kNumber, 1, 2, 1, kReduceSum, NormalizeAxes},
    {"Relu", OpKind::kRelu, 6, "T>T", kNumber, 1, 1, 1, {}},
    {"Reshape", OpKind::kReshape, 5, "TI>T", kAnyType, 2, 2, 1, kReshape},
    {"Round", OpKind::kRound, 11, "T>T", kAnyFloat, 1, 1, 1, {}},
    {"Shape", OpKind::kShape, 1, "A>I", kAnyType, 1, 1, 1, kShape},
    {"Sigmoid", OpKind::kSigmoid, 6, "T>T", kAnyFloat, 1, 1, 1, {}},
    {"Sign", OpKind::kSign, 9, "T>T", kNumber, 1, 1, 1, {}},
    {"Slice", OpKind::kSlice, 1, "TJJJJ>T", kAnyType, 1, 5, 1, kSlice, NormalizeSlice},
    {"Softmax", OpKind::kSoftmax, 1, "T>T", kAnyFloat, 1, 1, 1, kAxisOptional, NormalizeSoftmax},
    {"Sqrt", OpKind::kSqrt, 6, "T>T", kAnyFloat, 1, 1, 1, {}},
    {"Squeeze", OpKind::kSqueeze, 1, "TI>T", kAnyType, 1, 2, 1, kAxesUntil12, NormalizeAxes},
    {"Sub", OpKind::kSub, 7, "TT>T", kNumber, 2, 2, 1, {}},
    {"Tanh", OpKind::kTanh, 6, "T>T", kAnyFloat, 1, 1, 1, {}},
    {"Transpose", OpKind::kTranspose, 1, "T>T", kAnyType, 1, 1, 1, kTranspose},
    {"Unsqueeze", OpKind::kUnsqueeze, 1, "TI>T", kAnyType, 1, 2, 1, kAxesUntil12, NormalizeAxes},
    {"Where", OpKind::kWhere, 9, "BTT>T", kAnyType, 3, 3, 1, {}},
};
// clang-format on

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
  }
  return "";
}

std::string_view ToString(TypeClass types) {
  switch (types) {
    case TypeClass::kAnyFloat:
      return "float";
    case TypeClass::kNumber:
      return "float or integer";
    case TypeClass::kAnyType:
      return "float, integer or bool";
  }
  return "";
}

bool Contains(TypeClass types, DType dtype) {
  switch (types) {
    case TypeClass::kAnyFloat:
      return dtype.is_float();
    case TypeClass::kNumber:
      return dtype.is_float() || dtype.is_integer();
    case TypeClass::kAnyType:
      return dtype.is_float() || dtype.is_integer() || dtype.is_bool();
  }
  return false;
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

}  // namespace tcc
