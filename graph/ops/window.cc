#include "graph/ops/window.h"

#include <algorithm>

#include "support/integer_division.h"

namespace tcc {
namespace {

int64_t Reach(const WindowDim& dim) {
  return (dim.kernel - 1) * dim.dilation + 1;
}

void PadToSame(WindowDim& dim, bool more_at_end) {
  dim.output = CeilDivision(dim.input, dim.stride);
  PadBothEnds(dim, (dim.output - 1) * dim.stride + Reach(dim) - dim.input, more_at_end);
}

void CountOutputs(WindowDim& dim, WindowRounding rounding) {
  int64_t room = dim.input + dim.pad_begin + dim.pad_end - Reach(dim);
  if (rounding == WindowRounding::kFloor) {
    dim.output = FloorDivision(room, dim.stride) + 1;
    return;
  }
  dim.output = CeilDivision(room, dim.stride) + 1;
  if ((dim.output - 1) * dim.stride >= dim.input + dim.pad_begin) --dim.output;
}

}  // namespace

StatusOr<std::vector<int64_t>> WindowSizes(const NodeLowering& node, const char* key, size_t count,
                                           int64_t fallback, int64_t least) {
  std::vector<int64_t> values = node.node().Ints(key, std::vector<int64_t>(count, fallback));
  if (values.size() != count) {
    return node.Error("{} has {} numbers; expected {}", key, values.size(), count);
  }
  for (int64_t value : values) {
    if (value < least || value > kMaxWindowSize) {
      return node.Error("{} has {}; expected at least {}", key, value, least);
    }
  }
  return values;
}

StatusOr<std::vector<WindowDim>> WindowsWithoutOutputs(const NodeLowering& node,
                                                       const std::vector<int64_t>& spatial,
                                                       const std::vector<int64_t>& kernel) {
  size_t count = spatial.size();
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> strides, WindowSizes(node, "strides", count, 1, 1));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> dilations, WindowSizes(node, "dilations", count, 1, 1));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> pads, WindowSizes(node, "pads", 2 * count, 0, 0));
  std::vector<WindowDim> dims;
  for (size_t d = 0; d < count; ++d) {
    dims.push_back({.input = spatial[d],
                    .kernel = kernel[d],
                    .stride = strides[d],
                    .dilation = dilations[d],
                    .pad_begin = pads[d],
                    .pad_end = pads[count + d]});
  }
  return dims;
}

void PadBothEnds(WindowDim& dim, int64_t total, bool more_at_end) {
  total = std::max<int64_t>(0, total);
  dim.pad_begin = more_at_end ? total / 2 : total - total / 2;
  dim.pad_end = total - dim.pad_begin;
}

StatusOr<std::vector<WindowDim>> WindowDims(const NodeLowering& node,
                                            const std::vector<int64_t>& spatial,
                                            const std::vector<int64_t>& kernel,
                                            WindowRounding rounding) {
  TCC_ASSIGN_OR_RETURN(std::vector<WindowDim> dims, WindowsWithoutOutputs(node, spatial, kernel));
  std::string auto_pad = node.node().String("auto_pad", "NOTSET");
  for (size_t d = 0; d < dims.size(); ++d) {
    WindowDim& dim = dims[d];
    if (dim.kernel < 1 || dim.kernel > kMaxWindowSize / dim.dilation) {
      return node.Error("kernel {} with dilation {}", dim.kernel, dim.dilation);
    }
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      PadToSame(dim, auto_pad == "SAME_UPPER");
    } else if (auto_pad == "VALID" || auto_pad == "NOTSET" || auto_pad.empty()) {
      if (auto_pad == "VALID") dim.pad_begin = dim.pad_end = 0;
      CountOutputs(dim, rounding);
    } else {
      return node.Error("auto_pad is '{}'; expected NOTSET, VALID, SAME_UPPER or SAME_LOWER",
                        auto_pad);
    }
    if (dim.output < 1 && dim.input > 0) {
      return node.Error("a window of {} does not fit dimension {} of {} with pads {} and {}",
                        Reach(dim), d, dim.input, dim.pad_begin, dim.pad_end);
    }
    dim.output = std::max<int64_t>(dim.output, 0);
  }
  return dims;
}

std::string SpatialName(size_t dims, size_t dim) {
  static constexpr const char* kNames[] = {"d", "h", "w"};
  return dims <= 3 ? kNames[3 - dims + dim] : fmt::format("x{}", dim);
}

std::string KernelName(size_t dims, size_t dim) {
  return fmt::format("k{}", SpatialName(dims, dim));
}

WindowAccess AccessOf(const std::vector<WindowDim>& dims, const std::vector<Axis>& outputs,
                      const std::vector<Axis>& kernels) {
  WindowAccess access{.indices = {}, .inside = True()};
  auto require = [&](const Expr& condition) { access.inside = AndAlso(access.inside, condition); };
  for (size_t d = 0; d < dims.size(); ++d) {
    const WindowDim& dim = dims[d];
    Expr tap = Times(kernels[d].var, dim.dilation);
    Expr position = Plus(Times(outputs[d].var, dim.stride) + tap, -dim.pad_begin);
    if (dim.pad_begin > 0) require(position >= Expr(0));
    int64_t last = (dim.output - 1) * dim.stride + (dim.kernel - 1) * dim.dilation - dim.pad_begin;
    if (last >= dim.input) require(position < Expr(dim.input));
    access.indices.push_back(position);
  }
  return access;
}

}  // namespace tcc
