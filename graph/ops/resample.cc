#include "graph/ops/resample.h"

#include <algorithm>
#include <cmath>
#include <numeric>

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

// Returns the slopes that transformations have: ratios of the extents, or of the distances between
// their ends.
std::vector<std::pair<int64_t, int64_t>> Slopes(const ResampledDim& dim) {
  std::vector<std::pair<int64_t, int64_t>> slopes = {{0, 1}, {1, 1}};
  auto add = [&](int64_t p, int64_t q) {
    if (p <= 0 || q <= 0) return;
    int64_t g = std::gcd(p, q);
    slopes.emplace_back(p / g, q / g);
  };
  add(dim.input, dim.output);
  add(dim.input - 1, dim.output - 1);
  return slopes;
}

// The largest table of places: beyond it, building it takes longer than the arithmetic saves.
constexpr int64_t kMaxPlaces = 1 << 20;

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
  if (dim.output > kMaxPlaces) return std::nullopt;
  std::vector<Rational> candidates = {
      Reduced(2 * dim.input, dim.input - dim.output, 2 * dim.output),
      Reduced(dim.input, 0, dim.output)};
  if (dim.output > 1) candidates.push_back(Reduced(dim.input - 1, 0, dim.output - 1));
  for (const Rational& form : candidates) {
    bool same = true;
    for (int64_t o = 0; o < dim.output && same; ++o) {
      double x = static_cast<double>(form.p * o + form.r) / static_cast<double>(form.q);
      same = std::fabs(x - dim.coordinate.At(o)) <= 1e-12 * std::max(1.0, std::fabs(x));
    }
    if (same) return form;
  }
  return std::nullopt;
}

Expr Clamped(const Expr& place, int64_t low, int64_t high, int64_t extent) {
  Expr result = place;
  if (low < 0) result = MaxOf(result, Expr(0));
  if (high >= extent) result = MinOf(result, Expr(extent - 1));
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
  if (mode == "simple") return dim.scale < 1 ? kUp : kDown;
  if (mode == "round_prefer_floor") return Rounding{0.5F + kTie};
  if (mode == "round_prefer_ceil") return Rounding{0.5F - kTie};
  return std::nullopt;
}

// The steps of a coordinate in one type: numbers, or expressions.
template <typename Real, typename Make, typename Divide>
Real PlaceOf(const Coordinate& c, Real x, const Make& number, const Divide& divide) {
  if (c.shift != 0) x = x + number(c.shift);
  if (c.factor != 1) x = x * number(c.factor);
  if (c.divisor != 1) x = divide(x, number(c.divisor));
  if (c.offset != 0) x = x + number(c.offset);
  return c.shift_back != 0 ? x - number(c.shift_back) : x;
}

template <typename Real>
Real PlaceOf(const Coordinate& c, int64_t output) {
  return PlaceOf(
      c, static_cast<Real>(output), [](double value) { return static_cast<Real>(value); },
      [](Real x, Real y) { return x / y; });
}

Expr PlaceOf(const Coordinate& c, DType type, const Expr& output) {
  return PlaceOf(
      c, CastTo(type, output), [&](double value) { return FloatConst(type, value); },
      [](const Expr& x, const Expr& y) -> Expr { return Make<Div>(x, y); });
}

}  // namespace

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
  if (input == 1 && output == 1) return coordinate.At(0) == 0;
  return input == output && coordinate.factor == coordinate.divisor &&
         coordinate.shift + coordinate.offset == coordinate.shift_back;
}

StatusOr<Coordinate> CoordinateOf(const NodeLowering& node, const std::string& mode,
                                  const ResampledDim& dim, double start, double end) {
  double last = static_cast<double>(dim.input - 1);
  // The output's width by the scale, before rounding to the output's extent.
  double width = dim.scale * static_cast<double>(dim.input);
  Coordinate half_pixel{.shift = 0.5, .divisor = dim.scale, .shift_back = 0.5};
  Coordinate zero{.factor = 0};
  if (mode == "half_pixel") return half_pixel;
  if (mode == "pytorch_half_pixel") return dim.output > 1 ? half_pixel : zero;
  if (mode == "half_pixel_symmetric") {
    // In f32: where the product is whole but for the scale's rounding, nothing moves.
    float product = static_cast<float>(dim.scale) * static_cast<float>(dim.input);
    float adjustment = static_cast<float>(dim.output) / product;
    half_pixel.offset = static_cast<float>(dim.input) / 2 * (1 - adjustment);
    half_pixel.rounds_steps = false;
    return half_pixel;
  }
  if (mode == "asymmetric") return Coordinate{.divisor = dim.scale};
  if (mode == "tf_half_pixel_for_nn") return Coordinate{.shift = 0.5, .divisor = dim.scale};
  if (mode == "align_corners") {
    if (dim.output <= 1) return zero;
    return Coordinate{.factor = last, .divisor = width - 1};
  }
  if (mode == "tf_crop_and_resize") {
    if (dim.output <= 1) {
      zero.offset = 0.5 * (start + end) * last;
      return zero;
    }
    return Coordinate{.factor = (end - start) * last, .divisor = width - 1, .offset = start * last};
  }
  return node.Error("coordinate_transformation_mode is '{}'", mode);
}

StatusOr<Expr> NearestPlace(const NodeLowering& node, const std::string& nearest_mode,
                            const ResampledDim& dim, const Expr& output) {
  std::optional<Rounding> rounding = RoundingOf(nearest_mode, dim);
  if (!rounding) return node.Error("nearest_mode is '{}'", nearest_mode);
  if (dim.output > kMaxPlaces) {
    return Clamped(rounding->Of(dim.coordinate.RoundedAt(output)), -1, dim.input, dim.input);
  }
  std::vector<int64_t> table;
  int64_t low = 0;
  int64_t high = 0;
  for (int64_t o = 0; o < dim.output; ++o) {
    // A place farther outside is equivalent to one just outside.
    float x = std::clamp(dim.coordinate.RoundedAt(o), -1.0F, static_cast<float>(dim.input));
    table.push_back(std::min(rounding->Of(x), dim.input));
    low = std::min(low, table.back());
    high = std::max(high, table.back());
  }
  std::optional<Rational> form = RationalOf(dim, table);
  Expr place = form ? form->Floor(output) : rounding->Of(dim.coordinate.RoundedAt(output));
  return Clamped(place, low, high, dim.input);
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
  double last = static_cast<double>(dim.input - 1);
  bool all = dim.output <= kMaxPlaces;
  for (int64_t o = 0; o < dim.output && all; ++o) {
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
