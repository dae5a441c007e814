#pragma once

#include <cstdint>
#include <string>

namespace tcc {

struct WatchdogLimits {
  double seconds = 10;
  int64_t resident_bytes = int64_t{2} << 30;
};

// From now on ends the process, printing the line that reproduces it, when a point takes too long
// or the process too much memory. Crashes print the line as well. Once a process.
void StartWatchdog(const WatchdogLimits& limits);

// A point begins; "" between points, when time does not count.
void WatchPoint(const std::string& reproduction);

// The most that was resident so far.
int64_t PeakResidentBytes();

}  // namespace tcc
