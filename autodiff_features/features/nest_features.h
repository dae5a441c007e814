#pragma once

#include <array>

#include "autodiff_features/cpu/cpu_prior.h"
#include "autodiff_features/features/feature_table.h"

namespace tcc {

// An f64 formula for each row of the table.
using FeatureFormulas = std::array<Expr, kFeatures>;

FeatureFormulas FeaturesOf(const NestWork& nest, const NestTraffic& traffic, const NestPrior& prior,
                           const Target& target, const RunSettings& settings);

}  // namespace tcc
