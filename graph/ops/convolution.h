#pragma once

#include <vector>

#include "graph/ops/window.h"

namespace tcc {

struct ConvolutionShapes {
  std::vector<WindowDim> dims;  // of a ConvTranspose as of the Conv from its output to its input
  Expr batch;
  int64_t in_channels = 0;
  int64_t out_channels = 0;
  int64_t group = 1;
};

// What Conv, ConvInteger and ConvTranspose have alike: an input [N, C, spatial...] of which only N
// may be unknown, and a weight of the same rank, [a, b, kernel...] or, of a channels-last node,
// [kernel..., first, second], where the pair (first, second) is the operator's own.
struct ConvolutionOperands {
  Expr batch;
  int64_t in_channels = 0;
  std::vector<int64_t> spatial;
  std::vector<int64_t> kernel;
  // The weight's two extents of channels as they are stored.
  int64_t first_channels = 0;
  int64_t second_channels = 0;
  int64_t group = 1;  // divides in_channels
};

StatusOr<ConvolutionOperands> ConvolutionOperandsOf(const NodeLowering& node);

// Two or three inputs (input, weight, bias), floats of one type.
Status CheckConvolutionTypes(const NodeLowering& node);
// A bias as input 2, if present, is [out_channels].
Status CheckConvolutionBias(const NodeLowering& node, int64_t out_channels);

}  // namespace tcc
