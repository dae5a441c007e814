#include "ir/expr/stochastic_rounding.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/expr/constant_fold.h"
#include "support/random.h"

namespace tcc {
namespace {

bool IsNarrow(DType type) {
  return type.element() == kFloat16 || type.element() == DType(DTypeCode::kBFloat16);
}

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
  if (!IsNarrow(type) || nearest == value || !std::isfinite(nearest)) return nearest;
  bool half = type.element() == kFloat16;
  double result =
      EitherMultiple(value, half ? StepAt(value, 10, -14) : StepAt(value, 7, -126), seed);
  return std::isfinite(RoundFloat(type, result)) ? result : nearest;
}

double RoundTf32Stochastically(double value, uint64_t seed) {
  double nearest = EvaluateFloatOp(ScalarOp::kRoundTf32, value);
  if (nearest == value || !std::isfinite(nearest)) return nearest;
  double result = EitherMultiple(value, StepAt(value, 10, -126), seed);
  return std::fabs(result) < 0x1p128 ? result : nearest;
}

}  // namespace tcc
