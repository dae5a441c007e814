#include "graph/ops/lowerings.h"
#include "graph/ops/resample.h"
#include "ir/simplify/interval.h"

namespace tcc {
namespace {

enum class Padding : uint8_t { kZeros, kBorder, kReflection };

std::optional<Interpolation> ParseInterpolation(const std::string& mode) {
  if (mode == "nearest") return Interpolation::kNearest;
  if (mode == "linear" || mode == "bilinear") return Interpolation::kLinear;
  if (mode == "cubic" || mode == "bicubic") return Interpolation::kCubic;
  return std::nullopt;
}

std::optional<Padding> ParsePadding(const std::string& mode) {
  if (mode == "zeros") return Padding::kZeros;
  if (mode == "border") return Padding::kBorder;
  if (mode == "reflection") return Padding::kReflection;
  return std::nullopt;
}

// The pixels at computed coordinates of one image dimension: the coordinate is brought inside, then
// each pixel that interpolation takes.
class SampledDim {
 public:
  SampledDim(const Expr& grid, const Expr& extent, bool align_corners, Padding padding,
             Interpolation kind)
      : extent_(extent),
        align_corners_(align_corners),
        padding_(padding),
        type_(grid.dtype()),
        index_(BoundsOf(extent, {}).high < kNarrowExtent ? kInt32 : kInt64) {
    Expr x = (grid + F(1)) * ScaledFloat(type_, align_corners ? Plus(extent, -1) : extent, 0.5);
    if (!align_corners) x = x - F(0.5);
    if (kind == Interpolation::kNearest) x = CallOf(ScalarOp::kRound, {x});
    // The taps of a cubic end at the border one by one, as in PyTorch and ONNX Runtime.
    bool at_once = padding == Padding::kBorder && kind != Interpolation::kCubic;
    if (at_once) x = Between(x, 0, Plus(extent, -1));
    if (padding == Padding::kReflection) x = Reflected(x);
    // Far outside is as outside as just outside, and fits an i64.
    if (!at_once) x = Between(x, -4, Plus(extent, 4));
    Expr floor = kind == Interpolation::kNearest ? x : CallOf(ScalarOp::kFloor, {x});
    base_ = CastTo(index_, floor);
    ratio_ = CastTo(kFloat32, x - floor);
  }

  const Expr& ratio() const { return ratio_; }
  // Always inside.
  Expr Pixel(int64_t tap) const {
    Expr at = base_ + I(tap);
    if (padding_ == Padding::kReflection) at = ReflectedPixel(at);
    return CastTo(kInt64, MinOf(MaxOf(at, I(0)), AsIndex(Plus(extent_, -1))));
  }
  Expr IsInside(int64_t tap) const {
    Expr at = base_ + I(tap);
    return BothOf(I(0) <= at, at < AsIndex(extent_));
  }

 private:
  // Indices of 32 bits leave twice as many lanes to a vector.
  static constexpr int64_t kNarrowExtent = int64_t{1} << 28;

  Expr F(double value) const { return FloatConst(type_, value); }
  Expr I(int64_t value) const { return IntConst(index_, value); }
  Expr AsIndex(const Expr& extent) const {
    std::optional<int64_t> known = AsConstant(extent);
    return known ? I(*known) : CastTo(index_, extent);
  }
  Expr Between(const Expr& x, double low, const Expr& high) const {
    return MinOf(MaxOf(x, F(low)), ScaledFloat(type_, high));
  }

  // To and fro between the centres of the outermost pixels, or their outer borders.
  Expr Reflected(const Expr& x) const {
    double low = align_corners_ ? 0 : -0.5;
    Expr length = align_corners_ ? Plus(extent_, -1) : extent_;
    if (IsConstant(length, 0)) return F(0);
    Expr period = ScaledFloat(type_, MayBeOne() ? MaxOf(length, Expr(1)) : length, 2);
    Expr way = CallOf(ScalarOp::kFMod, {CallOf(ScalarOp::kAbs, {x - F(low)}), period});
    Expr back = CallOf(ScalarOp::kAbs, {way - ScaledFloat(type_, length)});
    if (AsConstant(length)) return F(static_cast<double>(*AsConstant(length)) + low) - back;
    Expr result = CastTo(type_, length) + F(low) - back;
    return MayBeOne() ? SelectOf(length < Expr(1), F(0), result) : result;
  }

