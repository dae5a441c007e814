#include <algorithm>
#include <cmath>

#include "graph/ops/lowerings.h"
#include "graph/ops/resample.h"
#include "ir/simplify/simplify.h"
#include "ir/simplify/size_arithmetic.h"

namespace tcc {
namespace {

// Floats of a constant input; empty where it is absent or has no elements.
StatusOr<std::vector<double>> Numbers(const NodeLowering& node, size_t input, const char* what) {
  std::vector<double> numbers;
  if (!node.Has(input)) return numbers;
  const Tensor* tensor = node.Constant(input);
  if (!tensor && IsConstant(Product(node.Shape(input)), 0)) return numbers;
  if (!tensor) return node.NotConstant(input, what);
  TCC_ASSIGN_OR_RETURN(int64_t count, ElementCount(tensor->shape));
  for (int64_t i = 0; i < count; ++i) numbers.push_back(ElementAsDouble(*tensor, i));
  return numbers;
}

// The sizes that keep the ratio of the extents, and the scale that all axes share.
Status KeepRatio(const NodeLowering& node, const std::string& policy, const std::vector<int>& axes,
                 std::vector<ResampledDim>& dims) {
  if (policy == "stretch") return OkStatus();
  if (policy != "not_larger" && policy != "not_smaller") {
    return node.Error("keep_aspect_ratio_policy is '{}'", policy);
  }
  double scale = policy == "not_larger" ? INFINITY : 0;
  for (int d : axes) {
    if (dims[d].IsFree()) {
      return node.NotKnown(
          {dims[d].input, dims[d].output},
          fmt::format("keep_aspect_ratio_policy '{}' of {}", policy, ShapeText({dims[d].input})));
    }
    double own = dims[d].scale.number;
    scale = policy == "not_larger" ? std::min(scale, own) : std::max(scale, own);
  }
  for (int d : axes) {
    auto input = static_cast<double>(*AsConstant(dims[d].input));
    dims[d].scale = scale;
    dims[d].output = Expr(static_cast<int64_t>(std::floor(scale * input + 0.5)));
  }
  return OkStatus();
}

StatusOr<std::vector<int>> ResizedAxes(const NodeLowering& node) {
  std::vector<int> axes;
  std::vector<int64_t> given = node.node().Ints("axes");
  for (int64_t axis : given) {
    TCC_ASSIGN_OR_RETURN(int dim, node.NormalizedAxis(axis, node.Rank(0)));
    axes.push_back(dim);
  }
  for (size_t d = 0; given.empty() && d < node.Rank(0); ++d) axes.push_back(static_cast<int>(d));
  return axes;
}

// Returns the ratio of two extents, one of them a whole multiple of the other; nullopt if neither
// is known to be.
std::optional<ScaleRatio> RatioOfExtents(const Expr& input, const Expr& output) {
  for (int64_t n = 1; n <= kMaxRatio; ++n) {
    if (EqualUpToAlgebra(output, Times(input, n))) return ScaleRatio{n, 1};
    if (EqualUpToAlgebra(input, Times(output, n))) return ScaleRatio{1, n};
  }
  return std::nullopt;
}

double ScaleOf(const ScaleRatio& ratio) {
  return static_cast<double>(ratio.up) / static_cast<double>(ratio.down);
}

// Sets the scale and what follows from an output's extent.
void SetSize(const Expr& size, ResampledDim& dim) {
  std::optional<int64_t> input = AsConstant(dim.input);
  dim.output = size;
  if (!dim.IsFree()) {
    dim.scale = *input == 0 ? 1 : static_cast<double>(*AsConstant(size)) / *input;
    return;
  }
  dim.ratio = RatioOfExtents(dim.input, size);
  dim.scale = dim.ratio
                  ? CoordinateTerm(ScaleOf(*dim.ratio))
                  : CoordinateTerm(Make<Div>(CastTo(kFloat64, size), CastTo(kFloat64, dim.input)));
}

Status SetScale(const NodeLowering& node, double scale, ResampledDim& dim) {
  dim.scale = scale;
  if (std::optional<int64_t> input = AsConstant(dim.input)) {
    // In f32, as scales are: 4/3 of 3 are 4.
    dim.output = Expr(
        static_cast<int64_t>(std::floor(static_cast<float>(scale) * static_cast<float>(*input))));
    return OkStatus();
  }
  dim.ratio = RatioOf(scale);
  if (!dim.ratio) {
    return node.NotKnown({dim.input}, fmt::format("scale {} of {}", static_cast<float>(scale),
                                                  ShapeText({dim.input})));
  }
  dim.output = Times(dim.input, dim.ratio->up);
  if (dim.ratio->down > 1) dim.output = FloorDivide(dim.output, Expr(dim.ratio->down));
  return OkStatus();
}

// Returns the sizes; none where they are absent or the input is empty.
StatusOr<std::vector<Expr>> Sizes(const NodeLowering& node) {
  constexpr size_t kInput = 3;
  bool is_given = node.Has(kInput) && !IsConstant(Product(node.Shape(kInput)), 0);
  return is_given ? node.Ints(kInput, "sizes") : std::vector<Expr>{};
}

Status SetSizes(NodeLowering& node, const std::vector<int>& axes, std::vector<ResampledDim>& dims) {
  TCC_ASSIGN_OR_RETURN(std::vector<double> scales, Numbers(node, 2, "scales"));
  TCC_ASSIGN_OR_RETURN(std::vector<Expr> sizes, Sizes(node));
  if (scales.empty() == sizes.empty() || std::max(scales.size(), sizes.size()) != axes.size()) {
    return node.Error("has {} scales and {} sizes; expected {} of either", scales.size(),
                      sizes.size(), axes.size());
  }
  constexpr double kLimit = 1e12;
  for (size_t i = 0; i < axes.size(); ++i) {
    ResampledDim& dim = dims[axes[i]];
    std::optional<int64_t> size = scales.empty() ? AsConstant(sizes[i]) : std::nullopt;
    bool good = scales.empty()
                    ? node.AgreeAtMost(Expr(0), sizes[i], "the least size and a size").ok() &&
                          (!size || *size < kLimit)
                    : scales[i] > 0 && scales[i] < kLimit;
    if (!good) {
      return node.Error("{} of dimension {} is {}", scales.empty() ? "size" : "scale", axes[i],
                        scales.empty() ? static_cast<double>(*size) : scales[i]);
    }
    if (scales.empty()) {
      SetSize(sizes[i], dim);
    } else {
      TCC_RETURN_IF_ERROR(SetScale(node, scales[i], dim));
    }
  }
  if (!sizes.empty()) {
    std::string policy = node.node().String("keep_aspect_ratio_policy", "stretch");
    TCC_RETURN_IF_ERROR(KeepRatio(node, policy, axes, dims));
  }
  for (const ResampledDim& dim : dims) {
    if (!node.AgreeOnPlaces(dim.input, dim.output).ok()) {
      return node.Error("resizes an empty dimension");
    }
  }
  return OkStatus();
}

StatusOr<std::vector<ResampledDim>> DimsOf(NodeLowering& node) {
  TCC_ASSIGN_OR_RETURN(std::vector<int> axes, ResizedAxes(node));
  std::vector<ResampledDim> dims;
  for (const Expr& extent : node.Shape(0)) dims.push_back({.input = extent, .output = extent});
  TCC_RETURN_IF_ERROR(SetSizes(node, axes, dims));

  std::string mode = node.node().String("coordinate_transformation_mode", "half_pixel");
  std::vector<double> region;
  if (mode == "tf_crop_and_resize") {
    TCC_ASSIGN_OR_RETURN(region, Numbers(node, 1, "roi"));
    if (region.size() != 2 * axes.size()) {
      return node.Error("roi has {} numbers; expected {}", region.size(), 2 * axes.size());
    }
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    double start = region.empty() ? 0 : region[i];
    double end = region.empty() ? 1 : region[axes.size() + i];
    TCC_ASSIGN_OR_RETURN(dims[axes[i]].coordinate,
                         CoordinateOf(node, mode, dims[axes[i]], start, end));
  }
  return dims;
}

class Resizer {
 public:
  Resizer(NodeLowering& node, std::vector<ResampledDim> dims, Interpolation kind)
      : node_(node),
        dims_(std::move(dims)),
        kind_(kind),
        cubic_a_(node.node().Float("cubic_coeff_a", -0.75)),
        antialias_(node.node().Int("antialias", 0) != 0 && kind != Interpolation::kNearest),
        exclude_outside_(node.node().Int("exclude_outside", 0) != 0),
        type_(node.Type(0)),
        computed_(type_ == kFloat64 ? kFloat64 : kFloat32) {
    for (const ResampledDim& dim : dims_) shape_.push_back(dim.output);
  }

