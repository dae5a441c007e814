#include "runtime/cpu/kernel_math.h"

#include <cmath>

#include "support/check.h"

namespace tcc {

double TccMath(int32_t function, double x, double y) {
  switch (function) {
    case TCC_MATH_EXP:
      return std::exp(x);
    case TCC_MATH_LOG:
      return std::log(x);
    case TCC_MATH_LOG1P:
      return std::log1p(x);
    case TCC_MATH_SIN:
      return std::sin(x);
    case TCC_MATH_COS:
      return std::cos(x);
    case TCC_MATH_TAN:
      return std::tan(x);
    case TCC_MATH_ASIN:
      return std::asin(x);
    case TCC_MATH_ACOS:
      return std::acos(x);
    case TCC_MATH_ATAN:
      return std::atan(x);
    case TCC_MATH_SINH:
      return std::sinh(x);
    case TCC_MATH_COSH:
      return std::cosh(x);
    case TCC_MATH_ASINH:
      return std::asinh(x);
    case TCC_MATH_ACOSH:
      return std::acosh(x);
    case TCC_MATH_ATANH:
      return std::atanh(x);
    case TCC_MATH_TANH:
      return std::tanh(x);
    case TCC_MATH_ERF:
      return std::erf(x);
    case TCC_MATH_POW:
      return std::pow(x, y);
    case TCC_MATH_FMOD:
      return std::fmod(x, y);
    default:
      TCC_UNREACHABLE();
  }
}

}  // namespace tcc
