#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/cpu/compiled_kernel.h"
#include "bench/cpu/interleaved_timing.h"
#include "bench/cpu/kernel_suite.h"

namespace tcc {

struct RaceOptions {
  int threads = 1;
  std::vector<std::string> peers;  // all if none is named; "none": none
  int rounds = kRounds;
};

// A kernel of ours in a race.
struct Racer {
  std::string name;  // "the schedule", for errors
  const BenchedKernel& kernel;
};

struct RaceTimes {
  double peak_gflops = 0;                             // of all threads, in the same minutes
  std::vector<double> ours;                           // microseconds, by racer
  std::vector<std::pair<std::string, double>> peers;  // microseconds, of those that have the kernel
};

// Checks the racers and the wanted peers, then times all of them in turn. InternalError names the
// first one that is wrong.
StatusOr<RaceTimes> RunRace(const BenchKernel& kernel, const KernelCase& example,
                            std::span<const Racer> racers, const RaceOptions& options);

// Refuses names that no peer has.
Status ExpectPeers(std::span<const std::string> names);

}  // namespace tcc
