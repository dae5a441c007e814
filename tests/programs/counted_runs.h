#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/expr/function.h"

namespace tcc {

// Counts of a leaf block in a run of its loops, taken one instance at a time.
struct CountedRuns {
  int64_t issued = 0;  // iterations of all loops round it
  int64_t useful = 0;  // instances that exist: domains and guards hold
  int64_t bodies = 0;  // iterations of the loops outside of unrolled and vectorized ones with some
  int64_t piece = 0;   // the most of them in one iteration of the parallel loop
  // Starts of the loops from the j-th inwards with an instance that exists, for each j down to the
  // unrolled and vectorized ones; last, `bodies`. Empty without an instance.
  std::vector<int64_t> starts = {};
};

// Runs the loops of a scheduled function of known sizes; the result is by block. nullopt: more than
// `most` iterations.
std::optional<std::map<std::string, CountedRuns>> CountRuns(const Function& fn, int64_t most);

// Places in memory that one access of a leaf block touches in a whole run. Windows of a buffer that
// follow each other share theirs.
struct CountedCells {
  int64_t cells = 0;  // different ones
  int64_t lines = 0;  // of 64 bytes, different ones, the buffer beginning at one
};

// The same by running the loops, for each access in the order of AccessesOf, by block. Instances
// whose predicate is false touch nothing. nullopt: more than `most` iterations, or an index that
// is read from memory.
std::optional<std::map<std::string, std::vector<CountedCells>>> CountCells(const Function& fn,
                                                                           int64_t most);

}  // namespace tcc
