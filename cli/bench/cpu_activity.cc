#include "cli/bench/cpu_activity.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "runtime/executor/usable_cpus.h"

namespace tcc {
namespace {

// A tick has 10 ms: ten of them tell 5 % from nothing on two CPUs.
constexpr double kMinSeconds = 0.1;
constexpr double kBusyPercent = 5;
// proc(5): user, nice, system, idle, iowait, irq, softirq, steal. Guests are in user and nice.
constexpr size_t kTimes = 8, kIdle = 3, kWaiting = 4;

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

CpuActivity ActivityOf(std::string_view stat, std::span<const int> cpus, double ticks_per_second) {
  CpuActivity activity;
  std::istringstream lines{std::string(stat)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    auto is_name = [&](int cpu) { return name == fmt::format("cpu{}", cpu); };
    if (std::ranges::none_of(cpus, is_name)) continue;
    for (size_t i = 0; i < kTimes; ++i) {
      double ticks = 0;
      words >> ticks;
      activity.total += ticks / ticks_per_second;
      if (i != kIdle && i != kWaiting) activity.busy += ticks / ticks_per_second;
    }
  }
  return activity;
}

CpuActivity ActivityNow() {
  std::ifstream file("/proc/stat");
  std::string stat{std::istreambuf_iterator<char>(file), {}};
  CpuActivity activity =
      ActivityOf(stat, AllowedCpus(), static_cast<double>(::sysconf(_SC_CLK_TCK)));
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  activity.own = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  return activity;
}

std::optional<double> PercentOfOthers(const CpuActivity& before, const CpuActivity& after) {
  double total = after.total - before.total;
  if (!(total >= kMinSeconds)) return std::nullopt;
  double others = (after.busy - before.busy) - (after.own - before.own);
  return std::clamp(others / total * 100, 0.0, 100.0);
}

std::string BusyWarning(std::optional<double> percent_of_others) {
  if (percent_of_others.value_or(0) <= kBusyPercent) return "";
  return fmt::format("other processes took {:.0f} % of the CPUs: the times are no idle machine's",
                     *percent_of_others);
}

}  // namespace tcc
