#pragma once

#include <vector>

#include "graph/ops/window.h"

namespace tcc {

struct ConvolutionShapes {
  std::vector<WindowDim> dims;  // a ConvTranspose has those of the Conv from output to input
  Expr batch;
  int64_t in_channels = 0;
  int64_t out_channels = 0;
  int64_t group = 1;
};

// The operands that Conv, ConvInteger and ConvTranspose have in common: an input [N, C, spatial...]
// of which C is known, and a weight of the same rank, which is known. The weight is [first, second,
// kernel...], or [kernel..., first, second] of a channels-last node; the operator decides the
// meaning of first and second.
struct ConvolutionOperands {
  Expr batch;
  int64_t in_channels = 0;
  std::vector<Expr> spatial;
  std::vector<int64_t> kernel;
  // The weight's two channel extents in storage order.
  int64_t first_channels = 0;
  int64_t second_channels = 0;
  int64_t group = 1;  // divides in_channels
};

StatusOr<ConvolutionOperands> ConvolutionOperandsOf(NodeLowering& node);

// Checks that the node has two or three inputs (input, weight, bias), floats of one type.
Status CheckConvolutionTypes(const NodeLowering& node);
// Checks that the bias (input 2), if present, has the shape [out_channels].
Status CheckConvolutionBias(NodeLowering& node, int64_t out_channels);

}  // namespace tcc
