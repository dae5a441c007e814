#include "autodiff_features/learned/mlp.h"

// Threads would change sums.
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>
#include <cmath>

#include "support/check.h"
#include "support/random.h"

namespace tcc {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
using ConstMatrix = Eigen::Map<const Matrix>;
using ConstVector = Eigen::Map<const Vector>;

constexpr size_t kWidth = Mlp::kWidth;

// A layer's place among the parameters: outputs x inputs weights, then biases.
struct LayerShape {
  size_t inputs;
  size_t outputs;
  size_t offset;
  constexpr size_t bias() const { return offset + inputs * outputs; }
  constexpr size_t end() const { return bias() + outputs; }
};

// The layers of a network for some number of features.
struct Layers {
  LayerShape encoder1, encoder2, head1, head2;

  constexpr explicit Layers(size_t features)
      : encoder1{features, kWidth, 0},
        encoder2{kWidth, kWidth, encoder1.end()},
        head1{kWidth, kWidth, encoder2.end()},
        head2{kWidth, 1, head1.end()} {}
};
// Each feature has kWidth weights.
Layers LayersOf(const std::vector<double>& parameters) {
  return Layers((parameters.size() - Layers(0).head2.end()) / kWidth);
}

ConstMatrix WeightsOf(const std::vector<double>& parameters, const LayerShape& layer) {
  return {&parameters[layer.offset], static_cast<Eigen::Index>(layer.outputs),
          static_cast<Eigen::Index>(layer.inputs)};
}
ConstVector BiasOf(const std::vector<double>& parameters, const LayerShape& layer) {
  return {&parameters[layer.bias()], static_cast<Eigen::Index>(layer.outputs)};
}

Matrix Apply(const std::vector<double>& parameters, const LayerShape& layer, const Matrix& input) {
  return (WeightsOf(parameters, layer) * input).colwise() + BiasOf(parameters, layer);
}

Matrix Silu(const Matrix& x) {
  return x.unaryExpr([](double v) { return v / (1 + std::exp(-v)); });
}
Matrix SiluSlope(const Matrix& x) {
  return x.unaryExpr([](double v) {
    double s = 1 / (1 + std::exp(-v));
    return s * (1 + v * (1 - s));
  });
}

// Values on the way forward that the way back needs. A column is a nest, then a kernel.
struct Activations {
  Matrix inputs;
  Matrix encoder1, encoder2;  // before SiLU
  Matrix hidden1, hidden2;    // after it
  Matrix pooled;
  Matrix head1, hidden3;
  Vector raw;  // before the bound
};

Activations Run(const std::vector<double>& parameters, const NestBatch& batch) {
  Activations a;
  const Layers layers = LayersOf(parameters);
  const size_t features = layers.encoder1.inputs;
  TCC_CHECK(batch.inputs.size() == features * batch.nests()) << batch.inputs.size();
  auto nests = static_cast<Eigen::Index>(batch.nests());
  auto kernels = static_cast<Eigen::Index>(batch.kernels());
  a.inputs = ConstMatrix(batch.inputs.data(), static_cast<Eigen::Index>(features), nests);
  a.encoder1 = Apply(parameters, layers.encoder1, a.inputs);
  a.hidden1 = Silu(a.encoder1);
  a.encoder2 = Apply(parameters, layers.encoder2, a.hidden1);
  a.hidden2 = Silu(a.encoder2);
  a.pooled = Matrix::Zero(kWidth, kernels);
  for (size_t k = 0; k < batch.kernels(); ++k) {
    for (size_t n = batch.first[k]; n < batch.first[k + 1]; ++n) {
      a.pooled.col(static_cast<Eigen::Index>(k)) +=
          batch.shares[n] * a.hidden2.col(static_cast<Eigen::Index>(n));
    }
  }
  a.head1 = Apply(parameters, layers.head1, a.pooled);
  a.hidden3 = Silu(a.head1);
  a.raw = Apply(parameters, layers.head2, a.hidden3).row(0);
  return a;
}

// Adds a layer's slopes to those of all parameters and returns those of its input.
Matrix LayerBack(const std::vector<double>& parameters, const LayerShape& layer,
                 const Matrix& input, const Matrix& slope, std::vector<double>& slopes) {
  Eigen::Map<Matrix> weights(&slopes[layer.offset], static_cast<Eigen::Index>(layer.outputs),
                             static_cast<Eigen::Index>(layer.inputs));
  Eigen::Map<Vector> bias(&slopes[layer.bias()], static_cast<Eigen::Index>(layer.outputs));
  weights += slope * input.transpose();
  bias += slope.rowwise().sum();
  return WeightsOf(parameters, layer).transpose() * slope;
}

}  // namespace

