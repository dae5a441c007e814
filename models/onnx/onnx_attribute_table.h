#pragma once

#include "models/onnx/onnx_ops.h"

// The attributes of each operator, for the rows of onnx_ops.cc.
namespace tcc::onnx_attributes {

using enum AttributeType;
using enum Presence;

constexpr OnnxAttribute kAxis0[] = {{"axis", kInt, kDefault, 0}};
constexpr OnnxAttribute kAxis1[] = {{"axis", kInt, kDefault, 1}};
constexpr OnnxAttribute kAxisRequired[] = {{"axis", kInt, kRequired}};
constexpr OnnxAttribute kAxisOptional[] = {{"axis", kInt, kOptional}};
constexpr OnnxAttribute kAxesUntil12[] = {
    {.name = "axes", .type = kInts, .presence = kOptional, .until = 12}};

constexpr OnnxAttribute kAffineGrid[] = {{"align_corners", kInt, kDefault, 0}};

constexpr OnnxAttribute kAlpha1[] = {{"alpha", kFloat, kDefault, 1}};

constexpr OnnxAttribute kArgReduction[] = {
    {"axis", kInt, kDefault, 0},
    {"keepdims", kInt, kDefault, 1},
    {.name = "select_last_index", .type = kInt, .presence = kDefault, .number = 0, .since = 12}};

// The softmax is never computed in a narrower type than f32.
constexpr OnnxAttribute kAttention[] = {
    {"is_causal", kInt, kDefault, 0},
    {"kv_num_heads", kInt, kOptional},
    {"q_num_heads", kInt, kOptional},
    {"qk_matmul_output_mode", kInt, kDefault, 0},
    {"scale", kFloat, kOptional},
    {"softcap", kFloat, kDefault, 0},
    {"softmax_precision", kInt, kIgnored},
    {.name = "left_window_size", .type = kInt, .presence = kDefault, .number = -1, .since = 25},
    {.name = "right_window_size", .type = kInt, .presence = kDefault, .number = -1, .since = 25}};

// Before opset 7 the second operand broadcasts only if asked to, from dimension `axis` on.
constexpr OnnxAttribute kBinary[] = {
    {.name = "axis", .type = kInt, .presence = kOptional, .until = 6},
    {.name = "broadcast", .type = kInt, .presence = kDefault, .number = 0, .until = 6},
    {.name = "consumed_inputs", .type = kInts, .presence = kIgnored, .until = 5}};

constexpr OnnxAttribute kBitShift[] = {{"direction", kString, kRequired}};

constexpr OnnxAttribute kAxisLast[] = {{"axis", kInt, kDefault, -1}};

constexpr OnnxAttribute kBatchNormalization[] = {
    {"epsilon", kFloat, kDefault, 1e-5f},
    {"momentum", kFloat, kDefault, 0.9f},
    {.name = "consumed_inputs", .type = kInts, .presence = kIgnored, .until = 5},
    {.name = "is_test", .type = kInt, .presence = kDefault, .number = 0, .until = 6},
    {.name = "spatial", .type = kInt, .presence = kFixed, .number = 1, .until = 8},
    {.name = "training_mode", .type = kInt, .presence = kDefault, .number = 0, .since = 14}};

// "round_mode" says how to round to FLOAT8E8M0, which nothing is cast to here.
constexpr OnnxAttribute kCast[] = {
    {"to", kInt, kRequired},
    {.name = "saturate", .type = kInt, .presence = kDefault, .number = 1, .since = 19},
    {.name = "round_mode", .type = kString, .presence = kIgnored, .since = 24}};

constexpr OnnxAttribute kCastLike[] = {
    {.name = "saturate", .type = kInt, .presence = kDefault, .number = 1, .since = 19},
    {.name = "round_mode", .type = kString, .presence = kIgnored, .since = 24}};

constexpr OnnxAttribute kCenterCropPad[] = {{"axes", kInts, kOptional}};

constexpr OnnxAttribute kClip[] = {
    {.name = "consumed_inputs", .type = kInts, .presence = kIgnored, .until = 5},
    {.name = "min", .type = kFloat, .presence = kOptional, .until = 10},
    {.name = "max", .type = kFloat, .presence = kOptional, .until = 10}};

constexpr OnnxAttribute kCol2Im[] = {
    {"dilations", kInts, kOptional}, {"pads", kInts, kOptional}, {"strides", kInts, kOptional}};

constexpr OnnxAttribute kConcatFromSequence[] = {{"axis", kInt, kRequired},
                                                 {"new_axis", kInt, kDefault, 0}};

constexpr OnnxAttribute kConstant[] = {
    {"value", kTensor, kOptional},      {"sparse_value", kSparseTensor, kOptional},
    {"value_int", kInt, kOptional},     {"value_ints", kInts, kOptional},
    {"value_float", kFloat, kOptional}, {"value_floats", kFloats, kOptional}};

constexpr OnnxAttribute kConstantOfShape[] = {{"value", kTensor, kOptional}};

constexpr OnnxAttribute kConv[] = {{"auto_pad", kString, kDefault, 0, "NOTSET"},
                                   {"dilations", kInts, kOptional},
                                   {"group", kInt, kDefault, 1},
                                   {"kernel_shape", kInts, kOptional},
                                   {"pads", kInts, kOptional},
                                   {"strides", kInts, kOptional}};

constexpr OnnxAttribute kConvTranspose[] = {{"auto_pad", kString, kDefault, 0, "NOTSET"},
                                            {"dilations", kInts, kOptional},
                                            {"group", kInt, kDefault, 1},
                                            {"kernel_shape", kInts, kOptional},
                                            {"output_padding", kInts, kOptional},
                                            {"output_shape", kInts, kOptional},
                                            {"pads", kInts, kOptional},
                                            {"strides", kInts, kOptional}};

// "precision" matters for scales of float16; here the quotient is always f32.
constexpr OnnxAttribute kQuantizeLinear[] = {
    {.name = "axis", .type = kInt, .presence = kDefault, .number = 1, .since = 13},
    {.name = "block_size", .type = kInt, .presence = kDefault, .number = 0, .since = 21},
    {.name = "output_dtype", .type = kInt, .presence = kDefault, .number = 0, .since = 21},
    {.name = "precision", .type = kInt, .presence = kIgnored, .since = 23},
    {.name = "saturate", .type = kInt, .presence = kDefault, .number = 1, .since = 19}};

constexpr OnnxAttribute kDequantizeLinear[] = {
    {.name = "axis", .type = kInt, .presence = kDefault, .number = 1, .since = 13},
    {.name = "block_size", .type = kInt, .presence = kDefault, .number = 0, .since = 21},
    {.name = "output_dtype", .type = kInt, .presence = kDefault, .number = 0, .since = 23}};

// The attributes of operators of the domain com.microsoft.
constexpr OnnxAttribute kMicrosoftQuantize[] = {{"axis", kInt, kDefault, 1},
                                                {"block_size", kInt, kDefault, 0}};
constexpr OnnxAttribute kAttentionOfMicrosoft[] = {
    {"do_rotary", kInt, kFixed, 0},         {"mask_filter_value", kFloat, kDefault, -10000},
    {"num_heads", kInt, kRequired},         {"past_present_share_buffer", kInt, kFixed, 0},
    {"qkv_hidden_sizes", kInts, kOptional}, {"rotary_embedding_dim", kInt, kIgnored},
    {"scale", kFloat, kOptional},           {"unidirectional", kInt, kDefault, 0}};
constexpr OnnxAttribute kEmbedLayerNormalization[] = {{"epsilon", kFloat, kDefault, 1e-12f},
                                                      {"mask_index_type", kInt, kIgnored}};
constexpr OnnxAttribute kFusedConv[] = {{"activation", kString, kDefault, 0, ""},
                                        {"activation_params", kFloats, kOptional},
                                        {"auto_pad", kString, kDefault, 0, "NOTSET"},
                                        {"dilations", kInts, kOptional},
                                        {"group", kInt, kDefault, 1},
                                        {"kernel_shape", kInts, kOptional},
                                        {"pads", kInts, kOptional},
                                        {"strides", kInts, kOptional}};
constexpr OnnxAttribute kFusedGemm[] = {{"activation", kString, kDefault, 0, ""},
                                        {"activation_alpha", kFloat, kOptional},
                                        {"activation_beta", kFloat, kOptional},
                                        {"activation_gamma", kFloat, kOptional},
                                        {"alpha", kFloat, kDefault, 1},
                                        {"beta", kFloat, kDefault, 1},
                                        {"transA", kInt, kDefault, 0},
                                        {"transB", kInt, kDefault, 0}};
constexpr OnnxAttribute kFusedMatMul[] = {{"alpha", kFloat, kDefault, 1},
                                          {"transA", kInt, kDefault, 0},
                                          {"transB", kInt, kDefault, 0},
                                          {"transBatchA", kInt, kDefault, 0},
                                          {"transBatchB", kInt, kDefault, 0}};
// The computation is never in a narrower type than f32.
constexpr OnnxAttribute kMatMulNBits[] = {{"K", kInt, kRequired},
                                          {"N", kInt, kRequired},
                                          {"accuracy_level", kInt, kIgnored},
                                          {"bits", kInt, kDefault, 4},
                                          {"block_size", kInt, kRequired},
                                          {"weight_prepacked", kInt, kFixed, 0}};
constexpr OnnxAttribute kMultiHeadAttention[] = {{"mask_filter_value", kFloat, kDefault, -10000},
                                                 {"num_heads", kInt, kRequired},
                                                 {"scale", kFloat, kOptional},
                                                 {"unidirectional", kInt, kDefault, 0}};
constexpr OnnxAttribute kQGemm[] = {
    {"alpha", kFloat, kDefault, 1}, {"transA", kInt, kDefault, 0}, {"transB", kInt, kDefault, 0}};
constexpr OnnxAttribute kQLinearAveragePool[] = {{"auto_pad", kString, kDefault, 0, "NOTSET"},
                                                 {"kernel_shape", kInts, kRequired},
                                                 {"pads", kInts, kOptional},
                                                 {"strides", kInts, kOptional},
                                                 {"ceil_mode", kInt, kDefault, 0},
                                                 {"count_include_pad", kInt, kDefault, 0},
                                                 {"channels_last", kInt, kFixed, 0}};
constexpr OnnxAttribute kQLinearGlobalAveragePool[] = {{"channels_last", kInt, kFixed, 0}};
// Whatever the opset, the axis is the last one where the node does not say it.
constexpr OnnxAttribute kQLinearSoftmax[] = {{"axis", kInt, kDefault, -1},
                                             {"opset", kInt, kRequired}};

constexpr OnnxAttribute kConsumedInputs[] = {
    {.name = "consumed_inputs", .type = kInts, .presence = kIgnored, .until = 5}};

constexpr OnnxAttribute kCumulative[] = {{"exclusive", kInt, kDefault, 0},
                                         {"reverse", kInt, kDefault, 0}};

constexpr OnnxAttribute kDFT[] = {
    {.name = "axis", .type = kInt, .presence = kDefault, .number = 1, .until = 19},
    {"inverse", kInt, kDefault, 0},
    {"onesided", kInt, kDefault, 0}};

constexpr OnnxAttribute kDepthToSpace[] = {
    {"blocksize", kInt, kRequired},
    {.name = "mode", .type = kString, .presence = kDefault, .text = "DCR", .since = 11}};

// Dropout of a model at inference is the identity, whatever the old attribute says.
constexpr OnnxAttribute kDropout[] = {
    {.name = "consumed_inputs", .type = kInts, .presence = kIgnored, .until = 5},
    {.name = "is_test", .type = kInt, .presence = kIgnored, .until = 6},
    {.name = "ratio", .type = kFloat, .presence = kIgnored, .until = 11},
    {.name = "seed", .type = kInt, .presence = kIgnored, .since = 12}};

constexpr OnnxAttribute kEinsum[] = {{"equation", kString, kRequired}};

constexpr OnnxAttribute kElu[] = {
    {"alpha", kFloat, kDefault, 1},
    {.name = "consumed_inputs", .type = kInts, .presence = kIgnored, .until = 5}};

constexpr OnnxAttribute kEyeLike[] = {{"dtype", kInt, kOptional}, {"k", kInt, kDefault, 0}};

constexpr OnnxAttribute kGatherND[] = {
    {.name = "batch_dims", .type = kInt, .presence = kDefault, .number = 0, .since = 12}};

constexpr OnnxAttribute kGelu[] = {{"approximate", kString, kDefault, 0, "none"}};

constexpr OnnxAttribute kGemm[] = {
    {"alpha", kFloat, kDefault, 1},
    {"beta", kFloat, kDefault, 1},
    {"transA", kInt, kDefault, 0},
    {"transB", kInt, kDefault, 0},
    {.name = "broadcast", .type = kInt, .presence = kIgnored, .until = 6}};

constexpr OnnxAttribute kGridSample[] = {{"align_corners", kInt, kDefault, 0},
                                         {"mode", kString, kOptional},
                                         {"padding_mode", kString, kDefault, 0, "zeros"}};

// The computation is never in a narrower type than f32.
constexpr OnnxAttribute kGroupNormalization[] = {
    {"epsilon", kFloat, kDefault, 1e-5f},
    {"num_groups", kInt, kRequired},
    {.name = "stash_type", .type = kInt, .presence = kIgnored, .since = 21}};

constexpr OnnxAttribute kHardSigmoid[] = {
    {"alpha", kFloat, kDefault, 0.2f},
    {"beta", kFloat, kDefault, 0.5f},
    {.name = "consumed_inputs", .type = kInts, .presence = kIgnored, .until = 5}};
constexpr OnnxAttribute kInstanceNormalization[] = {
    {"epsilon", kFloat, kDefault, 1e-5f},
    {.name = "consumed_inputs", .type = kInts, .presence = kIgnored, .until = 5}};

constexpr OnnxAttribute kIsInf[] = {{"detect_negative", kInt, kDefault, 1},
                                    {"detect_positive", kInt, kDefault, 1}};

// ONNX has the operator since opset 17; ONNX Runtime's optimizer writes it into models of any
// opset.
constexpr OnnxAttribute kLayerNormalization[] = {{"axis", kInt, kDefault, -1},
                                                 {"epsilon", kFloat, kDefault, 1e-5f},
                                                 {"stash_type", kInt, kDefault, 1}};

constexpr OnnxAttribute kLeakyRelu[] = {
    {"alpha", kFloat, kDefault, 0.01f},
    {.name = "consumed_inputs", .type = kInts, .presence = kIgnored, .until = 5}};
constexpr OnnxAttribute kLpNormalization[] = {{"axis", kInt, kDefault, -1},
                                              {"p", kInt, kDefault, 2}};

constexpr OnnxAttribute kLRN[] = {{"alpha", kFloat, kDefault, 1e-4f},
                                  {"beta", kFloat, kDefault, 0.75},
                                  {"bias", kFloat, kDefault, 1},
                                  {"size", kInt, kRequired}};

constexpr OnnxAttribute kLoss[] = {{"ignore_index", kInt, kOptional},
                                   {"reduction", kString, kDefault, 0, "mean"}};

constexpr OnnxAttribute kMaxUnpool[] = {
    {"kernel_shape", kInts, kRequired}, {"pads", kInts, kOptional}, {"strides", kInts, kOptional}};

constexpr OnnxAttribute kMeanVarianceNormalization[] = {{"axes", kInts, kOptional}};
constexpr OnnxAttribute kGru[] = {
    {"activation_alpha", kFloats, kOptional},
    {"activation_beta", kFloats, kOptional},
    {"activations", kStrings, kOptional},
    {"clip", kFloat, kOptional},
    {"direction", kString, kDefault, 0, "forward"},
    {"hidden_size", kInt, kOptional},
    {"linear_before_reset", kInt, kDefault, 0},
    {.name = "layout", .type = kInt, .presence = kDefault, .number = 0, .since = 14}};

constexpr OnnxAttribute kIf[] = {{"then_branch", kGraph, kOptional},
                                 {"else_branch", kGraph, kOptional}};

constexpr OnnxAttribute kLoop[] = {{"body", kGraph, kOptional}};

constexpr OnnxAttribute kDynamicQuantizeLstm[] = {{"activation_alpha", kFloats, kOptional},
                                                  {"activation_beta", kFloats, kOptional},
                                                  {"activations", kStrings, kOptional},
                                                  {"clip", kFloat, kOptional},
                                                  {"direction", kString, kDefault, 0, "forward"},
                                                  {"hidden_size", kInt, kOptional},
                                                  {"input_forget", kInt, kDefault, 0}};

constexpr OnnxAttribute kLstm[] = {
    {"activation_alpha", kFloats, kOptional},
    {"activation_beta", kFloats, kOptional},
    {"activations", kStrings, kOptional},
    {"clip", kFloat, kOptional},
    {"direction", kString, kDefault, 0, "forward"},
    {"hidden_size", kInt, kOptional},
    {"input_forget", kInt, kDefault, 0},
    {.name = "layout", .type = kInt, .presence = kDefault, .number = 0, .since = 14}};

constexpr OnnxAttribute kMelWeightMatrix[] = {{"output_datatype", kInt, kDefault, 1}};

constexpr OnnxAttribute kMod[] = {{"fmod", kInt, kDefault, 0}};

constexpr OnnxAttribute kOptionalType[] = {{"type", kType, kIgnored}};

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
                                      {"storage_order", kInt, kDefault, 0}};

