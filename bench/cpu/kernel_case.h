#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/cpu/kernel_suite.h"
#include "support/tensor.h"

namespace tcc {

// A kernel of a suite with its arguments and the expected result: the result of its function as it
// is written, without a schedule.
class KernelCase {
 public:
  static StatusOr<KernelCase> Create(const BenchKernel& kernel);

  const Function& fn() const { return fn_; }
  // Returns the tensors of the function's parameters; the last one is the result.
  const std::vector<Tensor>& arguments() const { return arguments_; }

  // Overwrites the result, lets `run` write it and compares. The error names `who`. A result may be
  // off by 8 * sqrt(K) * eps * M for K terms, where M is the sum of their absolute values: twice
  // the bound of `strict`, since the expected values are sums of float32 as well.
  Status Check(const std::string& who, const std::function<void()>& run) const;

 private:
  Function fn_;
  std::vector<Tensor> arguments_;
  std::vector<float> expected_, magnitudes_;
  double factor_ = 0;
};

}  // namespace tcc
