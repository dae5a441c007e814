#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tcc {

// The times of a kernel of the suites on so many threads, in microseconds, measured in turn.
struct TunedResult {
  std::string suite;
  std::string kernel;
  int threads = 1;
  double flops = 0;        // 0 if they do not measure the work
  double peak_gflops = 0;  // of all threads
  double start = 0;        // of the schedule that is compiled without a search
  double tuned = 0;        // of the database's schedule; `start` if it has none that is faster
  std::string rules = {};  // that made the database's schedule, Sketch::name; "": it has none
  size_t variant = 0;      // which of the kernel's variants it is for
  std::vector<std::pair<std::string, double>> peers = {};
};

// The ratios of our times to those of a peer, over several kernels.
struct RatioSummary {
  size_t kernels = 0;
  double median = 0;  // the upper one of two in the middle
  double geometric_mean = 0;
  size_t level = 0;  // the number of kernels that take at most the peer's time
};
// Expects ratios.
RatioSummary SummaryOf(const std::vector<double>& ratios);

std::string TunedHeader();
std::string TunedRow(const TunedResult& result);

// Returns two lines for each suite, number of threads and peer: the ratios of the tuned schedules
// and of the starts. Two more are about all suites, if there are several.
std::string TunedSummary(const std::vector<TunedResult>& results);

// Returns a JSON list with an entry per result and peer.
std::string TunedJson(const std::vector<TunedResult>& results);

}  // namespace tcc
