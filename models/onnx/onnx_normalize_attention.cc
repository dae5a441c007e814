// Attention and MultiHeadAttention of com.microsoft as the Attention of ONNX's default domain:
// their masks become a bias of the scores.

#include <algorithm>

#include "ir/graph/constants.h"
#include "models/onnx/onnx_known_rank.h"
#include "models/onnx/onnx_normalize.h"

namespace tcc {
namespace {

using Ids = std::vector<ValueId>;

// The operands' places in a node of com.microsoft.
enum AttentionInput : size_t {
  kInput,
  kWeights,
  kBias,
  kMaskIndex,
  kPast,
  kScoreBias,
  kPastLength
};
enum MultiHeadInput : size_t {
  kQuery,
  kKey,
  kValue,
  kProjectionBias,
  kKeyPadding,
  kScoresBias,
  kPastKey,
  kPastValue,
  kPastKeyLength,
  kCacheIndirection
};

class AttentionWriter {
 public:
  explicit AttentionWriter(OnnxNodeContext& context)
      : context_(context),
        dtype_(context.InputType(0)),
        heads_(context.node.Int("num_heads", 0)),
        filter_(context.node.Float("mask_filter_value", -10000)) {}

  DType dtype() const { return dtype_; }

  ValueId Add(ValueId a, ValueId b) { return context_.Emit(OpKind::kAdd, {a, b}, {}, dtype_); }
  // Emits an Unsqueeze, Squeeze or Reshape of x, with `list` as its operand.
  ValueId View(OpKind op, ValueId x, const std::vector<int64_t>& list) {
    std::map<std::string, Attribute> attributes;
    if (op == OpKind::kReshape) attributes["allowzero"] = int64_t{0};
    return context_.Emit(op, {x, context_.AddInts("list", list)}, std::move(attributes),
                         context_.graph.value(x).dtype);
  }
  // Returns one extent as a list.
  ValueId Extent(ValueId x, int64_t axis) {
    return context_.Emit(OpKind::kShape, {x}, {{"start", axis}, {"end", axis + 1}}, kInt64);
  }
  // Splits x along an axis into equal parts, or parts of these sizes.
  Ids Parts(ValueId x, int64_t axis, size_t count, const std::vector<int64_t>& sizes = {}) {
    Node node{.name = {}, .op = OpKind::kSplit, .inputs = {x}};
    node.attributes["axis"] = axis;
    if (!sizes.empty()) node.inputs.push_back(context_.AddInts("sizes", sizes));
    for (size_t i = 0; i < count; ++i) {
      node.outputs.push_back(context_.AddValue("part", context_.graph.value(x).dtype));
    }
    node.name = context_.graph.value(node.outputs[0]).name;
    context_.graph.nodes.push_back(node);
    return node.outputs;
  }
  // Turns [batch, heads, length, size] into [batch, length, heads * size].
  ValueId Packed(ValueId x) {
    ValueId turned = context_.Emit(OpKind::kTranspose, {x},
                                   {{"perm", std::vector<int64_t>{0, 2, 1, 3}}}, dtype_);
    return View(OpKind::kReshape, turned, {0, 0, -1});
  }
  // Slices x from `from` up to `to`, both lists of one number.
  ValueId Range(ValueId x, ValueId from, ValueId to) {
    return context_.Emit(OpKind::kSlice, {x, from, to, context_.AddInts("axes", {0})}, {},
                         context_.graph.value(x).dtype);
  }

  // Returns a bias of 0 where `seen`, else the value that masks a key.
  ValueId BiasWhere(ValueId seen) {
    return context_.Emit(
        OpKind::kWhere,
        {seen, context_.AddScalar("seen", 0), context_.AddScalar("hidden", filter_)}, {}, dtype_);
  }

  // Returns 0, 1, 2, ... up to, but without, `count`, a list of one number.
  ValueId Positions(ValueId count) {
    ValueId ones =
        context_.Emit(OpKind::kConstantOfShape, {count}, {{"value", IntVector({1})}}, kInt64);
    return context_.Emit(OpKind::kCumSum, {ones, context_.AddScalar("axis", 0, kInt64)},
                         {{"exclusive", int64_t{1}}, {"reverse", int64_t{0}}}, kInt64);
  }