  Status Lower() {
    StoredBuffer out = node_.Output(0, type_, shape_);
    if (kind_ != Interpolation::kNearest && !FitsInline()) {
      LowerInPasses(out);
      return OkStatus();
    }
    std::vector<Axis> axes = node_.Axes(shape_);
    std::vector<Expr> vars = VarsOf(axes);
    Expr value;
    if (kind_ == Interpolation::kNearest) {
      TCC_ASSIGN_OR_RETURN(value, Nearest(vars));
    } else {
      value = FromComputed(Sample(vars, 0));
    }
    node_.Map(out, axes, OrExtrapolated(vars, value));
    return OkStatus();
  }

 private:
  int64_t Radius() const { return kind_ == Interpolation::kCubic ? 2 : 1; }

  // Returns the taps on either side of a place; a kernel that is stretched by 1 / scale has more.
  Expr Reach(size_t d) const {
    const ResampledDim& dim = dims_[d];
    Expr radius = Expr(Radius());
    if (!MayStretch(d)) return radius;
    if (dim.scale.formula) {
      Expr output = LargerOf(dim.output, Expr(1));
      return LargerOf(CeilQuotientOf(ProductOf(dim.input, radius), output), radius);
    }
    constexpr double kFarthest = 1e12;  // of scales that leave nothing
    return Expr(static_cast<int64_t>(
        std::min(std::ceil(static_cast<double>(Radius()) / dim.scale.number), kFarthest)));
  }

