#include "tests/fuzz/fuzz.h"

#include <chrono>
#include <cstdlib>

#include "support/check.h"
#include "support/target_api.h"
#include "tests/fuzz/watchdog.h"

namespace tcc {
namespace {

// Of the point that is running: a check's handler takes no context of its own.
std::string reproduction;  // NOLINT
std::string description;   // NOLINT

[[noreturn]] void OnFailedCheck(const std::string& message) {
  fmt::print(stderr, "{}\n{}{}\n", message, description, reproduction);
  std::_Exit(1);
}

}  // namespace

void DescribeRunningPoint(std::string text) {
  description = std::move(text);
}

StatusOr<Target> FindGpuTarget(const std::string& option, const std::string& name) {
  StatusOr<Target> target = FindTarget(name);
  if (!target.ok()) return Annotate(target.status(), option);
  if (IsCuda(*target)) return target;
  return UsageError("{}: expected a GPU; got '{}'", option, name);
}

FuzzResult RunPoints(const std::string& subcommand, const FuzzOptions& options,
                     const std::function<Status(uint64_t seed, Histogram& histogram)>& point) {
  using Clock = std::chrono::steady_clock;
  auto start = Clock::now();
  SetCheckHandler(OnFailedCheck);
  FuzzResult result;
  for (int64_t i = 0; i < options.points; ++i) {
    std::chrono::duration<double> elapsed = Clock::now() - start;
    if (options.seconds > 0 && elapsed.count() > options.seconds) break;
    uint64_t seed = options.seed + static_cast<uint64_t>(i);
    reproduction = fmt::format("tcc-fuzz {} --points 1 --seed {}", subcommand, seed);
    description.clear();
    WatchPoint(reproduction);
    Status status = point(seed, result.histogram);
    ++(status.ok() ? result.passed : result.failed);
    if (!status.ok()) fmt::print(stderr, "{}\n{}\n", Message(status), reproduction);
  }
  WatchPoint("");
  SetCheckHandler(nullptr);
  return result;
}

}  // namespace tcc
