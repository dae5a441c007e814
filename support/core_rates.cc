#include "support/core_rates.h"

#include <algorithm>
#include <iterator>

namespace tcc {
namespace {

// Arm's Software Optimization Guides, "Pipeline overview" and "Dispatch constraints"; the clocks
// are of AWS Graviton2 and Alibaba Yitian 710.
constexpr CoreRates kCores[] = {
    {"neoverse-n1", "aarch64-v8.2", 2, 2, 1, 4, 2.5e9},
    {"neoverse-n2", "aarch64-v8.6", 2, 3, 2, 5, 2.75e9},
};

}  // namespace

std::span<const CoreRates> AllCores() {
  return kCores;
}

const CoreRates* FindCore(std::string_view target) {
  const auto* core = std::ranges::find(kCores, target, &CoreRates::target);
  return core == std::end(kCores) ? nullptr : core;
}

}  // namespace tcc
