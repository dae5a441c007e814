#include "graph/ops/resample.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ir/simplify/interval.h"

namespace tcc {
namespace {

Expr F32(double value) {
  return FloatConst(kFloat32, value);
}

// The form floor((p * o + r) / q) of places: exact, and in integers only.
struct Rational {
  int64_t p = 0;
  int64_t r = 0;
  int64_t q = 1;

  Expr Numerator(const Expr& output) const { return Plus(Times(output, p), r); }
  Expr Floor(const Expr& output) const {
    return q == 1 ? Numerator(output) : FloorDivide(Numerator(output), Expr(q));
  }
};

Rational Reduced(int64_t p, int64_t r, int64_t q) {
  int64_t g = std::gcd(std::gcd(p, r), q);
  return {p / g, r / g, q / g};
}

// The largest table of places: beyond it, building it takes longer than the arithmetic saves.
constexpr int64_t kMaxPlaces = 1 << 20;

// The places of a free dimension that are tried for all of them: many more than the numbers of its
// ratio, after which they repeat.
constexpr int64_t kTriedPlaces = 1 << 14;

// Returns how many places decide on a form; nullopt where they are too many.
std::optional<int64_t> DecidingPlaces(const ResampledDim& dim) {
  if (dim.IsFree()) {
    bool repeats = dim.ratio && dim.coordinate.IsNumeric();
    return repeats ? std::optional(kTriedPlaces) : std::nullopt;
  }
  std::optional<int64_t> output = AsConstant(dim.output);
  return *output > kMaxPlaces ? std::nullopt : output;
}

// Returns the slopes that transformations have: ratios of the extents, or of the distances between
// their ends.
std::vector<std::pair<int64_t, int64_t>> Slopes(const ResampledDim& dim) {
  if (dim.IsFree()) return {{dim.ratio->down, dim.ratio->up}};
  int64_t input = *AsConstant(dim.input);
  int64_t output = *AsConstant(dim.output);
  std::vector<std::pair<int64_t, int64_t>> slopes = {{0, 1}, {1, 1}};
  auto add = [&](int64_t p, int64_t q) {
    if (p <= 0 || q <= 0) return;
    int64_t g = std::gcd(p, q);
    slopes.emplace_back(p / g, q / g);
  };
  add(input, output);
  add(input - 1, output - 1);
  return slopes;
}

// Returns p, q and r with floor((p * o + r) / q) == table[o] for all o, if there are such.
std::optional<Rational> RationalOf(const ResampledDim& dim, const std::vector<int64_t>& table) {
  for (auto [p, q] : Slopes(dim)) {
    int64_t low = INT64_MIN;
    int64_t high = INT64_MAX;
    for (size_t o = 0; o < table.size() && low <= high; ++o) {
      int64_t least = table[o] * q - p * static_cast<int64_t>(o);
      low = std::max(low, least);
      high = std::min(high, least + q - 1);
    }
    if (low <= high) return Rational{p, low, q};
  }
  return std::nullopt;
}

// Returns the place itself as (p * o + r) / q, if the coordinate has that form.
std::optional<Rational> ExactRational(const ResampledDim& dim) {
  std::optional<int64_t> places = DecidingPlaces(dim);
  if (!places) return std::nullopt;
  int64_t input = dim.IsFree() ? dim.ratio->down : *AsConstant(dim.input);
  int64_t output = dim.IsFree() ? dim.ratio->up : *AsConstant(dim.output);
  std::vector<Rational> candidates = {Reduced(2 * input, input - output, 2 * output),
                                      Reduced(input, 0, output)};
  if (output > 1 && !dim.IsFree()) candidates.push_back(Reduced(input - 1, 0, output - 1));
  for (const Rational& form : candidates) {
    bool same = true;
    for (int64_t o = 0; o < *places && same; ++o) {
      double x = static_cast<double>(form.p * o + form.r) / static_cast<double>(form.q);
      same = std::fabs(x - dim.coordinate.At(o)) <= 1e-12 * std::max(1.0, std::fabs(x));
    }
    if (same) return form;
  }
  return std::nullopt;
}

Expr Clamped(const Expr& place, bool below, bool above, const Expr& extent) {
  Expr result = place;
  if (below) result = MaxOf(result, Expr(0));
  if (above) result = MinOf(result, Plus(extent, -1));
  return result;
}

// A rounding to one of the two inputs round x: up where x is more than `threshold` above the lower
// one.
struct Rounding {
  float threshold = 0;

