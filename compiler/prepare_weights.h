#pragma once

#include <span>
#include <stop_token>

#include "compiler/kernels.h"
#include "compiler/plan_buffers.h"

namespace tcc {

// Fills the results of `weights` by running their prepare functions, compiled for this machine
// whatever the model's target is. The bytes are the same for any number of threads. Fails with
// Cancelled soon after a stop is requested.
Status PrepareWeights(const KernelSet& kernels, std::span<const PreparedWeight> weights,
                      int threads, std::stop_token stop);

}  // namespace tcc
