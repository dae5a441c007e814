#include "graph/ops/lowerings.h"

namespace tcc {
namespace {

struct DimPad {
  int64_t begin = 0;  // negative: crops
  int64_t end = 0;
};

StatusOr<std::vector<DimPad>> PadsOf(const NodeLowering& node) {
  size_t rank = node.Rank(0);
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> pads, node.ConstantInts(1, "pads"));
  std::vector<int64_t> axes;
  for (size_t d = 0; d < rank; ++d) axes.push_back(static_cast<int64_t>(d));
  if (node.Has(3)) {
    TCC_ASSIGN_OR_RETURN(axes, node.ConstantInts(3, "axes"));
  }
  if (pads.size() != 2 * axes.size()) {
    return node.Error("has {} pads; expected {}, a begin and an end for each of {} axes",
                      pads.size(), 2 * axes.size(), axes.size());
  }
  std::vector<DimPad> result(rank);
  for (size_t i = 0; i < axes.size(); ++i) {
    TCC_ASSIGN_OR_RETURN(int dim, node.NormalizedAxis(axes[i], rank));
    result[dim] = {.begin = pads[i], .end = pads[axes.size() + i]};
    constexpr int64_t kLimit = int64_t{1} << 40;
    if (std::abs(pads[i]) > kLimit || std::abs(pads[axes.size() + i]) > kLimit) {
      return node.Error("pads of axis {} are {} and {}", axes[i], pads[i], pads[axes.size() + i]);
    }
  }
  return result;
}

// x mirrored at 0 and at extent - 1, neither of them repeated.
Expr Reflected(const Expr& x, const DimPad& pad, int64_t extent) {
  if (extent == 1) return Expr(0);
  if (std::max(pad.begin, pad.end) >= extent) {
    int64_t period = 2 * (extent - 1);
    Expr within = FloorModulo(x, Expr(period));
    return MinOf(within, Expr(period) - within);
  }
  Expr result = x;
  if (pad.begin > 0) result = SelectOf(x < Expr(0), Expr(0) - x, result);
  if (pad.end > 0) result = SelectOf(Expr(extent - 1) < x, Expr(2 * (extent - 1)) - x, result);
  return result;
}

Expr Wrapped(const Expr& x, int64_t extent) {
  return extent <= 1 ? Expr(0) : FloorModulo(x, Expr(extent));
}

Expr ClampedTo(const Expr& x, const DimPad& pad, int64_t extent) {
  Expr result = x;
  if (pad.begin > 0) result = MaxOf(result, Expr(0));
  if (pad.end > 0) result = MinOf(result, Expr(extent - 1));
  return result;
}

Status MapPadded(NodeLowering& node, const std::vector<int64_t>& in_shape,
                 const std::vector<DimPad>& pads, const std::string& mode, const Expr& fill) {
  std::vector<Expr> shape;
  for (size_t d = 0; d < in_shape.size(); ++d) {
    int64_t extent = in_shape[d] + pads[d].begin + pads[d].end;
    if (extent < 0) {
      return node.Error("pads {} and {} leave nothing of dimension {} = {}", pads[d].begin,
                        pads[d].end, d, in_shape[d]);
    }
    if (mode != "constant" && in_shape[d] == 0 && extent > 0) {
      return node.Error("mode {} with pads {} and {} of dimension {} = {}", mode, pads[d].begin,
                        pads[d].end, d, in_shape[d]);
    }
    shape.push_back(Expr(extent));
  }

  StoredBuffer out = node.Output(0, node.Type(0), shape);
  std::vector<Axis> axes = node.Axes(shape);
  std::vector<Expr> indices;
  Expr inside;
  auto require = [&](const Expr& condition) {
    inside = inside ? BothOf(inside, condition) : condition;
  };
  for (size_t d = 0; d < in_shape.size(); ++d) {
    Expr moved = Plus(axes[d].var, -pads[d].begin);
    bool pads_any = pads[d].begin > 0 || pads[d].end > 0;
    if (pads_any && mode == "reflect") moved = Reflected(moved, pads[d], in_shape[d]);
    if (pads_any && mode == "wrap") moved = Wrapped(moved, in_shape[d]);
    if (pads_any && mode == "edge") moved = ClampedTo(moved, pads[d], in_shape[d]);
    if (mode == "constant" && pads[d].begin > 0) require(moved >= Expr(0));
    if (mode == "constant" && pads[d].end > 0) require(moved < Expr(in_shape[d]));
    indices.push_back(moved);
  }
  Expr value = node.Load(0, indices);
  node.Map(out, axes, inside ? SelectOf(inside, value, fill) : value);
  return OkStatus();
}

}  // namespace

Status LowerPad(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 4));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> in_shape, node.StaticShape(0));
  TCC_ASSIGN_OR_RETURN(std::vector<DimPad> pads, PadsOf(node));
  std::string mode = node.node().String("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") {
    return node.Error("mode '{}'; expected constant, reflect, edge or wrap", mode);
  }
  if (!node.Has(2)) return MapPadded(node, in_shape, pads, mode, Const(node.Type(0), 0));
  if (node.Type(2) != node.Type(0)) {
    return node.Error("the constant has type {}; expected {}", ToString(node.Type(2)),
                      ToString(node.Type(0)));
  }
  Expr fill = mode == "constant" ? node.Load(2, std::vector<Expr>(node.Rank(2), Expr(0)))
                                 : Const(node.Type(0), 0);
  return MapPadded(node, in_shape, pads, mode, fill);
}

// The middle of what is too long; zeros round what is too short. The odd one is cut off or added
// at the end.
Status LowerCenterCropPad(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> in_shape, node.StaticShape(0));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> target, node.ConstantInts(1, "shape"));
  std::vector<int64_t> axes = node.node().Ints("axes");
  bool all = !node.node().attributes.contains("axes");
  for (size_t d = 0; all && d < in_shape.size(); ++d) axes.push_back(static_cast<int64_t>(d));
  if (axes.size() != target.size()) {
    return node.Error("has {} axes and the shape {}", axes.size(), ShapeToString(target));
  }
  std::vector<DimPad> pads(in_shape.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    TCC_ASSIGN_OR_RETURN(int dim, node.NormalizedAxis(axes[i], in_shape.size()));
    if (target[i] < 0) return node.Error("shape is {}", ShapeToString(target));
    int64_t missing = target[i] - in_shape[dim];
    pads[dim].begin = missing / 2;
    pads[dim].end = missing - missing / 2;
  }
  return MapPadded(node, in_shape, pads, "constant", Const(node.Type(0), 0));
}

}  // namespace tcc
