#include "ir/stochastic_rounding.h"

#include <bit>
#include <cmath>

#include "ir/constant_fold.h"
#include "ir/support/random.h"

namespace tcc {
namespace {

bool IsNarrow(DType type) {
  return type.element() == kFloat16 || type.element() == DType(DTypeCode::kBFloat16);
}

// Bits below a float's own that a narrow type keeps none of: 13 for f16, 16 for bf16. f16 has
// fewer exponents; below its smallest normal number 2^-14 the steps stay the same.
double StepAt(DType type, double value) {
  bool half = type.element() == kFloat16;
  int exponent = std::ilogb(value);
  return std::ldexp(1.0, half ? std::max(exponent, -14) - 10 : std::max(exponent, -126) - 7);
}

}  // namespace

double RoundStochastically(DType type, double value, uint64_t seed) {
  double nearest = RoundFloat(type, value);
  if (!IsNarrow(type) || nearest == value || !std::isfinite(nearest)) return nearest;
  double step = StepAt(type, value);
  double below = std::floor(value / step) * step;
  double above = below + step;
  double result =
      Random(seed ^ std::bit_cast<uint64_t>(value)).Unit() * step < value - below ? above : below;
  return std::isfinite(RoundFloat(type, result)) ? result : nearest;
}

}  // namespace tcc
