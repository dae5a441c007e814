#pragma once

#include <vector>

#include "bench/operator/operator.h"
#include "support/numeric_mode.h"

namespace tcc {

struct OperatorCheck {
  int64_t elements = 0;  // compared
  // The largest error of an element in units of eps * M, where M is the sum of the absolute values
  // of its terms. 8 * sqrt(K) is allowed for K terms, and more for a mode's rounding of products.
  double error = 0;
};

// Compares some elements of the first result, spread over all of it, with their definition in
// float64. Checks as well that every element of every result has been written: the caller fills the
// results with 0xff before, which is NaN for floats. For a network only the latter is checked, and
// `error` is NaN. Error: DataLoss with the first element that is off.
StatusOr<OperatorCheck> CheckOperator(const BenchOperator& op, const std::vector<Tensor>& inputs,
                                      const std::vector<Tensor>& constants,
                                      const std::vector<Tensor>& results,
                                      NumericMode numeric = NumericMode::kStrict);

}  // namespace tcc
