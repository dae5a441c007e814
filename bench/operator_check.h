#pragma once

#include <vector>

#include "bench/operator.h"

namespace tcc {

struct OperatorCheck {
  int64_t elements = 0;  // compared
  // The largest error of an element in units of eps * M, M the sum of the absolute values of its
  // terms. `strict` allows 8 * sqrt(K) for K terms.
  double error = 0;
};

// Holds some elements of a result, spread over all of it, against their definition in float64, and
// expects every element to have been written: fill the result with NaN before. Of a network only
// the latter is expected. Error: DataLoss with the first element that is off.
StatusOr<OperatorCheck> CheckOperator(const BenchOperator& op, const std::vector<Tensor>& inputs,
                                      const std::vector<Tensor>& constants, const Tensor& result);

}  // namespace tcc