size_t Mlp::ParameterCount(size_t features) {
  return Layers(features).head2.end();
}

Mlp Mlp::Drawn(size_t features, uint64_t seed, double bound) {
  Random random(seed);
  const Layers layers(features);
  std::vector<double> parameters(ParameterCount(features), 0.0);
  for (const LayerShape& layer : {layers.encoder1, layers.encoder2, layers.head1}) {
    double deviation = std::sqrt(2.0 / static_cast<double>(layer.inputs));
    for (size_t p = layer.offset; p < layer.bias(); ++p) {
      parameters[p] = deviation * random.Normal();
    }
  }
  return Mlp(std::move(parameters), bound);
}

std::vector<double> Mlp::Forward(const NestBatch& batch) const {
  if (batch.kernels() == 0) return {};
  Vector raw = Run(parameters_, batch).raw;
  std::vector<double> corrections;
  for (double value : raw) corrections.push_back(bound_ * std::tanh(value / bound_));
  return corrections;
}

Mlp::Slopes Mlp::Backward(const NestBatch& batch, std::span<const double> seeds) const {
  TCC_CHECK(seeds.size() == batch.kernels()) << seeds.size();
  Slopes slopes;
  slopes.parameters.assign(parameters_.size(), 0.0);
  if (batch.kernels() == 0) return slopes;
  Activations a = Run(parameters_, batch);
  Matrix raw(1, static_cast<Eigen::Index>(seeds.size()));
  for (size_t k = 0; k < seeds.size(); ++k) {
    double t = std::tanh(a.raw(static_cast<Eigen::Index>(k)) / bound_);
    raw(0, static_cast<Eigen::Index>(k)) = seeds[k] * (1 - t * t);
  }
  std::vector<double>& sums = slopes.parameters;
  const Layers layers = LayersOf(parameters_);
  Matrix hidden3 = LayerBack(parameters_, layers.head2, a.hidden3, raw, sums);
  Matrix head1 = hidden3.cwiseProduct(SiluSlope(a.head1));
  Matrix pooled = LayerBack(parameters_, layers.head1, a.pooled, head1, sums);
  Matrix hidden2(kWidth, static_cast<Eigen::Index>(batch.nests()));
  slopes.shares.resize(batch.nests());
  for (size_t k = 0; k < batch.kernels(); ++k) {
    for (size_t n = batch.first[k]; n < batch.first[k + 1]; ++n) {
      auto nest = static_cast<Eigen::Index>(n), kernel = static_cast<Eigen::Index>(k);
      hidden2.col(nest) = batch.shares[n] * pooled.col(kernel);
      slopes.shares[n] = pooled.col(kernel).dot(a.hidden2.col(nest));
    }
  }
  Matrix encoder2 = hidden2.cwiseProduct(SiluSlope(a.encoder2));
  Matrix hidden1 = LayerBack(parameters_, layers.encoder2, a.hidden1, encoder2, sums);
  Matrix encoder1 = hidden1.cwiseProduct(SiluSlope(a.encoder1));
  Matrix inputs = LayerBack(parameters_, layers.encoder1, a.inputs, encoder1, sums);
  slopes.inputs.assign(inputs.data(), inputs.data() + inputs.size());
  return slopes;
}

}  // namespace tcc
