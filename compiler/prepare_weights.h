#pragma once

#include <span>
#include <stop_token>

#include "compiler/kernels.h"
#include "compiler/plan_buffers.h"

namespace tcc {

// Fills the results of `weights` by running their prepare functions, compiled for this machine
// whatever the model's target is. The same bytes for any number of threads. Cancelled soon after a
// stop is requested.
Status PrepareWeights(const KernelSet& kernels, std::span<const PreparedWeight> weights,
                      int threads, std::stop_token stop);

}  // namespace tcc