constexpr OnnxAttribute kLpPool[] = {{"auto_pad", kString, kDefault, 0, "NOTSET"},
                                     {"kernel_shape", kInts, kRequired},
                                     {"pads", kInts, kOptional},
                                     {"strides", kInts, kOptional},
                                     {"ceil_mode", kInt, kDefault, 0},
                                     {"dilations", kInts, kOptional},
                                     {"p", kInt, kDefault, 2}};
constexpr OnnxAttribute kGlobalLpPool[] = {{"p", kInt, kDefault, 2}};

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
constexpr OnnxAttribute kQuickGelu[] = {{"alpha", kFloat, kDefault, 1.702f}};

constexpr OnnxAttribute kResize[] = {
    {"mode", kString, kDefault, 0, "nearest"},
    {.name = "coordinate_transformation_mode",
     .type = kString,
     .presence = kDefault,
     .text = "half_pixel",
     .since = 11},
    {.name = "cubic_coeff_a", .type = kFloat, .presence = kDefault, .number = -0.75, .since = 11},
    {.name = "exclude_outside", .type = kInt, .presence = kDefault, .number = 0, .since = 11},
    {.name = "extrapolation_value", .type = kFloat, .presence = kDefault, .number = 0, .since = 11},
    {.name = "nearest_mode",
     .type = kString,
     .presence = kDefault,
     .text = "round_prefer_floor",
     .since = 11},
    {.name = "antialias", .type = kInt, .presence = kDefault, .number = 0, .since = 18},
    {.name = "axes", .type = kInts, .presence = kOptional, .since = 18},
    {.name = "keep_aspect_ratio_policy",
     .type = kString,
     .presence = kDefault,
     .text = "stretch",
     .since = 18}};

