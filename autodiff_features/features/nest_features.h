#pragma once

#include <vector>

#include "autodiff_features/cpu/cpu_prior.h"
#include "autodiff_features/features/feature_table.h"

namespace tcc {

// Returns an f64 formula for each row of the table.
std::vector<Expr> FeaturesOf(const NestWork& nest, const NestTraffic& traffic,
                             const NestPrior& prior, const Target& target,
                             const RunSettings& settings);

}  // namespace tcc
