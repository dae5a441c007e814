#include "compiler/check/compare_tensors.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/check.h"

namespace tcc {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double AbsoluteError(double got, double expected) {
  if (got == expected || (std::isnan(got) && std::isnan(expected))) return 0;
  double error = std::fabs(got - expected);
  return std::isnan(error) ? kInfinity : error;
}

// Returns the error over what is allowed: the elements agree if it is at most 1.
double ErrorInTolerances(double got, double expected, const Tolerance& tolerance, double allowed) {
  double error = AbsoluteError(got, expected);
  if (error == 0) return 0;
  if (!std::isfinite(got) || !std::isfinite(expected)) return kInfinity;
  return error / (tolerance.atol + tolerance.rtol * std::fabs(expected) + allowed);
}

// Returns the standard deviation of the finite elements.
double Deviation(const Tensor& tensor, int64_t count) {
  double sum = 0, squares = 0, finite = 0;
  for (int64_t i = 0; i < count; ++i) {
    double value = ElementAsDouble(tensor, i);
    if (!std::isfinite(value)) continue;
    sum += value;
    squares += value * value;
    ++finite;
  }
  if (finite == 0) return 0;
  double mean = sum / finite;
  return std::sqrt(std::max(0.0, squares / finite - mean * mean));
}

void Merge(const Comparison& one, Comparison& all) {
  if (all.different == 0 && one.different > 0) {
    all.first_different = one.first_different;
    all.got = one.got;
    all.expected = one.expected;
  }
  all.elements += one.elements;
  all.different += one.different;
  all.max_abs_error = std::max(all.max_abs_error, one.max_abs_error);
  all.max_rel_error = std::max(all.max_rel_error, one.max_rel_error);
  all.max_error_in_deviations = std::max(all.max_error_in_deviations, one.max_error_in_deviations);
}

}  // namespace

std::string PositionText(int64_t index, const std::vector<int64_t>& shape) {
  std::vector<int64_t> position(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    position[d] = index % shape[d];
    index /= shape[d];
  }
  return fmt::format("{}", fmt::join(position, ", "));
}

Comparison Compare(const Tensor& got, const Tensor& expected, const Tolerance& tolerance,
                   const Allowance& allowance) {
  TCC_CHECK(got.shape == expected.shape) << ToString(got) << " and " << ToString(expected);
  Comparison result;
  result.elements = ElementCount(expected.shape).value_or(0);
  TCC_CHECK(allowance.empty() || static_cast<int64_t>(allowance.size()) == result.elements)
      << allowance.size();
  for (int64_t i = 0; i < result.elements; ++i) {
    double g = ElementAsDouble(got, i);
    double e = ElementAsDouble(expected, i);
    double error = AbsoluteError(g, e);
    if (error > result.max_abs_error) {
      result.max_abs_error = error;
      result.largest = i;
    }
    if (e != 0 && error > 0) {
      result.max_rel_error = std::max(result.max_rel_error, error / std::fabs(e));
    }
    double share = ErrorInTolerances(g, e, tolerance, allowance.empty() ? 0 : allowance[i]);
    result.max_error_in_tolerances = std::max(result.max_error_in_tolerances, share);
    if (share <= 1) continue;
    if (result.different++ == 0) {
      result.first_different = i;
      result.got = g;
      result.expected = e;
    }
  }
  if (result.max_abs_error > 0) {
    double deviation = Deviation(expected, result.elements);
    result.max_error_in_deviations = deviation > 0 ? result.max_abs_error / deviation : kInfinity;
  }
  return result;
}

Status CompareOutputs(const std::vector<Tensor>& got, const std::vector<Tensor>& expected,
                      const std::vector<std::string>& names, const Tolerance& tolerance,
                      Comparison* report, std::span<const Allowance> allowances) {
  TCC_CHECK(got.size() == names.size()) << got.size() << " outputs, " << names.size() << " names";
  if (got.size() != expected.size()) {
    return WrongResult("got {} outputs; expected {}", got.size(), expected.size());
  }
  Status result;
  Comparison all;
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i].dtype != expected[i].dtype || got[i].shape != expected[i].shape) {
      return WrongResult("output '{}' is {}; expected {}", names[i], ToString(got[i]),
                         ToString(expected[i]));
    }
    Comparison one =
        Compare(got[i], expected[i], tolerance, allowances.empty() ? Allowance() : allowances[i]);
    if (one.different > 0 && result.ok()) {
      result = WrongResult(
          "output '{}' differs in {} of {} elements, first at [{}]: got {:.9g}, expected {:.9g}",
          names[i], one.different, one.elements, PositionText(one.first_different, got[i].shape),
          one.got, one.expected);
    }
    Merge(one, all);
  }
  if (report) *report = all;
  return result;
}

}  // namespace tcc
