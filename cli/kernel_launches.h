#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/artefact/artefact.h"

namespace tcc {

// Returns how often a GPU launches each kernel in a run at the usual sizes: every launch of a call
// that makes several counts, and every trip of the loops around it. Returns nullopt if computed
// values decide that, on a CPU, and beyond 2^53. Error: the program cannot be read.
StatusOr<std::optional<std::vector<int64_t>>> LaunchesOfKernels(const Artefact& artefact);

}  // namespace tcc