constexpr OnnxAttribute kReverseSequence[] = {{"batch_axis", kInt, kDefault, 1},
                                              {"time_axis", kInt, kDefault, 0}};

constexpr OnnxAttribute kRoiAlign[] = {{.name = "coordinate_transformation_mode",
                                        .type = kString,
                                        .presence = kDefault,
                                        .text = "half_pixel",
                                        .since = 16},
                                       {"mode", kString, kDefault, 0, "avg"},
                                       {"output_height", kInt, kDefault, 1},
                                       {"output_width", kInt, kDefault, 1},
                                       {"sampling_ratio", kInt, kDefault, 0},
                                       {"spatial_scale", kFloat, kDefault, 1}};

constexpr OnnxAttribute kRotaryEmbedding[] = {{"interleaved", kInt, kDefault, 0},
                                              {"num_heads", kInt, kOptional},
                                              {"rotary_embedding_dim", kInt, kDefault, 0}};

// Attributes of a com.microsoft operator.
constexpr OnnxAttribute kRotaryEmbeddingOfMicrosoft[] = {
    {"interleaved", kInt, kDefault, 0},
    {"is_packed_batching", kInt, kFixed, 0},
    {"num_heads", kInt, kDefault, 0},
    {"rotary_embedding_dim", kInt, kDefault, 0},
    {"scale", kFloat, kDefault, 1}};

