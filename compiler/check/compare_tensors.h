#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/status.h"
#include "support/tensor.h"

namespace tcc {

// An element agrees if |got - expected| <= atol + rtol * |expected|, if both are NaN, or if both
// are the same infinity. Integers and bools follow the same rule.
struct Tolerance {
  double rtol = 1e-3;
  double atol = 1e-4;
};

struct Comparison {
  int64_t elements = 0;
  int64_t different = 0;
  double max_abs_error = 0;  // infinite where only one of the two is finite
  int64_t largest = -1;      // the first element of that error
  // The largest error over what is allowed of its element; above 1 where elements differ.
  double max_error_in_tolerances = 0;
  double max_rel_error = 0;  // over elements whose expected value is not zero
  // max_abs_error over the standard deviation of the expected elements; 0 for no error, infinite
  // for an error where all elements are the same.
  double max_error_in_deviations = 0;
  int64_t first_different = -1;
  double got = 0, expected = 0;  // at first_different
};

// The difference that is allowed beyond the tolerance, one per element; empty for none.
using Allowance = std::vector<double>;

// Returns "2, 7" for element 23 of a 3x8 tensor; "" for a scalar.
std::string PositionText(int64_t index, const std::vector<int64_t>& shape);

// Expects equal shapes.
Comparison Compare(const Tensor& got, const Tensor& expected, const Tolerance& tolerance,
                   const Allowance& allowance = {});

// Compares all outputs. Fails with DataLoss, naming the first output and element that differ, if
// any does, and with DataLoss where number, types or shapes do not match. `report`, if given, gets
// the largest errors and the total counts in either case. `allowances` has one per output, or is
// empty.
Status CompareOutputs(const std::vector<Tensor>& got, const std::vector<Tensor>& expected,
                      const std::vector<std::string>& names, const Tolerance& tolerance,
                      Comparison* report = nullptr, std::span<const Allowance> allowances = {});

}  // namespace tcc
