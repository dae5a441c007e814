#pragma once

#include <span>
#include <vector>

namespace tcc {

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double clip = 0;   // the norm that longer gradients are scaled down to; 0: none
  double decay = 0;  // weight decay per step, times the rate (Loshchilov and Hutter 2019)
  double epsilon = 1e-8;
};

// The optimizer Adam (Kingma and Ba 2015). The state is that of one descent.
class Adam {
 public:
  explicit Adam(size_t values, AdamOptions options = {})
      : options_(options), mean_(values, 0.0), square_(values, 0.0) {}

  // Moves `values` against `gradient` (of the same size).
  void Step(std::span<double> values, std::span<const double> gradient, double rate);

 private:
  AdamOptions options_;
  int64_t steps_ = 0;
  std::vector<double> mean_;
  std::vector<double> square_;
};

// Returns a rate that falls from `first` at progress 0 to `last` at 1 along half a cosine wave.
double CosineRate(double first, double last, double progress);

}  // namespace tcc
