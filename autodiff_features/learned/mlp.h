#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tcc {

// The kernels of a batch, as the network reads them. Their nests lie side by side; those of kernel
// k are [first[k], first[k + 1]).
struct NestBatch {
  std::vector<double> inputs;  // the scaled rows of each nest
  std::vector<double> shares;  // each nest's share of its kernel's time, by the prior
  std::vector<size_t> first = {0};

  size_t kernels() const { return first.size() - 1; }
  size_t nests() const { return shares.size(); }
};

// A network that corrects the prior: an encoder of nests, features to 64 to 64, whose results are
// summed up by the nests' shares, and a head of 64 to 64 to 1; SiLU between. The result is bounded:
// bound * tanh(o / bound), so that a descent cannot run off into made-up factors.
class Mlp {
 public:
  static constexpr size_t kWidth = 64;
  static size_t ParameterCount(size_t features);

  // Draws weights of mean 0 and variance 2 / inputs (He et al. 2015); biases and the last layer are
  // 0: an untrained network corrects nothing.
  static Mlp Drawn(size_t features, uint64_t seed, double bound);
  Mlp(std::vector<double> parameters, double bound)
      : parameters_(std::move(parameters)), bound_(bound) {}

  double bound() const { return bound_; }
  const std::vector<double>& parameters() const { return parameters_; }
  std::vector<double>& parameters() { return parameters_; }

  // Returns the correction of each kernel's ln seconds.
  std::vector<double> Forward(const NestBatch& batch) const;

  // The derivatives of sum over kernels of seeds[k] * correction[k].
  struct Slopes {
    std::vector<double> parameters;
    std::vector<double> inputs;  // in the layout of NestBatch::inputs
    std::vector<double> shares;
  };
  Slopes Backward(const NestBatch& batch, std::span<const double> seeds) const;

 private:
  std::vector<double> parameters_;
  double bound_;
};

}  // namespace tcc
