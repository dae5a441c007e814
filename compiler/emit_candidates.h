#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "compiler/compile_options.h"
#include "ir/graph/graph.h"
#include "runtime/measure/measure_protocol.h"
#include "search/database/database.h"

namespace tcc {

struct EmitCandidatesOptions {
  CompileOptions compile;  // target, numeric mode, gpu_code, threads that build, warnings
  std::optional<MeasurePolicy> policy = {};  // none: `auto` for the target's typical device
  int64_t candidates = 0;                    // over all kernels
  double random_share = 0.5;                 // EmitOptions::random_share
  uint64_t seed = 0;
  // Records of the device, or of a part of its name, are candidates that need not be measured
  // again. "": of the one with records of the most kernels.
  std::string device = {};
};

struct EmittedCounts {
  size_t tasks = 0;
  size_t candidates = 0;
};

// Builds candidates for the kernels of an imported graph, without a device or a worker, and writes
// them into one file (runtime/measure/candidate_batch.h). `database` null: nothing is known.
// FailedPrecondition: a target other than a GPU, a policy that it does not have, a device without
// records. Unavailable: NVRTC is missing.
StatusOr<EmittedCounts> EmitCandidates(Graph graph, const EmitCandidatesOptions& options,
                                       Database* database, const std::string& path);

}  // namespace tcc
