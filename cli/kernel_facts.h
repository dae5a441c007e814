#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/artefact/artefact.h"

namespace tcc {

// Returns how many calls of the plan there are of each kernel, one in a loop or branch once.
std::vector<int64_t> CallsOfKernels(const Artefact& artefact);

// Returns "x f32[1x3x224x224], y f32[4]".
std::string TypesText(const std::vector<TensorInfo>& tensors, const Metadata& metadata);

// Returns the statistic of a kernel under a key, "code_bytes".
std::optional<int64_t> StatisticOf(const KernelInfo& kernel, std::string_view key);

}  // namespace tcc
