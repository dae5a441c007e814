#include "bench/used_options.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "support/check.h"

namespace tcc {
namespace {

using enum KernelsMode;

struct OptionUse {
  const char* option;
  std::vector<KernelsMode> modes;  // that use the option
};

// Returns the options that have a meaning in some modes only. Other options always have one.
const std::vector<OptionUse>& OptionUses() {
  static const std::vector<OptionUse> uses = {
      {"--traces", {kSchedules, kStage}},
      {"--trace", {kSchedules, kStage}},
      {"--sketch", {kSchedules, kStage}},
      {"--stage", {kStage}},
      {"--threads", {kSchedules, kOperatorsOnCpu}},
      {"--peer", {kSchedules, kOperatorsOnCpu, kOperatorsOnGpu}},
      {"--rounds", {kSchedules, kOperatorsOnCpu, kOperatorsOnGpu}},
      {"--json", {kSchedules, kOperatorsOnCpu, kOperatorsOnGpu, kCompileOnly}},
      {"--markdown", {kOperatorsOnCpu, kOperatorsOnGpu}},
      {"--numeric", {kOperatorsOnCpu, kOperatorsOnGpu, kCompileOnly}},
      {"--seconds", {kOperatorsOnCpu, kOperatorsOnGpu, kCompileOnly}},
      {"--compile-only", {kCompileOnly}},
      {"--quick", {kOperatorsOnCpu, kOperatorsOnGpu}},
      {"--text", {kOperatorsOnGpu, kCompileOnly}},
  };
  return uses;
}

std::string_view Name(KernelsMode mode) {
  switch (mode) {
    case kSchedules:
      return "a suite of schedules";
    case kStage:
      return "--stage";
    case kOperatorsOnCpu:
      return "operators on a CPU";
    case kOperatorsOnGpu:
      return "operators on a GPU";
    case kCompileOnly:
      return "--compile-only";
  }
  TCC_UNREACHABLE();
}

}  // namespace

Status ExpectUsedOptions(const CLI::App& app, KernelsMode mode) {
  for (const OptionUse& use : OptionUses()) {
    if (app.count(use.option) == 0 || std::ranges::count(use.modes, mode) > 0) continue;
    return UsageError("{} has no meaning for {}", use.option, Name(mode));
  }
  return OkStatus();
}

}  // namespace tcc
