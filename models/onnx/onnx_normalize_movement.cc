#include "ir/graph/constants.h"
#include "models/onnx/onnx_normalize.h"
#include "models/onnx/onnx_tensor.h"

namespace tcc {

Status NormalizeEyeLike(OnnxNodeContext& context) {
  auto given = context.node.attributes.extract("dtype");
  DType type = context.InputType(0);
  if (!given.empty()) {
    int64_t code = std::get<int64_t>(given.mapped());
    std::optional<DType> dtype =
        code < 0 || code > INT32_MAX ? std::nullopt : FromOnnxType(static_cast<int32_t>(code));
    if (!dtype || dtype->is_storage_only()) {
      return context.NotSupported(
          fmt::format("element type {} is not supported", OnnxTypeName(code)));
    }
    type = *dtype;
  }
  context.graph.values[context.node.outputs[0]].dtype = type;
  context.node.attributes["to"] = ToString(type);
  return OkStatus();
}

namespace {

// Opset 10 has scales alone and places o / scale.
Status NormalizeScales(OnnxNodeContext& context, const std::string& nearest_mode) {
  Node& node = context.node;
  if (!context.HasInput(1) || node.inputs.size() > 2) {
    return context.Invalid(
        fmt::format("has {} inputs; expected data and scales", node.inputs.size()));
  }
  context.SetInput(2, node.inputs[1]);
  context.SetInput(1, kNoValue);
  node.attributes["coordinate_transformation_mode"] = std::string("asymmetric");
  node.attributes["nearest_mode"] = nearest_mode;
  return OkStatus();
}

}  // namespace

Status NormalizeResize(OnnxNodeContext& context) {
  // The name that runtimes gave to what opset 10 does, which no later opset has.
  const std::string simple = "simple";
  if (context.opset < 11) return NormalizeScales(context, simple);
  if (context.node.String("nearest_mode", "") != simple) return OkStatus();
  return context.Invalid(fmt::format("nearest_mode is '{}'", simple));
}

Status NormalizeUpsample(OnnxNodeContext& context) {
  auto scales = context.node.attributes.extract("scales");
  if (!scales.empty()) {
    if (context.HasInput(1)) return context.Invalid("scales as an attribute and as an input");
    context.SetInput(1, context.AddConstant("scales", TensorOf(scales.mapped()).value()));
  }
  return NormalizeScales(context, "floor");
}

Status NormalizeRoiAlign(OnnxNodeContext& context) {
  if (context.opset < 16) {
    context.node.attributes["coordinate_transformation_mode"] = std::string("output_half_pixel");
  }
  return OkStatus();
}

Status NormalizeSplit(OnnxNodeContext& context) {
  std::optional<std::vector<int64_t>> parts = context.TakeInts("split");
  if (context.opset < 13) {
    if (context.HasInput(1)) return context.Invalid("parts as an input before opset 13");
    if (parts) context.SetInput(1, context.AddInts("split", *parts));
  }
  auto outputs = static_cast<int64_t>(context.node.outputs.size());
  int64_t count = context.node.Int("num_outputs", outputs);
  if (count != outputs) {
    return context.Invalid(fmt::format("num_outputs is {}; it has {} outputs", count, outputs));
  }
  return OkStatus();
}

Status NormalizeTopK(OnnxNodeContext& context) {
  auto k = context.node.attributes.extract("k");
  if (context.opset < 10) {
    if (k.empty()) return context.Invalid("attribute 'k' is missing");
    if (context.HasInput(1)) return context.Invalid("k as an input before opset 10");
    context.SetInput(1, context.AddInts("k", {std::get<int64_t>(k.mapped())}));
  }
  if (!context.HasInput(1)) return context.Invalid("k is missing");
  return OkStatus();
}

}  // namespace tcc
