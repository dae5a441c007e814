#pragma once

#include <string>
#include <vector>

#include "cli/bench/profile.h"
#include "cli/diff/match_kernels.h"
#include "runtime/executor/module.h"

namespace tcc {

// The middle of ratios, and the range of the middle half of them.
struct RatioSpread {
  double median = 0, low = 0, high = 0;
};

// Returns the quartiles by nearest rank. Expects at least one ratio.
RatioSpread SpreadOf(std::vector<double> ratios);

// The times of two models whose runs took turns: A B B A, so that a machine that becomes slower
// makes both slower.
struct TimeComparison {
  std::string timer;                        // of kernels (profile.h)
  double a_ms = 0, b_ms = 0;                // medians of whole runs
  std::vector<double> ratios;               // of whole runs: B to A, by round
  std::vector<std::vector<double>> a_runs;  // the seconds of each kernel, by run
  std::vector<std::vector<double>> b_runs;
};

// Runs two models in turns, `rounds` times without a look at kernels and some times with one. Each
// gets random inputs of its own. Error: a run's.
StatusOr<TimeComparison> CompareTimes(const Module& a, const Module& b, int rounds);

// The times of a match in one run: of each kernel the least that it took.
struct MatchTimes {
  double a_seconds = 0, b_seconds = 0;
  RatioSpread ratio;  // of rounds; zeros where a side has no kernel or took no time

  double LostSeconds() const { return b_seconds - a_seconds; }
};

MatchTimes TimesOf(const KernelMatch& match, const TimeComparison& comparison);

// How much of a difference how few matches make: those that lose most where B is slower, that gain
// most where B is faster.
struct Explanation {
  size_t matches = 0;  // 0: nothing to explain
  double percent = 0;  // of the difference of the sums
};

// Returns the fewest matches that make 90 % of the difference. `slower` says which way it goes.
Explanation Explain(std::vector<double> lost_seconds, bool slower);

// Returns "3 kernels explain 91 % of it", or, where others win some of the time back, "1 kernel
// loses 1.84 times as much, others win the rest back". Expects at least one match.
std::string ExplanationText(const Explanation& explanation, bool slower);

}  // namespace tcc
