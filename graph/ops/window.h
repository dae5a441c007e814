#pragma once

#include <vector>

#include "graph/ops/node_lowering.h"

namespace tcc {

// A spatial dimension of a convolution or pool: output o reads the inputs o * stride + k * dilation
// - pad_begin for k in 0..kernel. Its extents may be formulas over Shape variables; then the pads
// of auto_pad are, too.
struct WindowDim {
  Expr input;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  Expr pad_begin;
  Expr pad_end;
  Expr output;
  Expr last_tap;  // the last input position that a window covers; may lie in the padding
};

// The largest valid stride, pad or kernel. Even below it, products of two fit an int64_t only after
// a check.
inline constexpr int64_t kMaxWindowSize = int64_t{1} << 40;

// Returns the attribute `key`: `count` numbers between `least` and kMaxWindowSize, each
// `fallback` if the attribute is absent.
StatusOr<std::vector<int64_t>> WindowSizes(const NodeLowering& node, const char* key, size_t count,
                                           int64_t fallback, int64_t least);

// Returns the window dimensions with the attributes strides, dilations and pads over the spatial
// extents, which have no output and no last tap yet.
StatusOr<std::vector<WindowDim>> WindowsWithoutOutputs(const NodeLowering& node,
                                                       const std::vector<Expr>& spatial,
                                                       const std::vector<int64_t>& kernel);

// Pads both ends by half of `total`, or by nothing if that is negative. An odd element goes to the
// end or to the beginning.
void PadBothEnds(WindowDim& dim, const Expr& total, bool more_at_end);

// Takes for granted that the dimension, which may have an output, has one, for the run to check.
// An empty input may have none. `what` are the least output and the output.
Status ExpectOutput(NodeLowering& node, WindowDim& dim, std::string_view what);

enum class WindowRounding : uint8_t { kFloor, kCeil };

// Returns the window dimensions from the attributes strides, pads, dilations and auto_pad over the
// spatial extents. With kCeil the last window may extend beyond the end, but no window starts in
// the padding there. InvalidArgument where a window never fits an input with elements.
StatusOr<std::vector<WindowDim>> WindowDims(NodeLowering& node, const std::vector<Expr>& spatial,
                                            const std::vector<int64_t>& kernel,
                                            WindowRounding rounding);

// Returns the name of dimension `dim`: "h", "w" of two dimensions, "d", "h", "w" of three.
std::string SpatialName(size_t dims, size_t dim);
// Returns the name of the window's own axis: "kh", "kw".
std::string KernelName(size_t dims, size_t dim);

// The input position of each dimension, and the condition under which all of them lie inside the
// input, which tests only the bounds that some window really crosses.
struct WindowAccess {
  std::vector<Expr> indices;
  Expr inside;
};
WindowAccess AccessOf(const std::vector<WindowDim>& dims, const std::vector<Axis>& outputs,
                      const std::vector<Axis>& kernels);

}  // namespace tcc