  bool MayStretch(size_t d) const {
    return antialias_ && (dims_[d].scale.formula || dims_[d].scale.number < 1);
  }

  // Returns what distances are multiplied with: the scale, at most 1.
  Expr Stretch(size_t d) const {
    Expr scale = dims_[d].scale.As(kFloat32);
    return dims_[d].scale.formula ? MinOf(scale, FloatConst(kFloat32, 1)) : scale;
  }

  // Whether the product of all taps is a fair size for one expression.
  bool FitsInline() const {
    constexpr int64_t kMaxTaps = 16;
    int64_t taps = 1;
    for (size_t d = 0; d < dims_.size(); ++d) {
      if (dims_[d].IsIdentity()) continue;
      if (MayStretch(d)) return false;
      taps *= 2 * Radius();
      if (taps > kMaxTaps) return false;
    }
    return true;
  }

  StatusOr<Expr> Nearest(const std::vector<Expr>& vars) const {
    std::string mode = node_.node().String("nearest_mode", "round_prefer_floor");
    std::vector<Expr> indices = vars;
    for (size_t d = 0; d < dims_.size(); ++d) {
      if (dims_[d].IsIdentity()) continue;
      TCC_ASSIGN_OR_RETURN(indices[d], NearestPlace(node_, mode, dims_[d], vars[d]));
    }
    return node_.Load(0, indices);
  }

  // The sum over the taps of dimensions d and on; the places of those before are set.
  Expr Sample(const std::vector<Expr>& indices, size_t d) const {
    while (d < dims_.size() && dims_[d].IsIdentity()) ++d;
    if (d == dims_.size()) return CastTo(computed_, node_.Load(0, indices));
    SplitPlace place = SplitPlaceOf(dims_[d], indices[d]);
    int64_t reach = Radius();
    std::vector<Expr> weights;
    Expr total;
    for (int64_t t = 1 - reach; t <= reach; ++t) {
      weights.push_back(Weight(d, place, Expr(t)));
      total = total ? total + weights.back() : weights.back();
    }
    Expr sum;
    for (int64_t t = 1 - reach; t <= reach; ++t) {
      std::vector<Expr> at = indices;
      at[d] = Tap(d, place, Expr(t));
      Expr term = CastTo(computed_, weights[t + reach - 1]) * Sample(at, d + 1);
      sum = sum ? sum + term : term;
    }
    return exclude_outside_ ? Make<Div>(sum, CastTo(computed_, total)) : sum;
  }

  Axis TapsOf(size_t d) const {
    return NodeLowering::MakeAxis("tap", ProductOf(Reach(d), Expr(2)));
  }
  // Returns where a tap stands from the base place.
  Expr PlaceOf(const Axis& tap, size_t d) const {
    return Plus(tap.var, DifferenceOf(Expr(1), Reach(d)));
  }

  Expr Tap(size_t d, const SplitPlace& place, const Expr& tap) const {
    return MinOf(MaxOf(place.base + tap, Expr(0)), Plus(dims_[d].input, -1));
  }

