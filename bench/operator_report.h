#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/status.h"

namespace tcc {

// The time and error of a library on an operator.
struct PeerTime {
  std::string peer;
  std::string algorithm;           // the fastest of its ways
  std::string numeric = "strict";  // its arithmetic, and the type of its operands if not f32
  double microseconds = 0;
  double error = 0;  // as in OperatorCheck
};

struct OperatorResult {
  std::string name;
  std::string target;
  double flops = 0, bytes = 0;
  double strict_flops = 0;  // the part of `flops` in a network's kernels that stay strict
  std::string failure;      // what went wrong; nothing below counts then
  size_t kernels = 0;
  double compile_seconds = 0;
  double microseconds = 0;                       // with caches cold
  std::optional<double> warm_microseconds;       // where that was measured
  std::optional<double> predicted_microseconds;  // by the prior, for `microseconds`
  double error = 0;
  std::string numeric = "strict";
  // The time that the work would take at the peak of the mode's instructions or at the copy
  // bandwidth, whichever is longer, both measured in the same run. `ceiling` says which it is:
  // "fma", "tf32 mma", "copy". 0 and "" where the work is not known.
  double ceiling_microseconds = 0;
  std::string ceiling;
  double peak_gflops = 0, peak_gbytes = 0;
  std::vector<PeerTime> peers;
  std::vector<std::string> notes;     // about peers that are missing
  std::vector<std::string> warnings;  // of the compiler, about its kernels

  std::optional<double> PercentOfCeiling() const;
};

// Returns a line on a result, to show progress.
std::string ProgressLine(const OperatorResult& result);

// Returns the results as a table: our time and mode, each peer, its algorithm and arithmetic, the
// ratio of our time to its time.
std::string MarkdownTable(const std::vector<OperatorResult>& results);

// Returns a JSON list with an entry per result and peer.
std::string JsonText(const std::vector<OperatorResult>& results);

}  // namespace tcc
