#include "graph/ops/lowerings.h"
#include "ir/simplify/simplify.h"

namespace tcc {
namespace {

// Numbers or formulas over Shape variables; what is negative crops.
struct DimPad {
  Expr begin = 0;
  Expr end = 0;
};

bool IsTooLarge(const Expr& pad) {
  constexpr int64_t kLimit = int64_t{1} << 40;
  std::optional<int64_t> known = AsConstant(pad);
  return known && (*known > kLimit || *known < -kLimit);
}

StatusOr<std::vector<DimPad>> PadsOf(const NodeLowering& node) {
  size_t rank = node.Rank(0);
  TCC_ASSIGN_OR_RETURN(std::vector<Expr> pads, node.Ints(1, "pads"));
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
    if (IsTooLarge(result[dim].begin) || IsTooLarge(result[dim].end)) {
      return node.Error("pads of axis {} are {} and {}", axes[i], ShapeText({result[dim].begin}),
                        ShapeText({result[dim].end}));
    }
  }
  return result;
}

// Returns whether the amount pads, rather than crops, at some sizes.
bool MayPad(const Expr& amount) {
  return MayExceed(amount, Expr(0));
}

// Returns x mirrored at 0 and at extent - 1, neither of them repeated.
Expr Reflected(const Expr& x, const DimPad& pad, const Expr& extent) {
  Expr last = Plus(extent, -1);
  if (IsConstant(last, 0)) return Expr(0);
  if (MayExceed(pad.begin, last) || MayExceed(pad.end, last)) {
    Expr period = Simplify(MaxOf(Times(last, 2), Expr(1)));
    Expr within = FloorModulo(x, period);
    return MinOf(within, period - within);
  }
  Expr result = x;
  if (MayPad(pad.begin)) result = SelectOf(x < Expr(0), Expr(0) - x, result);
  if (MayPad(pad.end)) result = SelectOf(last < x, Times(last, 2) - x, result);
  return result;
}

Expr Wrapped(const Expr& x, const Expr& extent) {
  if (!MayExceed(extent, Expr(1))) return Expr(0);
  return FloorModulo(x, Simplify(MaxOf(extent, Expr(1))));
}

Expr ClampedTo(const Expr& x, const DimPad& pad, const Expr& extent) {
  Expr result = x;
  if (MayPad(pad.begin)) result = MaxOf(result, Expr(0));
  if (MayPad(pad.end)) result = MinOf(result, Plus(extent, -1));
  return result;
}

Status MapPadded(NodeLowering& node, const std::vector<DimPad>& pads, const std::string& mode,
                 const Expr& fill) {
  const std::vector<Expr>& in_shape = node.Shape(0);
  std::vector<Expr> shape;
  for (size_t d = 0; d < in_shape.size(); ++d) {
    Expr extent = Simplify(in_shape[d] + pads[d].begin + pads[d].end);
    if (!MayExceed(extent, Expr(-1))) {
      return node.Error("pads {} and {} leave nothing of dimension {} = {}",
                        ShapeText({pads[d].begin}), ShapeText({pads[d].end}), d,
                        ShapeText({in_shape[d]}));
    }
    if (mode != "constant" && IsConstant(in_shape[d], 0) && MayExceed(extent, Expr(0))) {
      return node.Error("mode {} with pads {} and {} of dimension {} = {}", mode,
                        ShapeText({pads[d].begin}), ShapeText({pads[d].end}), d,
                        ShapeText({in_shape[d]}));
    }
    shape.push_back(extent);
  }

  StoredBuffer out = node.Output(0, node.Type(0), shape);
  std::vector<Axis> axes = node.Axes(shape);
  std::vector<Expr> indices;
  Expr inside;
  auto require = [&](const Expr& condition) {
    inside = inside ? BothOf(inside, condition) : condition;
  };
  for (size_t d = 0; d < in_shape.size(); ++d) {
    const Expr& extent = in_shape[d];
    bool begins = MayPad(pads[d].begin);
    bool ends = MayPad(pads[d].end);
    Expr moved = Minus(axes[d].var, pads[d].begin);
    if (mode == "constant") {
      if (begins) require(moved >= Expr(0));
      if (ends) require(moved < extent);
    } else if (begins || ends) {
      if (mode == "reflect") moved = Reflected(moved, pads[d], extent);
      if (mode == "wrap") moved = Wrapped(moved, extent);
      if (mode == "edge") moved = ClampedTo(moved, pads[d], extent);
      // A free dimension that turns out empty has no element to repeat.
      if (!AsConstant(extent) && MayExceed(Expr(1), extent)) require(extent > Expr(0));
    }
    indices.push_back(moved);
  }
  Expr value = node.Load(0, indices);
  node.Map(out, axes, inside ? SelectOf(inside, value, fill) : value);
  return OkStatus();
}

}  // namespace

Status LowerPad(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 4));
  TCC_ASSIGN_OR_RETURN(std::vector<DimPad> pads, PadsOf(node));
  std::string mode = node.node().String("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") {
    return node.Error("mode '{}'; expected constant, reflect, edge or wrap", mode);
  }
  if (!node.Has(2)) return MapPadded(node, pads, mode, Const(node.Type(0), 0));
  if (node.Type(2) != node.Type(0)) {
    return node.Error("the constant has type {}; expected {}", ToString(node.Type(2)),
                      ToString(node.Type(0)));
  }
  Expr fill = mode == "constant" ? node.Load(2, std::vector<Expr>(node.Rank(2), Expr(0)))
                                 : Const(node.Type(0), 0);
  return MapPadded(node, pads, mode, fill);
}

// The middle of what is too long; zeros round what is too short. The odd one is cut off or added
// at the end.
Status LowerCenterCropPad(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  const std::vector<Expr>& in_shape = node.Shape(0);
  TCC_ASSIGN_OR_RETURN(std::vector<Expr> target, node.Ints(1, "shape"));
  std::vector<int64_t> axes = node.node().Ints("axes");
  bool all = !node.node().attributes.contains("axes");
  for (size_t d = 0; all && d < in_shape.size(); ++d) axes.push_back(static_cast<int64_t>(d));
  if (axes.size() != target.size()) {
    return node.Error("has {} axes and the shape {}", axes.size(), ShapeText(target));
  }
  std::vector<DimPad> pads(in_shape.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    TCC_ASSIGN_OR_RETURN(int dim, node.NormalizedAxis(axes[i], in_shape.size()));
    if (!MayExceed(target[i], Expr(-1))) return node.Error("shape is {}", ShapeText(target));
    Expr missing = Simplify(target[i] - in_shape[dim]);
    Expr crop = CeilDivide(missing, Expr(2));
    Expr begin = SelectOf(missing < Expr(0), crop, FloorDivide(missing, Expr(2)));
    pads[dim].begin = Simplify(begin);
    pads[dim].end = Simplify(missing - pads[dim].begin);
  }
  return MapPadded(node, pads, "constant", Const(node.Type(0), 0));
}

}  // namespace tcc
