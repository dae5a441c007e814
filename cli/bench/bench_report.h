#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/load.h"
#include "cli/bench/profile.h"
#include "runtime/executor/module.h"

namespace tcc {

// The figures of a model that `tcc bench` has measured.
struct BenchReport {
  explicit BenchReport(Module of) : module(std::move(of)) {}

  Module module;
  std::vector<int64_t> size;  // of the inputs, by shape variable
  int threads = 1;            // of each stream
  BenchLoad load;
  std::vector<double> percentiles;
  LoadResult measured;
  std::optional<double> percent_of_others;  // cpu_activity.h
  Profile profile;                          // without runs where nobody has asked for it
};

// Prints the times for people, and the kernels where they were profiled and `with_kernels`.
void PrintText(const BenchReport& report, bool with_kernels);

// Prints an object of schema tcc.bench/1; with the peaks that bound the kernels if `with_peaks`.
void PrintJson(const BenchReport& report, bool with_peaks);

}  // namespace tcc