constexpr OnnxAttribute kSkipNormalization[] = {{"epsilon", kFloat, kDefault, 1e-12f}};

constexpr OnnxAttribute kSTFT[] = {{"onesided", kInt, kDefault, 1}};

constexpr OnnxAttribute kScatterElements[] = {
    {"axis", kInt, kDefault, 0},
    {.name = "reduction", .type = kString, .presence = kDefault, .text = "none", .since = 16}};

constexpr OnnxAttribute kScatterND[] = {
    {.name = "reduction", .type = kString, .presence = kDefault, .text = "none", .since = 16}};

constexpr OnnxAttribute kSelu[] = {
    {.name = "alpha", .type = kFloat, .presence = kDefault, .number = 1.6732f, .until = 5},
    {.name = "gamma", .type = kFloat, .presence = kDefault, .number = 1.0507f, .until = 5},
    {.name = "alpha",
     .type = kFloat,
     .presence = kDefault,
     .number = 1.67326319217681884765625,
     .since = 6},
    {.name = "gamma",
     .type = kFloat,
     .presence = kDefault,
     .number = 1.05070102214813232421875,
     .since = 6},
    {.name = "consumed_inputs", .type = kInts, .presence = kIgnored, .until = 5}};

constexpr OnnxAttribute kRnn[] = {
    {"activation_alpha", kFloats, kOptional},
    {"activation_beta", kFloats, kOptional},
    {"activations", kStrings, kOptional},
    {"clip", kFloat, kOptional},
    {"direction", kString, kDefault, 0, "forward"},
    {"hidden_size", kInt, kOptional},
    {.name = "layout", .type = kInt, .presence = kDefault, .number = 0, .since = 14}};