  // Returns a bias that broadcasts to [batch, heads, queries, keys], from a mask in one of its
  // forms: [batch] counts the visible keys, [2 batch] holds their ends and then their beginnings,
  // [3 batch + 2] holds counts and then the rows' beginnings without padding, [batch, keys] and
  // [batch, queries, keys] are above 0 where a key is visible. `keys` is the number of keys.
  StatusOr<ValueId> MaskBias(size_t input, const std::string& what, ValueId keys) {
    ValueId mask = context_.node.inputs[input];
    std::optional<size_t> rank = KnownRank(context_.graph, mask);
    if (rank == 1u) return LengthsBias(mask, keys);
    if (rank == 2u || rank == 3u) {
      ValueId zero = context_.AddScalar("zero", 0, context_.InputType(input));
      ValueId seen = context_.Emit(OpKind::kGreater, {mask, zero}, {}, kBool);
      std::vector<int64_t> axes = {1};
      if (rank == 2u) axes.push_back(2);
      return View(OpKind::kUnsqueeze, BiasWhere(seen), axes);
    }
    return context_.NotSupported(
        fmt::format("{} (input {}) has {} dimensions; supported are 1, 2 and 3", what, input,
                    rank ? std::to_string(*rank) : "an unknown number of"));
  }

  // Returns the bias of a mask of rank 1. A list whose length is not known yet has [batch]
  // elements, which the Attention checks.
  StatusOr<ValueId> LengthsBias(ValueId mask, ValueId keys) {
    std::optional<int64_t> known_batch = FirstExtent(context_.node.inputs[0]);
    std::optional<int64_t> known_count = FirstExtent(mask);
    int64_t batch = known_batch.value_or(1);
    int64_t count = known_batch && known_count ? *known_count : batch;
    if (count != batch && count != 2 * batch && count != 3 * batch + 2) {
      return context_.NotSupported(fmt::format(
          "mask '{}' has {} elements; expected {}, {} or {} for a batch of {}",
          context_.graph.value(mask).name, count, batch, 2 * batch, 3 * batch + 2, batch));
    }
    ValueId positions = Positions(keys);
    if (count == 3 * batch + 2) {
      mask = Range(mask, context_.AddInts("from", {0}), context_.AddInts("to", {batch}));
    }
    if (count != 2 * batch) return BiasWhere(Below(positions, mask));
    Ids parts = Parts(mask, 0, 2);
    ValueId early = Below(positions, parts[1]);
    ValueId late = context_.Emit(OpKind::kNot, {early}, {}, kBool);
    return BiasWhere(context_.Emit(OpKind::kAnd, {Below(positions, parts[0]), late}, {}, kBool));
  }

  // Returns the sum of two biases, either of which may be absent.
  ValueId SumOf(ValueId a, ValueId b) {
    if (a == kNoValue) return b;
    return b == kNoValue ? a : Add(a, b);
  }

  // Expands a bias to all keys, so that one of another length is refused.
  ValueId OfAllKeys(ValueId bias, ValueId keys) {
    Tensor zero = MakeZeroTensor(dtype_, {1});
    ValueId zeros = context_.Emit(OpKind::kConstantOfShape, {keys}, {{"value", zero}}, dtype_);
    return Add(bias, zeros);
  }

  std::map<std::string, Attribute> Attributes() const {
    const Node& node = context_.node;
    std::map<std::string, Attribute> attributes = {
        {"is_causal", int64_t{node.Int("unidirectional", 0) != 0}},
        {"q_num_heads", heads_},
        {"kv_num_heads", heads_},
        {"qk_matmul_output_mode", int64_t{0}},
        {"softcap", 0.0},
        {"left_window_size", int64_t{-1}},
        {"right_window_size", int64_t{-1}}};
    double scale = node.Float("scale", 0);
    if (scale != 0) attributes["scale"] = scale;
    return attributes;
  }

