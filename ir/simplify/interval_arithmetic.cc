#include "ir/simplify/interval_arithmetic.h"

#include <algorithm>

namespace tcc {
namespace {

using Wide = __int128;
// A number beyond any sum or product of two int64.
constexpr Wide kInfinity = Wide{1} << 126;

Wide WideLow(Interval a) {
  return a.low == INT64_MIN ? -kInfinity : Wide{a.low};
}
Wide WideHigh(Interval a) {
  return a.high == INT64_MAX ? kInfinity : Wide{a.high};
}

bool IsInfinite(Wide a) {
  return a == kInfinity || a == -kInfinity;
}

int64_t Saturate(Wide a) {
  return static_cast<int64_t>(std::clamp<Wide>(a, INT64_MIN, INT64_MAX));
}

Wide Product(Wide a, Wide b) {
  if (a == 0 || b == 0) return 0;
  if (IsInfinite(a) || IsInfinite(b)) return (a < 0) == (b < 0) ? kInfinity : -kInfinity;
  return a * b;
}

// Expects b >= 1.
Wide Floor(Wide a, Wide b) {
  if (IsInfinite(a)) return a;
  if (IsInfinite(b)) return a < 0 ? -1 : 0;
  return a / b - (a % b < 0);
}

Interval Divisor(Interval b) {
  return {std::max<int64_t>(b.low, 1), std::max<int64_t>(b.high, 1)};
}

}  // namespace

Interval operator+(Interval a, Interval b) {
  Wide low = IsInfinite(WideLow(a)) || IsInfinite(WideLow(b)) ? -kInfinity : Wide{a.low} + b.low;
  Wide high =
      IsInfinite(WideHigh(a)) || IsInfinite(WideHigh(b)) ? kInfinity : Wide{a.high} + b.high;
  return {Saturate(low), Saturate(high)};
}

Interval operator-(Interval a, Interval b) {
  return a + b * Interval::Point(-1);
}

Interval operator*(Interval a, Interval b) {
  Wide corners[] = {Product(WideLow(a), WideLow(b)), Product(WideLow(a), WideHigh(b)),
                    Product(WideHigh(a), WideLow(b)), Product(WideHigh(a), WideHigh(b))};
  auto [low, high] = std::minmax_element(std::begin(corners), std::end(corners));
  return {Saturate(*low), Saturate(*high)};
}

Interval FloorDivide(Interval a, Interval b) {
  b = Divisor(b);
  Wide low = std::min(Floor(WideLow(a), b.low), Floor(WideLow(a), WideHigh(b)));
  Wide high = std::max(Floor(WideHigh(a), b.low), Floor(WideHigh(a), WideHigh(b)));
  return {Saturate(low), Saturate(high)};
}

Interval CeilDivide(Interval a, Interval b) {
  // ceil(a / b) == -floor(-a / b)
  Interval minus = Interval::Point(-1);
  return FloorDivide(a * minus, b) * minus;
}

Interval FloorModulo(Interval a, Interval b) {
  b = Divisor(b);
  if (a.low >= 0 && a.high < b.low) return a;
  if (IsPoint(b) && a.low > INT64_MIN && a.high < INT64_MAX) {
    Wide period = Floor(a.low, b.low);
    if (period == Floor(a.high, b.low)) {
      return {static_cast<int64_t>(a.low - period * b.low),
              static_cast<int64_t>(a.high - period * b.low)};
    }
  }
  int64_t high = b.high == INT64_MAX ? INT64_MAX : b.high - 1;
  return {0, a.low >= 0 ? std::min(high, a.high) : high};
}

Interval MinOf(Interval a, Interval b) {
  return {std::min(a.low, b.low), std::min(a.high, b.high)};
}

Interval MaxOf(Interval a, Interval b) {
  return {std::max(a.low, b.low), std::max(a.high, b.high)};
}

Interval Hull(Interval a, Interval b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

Interval Narrow(Interval a, Interval b) {
  Interval both{std::max(a.low, b.low), std::min(a.high, b.high)};
  return both.low <= both.high ? both : a;
}

}  // namespace tcc