  Expr Weight(size_t d, const SplitPlace& place, const Expr& tap) const {
    Expr distance = CastTo(kFloat32, tap) - place.ratio;
    if (MayStretch(d)) distance = distance * Stretch(d);
    Expr weight = KernelWeight(kind_, cubic_a_, distance);
    if (!exclude_outside_) return weight;
    Expr at = place.base + tap;
    Expr inside = BothOf(Expr(0) <= at, at < dims_[d].input);
    return SelectOf(inside, weight, FloatConst(kFloat32, 0));
  }

  // A reduction a dimension, the last dimension first.
  void LowerInPasses(const StoredBuffer& out) {
    std::vector<Expr> shape;
    for (const ResampledDim& dim : dims_) shape.push_back(dim.input);
    std::optional<StoredBuffer> from;
    for (size_t d = dims_.size(); d-- > 0;) {
      if (dims_[d].IsIdentity()) continue;
      shape[d] = dims_[d].output;
      from = Pass(d, from, shape);
    }
    std::vector<Axis> axes = node_.Axes(shape_);
    Expr value = FromComputed(node_.Load(*from, VarsOf(axes)));
    node_.Map(out, axes, OrExtrapolated(VarsOf(axes), value), "_result");
  }

  StoredBuffer Pass(size_t d, const std::optional<StoredBuffer>& from,
                    const std::vector<Expr>& shape) {
    std::optional<StoredBuffer> totals;
    if (MayStretch(d) || exclude_outside_) totals = Totals(d);
    std::vector<Axis> axes = node_.Axes(shape);
    std::vector<Expr> vars = VarsOf(axes);
    Axis tap = TapsOf(d);
    Expr t = PlaceOf(tap, d);
    SplitPlace place = SplitPlaceOf(dims_[d], vars[d]);
    Expr weight = CastTo(computed_, Weight(d, place, t));
    if (totals) weight = Make<Div>(weight, node_.Load(*totals, {vars[d]}));
    std::vector<Expr> at = vars;
    at[d] = Tap(d, place, t);
    Expr input = from ? node_.Load(*from, at) : CastTo(computed_, node_.Load(0, at));
    return node_.Reduced(fmt::format("pass{}", d), axes, {tap}, SumCombiner(computed_),
                         weight * input);
  }

  // The sum of the weights of each output place.
  StoredBuffer Totals(size_t d) {
    Axis output = NodeLowering::MakeAxis("o", dims_[d].output);
    Axis tap = TapsOf(d);
    SplitPlace place = SplitPlaceOf(dims_[d], output.var);
    Expr weight = Weight(d, place, PlaceOf(tap, d));
    return node_.Reduced(fmt::format("totals{}", d), {output}, {tap}, SumCombiner(computed_),
                         CastTo(computed_, weight));
  }

  Expr FromComputed(const Expr& value) const { return CastTo(type_, value); }

  // tf_crop_and_resize may look beyond the image.
  Expr OrExtrapolated(const std::vector<Expr>& vars, const Expr& value) const {
    if (node_.node().String("coordinate_transformation_mode", "") != "tf_crop_and_resize") {
      return value;
    }
    Expr inside = True();
    for (size_t d = 0; d < dims_.size(); ++d) {
      Expr condition = IsInside(dims_[d], vars[d]);
      inside = AndAlso(inside, condition);
    }
    if (IsConstant(inside, 1)) return value;
    return SelectOf(inside, value, Const(type_, node_.node().Float("extrapolation_value", 0)));
  }

  NodeLowering& node_;
  std::vector<ResampledDim> dims_;
  std::vector<Expr> shape_;
  Interpolation kind_;
  double cubic_a_;
  bool antialias_;
  bool exclude_outside_;
  DType type_;
  DType computed_;
};

}  // namespace

Status LowerResize(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 4));
  TCC_ASSIGN_OR_RETURN(std::vector<ResampledDim> dims, DimsOf(node));
  std::string mode = node.node().String("mode", "nearest");
  if (mode != "nearest" && mode != "linear" && mode != "cubic") {
    return node.Error("mode is '{}'; expected nearest, linear or cubic", mode);
  }
  Interpolation kind = mode == "nearest"  ? Interpolation::kNearest
                       : mode == "linear" ? Interpolation::kLinear
                                          : Interpolation::kCubic;
  return Resizer(node, std::move(dims), kind).Lower();
}

}  // namespace tcc