  int64_t Of(float x) const {
    float low = std::floor(x);
    return static_cast<int64_t>(low) + (x - low > threshold ? 1 : 0);
  }
  Expr Of(const Expr& x) const {
    Expr low = CallOf(ScalarOp::kFloor, {x});
    return CastTo(kInt64, low) + SelectOf(F32(threshold) < x - low, Expr(1), Expr(0));
  }
};

// ONNX Runtime takes a place this close to the middle of two inputs for the middle.
constexpr float kTie = 1e-6F;

std::optional<Rounding> RoundingOf(const std::string& mode, const ResampledDim& dim) {
  constexpr Rounding kDown{1}, kUp{0};
  if (mode == "floor") return kDown;
  if (mode == "ceil") return kUp;
  if (mode == "simple") return dim.scale.number < 1 ? kUp : kDown;
  if (mode == "round_prefer_floor") return Rounding{0.5F + kTie};
  if (mode == "round_prefer_ceil") return Rounding{0.5F - kTie};
  return std::nullopt;
}

// The steps of a coordinate in one type: numbers, or expressions.
template <typename Real, typename Make, typename Divide>
Real PlaceOf(const Coordinate& c, Real x, const Make& number, const Divide& divide) {
  if (!c.shift.Is(0)) x = x + number(c.shift);
  if (!c.factor.Is(1)) x = x * number(c.factor);
  if (!c.divisor.Is(1)) x = divide(x, number(c.divisor));
  if (!c.offset.Is(0)) x = x + number(c.offset);
  return c.shift_back.Is(0) ? x : x - number(c.shift_back);
}

template <typename Real>
Real PlaceOf(const Coordinate& c, int64_t output) {
  return PlaceOf(
      c, static_cast<Real>(output),
      [](const CoordinateTerm& term) { return static_cast<Real>(term.number); },
      [](Real x, Real y) { return x / y; });
}

// An f32 whose arithmetic is in f64 and then rounded, which gives the same as f32's own where that
// is used, and rounds in the interpreter, too, which keeps f32 in f64.
struct SteppedFloat {
  Expr f32;

