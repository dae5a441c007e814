#include "graph/ops/window.h"

#include "ir/simplify/simplify.h"

namespace tcc {
namespace {

int64_t Reach(const WindowDim& dim) {
  return (dim.kernel - 1) * dim.dilation + 1;
}

// Lets windows begin at all multiples of the stride up to `last_start`, counted from the begin of
// the padding.
void CountOutputs(WindowDim& dim, const Expr& last_start) {
  Expr stride = dim.stride;
  dim.output = Simplify(Plus(FloorDivide(last_start, stride), 1));
  // last_start - last_start mod stride is (output - 1) * stride, but shows its relation to the
  // input.
  Expr start = Minus(last_start - FloorModulo(last_start, stride), dim.pad_begin);
  dim.last_tap = Simplify(Plus(start, Reach(dim) - 1));
}

// Pads so that the output is the input over the stride, rounded up.
void PadToSame(WindowDim& dim, bool more_at_end) {
  Expr last = Plus(dim.input, -1);
  PadBothEnds(dim, Expr(Reach(dim) - 1) - FloorModulo(last, Expr(dim.stride)), more_at_end);
  CountOutputs(dim, last);
}

// Returns the greatest place where a window may begin, counted from the begin of the padding.
Expr LastStart(const WindowDim& dim, WindowRounding rounding) {
  Expr behind_begin = Plus(dim.input, dim.pad_begin);
  Expr fitting = Plus(Plus(behind_begin, dim.pad_end), -Reach(dim));
  if (rounding == WindowRounding::kFloor) return Simplify(fitting);
  return Simplify(MinOf(Plus(fitting, dim.stride - 1), Plus(behind_begin, -1)));
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
                                                       const std::vector<Expr>& spatial,
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
                    .pad_end = pads[count + d],
                    .output = {},
                    .last_tap = {}});
  }
  return dims;
}

void PadBothEnds(WindowDim& dim, const Expr& total, bool more_at_end) {
  Expr padding = Simplify(MaxOf(total, Expr(0)));
  Expr half = Simplify(FloorDivide(padding, Expr(2)));
  Expr rest = Simplify(CeilDivide(padding, Expr(2)));
  dim.pad_begin = more_at_end ? half : rest;
  dim.pad_end = more_at_end ? rest : half;
}

Status ExpectOutput(NodeLowering& node, WindowDim& dim, std::string_view what) {
  Expr least = 1;
  if (MayExceed(Expr(1), dim.input)) {
    least = Simplify(MinOf(dim.input, least));
    dim.output = Simplify(MaxOf(dim.output, Expr(0)));
  }
  return node.AgreeAtMost(least, dim.output, what);
}

StatusOr<std::vector<WindowDim>> WindowDims(NodeLowering& node, const std::vector<Expr>& spatial,
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
      if (auto_pad == "VALID") dim.pad_begin = dim.pad_end = Expr(0);
      CountOutputs(dim, LastStart(dim, rounding));
    } else {
      return node.Error("auto_pad is '{}'; expected NOTSET, VALID, SAME_UPPER or SAME_LOWER",
                        auto_pad);
    }
    if (MayExceed(dim.output, Expr(0))) {
      TCC_RETURN_IF_ERROR(ExpectOutput(
          node, dim,
          fmt::format("1 and the places of a window of {} on dimension {}", Reach(dim), d)));
      continue;
    }
    if (MayExceed(dim.input, Expr(0))) {
      return node.Error("a window of {} does not fit dimension {} of {} with pads {} and {}",
                        Reach(dim), d, ShapeText({dim.input}), ShapeText({dim.pad_begin}),
                        ShapeText({dim.pad_end}));
    }
    CountOutputs(dim, Expr(-dim.stride));
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
    Expr position = Minus(Times(outputs[d].var, dim.stride) + tap, dim.pad_begin);
    if (MayExceed(dim.pad_begin, Expr(0))) require(position >= Expr(0));
    if (MayExceed(dim.last_tap, Plus(dim.input, -1))) require(position < dim.input);
    access.indices.push_back(position);
  }
  return access;
}

}  // namespace tcc
