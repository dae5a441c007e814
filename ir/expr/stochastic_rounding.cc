#include "ir/expr/stochastic_rounding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include "ir/expr/constant_fold.h"
#include "support/random.h"

namespace tcc {
namespace {

// A type with fewer bits than f32, whose values are rounded stochastically.
struct NarrowRow {
  DType type;
  int mantissa_bits;
  int least_exponent;  // of a normal number
};
constexpr NarrowRow kNarrow[] = {
    {kFloat16, 10, -14}, {DTypeCode::kBFloat16, 7, -126}, {DTypeCode::kTFloat32, 10, -126}};

// Returns the distance of neighbours with `bits` of mantissa; it is constant below the smallest
// normal number.
double StepAt(double value, int bits, int least_exponent) {
  return std::ldexp(1.0, std::max(std::ilogb(value), least_exponent) - bits);
}

// Returns the multiple of `step` below `value` or the one above.
double EitherMultiple(double value, double step, uint64_t seed) {
  double below = std::floor(value / step) * step;
  double draw = Random(seed ^ std::bit_cast<uint64_t>(value)).Unit();
  return draw * step < value - below ? below + step : below;
}

}  // namespace

double RoundStochastically(DType type, double value, uint64_t seed) {
  double nearest = RoundFloat(type, value);
  const auto* row = std::ranges::find(kNarrow, type.element(), &NarrowRow::type);
  if (row == std::end(kNarrow) || nearest == value || !std::isfinite(nearest)) return nearest;
  double result =
      EitherMultiple(value, StepAt(value, row->mantissa_bits, row->least_exponent), seed);
  return std::isfinite(RoundFloat(type, result)) ? result : nearest;
}

}  // namespace tcc
