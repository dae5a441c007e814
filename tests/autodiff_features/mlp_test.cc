#include "autodiff_features/learned/mlp.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "autodiff_features/learned/adam.h"
#include "support/random.h"

namespace tcc {
namespace {

constexpr size_t kFeatures = 37;

NestBatch RandomBatch(const std::vector<size_t>& nests_of_kernels, uint64_t seed) {
  Random random(seed);
  NestBatch batch;
  for (size_t nests : nests_of_kernels) {
    for (size_t n = 0; n < nests; ++n) {
      for (size_t f = 0; f < kFeatures; ++f) batch.inputs.push_back(random.Normal());
      batch.shares.push_back(0.2 + random.Unit());
    }
    batch.first.push_back(batch.shares.size());
  }
  return batch;
}

// A network whose last layer does something, too.
Mlp RandomMlp(uint64_t seed) {
  Mlp mlp = Mlp::Drawn(kFeatures, seed, 2);
  Random random(seed);
  for (double& parameter : mlp.parameters()) parameter += 0.05 * random.Normal();
  return mlp;
}

double SeededSum(const Mlp& mlp, const NestBatch& batch, const std::vector<double>& seeds) {
  double sum = 0;
  std::vector<double> corrections = mlp.Forward(batch);
  for (size_t k = 0; k < seeds.size(); ++k) sum += seeds[k] * corrections[k];
  return sum;
}

// The difference quotient of `sum` as `value` moves.
double Difference(double& value, const std::function<double()>& sum) {
  const double before = value, step = 1e-5;
  value = before + step;
  double above = sum();
  value = before - step;
  double below = sum();
  value = before;
  return (above - below) / (2 * step);
}

void CheckClose(double slope, double difference) {
  CHECK(std::abs(slope - difference) <= 1e-4 * std::max({std::abs(slope), 1e-3}));
}

}  // namespace

TEST_CASE("An untrained network corrects nothing", "[autodiff_features]") {
  NestBatch batch = RandomBatch({1, 3, 2}, 7);
  CHECK(Mlp::Drawn(kFeatures, 1, 2).Forward(batch) == std::vector<double>{0, 0, 0});
  CHECK(Mlp::Drawn(kFeatures, 1, 2).Forward({}).empty());
}

TEST_CASE("A network's slopes are those of finite differences", "[autodiff_features]") {
  NestBatch batch = RandomBatch({1, 3, 2, 1}, 11);
  Mlp mlp = RandomMlp(3);
  std::vector<double> seeds = {1, -0.5, 2, 0.25};
  Mlp::Slopes slopes = mlp.Backward(batch, seeds);
  auto sum = [&] { return SeededSum(mlp, batch, seeds); };
  REQUIRE(slopes.parameters.size() == Mlp::ParameterCount(kFeatures));
  REQUIRE(slopes.inputs.size() == batch.inputs.size());
  for (size_t i = 0; i < Mlp::ParameterCount(kFeatures); i += 37) {
    CheckClose(slopes.parameters[i], Difference(mlp.parameters()[i], sum));
  }
  for (size_t i = 0; i < batch.inputs.size(); ++i) {
    CheckClose(slopes.inputs[i], Difference(batch.inputs[i], sum));
  }
  for (size_t i = 0; i < batch.shares.size(); ++i) {
    CheckClose(slopes.shares[i], Difference(batch.shares[i], sum));
  }
}

TEST_CASE("A correction depends on its own kernel alone and stays within the bound",
          "[autodiff_features]") {
  NestBatch all = RandomBatch({2, 1, 4, 3}, 5);
  Mlp mlp = RandomMlp(9);
  for (double& parameter : mlp.parameters()) parameter *= 3;
  std::vector<double> together = mlp.Forward(all);
  for (size_t k = 0; k < all.kernels(); ++k) {
    NestBatch one;
    auto inputs = all.inputs.begin();
    one.inputs.assign(inputs + static_cast<ptrdiff_t>(all.first[k] * kFeatures),
                      inputs + static_cast<ptrdiff_t>(all.first[k + 1] * kFeatures));
    one.shares.assign(all.shares.begin() + static_cast<ptrdiff_t>(all.first[k]),
                      all.shares.begin() + static_cast<ptrdiff_t>(all.first[k + 1]));
    one.first.push_back(one.shares.size());
    CHECK(mlp.Forward(one)[0] == Approx(together[k]).margin(1e-12));
    CHECK(std::abs(together[k]) <= 2);
  }
}

TEST_CASE("Adam finds the bottom of a bowl, and clips what is steep", "[autodiff_features]") {
  std::vector<double> at = {5, -3};
  Adam adam(2);
  for (int step = 0; step < 3000; ++step) {
    std::vector<double> gradient = {2 * (at[0] - 1), 20 * (at[1] - 2)};
    adam.Step(at, gradient, CosineRate(0.05, 0.001, step / 3000.0));
  }
  CHECK(at[0] == Approx(1).margin(1e-3));
  CHECK(at[1] == Approx(2).margin(1e-3));

  // The first step is as long for any gradient, so the clip shows in the second.
  auto second_step = [](double first, double clip) {
    std::vector<double> value = {0};
    Adam steps(1, {.clip = clip});
    steps.Step(value, std::vector<double>{first}, 1);
    double before = value[0];
    steps.Step(value, std::vector<double>{1}, 1);
    return value[0] - before;
  };
  CHECK(second_step(1000, 1) == Approx(second_step(1, 1)));
  CHECK(second_step(1000, 0) != Approx(second_step(1, 0)));
}

}  // namespace tcc