  Status CheckHeads() const {
    if (heads_ >= 1) return OkStatus();
    return context_.Invalid(fmt::format("num_heads is {}; expected 1 or more", heads_));
  }

 private:
  // Returns the first extent of a constant, or of an input if it is known.
  std::optional<int64_t> FirstExtent(ValueId id) const {
    const std::vector<Expr>& shape = context_.graph.value(id).shape;
    return shape.empty() ? std::nullopt : AsConstant(shape[0]);
  }

  // Returns positions < limits[b], as [batch, 1, 1, positions].
  ValueId Below(ValueId positions, ValueId limits) {
    ValueId wide = context_.Emit(OpKind::kCast, {View(OpKind::kUnsqueeze, limits, {1, 2, 3})},
                                 {{"to", ToString(kInt64)}}, kInt64);
    return context_.Emit(OpKind::kLess, {positions, wide}, {}, kBool);
  }

  OnnxNodeContext& context_;
  DType dtype_;
  int64_t heads_;
  double filter_;
};

Status RefuseInputs(const OnnxNodeContext& context,
                    std::initializer_list<std::pair<size_t, const char*>> inputs) {
  for (auto [index, name] : inputs) {
    if (context.HasInput(index)) {
      return context.NotSupported(fmt::format("input {} ({}) is not supported", index, name));
    }
  }
  return OkStatus();
}

// Joins the present keys and values, separate outputs in the default domain's Attention, into one,
// [2, batch, heads, keys, size].
void JoinPresent(OnnxNodeContext& context, AttentionWriter& write, Node attention) {
  Node& node = context.node;
  Ids parts;
  for (const char* role : {"present_key", "present_value"}) {
    attention.outputs.push_back(context.AddValue(role, write.dtype()));
  }
  attention.name = context.graph.value(attention.outputs[1]).name;
  parts.assign(attention.outputs.begin() + 1, attention.outputs.end());
  context.graph.nodes.push_back(std::move(attention));
  for (ValueId& part : parts) part = write.View(OpKind::kUnsqueeze, part, {0});
  node.op = OpKind::kConcat;
  node.inputs = parts;
  node.outputs = {node.outputs[1]};
  node.attributes = {{"axis", int64_t{0}}};
}

// Returns the parts of [.., count, size] (key and value, or all three) as [batch, length, heads *
// size].
Ids Unpacked(AttentionWriter& write, ValueId packed, size_t count) {
  Ids parts = write.Parts(packed, 3, count);
  for (ValueId& part : parts) part = write.View(OpKind::kReshape, part, {0, 0, -1});
  return parts;
}

}  // namespace

// (input, weights, [bias], [mask_index], [past], [attention_bias]) -> (output, [present]).
Status NormalizeAttentionOfMicrosoft(OnnxNodeContext& context) {
  Node& node = context.node;
  AttentionWriter write(context);
  TCC_RETURN_IF_ERROR(write.CheckHeads());
  TCC_RETURN_IF_ERROR(RefuseInputs(context, {{kPastLength, "past_sequence_length"}}));
  ValueId input = node.inputs[kInput];
  ValueId projected =
      context.Emit(OpKind::kMatMul, {input, node.inputs[kWeights]}, {}, write.dtype());
  if (context.HasInput(kBias)) projected = write.Add(projected, node.inputs[kBias]);
  std::vector<int64_t> sizes = node.Ints("qkv_hidden_sizes");
  if (!sizes.empty() && sizes.size() != 3) {
    return context.Invalid(
        fmt::format("qkv_hidden_sizes has {} entries; expected 3", sizes.size()));
  }
  Ids inputs = write.Parts(projected, 2, 3, sizes);
  ValueId past = context.Input(kPast);
  ValueId keys = write.Extent(input, 1);
  Ids pasts = {kNoValue, kNoValue};
  if (past != kNoValue) {
    pasts = write.Parts(past, 0, 2);
    for (ValueId& part : pasts) part = write.View(OpKind::kSqueeze, part, {0});
    keys = context.Emit(OpKind::kAdd, {keys, write.Extent(past, 3)}, {}, kInt64);
  }
  ValueId bias = context.Input(kScoreBias);
  if (context.HasInput(kMaskIndex)) {
    TCC_ASSIGN_OR_RETURN(ValueId mask, write.MaskBias(kMaskIndex, "mask_index", keys));
    bias = write.SumOf(mask, bias);
  }
  if (bias != kNoValue && past != kNoValue) bias = write.OfAllKeys(bias, keys);
  inputs.insert(inputs.end(), {bias, pasts[0], pasts[1]});
  while (inputs.back() == kNoValue) inputs.pop_back();

  bool has_present = node.outputs.size() > 1 && node.outputs[1] != kNoValue;
  Node attention{.name = {},
                 .op = OpKind::kAttention,
                 .inputs = inputs,
                 .outputs = {node.outputs[0]},
                 .attributes = write.Attributes()};
  if (has_present) {
    JoinPresent(context, write, std::move(attention));
    return OkStatus();
  }
  node.inputs = attention.inputs;
  node.outputs = attention.outputs;
  node.attributes = attention.attributes;
  return OkStatus();
}

// (query, [key], [value], [bias], [key_padding_mask], [attention_bias], [past_key], [past_value])
// -> (output, [present_key], [present_value]).
Status NormalizeMultiHeadAttention(OnnxNodeContext& context) {
  Node& node = context.node;
  AttentionWriter write(context);
  TCC_RETURN_IF_ERROR(write.CheckHeads());
  TCC_RETURN_IF_ERROR(RefuseInputs(context, {{kPastKeyLength, "past_sequence_length"},
                                             {kCacheIndirection, "cache_indirection"}}));
  Ids operands = {node.inputs[kQuery], context.Input(kKey), context.Input(kValue)};
  bool has_bias = context.HasInput(kProjectionBias);
  bool is_packed = operands[2] == kNoValue;
  if (is_packed && has_bias) {
    return context.NotSupported("input 3 (bias) with packed keys and values is not supported");
  }
  if (operands[1] == kNoValue) {
    operands = Unpacked(write, operands[0], 3);
  } else if (is_packed) {
    Ids parts = Unpacked(write, operands[1], 2);
    operands = {operands[0], parts[0], parts[1]};
  } else if (KnownRank(context.graph, operands[1]) == 4u) {
    if (has_bias) {
      return context.NotSupported("input 3 (bias) with keys of 4 dimensions is not supported");
    }
    for (size_t i : {1, 2}) operands[i] = write.Packed(operands[i]);
  }
  if (has_bias) {
    ValueId from = context.AddInts("from", {0});
    ValueId to = write.Extent(operands[0], 2);
    for (size_t i = 0; i < 3; ++i) {
      ValueId own = write.Range(node.inputs[kProjectionBias], from, to);
      ValueId width = i < 2 ? write.Extent(operands[i + 1], 2) : kNoValue;
      operands[i] = write.Add(operands[i], own);
      from = to;
      if (i < 2) to = context.Emit(OpKind::kAdd, {to, width}, {}, kInt64);
    }
  }
  ValueId past_key = context.Input(kPastKey);
  ValueId keys = write.Extent(operands[1], 1);
  if (past_key != kNoValue) {
    keys = context.Emit(OpKind::kAdd, {keys, write.Extent(past_key, 2)}, {}, kInt64);
  }
  ValueId bias = context.Input(kScoresBias);
  if (context.HasInput(kKeyPadding)) {
    TCC_ASSIGN_OR_RETURN(ValueId mask, write.MaskBias(kKeyPadding, "key_padding_mask", keys));
    bias = write.SumOf(mask, bias);
  }
  if (bias != kNoValue && past_key != kNoValue) bias = write.OfAllKeys(bias, keys);
  operands.insert(operands.end(), {bias, past_key, context.Input(kPastValue)});
  while (operands.back() == kNoValue) operands.pop_back();
  node.inputs = operands;
  node.attributes = write.Attributes();
  return OkStatus();
}

}  // namespace tcc
