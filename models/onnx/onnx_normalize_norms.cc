// Activations, normalizations and losses, those of com.microsoft too.

#include <algorithm>

#include "models/onnx/onnx_normalize.h"
#include "models/onnx/onnx_tensor.h"

namespace tcc {
namespace {

// Replaces the number of the optional outputs' type by the type's name.
Status NormalizeStashType(OnnxNodeContext& context) {
  int64_t number = context.node.Int("stash_type", 1);
  std::optional<DType> type =
      number < 0 || number > INT32_MAX ? std::nullopt : FromOnnxType(static_cast<int32_t>(number));
  if (!type || !type->is_float()) {
    return context.NotSupported(fmt::format("stash_type {} is not supported", number));
  }
  context.node.attributes["stash_type"] = ToString(*type);
  for (size_t i = 1; i < context.node.outputs.size(); ++i) {
    ValueId output = context.node.outputs[i];
    if (output != kNoValue) context.graph.values[output].dtype = *type;
  }
  return OkStatus();
}

// Emits x + y before this node.
ValueId EmitAdd(OnnxNodeContext& context, ValueId x, ValueId y) {
  return context.Emit(OpKind::kAdd, {x, y}, {}, context.InputType(0));
}

bool WantsOutput(const Node& node, size_t output) {
  return node.outputs.size() > output && node.outputs[output] != kNoValue;
}

// The operands' places in EmbedLayerNormalization.
enum EmbedInput : size_t {
  kIds,
  kSegmentIds,
  kWords,
  kPlaces,
  kSegments,
  kGamma,
  kBeta,
  kMask,
  kPlaceIds
};

// Returns one extent of the ids, as a list.
ValueId ExtentOfIds(OnnxNodeContext& context, int64_t axis) {
  return context.Emit(OpKind::kShape, {context.node.inputs[kIds]},
                      {{"start", axis}, {"end", axis + 1}}, kInt64);
}

// Emits the sum of word, position and segment embeddings. Without position ids, positions count
// from 0.
ValueId EmbeddingSum(OnnxNodeContext& context) {
  const std::vector<ValueId>& inputs = context.node.inputs;
  DType dtype = context.InputType(kWords);
  auto rows = [&](size_t table, size_t ids) {
    return context.Emit(OpKind::kGather, {inputs[table], inputs[ids]}, {{"axis", int64_t{0}}},
                        dtype);
  };
  auto add = [&](ValueId a, ValueId b) { return context.Emit(OpKind::kAdd, {a, b}, {}, dtype); };
  ValueId places = kNoValue;
  if (context.HasInput(kPlaceIds)) {
    places = rows(kPlaces, kPlaceIds);
  } else {
    ValueId zero = context.AddInts("zero", {0});
    places = context.Emit(OpKind::kSlice, {inputs[kPlaces], zero, ExtentOfIds(context, 1), zero},
                          {}, dtype);
  }
  ValueId sum = add(rows(kWords, kIds), places);
  return context.HasInput(kSegments) ? add(sum, rows(kSegments, kSegmentIds)) : sum;
}

// Emits the number of ones in each row of the mask; 0 without a mask.
void EmitMaskCounts(OnnxNodeContext& context, ValueId counts) {
  if (!context.HasInput(kMask)) {
    context.EmitAs(counts, OpKind::kConstantOfShape, {ExtentOfIds(context, 0)},
                   {{"value", MakeZeroTensor(kInt32, {1})}});
    return;
  }
  ValueId mask = context.node.inputs[kMask];
  ValueId one = context.AddScalar("one", 1, context.InputType(kMask));
  ValueId is_one = context.Emit(OpKind::kEqual, {mask, one}, {}, kBool);
  ValueId as_number = context.Emit(OpKind::kCast, {is_one}, {{"to", ToString(kInt32)}}, kInt32);
  context.EmitAs(counts, OpKind::kReduceSum, {as_number, context.AddInts("axes", {1})},
                 {{"keepdims", int64_t{0}}, {"noop_with_empty_axes", int64_t{0}}});
}

}  // namespace

// Refuses training before opset 14: a node trains until opset 6 unless `is_test` is set, until 13
// if further outputs are wanted, later if `training_mode` says so.
Status NormalizeBatchNormalization(OnnxNodeContext& context) {
  Node& node = context.node;
  bool wants_more = false;
  for (size_t i = 1; i < node.outputs.size(); ++i) wants_more |= node.outputs[i] != kNoValue;
  if (context.opset < 14) {
    bool training = context.opset < 7 ? node.Int("is_test", 0) == 0 : wants_more;
    if (training) return context.IsForTraining("training before opset 14");
    node.attributes.erase("is_test");
  }
  if (node.Int("training_mode", 0) != 0) return OkStatus();
  node.attributes.erase("training_mode");
  node.attributes.erase("momentum");
  if (wants_more) return context.Invalid("running statistics without training_mode");
  return OkStatus();
}

Status NormalizeBiasGelu(OnnxNodeContext& context) {
  Node& node = context.node;
  node.inputs = {EmitAdd(context, node.inputs[0], node.inputs[1])};
  node.attributes["approximate"] = std::string("none");
  return OkStatus();
}

// (input_ids, [segment_ids], word_embedding, position_embedding, [segment_embedding], gamma, beta,
// [mask], [position_ids]) -> (output, [mask_index], [embedding_sum]): a normalization of the sum of
// looked up rows. mask_index counts the ones of each row of the mask.
Status NormalizeEmbedLayerNormalization(OnnxNodeContext& context) {
  Node& node = context.node;
  for (size_t required : {kWords, kPlaces, kGamma, kBeta}) {
    if (!context.HasInput(required)) {
      return context.Invalid(fmt::format("input {} is missing", static_cast<int>(required)));
    }
  }
  if (context.HasInput(kSegmentIds) != context.HasInput(kSegments)) {
    return context.Invalid("segment_ids and segment_embedding come together or not at all");
  }
  ValueId sum = EmbeddingSum(context);
  if (WantsOutput(node, 1)) EmitMaskCounts(context, node.outputs[1]);
  if (WantsOutput(node, 2)) context.EmitAs(node.outputs[2], OpKind::kIdentity, {sum}, {});
  node.inputs = {sum, node.inputs[kGamma], node.inputs[kBeta]};
  node.outputs.resize(1);
  node.attributes = {{"axis", int64_t{-1}},
                     {"epsilon", node.Float("epsilon", 1e-12)},
                     {"stash_type", ToString(kFloat32)}};
  return OkStatus();
}

Status NormalizeFastGelu(OnnxNodeContext& context) {
  Node& node = context.node;
  if (context.HasInput(1)) node.inputs = {EmitAdd(context, node.inputs[0], node.inputs[1])};
  node.inputs.resize(1);
  node.attributes["approximate"] = std::string("tanh");
  return OkStatus();
}

Status NormalizeGelu(OnnxNodeContext& context) {
  auto [entry, absent] = context.node.attributes.emplace("approximate", std::string("none"));
  const auto& approximate = std::get<std::string>(entry->second);
  if (approximate == "none" || approximate == "tanh") return OkStatus();
  return context.Invalid(fmt::format("approximate '{}'; expected none or tanh", approximate));
}

Status NormalizeLayerNormalization(OnnxNodeContext& context) {
  return NormalizeStashType(context);
}

Status NormalizeRMSNormalization(OnnxNodeContext& context) {
  return NormalizeStashType(context);
}

// Moves the positions, the second input in com.microsoft, to the end.
Status NormalizeRotaryEmbeddingOfMicrosoft(OnnxNodeContext& context) {
  std::optional<double> scale = context.TakeFloat("scale");
  if (scale && *scale != 1)
    return context.NotSupported(fmt::format("scale {} is not supported; expected 1", *scale));
  std::vector<ValueId>& inputs = context.node.inputs;
  std::rotate(inputs.begin() + 1, inputs.begin() + 2, inputs.end());
  return OkStatus();
}

// input, skip, gamma, [beta], [bias]: a normalization of input + skip + bias, which is output 3.
Status NormalizeSkipLayerNormalization(OnnxNodeContext& context) {
  Node& node = context.node;
  bool has_beta = node.op == OpKind::kLayerNormalization;
  size_t bias = has_beta ? 4 : 3;
  ValueId sum = EmitAdd(context, node.inputs[0], node.inputs[1]);
  if (context.HasInput(bias)) sum = EmitAdd(context, sum, node.inputs[bias]);
  if (node.outputs.size() > 3) {
    context.EmitAs(node.outputs[3], OpKind::kIdentity, {sum}, {});
    node.outputs.resize(3);
  }
  // RMSNormalization has one output besides its result.
  if (!has_beta && node.outputs.size() > 1) node.outputs.erase(node.outputs.begin() + 1);
  bool shifts = has_beta && context.HasInput(3);
  ValueId gamma = node.inputs[2];
  ValueId beta = shifts ? node.inputs[3] : kNoValue;
  node.inputs = {sum, gamma};
  if (shifts) node.inputs.push_back(beta);
  while (node.outputs.back() == kNoValue) node.outputs.pop_back();
  node.attributes["axis"] = int64_t{-1};
  return NormalizeStashType(context);
}

// A loss over LogSoftmax, which is the second output.
Status NormalizeSoftmaxCrossEntropyLoss(OnnxNodeContext& context) {
  Node& node = context.node;
  std::map<std::string, Attribute> classes = {{"axis", int64_t{1}}};
  if (node.outputs.size() > 1) {
    context.EmitAs(node.outputs[1], OpKind::kLogSoftmax, {node.inputs[0]}, std::move(classes));
    node.inputs[0] = node.outputs[1];
    node.outputs.resize(1);
  } else {
    node.inputs[0] = context.Emit(OpKind::kLogSoftmax, {node.inputs[0]}, std::move(classes),
                                  context.InputType(0));
  }
  return OkStatus();
}

}  // namespace tcc
