#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/measure/candidate_batch.h"
#include "search/database/database.h"
#include "search/measure/local_measurer.h"
#include "search/tuning/tuner.h"

namespace tcc {

// The least number of candidates of a task in a batch, unless its space is smaller.
inline constexpr int64_t kMinEmitted = 8;

struct EmitOptions {
  Target target;
  LocalMeasurerOptions measuring = {};  // policy, limits and seed of the tasks' operands
  int64_t candidates = 0;     // over all tasks, which share it by runs x predicted seconds
  double random_share = 0.5;  // of the candidates that are no starts
  uint64_t seed = 0;
  std::function<void(const std::string& message)> warn = {};
  std::function<void(int64_t done, int64_t all)> progress = {};  // candidates
};

// Builds candidates that nothing is measured of here, and adds them to the batch by workload: the
// reference, which is the start that a compilation takes, the starts of the other sketches, then
// drawn points: `random_share` of them as they come, of the rest those that the estimator's prior,
// corrected by what is known, expects to be fastest. `known` has the trials of the device by
// workload, or is empty; these and candidates that lower alike are left out. Equal arguments give
// equal batches if `build` does.
//
// A workload whose starts cannot be built is left out with a warning. InvalidArgument: all are.
Status EmitBatch(std::span<const Workload> workloads, const EmitOptions& options,
                 const BuildFunction& build, std::span<const std::vector<StoredTrial>> known,
                 BatchWriter& batch);

}  // namespace tcc
