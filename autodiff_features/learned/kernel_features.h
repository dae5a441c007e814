#pragma once

#include <span>
#include <vector>

#include "autodiff_features/features/feature_table.h"
#include "autodiff_features/features/sketch_formulas.h"
#include "autodiff_features/learned/mlp.h"

namespace tcc {

// The rows of the kind's feature table for each nest of a kernel at one point, and the prior's
// time.
struct KernelFeatures {
  std::vector<double> rows;  // width() for each nest
  double ln_prior = 0;       // ln seconds
  FeatureKind kind = FeatureKind::kNest;

  size_t width() const { return FeatureRows(kind).size(); }
  size_t nests() const { return rows.size() / width(); }
};
std::vector<KernelFeatures> FeaturesAt(const SketchFormulas& formulas,
                                       std::span<const Point> points);

// The map from a row to an input of the network: ln of seconds, ln(1 + x) of everything else,
// shifted and scaled to mean 0 and deviation 1 over the nests of a training set, clamped to
// [-kMaxDeviations, kMaxDeviations].
struct FeatureScale {
  std::vector<double> mean;
  std::vector<double> deviation;

  // All kernels are of the kind.
  static FeatureScale Of(FeatureKind kind, std::span<const KernelFeatures> kernels);
};
inline constexpr double kMaxDeviations = 4;

NestBatch BatchOf(const FeatureScale& scale, std::span<const KernelFeatures* const> kernels);

// Returns the derivatives by the rows of one kernel from the derivatives by the inputs that BatchOf
// made of them: `inputs` and `shares` are the kernel's parts of Mlp::Slopes. A row beyond
// kMaxDeviations has derivative 0.
std::vector<double> RowSlopes(const FeatureScale& scale, const KernelFeatures& kernel,
                              std::span<const double> inputs, std::span<const double> shares);

}  // namespace tcc