constexpr OnnxAttribute kScan[] = {
    {"body", kGraph, kOptional},
    {"num_scan_inputs", kInt, kRequired},
    {.name = "directions", .type = kInts, .presence = kOptional, .until = 8},
    {.name = "scan_input_axes", .type = kInts, .presence = kOptional, .since = 9},
    {.name = "scan_input_directions", .type = kInts, .presence = kOptional, .since = 9},
    {.name = "scan_output_axes", .type = kInts, .presence = kOptional, .since = 9},
    {.name = "scan_output_directions", .type = kInts, .presence = kOptional, .since = 9}};
constexpr OnnxAttribute kShape[] = {{"start", kInt, kDefault, 0}, {"end", kInt, kOptional}};

constexpr OnnxAttribute kSequenceEmpty[] = {{"dtype", kInt, kDefault, 1}};

constexpr OnnxAttribute kShrink[] = {{"bias", kFloat, kDefault, 0},
                                     {"lambd", kFloat, kDefault, 0.5}};

constexpr OnnxAttribute kSlice[] = {
    {.name = "starts", .type = kInts, .presence = kOptional, .until = 9},
    {.name = "ends", .type = kInts, .presence = kOptional, .until = 9},
    {.name = "axes", .type = kInts, .presence = kOptional, .until = 9}};

