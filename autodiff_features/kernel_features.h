#pragma once

#include <span>
#include <vector>

#include "autodiff_features/mlp.h"
#include "autodiff_features/sketch_formulas.h"

namespace tcc {

// The rows of the feature table for each nest of a kernel at one point, and the prior's time.
struct KernelFeatures {
  std::vector<double> rows;  // kFeatures for each nest
  double ln_prior = 0;       // ln seconds

  size_t nests() const { return rows.size() / kFeatures; }
};
std::vector<KernelFeatures> FeaturesAt(const SketchFormulas& formulas,
                                       std::span<const Point> points);

// Maps a row to an input of the network: ln of seconds, ln(1 + x) of everything else, moved and
// stretched to mean 0 and deviation 1 over the nests of a training set, and kept in
// [-kMaxDeviations, kMaxDeviations].
struct FeatureScale {
  std::vector<double> mean;
  std::vector<double> deviation;

  static FeatureScale Of(std::span<const KernelFeatures> kernels);
};
inline constexpr double kMaxDeviations = 4;

NestBatch BatchOf(const FeatureScale& scale, std::span<const KernelFeatures* const> kernels);

// Derivatives by the rows of one kernel, from those by what BatchOf made of them: `inputs` and
// `shares` are the parts of Mlp::Slopes that are the kernel's. A row beyond kMaxDeviations has
// none.
std::vector<double> RowSlopes(const FeatureScale& scale, const KernelFeatures& kernel,
                              std::span<const double> inputs, std::span<const double> shares);

}  // namespace tcc
