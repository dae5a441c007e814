#pragma once

#include <vector>

#include "bench/operator/operator.h"
#include "support/numeric_mode.h"

namespace tcc {

struct OperatorCheck {
  int64_t elements = 0;  // compared
  // The largest error of an element in units of eps * M, M the sum of the absolute values of its
  // terms. 8 * sqrt(K) is allowed for K terms, and what a mode's rounding of products adds.
  double error = 0;
};

// Holds some elements of the first result, spread over all of it, against their definition in
// float64, and expects every element of every result to have been written: fill them with 0xff
// before, NaN where they are floats. Of a network only the latter is expected, and `error` is NaN.
// Error: DataLoss with the first element that is off.
StatusOr<OperatorCheck> CheckOperator(const BenchOperator& op, const std::vector<Tensor>& inputs,
                                      const std::vector<Tensor>& constants,
                                      const std::vector<Tensor>& results,
                                      NumericMode numeric = NumericMode::kStrict);

}  // namespace tcc