  explicit SteppedFloat(const Expr& value) : f32(CastTo(kFloat32, value)) {}
  Expr Wide() const { return CastTo(kFloat64, f32); }
  friend SteppedFloat operator+(const SteppedFloat& a, const SteppedFloat& b) {
    return SteppedFloat(a.Wide() + b.Wide());
  }
  friend SteppedFloat operator-(const SteppedFloat& a, const SteppedFloat& b) {
    return SteppedFloat(a.Wide() - b.Wide());
  }
  friend SteppedFloat operator*(const SteppedFloat& a, const SteppedFloat& b) {
    return SteppedFloat(a.Wide() * b.Wide());
  }
};

// Returns the place that Coordinate::RoundedAt gives, whatever the scale turns out to be.
Expr SteppedPlaceOf(const Coordinate& c, const Expr& output) {
  if (!c.rounds_steps) return c.RoundedAt(output);
  auto divide = [](const SteppedFloat& x, const SteppedFloat& y) {
    return SteppedFloat(Make<Div>(x.Wide(), y.Wide()));
  };
  auto number = [](const CoordinateTerm& term) { return SteppedFloat(term.As(kFloat32)); };
  return PlaceOf(c, SteppedFloat(output), number, divide).f32;
}

Expr PlaceOf(const Coordinate& c, DType type, const Expr& output) {
  return PlaceOf(
      c, CastTo(type, output), [&](const CoordinateTerm& term) { return term.As(type); },
      [](const Expr& x, const Expr& y) -> Expr { return Make<Div>(x, y); });
}

Expr F64(const Expr& extent) {
  return CastTo(kFloat64, extent);
}

// Returns the transformation of a free dimension for the modes that look at its extents.
StatusOr<Coordinate> FreeCoordinate(const NodeLowering& node, const std::string& mode,
                                    const ResampledDim& dim, Coordinate half_pixel, bool is_whole) {
  bool stays = SameExtent(dim.input, dim.output) && dim.scale.Is(1);
  if (stays && is_whole) return Coordinate{};
  if (mode == "half_pixel_symmetric" && dim.ratio && dim.ratio->down == 1) {
    half_pixel.rounds_steps = false;
    return half_pixel;
  }
  // One place stands at the beginning.
  bool has_several = BoundsOf(dim.output, {}).low > 1;
  if (mode == "pytorch_half_pixel") {
    if (has_several) return half_pixel;
    auto if_several = [&](double value) {
      return CoordinateTerm(
          SelectOf(Expr(1) < dim.output, FloatConst(kFloat64, value), FloatConst(kFloat64, 0)));
    };
    return Coordinate{
        .shift = 0.5, .factor = if_several(1), .divisor = dim.scale, .shift_back = if_several(0.5)};
  }
  if (mode == "align_corners") {
    // The output's width before rounding.
    Expr width = dim.scale.formula ? F64(dim.output) : dim.scale.As(kFloat64) * F64(dim.input);
    Expr one = FloatConst(kFloat64, 1);
    return Coordinate{.factor = CoordinateTerm(F64(Plus(dim.input, -1))),
                      .divisor = CoordinateTerm(MaxOf(width - one, one))};
  }
  return node.NotKnown(
      {dim.input, dim.output},
      fmt::format("{} resizes {} to {}", mode, ShapeText({dim.input}), ShapeText({dim.output})));
}

}  // namespace

Expr CoordinateTerm::As(DType type) const {
  return formula ? CastTo(type, formula) : FloatConst(type, number);
}

bool Coordinate::IsNumeric() const {
  return !shift.formula && !factor.formula && !divisor.formula && !offset.formula &&
         !shift_back.formula;
}

double Coordinate::At(int64_t output) const {
  return PlaceOf<double>(*this, output);
}

float Coordinate::RoundedAt(int64_t output) const {
  return rounds_steps ? PlaceOf<float>(*this, output) : static_cast<float>(At(output));
}

Expr Coordinate::At(const Expr& output) const {
  return PlaceOf(*this, kFloat64, output);
}

Expr Coordinate::RoundedAt(const Expr& output) const {
  return rounds_steps ? PlaceOf(*this, kFloat32, output) : CastTo(kFloat32, At(output));
}

bool ResampledDim::IsIdentity() const {
  if (!coordinate.IsNumeric() || !SameExtent(input, output)) return false;
  if (IsConstant(input, 1)) return coordinate.At(0) == 0;
  return coordinate.factor.number == coordinate.divisor.number &&
         coordinate.shift.number + coordinate.offset.number == coordinate.shift_back.number;
}

std::optional<ScaleRatio> RatioOf(double scale) {
  for (int64_t down : {1, 2, 4}) {
    double up = scale * static_cast<double>(down);
    if (up == std::floor(up) && up >= 1 && up <= kMaxRatio) {
      return ScaleRatio{static_cast<int64_t>(up), down};
    }
  }
  // A scale that is rounded up gives m * up for m * down, and less for less. One that is rounded
  // down gives the same if it lacks at most half of what separates floats, for products are
  // rounded, too.
  auto part = static_cast<float>(scale);
  for (int64_t down = 2; down <= kMaxRatio; ++down) {
    double up = std::round(scale * static_cast<double>(down));
    double exact = up / static_cast<double>(down);
    bool rounds_alike = part == static_cast<float>(exact) && exact - part <= 0x1p-25 * exact;
    if (up < 1 || up > kMaxRatio || !rounds_alike) continue;
    return ScaleRatio{static_cast<int64_t>(up), down};
  }
  return std::nullopt;
}

StatusOr<Coordinate> CoordinateOf(const NodeLowering& node, const std::string& mode,
                                  const ResampledDim& dim, double start, double end) {
  Coordinate half_pixel{.shift = 0.5, .divisor = dim.scale, .shift_back = 0.5};
  if (mode == "half_pixel") return half_pixel;
  if (mode == "asymmetric") return Coordinate{.divisor = dim.scale};
  if (mode == "tf_half_pixel_for_nn") return Coordinate{.shift = 0.5, .divisor = dim.scale};
  constexpr std::string_view kByExtents[] = {"pytorch_half_pixel", "half_pixel_symmetric",
                                             "align_corners", "tf_crop_and_resize"};
  if (std::ranges::find(kByExtents, mode) == std::end(kByExtents)) {
    return node.Error("coordinate_transformation_mode is '{}'", mode);
  }
  if (dim.IsFree()) {
    return FreeCoordinate(node, mode, dim, half_pixel, start == 0 && end == 1);
  }
  int64_t input = *AsConstant(dim.input);
  int64_t output = *AsConstant(dim.output);
  double last = static_cast<double>(input - 1);
  // The output's width by the scale, before rounding to the output's extent.
  double width = dim.scale.number * static_cast<double>(input);
  Coordinate zero{.factor = 0};
  if (mode == "pytorch_half_pixel") return output > 1 ? half_pixel : zero;
  if (mode == "half_pixel_symmetric") {
    // In f32: where the product is whole but for the scale's rounding, nothing moves.
    float product = static_cast<float>(dim.scale.number) * static_cast<float>(input);
    float adjustment = static_cast<float>(output) / product;
    half_pixel.offset = static_cast<float>(input) / 2 * (1 - adjustment);
    half_pixel.rounds_steps = false;
    return half_pixel;
  }
  if (mode == "align_corners") {
    if (output <= 1) return zero;
    return Coordinate{.factor = last, .divisor = width - 1};
  }
  if (output <= 1) {
    zero.offset = 0.5 * (start + end) * last;
    return zero;
  }
  return Coordinate{.factor = (end - start) * last, .divisor = width - 1, .offset = start * last};
}

StatusOr<Expr> NearestPlace(const NodeLowering& node, const std::string& nearest_mode,
                            const ResampledDim& dim, const Expr& output) {
  std::optional<Rounding> rounding = RoundingOf(nearest_mode, dim);
  if (!rounding) return node.Error("nearest_mode is '{}'", nearest_mode);
  if (nearest_mode == "simple" && dim.scale.formula) {
    return node.NotKnown({dim.input, dim.output}, "resizes with rounding by a free scale");
  }
  Expr rounded = rounding->Of(dim.IsFree() ? SteppedPlaceOf(dim.coordinate, output)
                                           : dim.coordinate.RoundedAt(output));
  std::optional<int64_t> places = DecidingPlaces(dim);
  if (!places) return Clamped(rounded, true, true, dim.input);
  int64_t extent = AsConstant(dim.input).value_or(INT32_MAX);
  std::vector<int64_t> table;
  int64_t low = 0;
  int64_t high = 0;
  for (int64_t o = 0; o < *places; ++o) {
    // A place farther outside is equivalent to one just outside.
    float x = std::clamp(dim.coordinate.RoundedAt(o), -1.0F, static_cast<float>(extent));
    table.push_back(std::min(rounding->Of(x), extent));
    low = std::min(low, table.back());
    high = std::max(high, table.back());
  }
  std::optional<Rational> form = RationalOf(dim, table);
  Expr place = form ? form->Floor(output) : rounded;
  // The last place of a free dimension is at most input + (r - p) / q, rounded down.
  bool above = dim.IsFree() ? !form || form->r >= form->p : high >= extent;
  return Clamped(place, low < 0, above, dim.input);
}

SplitPlace SplitPlaceOf(const ResampledDim& dim, const Expr& output) {
  if (std::optional<Rational> form = ExactRational(dim)) {
    if (form->q == 1) return {form->Numerator(output), F32(0)};
    Expr rest = FloorModulo(form->Numerator(output), Expr(form->q));
    return {form->Floor(output), CastTo(kFloat32, rest) * F32(1 / static_cast<double>(form->q))};
  }
  Expr x = dim.coordinate.At(output);
  Expr floor = CallOf(ScalarOp::kFloor, {x});
  return {CastTo(kInt64, floor), CastTo(kFloat32, x - floor)};
}

Expr IsInside(const ResampledDim& dim, const Expr& output) {
  if (dim.IsFree()) return True();  // it stays as it is, see FreeCoordinate
  auto last = static_cast<double>(*AsConstant(dim.input) - 1);
  int64_t places = *AsConstant(dim.output);
  bool all = places <= kMaxPlaces;
  for (int64_t o = 0; o < places && all; ++o) {
    double x = dim.coordinate.At(o);
    all = x >= 0 && x <= last;
  }
  if (all) return True();
  Expr x = dim.coordinate.At(output);
  return BothOf(FloatConst(kFloat64, 0) <= x, x <= FloatConst(kFloat64, last));
}

Expr KernelWeight(Interpolation kind, double a, const Expr& x) {
  Expr d = CallOf(ScalarOp::kAbs, {x});
  if (kind != Interpolation::kCubic) return MaxOf(F32(1) - d, F32(0));
  Expr near = ((F32(a + 2) * d - F32(a + 3)) * d) * d + F32(1);
  Expr far = ((F32(a) * d - F32(5 * a)) * d + F32(8 * a)) * d - F32(4 * a);
  return SelectOf(d <= F32(1), near, SelectOf(d < F32(2), far, F32(0)));
}

}  // namespace tcc
