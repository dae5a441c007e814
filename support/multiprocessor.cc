#include "support/multiprocessor.h"

#include <algorithm>
#include <iterator>

namespace tcc {
namespace {

constexpr int64_t kKiB = 1024;
constexpr MultiprocessorLimits kLimits[] = {
    {75, 32, 16, 64 * kKiB, 0},     {80, 64, 32, 164 * kKiB, kKiB}, {86, 48, 16, 100 * kKiB, kKiB},
    {89, 48, 24, 100 * kKiB, kKiB}, {90, 64, 32, 228 * kKiB, kKiB},
};

}  // namespace

const MultiprocessorLimits& MultiprocessorLimitsOf(int sm) {
  const MultiprocessorLimits* row =
      std::find_if(std::begin(kLimits), std::end(kLimits),
                   [&](const MultiprocessorLimits& r) { return r.sm >= sm; });
  return row == std::end(kLimits) ? *std::prev(std::end(kLimits)) : *row;
}

}  // namespace tcc
