#pragma once

#include <span>
#include <string>
#include <vector>

#include "support/status.h"
#include "support/target.h"

namespace tcc {

// Fails with Unavailable and the missing features' names if this CPU lacks any of `needed` (LLVM's
// names: "avx2", "avx512f"), or if it is unknown whether it does.
Status CheckCpuFeatures(std::span<const std::string> needed);

// What code for a target may use, to be stored as Metadata::cpu_features: the psABI's list for
// x86-64-v3 and -v4, what this CPU has for native, nothing for a target that is no CPU.
std::vector<std::string> RequiredCpuFeatures(const Target& target);

}  // namespace tcc