  Expr ReflectedPixel(const Expr& at) const {
    Expr period = Times(align_corners_ ? Plus(extent_, -1) : extent_, 2);
    if (IsConstant(period, 0)) return I(0);
    // Any period shows a single pixel.
    Expr within = FloorModulo(at, AsIndex(MayBeOne() ? MaxOf(period, Expr(1)) : period));
    return MinOf(within, AsIndex(align_corners_ ? period : Plus(period, -1)) - within);
  }

  // Whether a dimension whose corners are aligned may have one pixel, which is all there is to see.
  bool MayBeOne() const {
    return align_corners_ && !AsConstant(extent_) && BoundsOf(extent_, {}).low <= 1;
  }

  Expr extent_;
  bool align_corners_;
  Padding padding_;
  DType type_;
  DType index_;
  Expr base_;
  Expr ratio_;
};

class GridSampler {
 public:
  GridSampler(NodeLowering& node, std::vector<SampledDim> dims, Interpolation kind, Padding padding)
      : node_(node), dims_(std::move(dims)), kind_(kind), padding_(padding) {}

  // Indices of the batch and the channel, then those of the pixel once its dimensions are done.
  Expr Sample(const std::vector<Expr>& place, const Expr& inside) const {
    size_t d = place.size() - 2;
    if (d == dims_.size()) {
      Expr pixel = node_.Load(0, place);
      Expr value = kind_ == Interpolation::kNearest ? pixel : CastTo(Computed(), pixel);
      return inside ? SelectOf(inside, value, Const(value.dtype(), 0)) : value;
    }
    if (kind_ == Interpolation::kNearest) return Tap(place, inside, 0);
    int64_t reach = kind_ == Interpolation::kCubic ? 2 : 1;
    Expr sum;
    for (int64_t t = 1 - reach; t <= reach; ++t) {
      Expr distance = FloatConst(kFloat32, static_cast<double>(t)) - dims_[d].ratio();
      Expr weight = CastTo(Computed(), KernelWeight(kind_, -0.75, distance));
      Expr term = weight * Tap(place, inside, t);
      sum = sum ? sum + term : term;
    }
    return sum;
  }

 private:
  DType Computed() const { return node_.Type(0) == kFloat64 ? kFloat64 : kFloat32; }

  Expr Tap(const std::vector<Expr>& place, const Expr& inside, int64_t tap) const {
    const SampledDim& dim = dims_[place.size() - 2];
    std::vector<Expr> next = place;
    next.push_back(dim.Pixel(tap));
    Expr within = inside;
    if (padding_ == Padding::kZeros) {
      within = inside ? BothOf(inside, dim.IsInside(tap)) : dim.IsInside(tap);
    }
    return Sample(next, within);
  }

