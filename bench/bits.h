#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/cpu/interleaved_timing.h"
#include "support/status.h"

namespace tcc {

// The suite of products of few bits: 1x1 to 4x4 bits of data and weights, by bit planes, beside the
// same products of bytes and of f32.
inline constexpr const char* kBitsSuite = "bits";

struct BitsSuiteOptions {
  std::string product;            // the name of a product of the suite; "": all
  std::string target = "native";  // of this CPU's architecture
  std::vector<int> threads = {1, 2};
  int rounds = kRounds;
  std::optional<std::string> json;  // a file; "" for stdout
};

// Measures the suite's kernels on the CPU that runs tcc, as their schedules start, all forms of a
// product in turn. Prints a line per product and number of threads: microseconds of f32 and of
// bytes, and the ratios of each form's time to that of bytes. DataLoss for the first product whose
// planes give other integers than products of bytes do.
Status RunBitsSuite(const BitsSuiteOptions& options);

}  // namespace tcc