constexpr OnnxAttribute kSpaceToDepth[] = {{"blocksize", kInt, kRequired}};

constexpr OnnxAttribute kSplit[] = {
    {"axis", kInt, kDefault, 0},
    {.name = "split", .type = kInts, .presence = kOptional, .until = 12},
    {.name = "num_outputs", .type = kInt, .presence = kOptional, .since = 18}};

constexpr OnnxAttribute kSplitToSequence[] = {{"axis", kInt, kDefault, 0},
                                              {"keepdims", kInt, kDefault, 1}};

constexpr OnnxAttribute kTensorScatter[] = {{"axis", kInt, kDefault, -2},
                                            {"mode", kString, kDefault, 0, "linear"}};

constexpr OnnxAttribute kTopK[] = {
    {.name = "k", .type = kInt, .presence = kOptional, .until = 9},
    {"axis", kInt, kDefault, -1},
    {.name = "largest", .type = kInt, .presence = kDefault, .number = 1, .since = 11},
    // The results are always sorted.
    {.name = "sorted", .type = kInt, .presence = kIgnored, .since = 11}};

constexpr OnnxAttribute kTranspose[] = {{"perm", kInts, kOptional}};

constexpr OnnxAttribute kTrilu[] = {{"upper", kInt, kDefault, 1}};

constexpr OnnxAttribute kUnique[] = {{"axis", kInt, kOptional}, {"sorted", kInt, kDefault, 1}};

constexpr OnnxAttribute kUpsample[] = {
    {"mode", kString, kDefault, 0, "nearest"},
    {.name = "scales", .type = kFloats, .presence = kOptional, .until = 8}};

constexpr OnnxAttribute kWindow[] = {{"output_datatype", kInt, kDefault, 1},
                                     {"periodic", kInt, kDefault, 1}};

}  // namespace tcc::onnx_attributes
