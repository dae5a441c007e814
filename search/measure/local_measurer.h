#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/measure/measure_protocol.h"
#include "search/measure/measurer.h"
#include "search/measure/worker_process.h"

namespace tcc {

// The times, in seconds, that a candidate's deadline is made from.
struct ExpectedTime {
  double reference = 0;    // per call of the reference candidate
  double open = 0;         // the time to open the task: operands, the reference's runs and timing
  double stop_beyond = 0;  // MeasureRequest::stop_beyond
};

// Returns 2 s + 100 * max(reference, stop_beyond) + 2 * open.
//
// A right candidate that takes t per call runs about 10 times, or for 50 ms if that is longer, so
// that 100 * t tolerates a machine that is ten times slower than expected. `open` stands for the
// work that grows with the operands: filling, comparing and copying them. A kernel of microseconds
// that never ends costs little more than 2 s.
double UsualDeadlineSeconds(const ExpectedTime& expected);

struct LocalMeasurerOptions {
  std::string worker = {};  // the path of tcc-worker; "": FindWorker()
  HelloMessage hello = {};  // the device, the threads for kernels and the limits of a worker
  MeasurePolicy policy = MeasurePolicy::kRotate64M;
  GpuTimingLimits gpu = {};
  uint64_t seed = 0;          // the seed of the operands
  std::string log = {};       // a file that workers' messages are appended to; "": dropped
  double open_seconds = 300;  // the time that a task may take to open
  // Whether a further worker is kept ready, so that the next candidate does not wait for a driver
  // to start where a candidate ended the worker.
  bool spare = false;
  // Returns how long a candidate may take, all in all, before its worker is killed.
  std::function<double(const ExpectedTime&)> deadline_seconds = UsualDeadlineSeconds;
  // Called when a worker ended and its candidate is tried again.
  std::function<void(const std::string&)> warn = nullptr;
};

// Returns a measurer that uses one tcc-worker process of this machine, in the caller's thread and
// inside of Take. Only one candidate is in the worker at a time, so that no other one is under
// suspicion when the worker ends. A candidate whose worker ended (kFault) or did not answer in time
// (kHang) is tried once more in a fresh worker before it is blamed: the out-of-memory killer picks
// any process, and an earlier candidate may have overwritten the worker's memory.
//
// `worker` is the first worker, started with the options; null: one is started. Unavailable: no
// worker can be started.
StatusOr<std::unique_ptr<Measurer>> MakeLocalMeasurer(
    LocalMeasurerOptions options, std::unique_ptr<WorkerProcess> worker = nullptr);

// Starts a worker that says what it runs kernels on (WorkerProcess::ready). Unavailable: it cannot
// be started, or the device is missing.
StatusOr<std::unique_ptr<WorkerProcess>> StartWorker(const LocalMeasurerOptions& options);

}  // namespace tcc
