#include "autodiff_features/learned/kernel_features.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tcc {
namespace {

constexpr double kMinSeconds = 1e-9;
constexpr double kMinDeviation = 1e-3;

template <size_t rows>
constexpr std::array<bool, rows> TimesAmong(const FeatureRow (&table)[rows]) {
  std::array<bool, rows> times = {};
  for (size_t row = 0; row < rows; ++row) times[row] = table[row].unit == "seconds";
  return times;
}
constexpr std::array kNestTimes = TimesAmong(kNestRows);
constexpr std::array kLaunchTimes = TimesAmong(kLaunchRows);

bool IsTime(FeatureKind kind, size_t row) {
  return kind == FeatureKind::kLaunch ? kLaunchTimes[row] : kNestTimes[row];
}

double InLogs(FeatureKind kind, size_t row, double value) {
  if (IsTime(kind, row)) return std::log(std::max(value, kMinSeconds));
  return std::log1p(std::max(value, 0.0));
}
double SlopeInLogs(FeatureKind kind, size_t row, double value) {
  if (IsTime(kind, row)) return value > kMinSeconds ? 1 / value : 0;
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
    kernels[p].kind = formulas.kind();
    kernels[p].ln_prior = seconds.at(0, p);
    for (size_t r = 0; r < rows.columns(); ++r) kernels[p].rows.push_back(rows.at(r, p));
  }
  return kernels;
}

FeatureScale FeatureScale::Of(FeatureKind kind, std::span<const KernelFeatures> kernels) {
  const size_t width = FeatureRows(kind).size();
  std::vector<double> sums(width, 0), squares(width, 0);
  double count = 0;
  for (const KernelFeatures& kernel : kernels) {
    for (size_t i = 0; i < kernel.rows.size(); ++i) {
      double value = InLogs(kind, i % width, kernel.rows[i]);
      sums[i % width] += value;
      squares[i % width] += value * value;
    }
    count += static_cast<double>(kernel.nests());
  }
  count = std::max(count, 1.0);
  FeatureScale scale;
  for (size_t f = 0; f < width; ++f) {
    double mean = sums[f] / count;
    scale.mean.push_back(mean);
    double variance = std::max(squares[f] / count - mean * mean, 0.0);
    scale.deviation.push_back(std::max(std::sqrt(variance), kMinDeviation));
  }
  return scale;
}

namespace {

static_assert(kNestRows[kNestFeatures - 1].name == "seconds");
static_assert(kLaunchRows[kLaunchFeatures - 1].name == "seconds");
// Returns the place of the prior's seconds of a nest, the last row of each table.
size_t SecondsRow(const KernelFeatures& kernel, size_t nest) {
  return (nest + 1) * kernel.width() - 1;
}

double TotalSeconds(const KernelFeatures& kernel) {
  double total = 0;
  for (size_t n = 0; n < kernel.nests(); ++n) total += kernel.rows[SecondsRow(kernel, n)];
  return total;
}

}  // namespace

NestBatch BatchOf(const FeatureScale& scale, std::span<const KernelFeatures* const> kernels) {
  NestBatch batch;
  for (const KernelFeatures* kernel : kernels) {
    double total = TotalSeconds(*kernel);
    for (size_t i = 0; i < kernel->rows.size(); ++i) {
      size_t f = i % kernel->width();
      double value =
          (InLogs(kernel->kind, f, kernel->rows[i]) - scale.mean[f]) / scale.deviation[f];
      batch.inputs.push_back(std::clamp(value, -kMaxDeviations, kMaxDeviations));
    }
    for (size_t n = 0; n < kernel->nests(); ++n) {
      batch.shares.push_back(kernel->rows[SecondsRow(*kernel, n)] / total);
    }
    batch.first.push_back(batch.shares.size());
  }
  return batch;
}

std::vector<double> RowSlopes(const FeatureScale& scale, const KernelFeatures& kernel,
                              std::span<const double> inputs, std::span<const double> shares) {
  std::vector<double> slopes(kernel.rows.size(), 0.0);
  for (size_t i = 0; i < kernel.rows.size(); ++i) {
    size_t f = i % kernel.width();
    double value = (InLogs(kernel.kind, f, kernel.rows[i]) - scale.mean[f]) / scale.deviation[f];
    if (std::abs(value) >= kMaxDeviations) continue;
    slopes[i] = inputs[i] * SlopeInLogs(kernel.kind, f, kernel.rows[i]) / scale.deviation[f];
  }
  // share_n = t_n / total
  double total = TotalSeconds(kernel), together = 0;
  for (size_t n = 0; n < kernel.nests(); ++n) {
    together += shares[n] * kernel.rows[SecondsRow(kernel, n)] / total;
  }
  for (size_t n = 0; n < kernel.nests(); ++n) {
    slopes[SecondsRow(kernel, n)] += (shares[n] - together) / total;
  }
  return slopes;
}

}  // namespace tcc
