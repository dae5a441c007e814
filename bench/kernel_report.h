#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/status.h"

namespace tcc {

// The result of a kernel on so many threads.
struct KernelResult {
  std::string kernel;
  int threads = 1;
  double flops = 0;  // 0 if they do not measure the work
  double microseconds = 0;
  double peak_gflops = 0;                             // of all threads, in the same minutes
  std::vector<std::pair<std::string, double>> peers;  // microseconds

  std::optional<double> PercentOfPeak() const;
};

// Print a table, row by row. A ratio is our time to the peer's.
void PrintHeader();
void PrintRow(const KernelResult& result);

// Writes a JSON list with an entry per result and peer, to stdout where `path` is empty.
Status WriteJson(const std::vector<KernelResult>& results, const std::string& path);

}  // namespace tcc
