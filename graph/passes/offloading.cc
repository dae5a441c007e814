#include "graph/passes/offloading.h"

#include <algorithm>

#include "ir/graph/constants.h"

namespace tcc {
namespace {

// The most nodes of an output stage: each takes a few of the 32 steps that the accelerator has.
constexpr size_t kMaxNodes = 10;

bool Has(const Node& node, size_t input) {
  return node.inputs.size() > input && node.inputs[input] != kNoValue;
}

bool IsByte(DType dtype) {
  return dtype == DType(DTypeCode::kInt8) || dtype == DType(DTypeCode::kUInt8);
}

// The sums of a product, along one axis of which lie the channels.
class OutputStage {
 public:
  OutputStage(const Graph& graph, const ValueUses& uses, const Node& product)
      : graph_(graph), uses_(uses) {
    const std::vector<Expr>& shape = graph.value(product.outputs[0]).shape;
    rank_ = shape.size();
    axis_ = product.op == OpKind::kConvInteger ? 1 : rank_ - 1;
    channels_ = *AsConstant(shape[axis_]);
  }

  std::vector<int> NodesBehind(ValueId value) const {
    std::vector<int> nodes;
    size_t kept = 0;
    while (nodes.size() < kMaxNodes && uses_.HasOneReader(value)) {
      const int reader = uses_.readers[value][0];
      const Node& node = graph_.nodes[reader];
      if (node.inputs[0] != value || !IsStep(node)) break;
      nodes.push_back(reader);
      value = node.outputs[0];
      if (IsByte(TypeOf(value))) kept = nodes.size();
    }
    nodes.resize(kept);
    return nodes;
  }

 private:
  DType TypeOf(ValueId id) const { return graph_.value(id).dtype; }

  // Returns whether the output stage computes the node from its first input.
  bool IsStep(const Node& node) const {
    const DType from = TypeOf(node.inputs[0]), to = TypeOf(node.outputs[0]);
    if (graph_.value(node.outputs[0]).shape.size() != rank_) return false;
    switch (node.op) {
      case OpKind::kCast:
        return from == kInt32 && to == kFloat32;
      case OpKind::kAdd:
      case OpKind::kSub:
        return (to == kFloat32 || (to == kInt32 && !IsNumber(node.inputs[1]))) &&
               IsByChannel(node.inputs[1]);
      case OpKind::kMul:
      case OpKind::kDiv:
        return to == kFloat32 && IsByChannel(node.inputs[1]);
      case OpKind::kRelu:
        return to == kFloat32;
      case OpKind::kQuantizeLinear:
        return from == kFloat32 && IsByte(to) && IsNumber(node.inputs[1]) &&
               (!Has(node, 2) || IsNumber(node.inputs[2])) && !Has(node, 3);
      case OpKind::kDequantizeLinear:
        return IsByte(from) && to == kFloat32 && IsNumber(node.inputs[1]) &&
               (!Has(node, 2) || IsZero(node.inputs[2]));
      default:
        return false;
    }
  }

  bool IsNumber(ValueId id) const {
    const Tensor* constant = graph_.ConstantOf(id);
    return constant && HasOneElement(*constant);
  }

  bool IsZero(ValueId id) const { return IsNumber(id) && HoldsOnly(*graph_.ConstantOf(id), 0); }

  // Returns whether the value is a constant number, or one for each channel.
  bool IsByChannel(ValueId id) const {
    if (IsNumber(id)) return true;
    const Tensor* constant = graph_.ConstantOf(id);
    if (!constant || constant->shape.size() > rank_) return false;
    std::vector<int64_t> shape = constant->shape;
    shape.insert(shape.begin(), rank_ - shape.size(), 1);
    for (size_t d = 0; d < rank_; ++d) {
      if (shape[d] != (d == axis_ ? channels_ : 1)) return false;
    }
    return true;
  }

  const Graph& graph_;
  const ValueUses& uses_;
  size_t rank_ = 0, axis_ = 0;
  int64_t channels_ = 0;
};

}  // namespace

bool IsOffloadable(const Graph& graph, const Node& node) {
  constexpr int64_t kBlock = 16;
  const bool is_convolution = node.op == OpKind::kConvInteger;
  if (!is_convolution && node.op != OpKind::kMatMulInteger) return false;
  if (!IsByte(graph.value(node.inputs[0]).dtype) ||
      graph.value(node.inputs[1]).dtype != DType(DTypeCode::kInt8)) {
    return false;
  }
  const Tensor* data_zero = Has(node, 2) ? graph.ConstantOf(node.inputs[2]) : nullptr;
  const Tensor* weight_zero = Has(node, 3) ? graph.ConstantOf(node.inputs[3]) : nullptr;
  if (Has(node, 2) && (!data_zero || !HasOneElement(*data_zero))) return false;
  if (Has(node, 3) && (!weight_zero || !HoldsOnly(*weight_zero, 0))) return false;
  const Tensor* weight = graph.ConstantOf(node.inputs[1]);
  const std::vector<Expr>& shape = graph.value(node.outputs[0]).shape;
  const size_t rank = weight ? weight->shape.size() : 0;
  const bool is_known =
      std::ranges::all_of(shape, [](const Expr& n) { return AsConstant(n).has_value(); });
  if (!is_known || node.Int("group", 1) != 1 || (is_convolution ? rank < 3 : rank != 2)) {
    return false;
  }
  const int64_t inputs = weight->shape[rank - 2], outputs = weight->shape[rank - 1];
  return inputs > 0 && inputs % kBlock == 0 && outputs > 0 && outputs % kBlock == 0;
}

std::vector<int> OutputStageOf(const Graph& graph, const ValueUses& uses, int product) {
  const Node& node = graph.nodes[product];
  return OutputStage(graph, uses, node).NodesBehind(node.outputs[0]);
}

}  // namespace tcc
