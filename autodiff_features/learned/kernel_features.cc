#include "autodiff_features/learned/kernel_features.h"

#include <algorithm>
#include <cmath>

namespace tcc {
namespace {

constexpr double kMinSeconds = 1e-9;
constexpr double kMinDeviation = 1e-3;

bool IsTime(size_t row) {
  static const std::vector<bool>& is_time = *new std::vector<bool>([] {
    std::vector<bool> times;
    for (const FeatureRow& feature : FeatureRows()) times.push_back(feature.unit == "seconds");
    return times;
  }());
  return is_time[row];
}

double InLogs(size_t row, double value) {
  if (IsTime(row)) return std::log(std::max(value, kMinSeconds));
  return std::log1p(std::max(value, 0.0));
}
double SlopeInLogs(size_t row, double value) {
  if (IsTime(row)) return value > kMinSeconds ? 1 / value : 0;
  return value >= 0 ? 1 / (1 + value) : 0;
}

}  // namespace

std::vector<KernelFeatures> FeaturesAt(const SketchFormulas& formulas,
                                       std::span<const Point> points) {
  PointTable table = formulas.ToTable(points);
  PointTable rows = formulas.features().Evaluate(table);
  PointTable seconds = formulas.prior().Evaluate(table);
  std::vector<KernelFeatures> kernels(points.size());
  for (size_t p = 0; p < points.size(); ++p) {
    kernels[p].ln_prior = seconds.at(0, p);
    for (size_t r = 0; r < rows.columns(); ++r) kernels[p].rows.push_back(rows.at(r, p));
  }
  return kernels;
}

FeatureScale FeatureScale::Of(std::span<const KernelFeatures> kernels) {
  std::vector<double> sums(kFeatures, 0), squares(kFeatures, 0);
  double count = 0;
  for (const KernelFeatures& kernel : kernels) {
    for (size_t i = 0; i < kernel.rows.size(); ++i) {
      double value = InLogs(i % kFeatures, kernel.rows[i]);
      sums[i % kFeatures] += value;
      squares[i % kFeatures] += value * value;
    }
    count += static_cast<double>(kernel.nests());
  }
  count = std::max(count, 1.0);
  FeatureScale scale;
  for (size_t f = 0; f < kFeatures; ++f) {
    double mean = sums[f] / count;
    scale.mean.push_back(mean);
    double variance = std::max(squares[f] / count - mean * mean, 0.0);
    scale.deviation.push_back(std::max(std::sqrt(variance), kMinDeviation));
  }
  return scale;
}

namespace {

constexpr auto kSeconds = static_cast<size_t>(Feature::kSeconds);

double TotalSeconds(const KernelFeatures& kernel) {
  double total = 0;
  for (size_t n = 0; n < kernel.nests(); ++n) total += kernel.rows[n * kFeatures + kSeconds];
  return total;
}

}  // namespace

NestBatch BatchOf(const FeatureScale& scale, std::span<const KernelFeatures* const> kernels) {
  NestBatch batch;
  for (const KernelFeatures* kernel : kernels) {
    double total = TotalSeconds(*kernel);
    for (size_t i = 0; i < kernel->rows.size(); ++i) {
      size_t f = i % kFeatures;
      double value = (InLogs(f, kernel->rows[i]) - scale.mean[f]) / scale.deviation[f];
      batch.inputs.push_back(std::clamp(value, -kMaxDeviations, kMaxDeviations));
    }
    for (size_t n = 0; n < kernel->nests(); ++n) {
      batch.shares.push_back(kernel->rows[n * kFeatures + kSeconds] / total);
    }
    batch.first.push_back(batch.shares.size());
  }
  return batch;
}

std::vector<double> RowSlopes(const FeatureScale& scale, const KernelFeatures& kernel,
                              std::span<const double> inputs, std::span<const double> shares) {
  std::vector<double> slopes(kernel.rows.size(), 0.0);
  for (size_t i = 0; i < kernel.rows.size(); ++i) {
    size_t f = i % kFeatures;
    double value = (InLogs(f, kernel.rows[i]) - scale.mean[f]) / scale.deviation[f];
    if (std::abs(value) >= kMaxDeviations) continue;
    slopes[i] = inputs[i] * SlopeInLogs(f, kernel.rows[i]) / scale.deviation[f];
  }
  // share_n = t_n / total
  double total = TotalSeconds(kernel), together = 0;
  for (size_t n = 0; n < kernel.nests(); ++n) {
    together += shares[n] * kernel.rows[n * kFeatures + kSeconds] / total;
  }
  for (size_t n = 0; n < kernel.nests(); ++n) {
    slopes[n * kFeatures + kSeconds] += (shares[n] - together) / total;
  }
  return slopes;
}

}  // namespace tcc
