#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/artefact/artefact.h"

namespace tcc {

// Returns the calls of a plan in their order, each call in a loop or branch once.
std::vector<const PlanCall*> CallsOf(const Plan& plan);

// Returns how many of them call each kernel.
std::vector<int64_t> CallsOfKernels(const Artefact& artefact);

// Returns the statistic of a kernel under a key, "code_bytes".
std::optional<int64_t> StatisticOf(const KernelInfo& kernel, std::string_view key);

}  // namespace tcc
