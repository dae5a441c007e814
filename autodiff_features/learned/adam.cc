#include "autodiff_features/learned/adam.h"

#include <cmath>
#include <numbers>

#include "support/check.h"

namespace tcc {

void Adam::Step(std::span<double> values, std::span<const double> gradient, double rate) {
  TCC_CHECK(values.size() == mean_.size() && gradient.size() == mean_.size()) << values.size();
  double squares = 0;
  for (double g : gradient) squares += g * g;
  double norm = std::sqrt(squares);
  double scale = options_.clip > 0 && norm > options_.clip ? options_.clip / norm : 1.0;
  ++steps_;
  double unbias1 = 1 - std::pow(options_.beta1, static_cast<double>(steps_));
  double unbias2 = 1 - std::pow(options_.beta2, static_cast<double>(steps_));
  for (size_t i = 0; i < values.size(); ++i) {
    double g = scale * gradient[i];
    mean_[i] = options_.beta1 * mean_[i] + (1 - options_.beta1) * g;
    square_[i] = options_.beta2 * square_[i] + (1 - options_.beta2) * g * g;
    double step = (mean_[i] / unbias1) / (std::sqrt(square_[i] / unbias2) + options_.epsilon);
    values[i] -= rate * (step + options_.decay * values[i]);
  }
}

double CosineRate(double first, double last, double progress) {
  return last + (first - last) * (1 + std::cos(std::numbers::pi * progress)) / 2;
}

}  // namespace tcc
