#pragma once

#include <algorithm>
#include <cmath>

#include "ir/analysis/formula_program.h"

// The smooth twins of the formula ops and their slopes, one rule per op. `width` w says how far a
// step or a kink is spread, relative to the operands: 0.5 is wide, 0.1 narrow, and with w -> 0
// every twin but those of ceildiv, div and mod becomes the exact op (for comparisons, of integers;
// for kSelectReal, logarithms and roots, down to the floors below). Relative widths make a twin the
// same in any unit.
//
// Values are finite for all finite operands except a divisor of 0. Slopes are those of the twin,
// not of the exact op; at w = 0 they are one-sided (half each at a tie), and comparisons have none.
namespace tcc {

// The derivatives of an op's result by its operands.
struct OpSlopes {
  double a = 0;
  double b = 0;
  double c = 0;
};

// The rule of an op:
//   static double Value(double a, double b, double c, double width);
//   static OpSlopes Slopes(double a, double b, double c, double result, double width);
// `result` is the value that the forward sweep had: Value's, or the exact one at width 0. An op
// without a rule does not compile.
template <FormulaOp Op>
struct SmoothOp;

// --- Minimum and maximum ---
//
// max(a, b) = (a + b + R) / 2 and min(a, b) = (a + b - R) / 2, with R^2 = (a - b)^2 + w^2 |ab|.
// Both are homogeneous, and positive for positive operands and w < 2. They are computed as the
// exact value and a distance from it, since a + b - R loses all digits of min(1, 10^15).

// Keeps R above 0 where both operands are 0, and at a tie of width 0.
inline constexpr double kMinRoot = 1e-150;
inline constexpr double kMinSquare = kMinRoot * kMinRoot;

inline double SignOf(double x) {
  return (x > 0 ? 1.0 : 0.0) - (x < 0 ? 1.0 : 0.0);
}

// Returns the distance of the smooth maximum from the larger operand, and of the minimum from the
// smaller one: (R - |a - b|) / 2.
inline double Rounding(double a, double b, double width) {
  double spread = width * width * std::abs(a * b) + kMinSquare;
  double apart = std::abs(a - b);
  return spread / (2 * (std::sqrt(apart * apart + spread) + apart));
}

inline double SmoothMax(double a, double b, double width) {
  return std::max(a, b) + Rounding(a, b, width);
}
inline double SmoothMin(double a, double b, double width) {
  return std::min(a, b) - Rounding(a, b, width);
}

// The slopes of both by their first operand: (1 + x / R) / 2 and (1 - x / R) / 2 with x = a - b +
// w^2 |b| sign(a) / 2. The smaller of the two is (R^2 - x^2) / (2R (R + |x|)), where R^2 - x^2 =
// w^2 b^2 (sign(a) sign(b) - sign(a)^2 w^2 / 4): without that form the slope of min(1, 10^15) by
// its large operand would be noise as large as the minimum itself.
struct ExtremeSlopes {
  double of_max;
  double of_min;
};
inline ExtremeSlopes SlopesOfExtremes(double a, double b, double width) {
  double square = width * width;
  double sign = SignOf(a);
  double apart = a - b;
  double root = std::sqrt(apart * apart + square * std::abs(a * b) + kMinSquare);
  double x = apart + square * std::abs(b) * sign / 2;
  double rest = square * b * b * (sign * SignOf(b) - sign * sign * square / 4);
  double small = root > 2 * kMinRoot ? rest / (2 * root * (root + std::abs(x))) : 0.5;
  double large = 1 - small;
  return {x >= 0 ? large : small, x >= 0 ? small : large};
}

template <>
struct SmoothOp<FormulaOp::kMin> {
  static double Value(double a, double b, double, double width) { return SmoothMin(a, b, width); }
  static OpSlopes Slopes(double a, double b, double, double, double width) {
    return {SlopesOfExtremes(a, b, width).of_min, SlopesOfExtremes(b, a, width).of_min};
  }
};

template <>
struct SmoothOp<FormulaOp::kMax> {
  static double Value(double a, double b, double, double width) { return SmoothMax(a, b, width); }
  static OpSlopes Slopes(double a, double b, double, double, double width) {
    return {SlopesOfExtremes(a, b, width).of_max, SlopesOfExtremes(b, a, width).of_max};
  }
};

// --- Arithmetic: as it is ---

template <>
struct SmoothOp<FormulaOp::kAdd> {
  static double Value(double a, double b, double, double) { return a + b; }
  static OpSlopes Slopes(double, double, double, double, double) { return {1, 1}; }
};

template <>
struct SmoothOp<FormulaOp::kSub> {
  static double Value(double a, double b, double, double) { return a - b; }
  static OpSlopes Slopes(double, double, double, double, double) { return {1, -1}; }
};

template <>
struct SmoothOp<FormulaOp::kMul> {
  static double Value(double a, double b, double, double) { return a * b; }
  static OpSlopes Slopes(double a, double b, double, double, double) { return {b, a}; }
};

template <>
struct SmoothOp<FormulaOp::kDiv> {
  static double Value(double a, double b, double, double) { return a / b; }
  static OpSlopes Slopes(double, double b, double, double result, double) {
    return {1 / b, -result / b};
  }
};

// --- Integer division ---

// Computes max(1, a / b), the lower envelope of ceildiv over a >= 1.
template <>
struct SmoothOp<FormulaOp::kCeilDiv> {
  static double Value(double a, double b, double, double width) {
    return SmoothMax(a / b, 1, width);
  }
  static OpSlopes Slopes(double a, double b, double, double, double width) {
    double slope = SlopesOfExtremes(a / b, 1, width).of_max / b;
    return {slope, -slope * (a / b)};
  }
};

// Keeps quotients above 0, so that their logarithms are harmless.
inline constexpr double kMinQuotient = 1e-3;

// Returns the mean of floor(a / b) over the remainders, which are (b - 1) / 2 on average.
inline double MeanQuotient(double a, double b) {
  return a / b - (1 - 1 / b) / 2;
}

template <>
struct SmoothOp<FormulaOp::kFloorDiv> {
  static double Value(double a, double b, double, double width) {
    return SmoothMax(MeanQuotient(a, b), kMinQuotient, width);
  }
  static OpSlopes Slopes(double a, double b, double, double, double width) {
    double slope = SlopesOfExtremes(MeanQuotient(a, b), kMinQuotient, width).of_max / b;
    return {slope, -slope * (a + 0.5) / b};
  }
};

// Computes a - b * (smooth a div b), which is (b - 1) / 2 unless the quotient is small. The form
// depends on the quotient, since the difference would lose the digits of a large a.
template <>
struct SmoothOp<FormulaOp::kFloorMod> {
  static double Value(double a, double b, double, double width) {
    double quotient = MeanQuotient(a, b);
    double rounding = Rounding(quotient, kMinQuotient, width);
    double below = a - b * (kMinQuotient + rounding);
    double above = (b - 1) / 2 - b * rounding;
    return quotient >= kMinQuotient ? above : below;
  }
  static OpSlopes Slopes(double a, double b, double, double, double width) {
    double quotient = MeanQuotient(a, b);
    double rounding = Rounding(quotient, kMinQuotient, width);
    ExtremeSlopes slopes = SlopesOfExtremes(quotient, kMinQuotient, width);
    double below = slopes.of_max * (quotient + 0.5) - (kMinQuotient + rounding);
    double above = 0.5 - rounding - slopes.of_min * (quotient + 0.5);
    return {slopes.of_min, quotient >= kMinQuotient ? above : below};
  }
};

// --- Comparisons of integers, or of counts: a step half a unit beside them ---

// Returns a step from 0 to 1 around u = 0: (1 + u / sqrt(1 + u^2)) / 2.
inline double StepOf(double u) {
  double root = std::sqrt(1 + u * u);
  double small = 1 / (2 * root * (root + std::abs(u)));
  return u >= 0 ? 1 - small : small;
}

// Compares a < b if shift is -1/2, a <= b if it is 1/2. The step is relative to the operands' mean,
// so it is a step in ln b - ln a for large operands.
inline double SmoothOrder(double a, double b, double shift, double width) {
  double mean = (std::abs(a) + std::abs(b) + 1) / 2;
  return StepOf((b - a + shift) / (width * mean));
}

inline OpSlopes SlopesOfOrder(double a, double b, double shift, double width) {
  double mean = (std::abs(a) + std::abs(b) + 1) / 2;
  double u = (b - a + shift) / (width * mean);
  double square = 1 + u * u;
  double step_slope = 1 / (2 * square * std::sqrt(square));
  double by_difference = 1 / (width * mean), by_mean = u / (2 * mean);
  double slope_a = step_slope * (-by_difference - by_mean * SignOf(a));
  double slope_b = step_slope * (by_difference - by_mean * SignOf(b));
  return {width > 0 ? slope_a : 0, width > 0 ? slope_b : 0};
}

template <>
struct SmoothOp<FormulaOp::kLt> {
  static double Value(double a, double b, double, double width) {
    return SmoothOrder(a, b, -0.5, width);
  }
  static OpSlopes Slopes(double a, double b, double, double, double width) {
    return SlopesOfOrder(a, b, -0.5, width);
  }
};

template <>
struct SmoothOp<FormulaOp::kLe> {
  static double Value(double a, double b, double, double width) {
    return SmoothOrder(a, b, 0.5, width);
  }
  static OpSlopes Slopes(double a, double b, double, double, double width) {
    return SlopesOfOrder(a, b, 0.5, width);
  }
};

// Computes (a <= b) * (b <= a).
template <>
struct SmoothOp<FormulaOp::kEq> {
  static double Value(double a, double b, double, double width) {
    return SmoothOrder(a, b, 0.5, width) * SmoothOrder(b, a, 0.5, width);
  }
  static OpSlopes Slopes(double a, double b, double, double, double width) {
    double up = SmoothOrder(a, b, 0.5, width), down = SmoothOrder(b, a, 0.5, width);
    OpSlopes of_up = SlopesOfOrder(a, b, 0.5, width), of_down = SlopesOfOrder(b, a, 0.5, width);
    double slope_a = of_up.a * down + up * of_down.b;
    double slope_b = of_up.b * down + up * of_down.a;
    return {width > 0 ? slope_a : 0, width > 0 ? slope_b : 0};
  }
};

template <>
struct SmoothOp<FormulaOp::kNe> {
  using Equal = SmoothOp<FormulaOp::kEq>;
  static double Value(double a, double b, double c, double width) {
    return 1 - Equal::Value(a, b, c, width);
  }
  static OpSlopes Slopes(double a, double b, double c, double result, double width) {
    OpSlopes equal = Equal::Slopes(a, b, c, result, width);
    return {-equal.a, -equal.b};
  }
};

// --- Choices ---

template <>
struct SmoothOp<FormulaOp::kSelect> {
  static double Value(double a, double b, double c, double) { return a * b + (1 - a) * c; }
  static OpSlopes Slopes(double a, double b, double c, double, double) { return {b - c, a, 1 - a}; }
};

// The least count that a choice distinguishes from 0: a thousandth of a cache line, say.
inline constexpr double kMinCount = 1e-3;

// Computes the geometric mean of the arms, weighted by the condition: arms differ by powers of ten,
// and an arithmetic mean would show the larger one alone. Arms are counts; one below kMinCount, or
// negative, counts as kMinCount.
template <>
struct SmoothOp<FormulaOp::kSelectReal> {
  static double Value(double a, double b, double c, double) {
    return std::exp(a * std::log(std::max(b, kMinCount)) +
                    (1 - a) * std::log(std::max(c, kMinCount)));
  }
  static OpSlopes Slopes(double a, double b, double c, double result, double width) {
    if (width == 0) return {b - c, a, 1 - a};
    double then_value = std::max(b, kMinCount), else_value = std::max(c, kMinCount);
    return {result * (std::log(then_value) - std::log(else_value)),
            b > kMinCount ? result * a / then_value : 0,
            c > kMinCount ? result * (1 - a) / else_value : 0};
  }
};

// --- Functions: clamped to where doubles hold their values ---

// Sums of powers of seconds go down to 10^-40, so the floor of a logarithm is far below.
inline constexpr double kMinArgument = 1e-300;
inline constexpr double kMaxExponent = 700;
inline constexpr double kMinLog1p = -1 + 1e-9;

template <>
struct SmoothOp<FormulaOp::kExp> {
  static double Value(double a, double, double, double) {
    return std::exp(std::min(a, kMaxExponent));
  }
  static OpSlopes Slopes(double a, double, double, double result, double) {
    return {a < kMaxExponent ? result : 0};
  }
};

template <>
struct SmoothOp<FormulaOp::kLog> {
  static double Value(double a, double, double, double) {
    return std::log(std::max(a, kMinArgument));
  }
  static OpSlopes Slopes(double a, double, double, double, double) {
    return {a > kMinArgument ? 1 / a : 0};
  }
};

template <>
struct SmoothOp<FormulaOp::kLog1p> {
  static double Value(double a, double, double, double) {
    return std::log1p(std::max(a, kMinLog1p));
  }
  static OpSlopes Slopes(double a, double, double, double, double) {
    return {a > kMinLog1p ? 1 / (1 + a) : 0};
  }
};

template <>
struct SmoothOp<FormulaOp::kSqrt> {
  static double Value(double a, double, double, double) {
    return std::sqrt(std::max(a, kMinArgument));
  }
  static OpSlopes Slopes(double a, double, double, double result, double) {
    return {a > kMinArgument ? 1 / (2 * result) : 0};
  }
};

}  // namespace tcc
