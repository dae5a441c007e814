#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/artefact/artefact.h"
#include "runtime/artefact/gpu_program.h"

namespace tcc {

// Returns the program of an artefact for a GPU, nullopt for another device. Error: it cannot be
// read.
StatusOr<std::optional<GpuProgram>> GpuProgramOf(const Artefact& artefact);

// Returns how often a GPU launches each kernel in a run at the usual sizes: every launch of a call
// that makes several counts, and every trip of the loops around it. Returns nullopt if computed
// values decide that, and beyond 2^53.
StatusOr<std::optional<std::vector<int64_t>>> LaunchesOfKernels(const Artefact& artefact,
                                                                const GpuProgram& program);

}  // namespace tcc