  NodeLowering& node_;
  std::vector<SampledDim> dims_;
  Interpolation kind_;
  Padding padding_;
};

}  // namespace

Status LowerGridSample(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  const std::vector<Expr>& image = node.Shape(0);
  const std::vector<Expr>& grid = node.Shape(1);
  size_t dims = image.size() < 3 ? 0 : image.size() - 2;
  bool fits =
      dims >= 1 && dims <= 3 && grid.size() == image.size() &&
      node.Agree(grid[0], image[0], "numbers of grids and images").ok() &&
      node.Agree(grid.back(), Expr(static_cast<int64_t>(dims)), "numbers of coordinates").ok() &&
      node.Type(1).is_float();
  for (size_t d = 2; fits && d < image.size(); ++d) {
    fits = node.AgreeOnPlaces(image[d], Product(grid)).ok();
  }
  if (!fits) {
    return node.Error("image of shape {} with a grid of shape {}", ShapeText(image),
                      ShapeText(grid));
  }
  std::optional<Interpolation> kind = ParseInterpolation(node.node().String("mode", "linear"));
  std::optional<Padding> padding = ParsePadding(node.node().String("padding_mode", "zeros"));
  if (!kind || !padding) {
    return node.Error("mode '{}' and padding_mode '{}'", node.node().String("mode", "linear"),
                      node.node().String("padding_mode", "zeros"));
  }

  std::vector<Expr> shape = {image[0], image[1]};
  shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
  StoredBuffer out = node.Output(0, node.Type(0), shape);
  std::vector<Axis> axes = node.Axes(shape);
  std::vector<Expr> point = VarsOf(axes);
  point.erase(point.begin() + 1);
  point.emplace_back(0);
  std::vector<SampledDim> sampled;
  bool align_corners = node.node().Int("align_corners", 0) != 0;
  for (size_t d = 0; d < dims; ++d) {
    // The grid names the last dimension first.
    point.back() = Expr(static_cast<int64_t>(dims - 1 - d));
    Expr coordinate = CastTo(AccumulationType(node.Type(1)), node.Load(1, point));
    sampled.emplace_back(coordinate, image[d + 2], align_corners, *padding, *kind);
  }
  GridSampler sampler(node, std::move(sampled), *kind, *padding);
  Expr value = sampler.Sample({axes[0].var, axes[1].var}, Expr());
  node.Map(out, axes, CastTo(node.Type(0), value));
  return OkStatus();
}

namespace {

// From -1 to 1: of the centres of the outermost pixels, or of their outer borders.
Expr GridCoordinate(DType type, const Expr& place, const Expr& extent, bool align_corners) {
  Expr x = CastTo(type, place);
  Expr zero = FloatConst(type, 0);
  std::optional<int64_t> known = AsConstant(extent);
  if (align_corners && known && *known <= 1) return zero;
  if (align_corners) {
    Expr coordinate = x * Fraction(type, 2, Plus(extent, -1)) - FloatConst(type, 1);
    return known ? coordinate : SelectOf(Expr(1) < extent, coordinate, zero);
  }
  Expr start = known ? FloatConst(type, 1 / static_cast<double>(*known) - 1)
                     : Fraction(type, 1, extent) - FloatConst(type, 1);
  return x * Fraction(type, 2, extent) + start;
}

}  // namespace

// out[n, place..., r] = theta[n, r, :] . (coordinates, last dimension first, then 1).
Status LowerAffineGrid(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  TCC_ASSIGN_OR_RETURN(std::vector<Expr> size, node.Ints(1, "size"));
  const std::vector<Expr>& theta = node.Shape(0);
  size_t dims = size.size() < 2 ? 0 : size.size() - 2;
  bool fits = (dims == 2 || dims == 3) && theta.size() == 3 && node.Type(0).is_float() &&
              node.Agree(theta[0], size[0], "numbers of matrices and grids").ok() &&
              node.Agree(theta[1], Expr(static_cast<int64_t>(dims)), "rows of a matrix").ok() &&
              node.Agree(theta[2], Expr(static_cast<int64_t>(dims + 1)), "its columns").ok();
  for (const Expr& extent : size) {
    fits = fits && node.AgreeAtMost(Expr(0), extent, "the least size and a size").ok();
  }
  if (!fits) return node.Error("theta of shape {} with size {}", ShapeText(theta), ShapeText(size));

  std::vector<Expr> shape = {size[0]};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  shape.emplace_back(static_cast<int64_t>(dims));
  DType type = node.Type(0);
  DType computed = AccumulationType(type);
  StoredBuffer out = node.Output(0, type, shape);
  std::vector<Axis> axes = node.Axes(shape);
  std::vector<Expr> vars = VarsOf(axes);
  auto entry = [&](size_t column) {
    return CastTo(computed,
                  node.Load(0, {vars[0], vars.back(), Expr(static_cast<int64_t>(column))}));
  };
  bool align_corners = node.node().Int("align_corners", 0) != 0;
  Expr value = entry(dims);
  for (size_t column = dims; column-- > 0;) {
    size_t d = dims - 1 - column;
    value =
        value + entry(column) * GridCoordinate(computed, vars[d + 1], size[d + 2], align_corners);
  }
  node.Map(out, axes, CastTo(type, value));
  return OkStatus();
}

}  // namespace tcc
