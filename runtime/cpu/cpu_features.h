#pragma once

#include <span>
#include <string>
#include <vector>

#include "support/status.h"
#include "support/target.h"

namespace tcc {

// Checks that this CPU has all features in `needed` (LLVM's names: "avx2", "avx512f"). Fails with
// Unavailable and the missing features' names, also if it is unknown whether the CPU has them. Asks
// the system for the registers of AMX if they are needed (support/word_tile.h).
Status CheckCpuFeatures(std::span<const std::string> needed);

// Returns the model's name as the system has it, "Intel(R) Xeon(R) ..."; "" where it has none.
std::string CpuModelName();

// Returns the features that code for a target may use, which become Metadata::cpu_features: the
// list of the target's row, "sve256" for vectors of just that length, this CPU's features for
// native, nothing for a target that is no CPU.
std::vector<std::string> RequiredCpuFeatures(const Target& target);

}  // namespace tcc
