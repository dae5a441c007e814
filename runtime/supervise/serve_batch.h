#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "support/status.h"

namespace tcc {

struct ServeBatchOptions {
  std::string batch;        // file that is read (runtime/measure/candidate_batch.h)
  std::string results;      // file that lines are appended to (runtime/measure/batch_results.h)
  std::string worker = {};  // the path of tcc-worker; "": FindWorker()
  double seconds = 0;       // no candidate begins later; 0: no limit
  uint32_t ordinal = 0;     // of the GPU
  size_t visit = 64;        // candidates of a task that are measured in a row
  std::function<void(const std::string&)> say = nullptr;  // what goes wrong with a task or a worker
};

// Measures the candidates of a batch, task by task in rounds of `visit`, so that an early end
// leaves every task covered. A line is written as soon as it is known; candidates that the results
// have already are left out, so that a second run goes on where the first one ended. A task whose
// reference does not run is left out.
//
// Unavailable: there is no device that runs the batch's code. DeadlineExceeded: none of its
// candidates is right so far. InvalidArgument: a file is damaged, or the results are of another
// batch or device.
Status ServeBatch(const ServeBatchOptions& options);

}  // namespace tcc
