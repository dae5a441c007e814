#include <algorithm>

#include "models/onnx/onnx_normalize.h"

// Convolutions and pools: one list each of kernel extents, strides, pads and dilations, checked.
namespace tcc {
namespace {

using Extents = std::vector<int64_t>;

// The largest extent of a window: extents can be multiplied and added without overflow.
constexpr int64_t kMaxEntry = INT32_MAX;

Status CheckExtents(const OnnxNodeContext& context, const std::string& key, size_t count,
                    int64_t least) {
  Extents values = context.node.Ints(key);
  if (values.size() != count) {
    return context.Invalid(
        fmt::format("{} has {} entries; expected {}", key, values.size(), count));
  }
  for (int64_t value : values) {
    if (value < least || value > kMaxEntry) {
      return context.Invalid(
          fmt::format("{} has entry {}; expected {} to {}", key, value, least, kMaxEntry));
    }
  }
  return OkStatus();
}

// Replaces VALID by no padding; the two SAME modes depend on the operand's extents and stay.
Status NormalizeAutoPad(OnnxNodeContext& context) {
  std::string mode = context.node.String("auto_pad", "NOTSET");
  if (mode == "NOTSET") return OkStatus();
  if (mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    return context.Invalid(fmt::format("auto_pad '{}'", mode));
  }
  context.node.attributes.erase("pads");
  if (mode == "VALID") context.node.attributes["auto_pad"] = std::string("NOTSET");
  return OkStatus();
}

// Fills in the window's attributes; `rank` is the number of spatial dimensions.
Status FillWindow(OnnxNodeContext& context, size_t rank) {
  auto& attributes = context.node.attributes;
  TCC_RETURN_IF_ERROR(NormalizeAutoPad(context));
  attributes.emplace("strides", Extents(rank, 1));
  attributes.emplace("dilations", Extents(rank, 1));
  if (context.node.String("auto_pad", "") == "NOTSET") {
    attributes.emplace("pads", Extents(2 * rank, 0));
    TCC_RETURN_IF_ERROR(CheckExtents(context, "pads", 2 * rank, 0));
  }
  TCC_RETURN_IF_ERROR(CheckExtents(context, "strides", rank, 1));
  TCC_RETURN_IF_ERROR(CheckExtents(context, "dilations", rank, 1));
  if (attributes.contains("kernel_shape")) {
    TCC_RETURN_IF_ERROR(CheckExtents(context, "kernel_shape", rank, 1));
  }
  return OkStatus();
}

}  // namespace

Status NormalizePool(OnnxNodeContext& context) {
  size_t rank = context.node.Ints("kernel_shape").size();
  if (rank == 0) return context.Invalid("kernel_shape is empty");
  return FillWindow(context, rank);
}

Status NormalizeConv(OnnxNodeContext& context) {
  return NormalizeConvOf(context, 1);
}

Status NormalizeConvOf(OnnxNodeContext& context, size_t weight_input) {
  Node& node = context.node;
  int64_t group = node.Int("group", 1);
  if (group < 1) return context.Invalid(fmt::format("group is {}; expected 1 or more", group));
  std::optional<size_t> rank;
  for (const char* key :
       {"kernel_shape", "strides", "dilations", "output_padding", "output_shape"}) {
    if (node.attributes.contains(key)) rank = node.Ints(key).size();
  }
  if (node.attributes.contains("pads")) rank = node.Ints("pads").size() / 2;
  // The weight may be an input of the graph; computed values have no shape yet.
  const std::vector<Expr>& given = context.graph.value(node.inputs[weight_input]).shape;
  if (given.size() > 2) rank = given.size() - 2;
  if (const Tensor* weight = context.ConstantInput(weight_input)) {
    const Extents& shape = weight->shape;
    if (shape.size() < 3) {
      return context.Invalid(
          fmt::format("weight is {}; expected rank 3 or more", ToString(*weight)));
    }
    rank = shape.size() - 2;
    Extents kernel(shape.begin() + 2, shape.end());
    auto [entry, absent] = node.attributes.emplace("kernel_shape", kernel);
    if (!absent && std::get<Extents>(entry->second) != kernel) {
      return context.Invalid(fmt::format("weight is {}; kernel_shape is {}", ToString(*weight),
                                         ShapeToString(node.Ints("kernel_shape"))));
    }
    if (shape[0] % group != 0) {
      return context.Invalid(
          fmt::format("weight is {}; group {} does not divide its {} output channels",
                      ToString(*weight), group, shape[0]));
    }
  }
  // If the weight is computed and no attribute gives the rank, shape inference finds it.
  if (!rank) return NormalizeAutoPad(context);
  if (*rank == 0) return context.Invalid("no spatial dimension");
  return FillWindow(context, *rank);
}

// Weights are [C, M/group, k...]: NormalizeConv looks at the same dimensions.
Status NormalizeConvTranspose(OnnxNodeContext& context) {
  TCC_RETURN_IF_ERROR(NormalizeConv(context));
  size_t rank = context.node.Ints("strides").size();
  for (const char* key : {"output_padding", "output_shape"}) {
    if (!context.node.attributes.contains(key)) continue;
    TCC_RETURN_IF_ERROR(CheckExtents(context, key, rank, 0));
  }
  return OkStatus();
}

}  // namespace tcc
