#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "ir/expr/function.h"

namespace tcc {

// What a leaf block did in a run of its loops, counted one instance at a time.
struct CountedRuns {
  int64_t issued = 0;  // iterations of all loops round it
  int64_t useful = 0;  // instances that exist: domains and guards hold
  int64_t bodies = 0;  // iterations of the loops outside of unrolled and vectorized ones with some
  int64_t piece = 0;   // the most of them in one iteration of the parallel loop
};

// Runs the loops of a scheduled function of known sizes without nested blocks; the result is by
// block. nullopt: more than `most` iterations.
std::optional<std::map<std::string, CountedRuns>> CountRuns(const Function& fn, int64_t most);

}  // namespace tcc
