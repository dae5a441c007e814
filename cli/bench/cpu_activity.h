#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tcc {

// The time that CPUs were busy, for anybody or in this process, in seconds since an arbitrary
// moment.
struct CpuActivity {
  double busy = 0;
  double total = 0;  // busy or idle, of all the CPUs
  double own = 0;
};

// Returns the activity of the CPUs with these numbers, without `own`. `stat` is the text of
// /proc/stat, whose times count ticks.
CpuActivity ActivityOf(std::string_view stat, std::span<const int> cpus, double ticks_per_second);

// Returns the activity of the CPUs that the process may use, until now.
CpuActivity ActivityNow();

// Returns what share of the CPUs others took between two moments, in percent. nullopt where less
// than 0.1 s of a CPU has passed, of which the ticks are too coarse, or the system counts nothing.
std::optional<double> PercentOfOthers(const CpuActivity& before, const CpuActivity& after);

// Returns the warning that others were busy; "" where they took at most 5 %.
std::string BusyWarning(std::optional<double> percent_of_others);

}  // namespace tcc
