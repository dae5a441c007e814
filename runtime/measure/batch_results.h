#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/measure/candidate_batch.h"

// The file of a batch's measurements, lines of JSON:
//
//   {"batch": SHA-256, "device": "NVIDIA H200, sm_90, ..", "driver": "13.0", "policy": "warm"}
//   {"artefact": SHA-256, "task": "conv1", "status": "ok", "seconds": .., .., "at": ..}
namespace tcc {

// The first line.
struct BatchRun {
  std::string batch;   // its digest
  std::string device;  // DescribeGpu
  std::string driver;
  std::string policy;
};

// The line of a candidate, or of a task's reference.
struct BatchResult {
  std::string artefact;  // its digest
  std::string task;      // BatchTask::name
  Measurement measurement;
  int64_t at = 0;  // microseconds since 1970
};

// Return a line with its end.
std::string LineOf(const BatchRun& run);
std::string LineOf(const BatchResult& result);

struct BatchResults {
  BatchRun run;
  std::vector<BatchResult> results;  // an artefact comes at most once
};

// Reads results of the batch. Errors (InvalidArgument) name the line: it is cut off or damaged, or
// is of another batch or none.
StatusOr<BatchResults> ParseResults(std::string_view text, const CandidateBatch& batch);

}  // namespace tcc
