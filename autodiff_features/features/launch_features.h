#pragma once

#include <vector>

#include "autodiff_features/features/feature_table.h"
#include "autodiff_features/gpu/gpu_prior.h"

namespace tcc {

// Returns an f64 formula for each row of the table.
std::vector<Expr> FeaturesOf(const LaunchWork& launch, const LaunchPrior& prior,
                             const GpuConstants& gpu);

}  // namespace tcc
