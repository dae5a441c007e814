#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/status.h"

namespace tcc {

// A kernel on so many threads.
struct KernelResult {
  std::string kernel;
  int threads = 1;
  double flops = 0;  // 0 where they are no measure of the work
  double microseconds = 0;
  double peak_gflops = 0;                             // of all threads, in the same minutes
  std::vector<std::pair<std::string, double>> peers;  // microseconds

  std::optional<double> PercentOfPeak() const;
};

// A table, row by row. A ratio is our time to the peer's.
void PrintHeader();
void PrintRow(const KernelResult& result);

// A list with an entry for each result and peer, to stdout where `path` is empty.
Status WriteJson(const std::vector<KernelResult>& results, const std::string& path);

}  // namespace tcc
