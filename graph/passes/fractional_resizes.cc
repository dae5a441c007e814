#include "graph/passes/fractional_resizes.h"

#include <cmath>
#include <optional>

#include "graph/ops/node_lowering.h"

namespace tcc {
namespace {

constexpr size_t kScales = 2;  // the input

// Returns whether the two divisors differ by more than the rounding of a scale and of a product in
// f32: 1 / 3 of 9 is 3.
bool IsFractional(double scale, int64_t input, int64_t output) {
  if (input <= 1 || output <= 1) return false;  // a single place, whatever the divisor
  double product = scale * static_cast<double>(input);
  return std::fabs(product - static_cast<double>(output)) > 0x1p-23 * product;
}

// Returns the dimension that the scale at this place resizes.
size_t ResizedDim(const Node& node, size_t place, size_t rank) {
  std::vector<int64_t> axes = node.Ints("axes");
  if (axes.empty()) return place;
  return static_cast<size_t>(axes[place] < 0 ? axes[place] + static_cast<int64_t>(rank)
                                             : axes[place]);
}

// Returns the message for the node's first such dimension.
std::optional<std::string> Fractional(const Graph& graph, const Node& node) {
  std::string mode = node.String("coordinate_transformation_mode", "half_pixel");
  if (mode != "align_corners" && mode != "tf_crop_and_resize") return std::nullopt;
  const Tensor* scales = NodeLowering(graph, node).Constant(kScales);
  if (scales == nullptr) return std::nullopt;
  const std::vector<Expr>& from = graph.value(node.inputs[0]).shape;
  const std::vector<Expr>& to = graph.value(node.outputs[0]).shape;
  int64_t count = ElementCount(scales->shape).value_or(0);
  for (int64_t i = 0; i < count; ++i) {
    size_t dim = ResizedDim(node, static_cast<size_t>(i), from.size());
    double scale = ElementAsDouble(*scales, i);
    std::optional<int64_t> input = AsConstant(from[dim]);
    std::optional<int64_t> output = AsConstant(to[dim]);
    if (!input || !output) {
      if (scale == std::floor(scale)) continue;
      return fmt::format(
          "node '{}' (Resize): scale {:g} times a free extent may be no whole number; with {} tcc "
          "then divides by one less than it, as ONNX's tests do, ONNX Runtime by one less than the "
          "output's extent, and the results differ; sizes in place of scales have one meaning",
          node.name, scale, mode);
    }
    if (!IsFractional(scale, *input, *output)) continue;
    return fmt::format(
        "node '{}' (Resize): scale {:g} times extent {} is {:g}, no whole number; with {} tcc "
        "divides by {:g}, as ONNX's tests do, ONNX Runtime by {}, and the results differ; sizes "
        "in place of scales have one meaning",
        node.name, scale, *input, scale * static_cast<double>(*input), mode,
        scale * static_cast<double>(*input) - 1, *output - 1);
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> FractionalResizes(const Graph& graph) {
  std::vector<std::string> lines;
  for (const Node& node : graph.nodes) {
    if (node.op == OpKind::kResize) {
      if (std::optional<std::string> line = Fractional(graph, node)) lines.push_back(*line);
    }
    for (const Graph& body : node.bodies) {
      std::vector<std::string> inside = FractionalResizes(body);
      lines.insert(lines.end(), inside.begin(), inside.end());
    }
  }
  return lines;
}

}  // namespace tcc
