#include "graph/passes/dequantize_constant.h"

#include "graph/ops/node_lowering.h"
#include "support/check.h"

namespace tcc {
namespace {

// Which scale an element of the flat tensor has: elements fall into `outer` times `extent` runs of
// `inner`, the middle one in blocks.
struct ScaleIndex {
  int64_t extent = 1;
  int64_t inner = 1;
  int64_t block = 1;
  int64_t scales = 1;      // along the axis
  bool same_outer = true;  // the scale does not depend on what is outside the axis
  bool same_inner = true;  // or inside it

  int64_t At(int64_t element) const {
    int64_t within = element % inner;
    int64_t along = element / inner % extent / block;
    int64_t outer = element / inner / extent;
    int64_t index = (same_outer ? 0 : outer * scales) + along;
    return same_inner ? index : index * inner + within;
  }
};

ScaleIndex ScaleIndexOf(const Node& node, const Tensor& x, const Tensor& scale) {
  ScaleIndex index;
  if (ElementCount(scale.shape).value() == 1) {
    index.extent = index.block = std::max<int64_t>(ElementCount(x.shape).value(), 1);
    return index;
  }
  int64_t axis = node.Int("axis", 1);
  if (axis < 0) axis += static_cast<int64_t>(x.shape.size());
  index.extent = x.shape[axis];
  for (size_t d = axis + 1; d < x.shape.size(); ++d) index.inner *= x.shape[d];
  bool blocked = node.Int("block_size", 0) > 0;
  index.block = blocked ? node.Int("block_size", 0) : 1;
  index.scales = blocked ? scale.shape[axis] : index.extent;
  index.same_outer = index.same_inner = !blocked;
  return index;
}

}  // namespace

std::optional<Tensor> DequantizedConstant(const Graph& graph, const Node& node) {
  if (node.op != OpKind::kDequantizeLinear) return std::nullopt;
  const Tensor* x = graph.ConstantOf(node.inputs[0]);
  const Tensor* scale = graph.ConstantOf(node.inputs[1]);
  const Tensor* zero = node.inputs.size() > 2 ? graph.ConstantOf(node.inputs[2]) : nullptr;
  if (!x || !scale || (node.inputs.size() > 2 && node.inputs[2] != kNoValue && !zero)) {
    return std::nullopt;
  }
  std::optional<DType> dtype = ParseDType(node.String("to", ""));
  TCC_CHECK(dtype.has_value()) << node.name;
  bool is_double = AccumulationType(*dtype) == kFloat64;
  ScaleIndex index = ScaleIndexOf(node, *x, *scale);
  bool one_zero = zero && ElementCount(zero->shape).value() == 1;
  Tensor result = MakeZeroTensor(*dtype, x->shape);
  int64_t count = ElementCount(x->shape).value();
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = index.At(i);
    // Exact in a double: integers have up to 32 bits, the zero point of an f8 is 0.
    double difference =
        ElementAsDouble(*x, i) - (zero ? ElementAsDouble(*zero, one_zero ? 0 : at) : 0);
    double factor = ElementAsDouble(*scale, at);
    double product = is_double ? difference * factor
                               : static_cast<float>(difference) * static_cast<float>(factor);
    SetElement(result, i, product);
  }
  return result;
}

}  // namespace tcc
