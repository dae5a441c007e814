#include "graph/ops/convolution.h"

#include <algorithm>

namespace tcc {

namespace {

// Returns the number of input channels; a free one is taken to be what the weight says.
StatusOr<int64_t> InputChannels(NodeLowering& node, const std::vector<int64_t>& weight) {
  const Expr& stated = node.Shape(0)[1];
  if (std::optional<int64_t> known = AsConstant(stated)) return *known;
  bool transposed = node.node().op == OpKind::kConvTranspose;
  Expr implied = transposed ? Expr(weight[0]) : Times(Expr(weight[1]), node.node().Int("group", 1));
  TCC_RETURN_IF_ERROR(node.Agree(stated, implied, "channels of input and weight"));
  return *AsConstant(implied);
}

}  // namespace

StatusOr<ConvolutionOperands> ConvolutionOperandsOf(NodeLowering& node) {
  const std::vector<Expr>& input = node.Shape(0);
  size_t rank = input.size();
  TCC_RETURN_IF_ERROR(node.CheckLeastRank(0, 3));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> weight, node.StaticShape(1));
  if (weight.size() != rank) {
    return node.Error("weight of shape {} has rank {}; expected rank {} as the input",
                      ShapeToString(weight), weight.size(), rank);
  }
  TCC_ASSIGN_OR_RETURN(int64_t channels, InputChannels(node, weight));
  if (node.channels_last()) std::rotate(weight.begin(), weight.end() - 2, weight.end());

  ConvolutionOperands operands{.batch = input[0],
                               .in_channels = channels,
                               .spatial = {input.begin() + 2, input.end()},
                               .kernel = {weight.begin() + 2, weight.end()},
                               .first_channels = weight[0],
                               .second_channels = weight[1],
                               .group = node.node().Int("group", 1)};
  // Every number divides zero channels, but not every one has a product with the output's.
  int64_t group = operands.group;
  if (group < 1 || group > std::max<int64_t>(operands.in_channels, 1) ||
      operands.in_channels % group != 0) {
    return node.Error("group is {}; expected a divisor of {} input channels", group,
                      operands.in_channels);
  }
  std::vector<int64_t> stated = node.node().Ints("kernel_shape", operands.kernel);
  if (stated != operands.kernel) {
    return node.Error("kernel_shape is {}; expected {} as the weight", ShapeToString(stated),
                      ShapeToString(operands.kernel));
  }
  return operands;
}

Status CheckConvolutionTypes(const NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 3));
  TCC_RETURN_IF_ERROR(node.CheckFloats(0));
  return node.CheckSameTypes();
}

Status CheckConvolutionBias(NodeLowering& node, int64_t out_channels) {
  if (!node.Has(2)) return OkStatus();
  const Expr channels = out_channels;
  if (node.Rank(2) == 1 &&
      node.Agree(node.Shape(2)[0], channels, "the bias and the output channels").ok()) {
    return OkStatus();
  }
  return node.Error("bias has shape {}; expected {}", ShapeText(node.Shape(2)), out_channels);
}

}  // namespace tcc
