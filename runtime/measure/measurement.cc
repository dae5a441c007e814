#include "runtime/measure/measurement.h"

#include <algorithm>
#include <iterator>

#include "support/check.h"

namespace tcc {
namespace {

// In the order of the enumerators.
constexpr std::string_view kNames[] = {
    "ok",    "slow", "refused",       "build-failed", "launch-failed",
    "fault", "hang", "out-of-memory", "wrong",        "flaky"};
static_assert(std::size(kNames) == static_cast<size_t>(MeasureStatus::kFlaky) + 1);

}  // namespace

std::string_view NameOf(MeasureStatus status) {
  auto index = static_cast<size_t>(status);
  TCC_CHECK(index < std::size(kNames)) << index;
  return kNames[index];
}

std::optional<MeasureStatus> FindMeasureStatus(std::string_view name) {
  const std::string_view* found = std::ranges::find(kNames, name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<MeasureStatus>(found - std::begin(kNames));
}

}  // namespace tcc
