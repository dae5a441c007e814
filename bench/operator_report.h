#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/status.h"

namespace tcc {

// How a library did on an operator.
struct PeerTime {
  std::string peer;
  std::string algorithm;           // which of its ways was the fastest
  std::string numeric = "strict";  // its arithmetic; what it stores operands as if not f32
  double microseconds = 0;
  double error = 0;  // as OperatorCheck has it
};

struct OperatorResult {
  std::string name;
  std::string target;
  double flops = 0, bytes = 0;
  double strict_flops = 0;  // of `flops`: of a network's kernels that stay strict in a mode
  std::string failure;      // what went wrong; nothing below counts then
  size_t kernels = 0;
  double compile_seconds = 0;
  double microseconds = 0;                  // with caches cold
  std::optional<double> warm_microseconds;  // where that was measured
  double error = 0;
  std::string numeric = "strict";
  // What the work would take at the peak of the mode's instructions or the copy bandwidth that were
  // measured in the same run, whichever is longer, and which it is: "fma", "tf32 mma", "copy"; 0
  // and "" where the work is not known.
  double ceiling_microseconds = 0;
  std::string ceiling;
  double peak_gflops = 0, peak_gbytes = 0;
  std::vector<PeerTime> peers;
  std::vector<std::string> notes;     // about peers that are missing
  std::vector<std::string> warnings;  // of the compiler, about its kernels

  std::optional<double> PercentOfCeiling() const;
};

// One line of it, for those who wait.
std::string ProgressLine(const OperatorResult& result);

// The results as a table: ours and its mode, each peer, its algorithm and arithmetic, the ratio of
// ours to it.
std::string MarkdownTable(const std::vector<OperatorResult>& results);

// A list with an entry for each result and peer.
std::string JsonText(const std::vector<OperatorResult>& results);

}  // namespace tcc
