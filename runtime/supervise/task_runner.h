#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/measure/measure_protocol.h"
#include "runtime/supervise/worker_process.h"

namespace tcc {

// The times, in seconds, that a candidate's deadline is made from.
struct ExpectedTime {
  double reference = 0;    // per call of the reference candidate
  double open = 0;         // the time to open the task: operands, the reference's runs and timing
  double stop_beyond = 0;  // MeasureMessage::stop_beyond
};

// Returns 2 s + 100 * max(reference, stop_beyond) + 2 * open.
//
// A right candidate that takes t per call runs about 10 times, or for 50 ms if that is longer, so
// that 100 * t tolerates a machine that is ten times slower than expected. `open` stands for the
// work that grows with the operands: filling, comparing and copying them. A kernel of microseconds
// that never ends costs little more than 2 s.
double UsualDeadlineSeconds(const ExpectedTime& expected);

struct TaskRunnerOptions {
  std::string worker = {};    // the path of tcc-worker; "": FindWorker()
  std::string command = {};   // WorkerOptions::command, in place of `worker`
  HelloMessage hello = {};    // the device, the threads for kernels and the limits of a worker
  std::string log = {};       // a file that workers' messages are appended to; "": dropped
  double open_seconds = 300;  // the time that a task may take to open
  // Whether a further worker is kept ready, so that the next candidate does not wait for a driver
  // to start where a candidate ended the worker.
  bool spare = false;
  // Returns how long a candidate may take, all in all, before its worker is killed; a GPU's driver
  // has some seconds more.
  std::function<double(const ExpectedTime&)> deadline_seconds = UsualDeadlineSeconds;
  // Called when a worker ended and its candidate is tried again.
  std::function<void(const std::string&)> warn = nullptr;
};

// A runner of candidates in one worker process, which candidates may crash. Only one is in the
// worker at a time, so that no other one is under suspicion when the worker ends. A
// candidate whose worker ended (kFault) or did not answer in time (kHang) is tried once more in a
// fresh worker before it is blamed: the out-of-memory killer picks any process, and an earlier
// candidate may have overwritten the worker's memory.
class TaskRunner {
 public:
  // Starts a worker. Unavailable: it cannot be started, or the device is missing.
  static StatusOr<std::unique_ptr<TaskRunner>> Start(TaskRunnerOptions options);

  // Returns what the worker runs kernels on.
  const ReadyMessage& device() const { return device_; }

  // Begins a task, which `name` names in messages, and returns the reference's measurement. Error:
  // the reference does not run; Unavailable if no worker can be started.
  StatusOr<Measurement> Open(std::string name, const TaskMessage& task);
  bool is_open() const { return !task_.empty(); }
  const std::string& name() const { return name_; }  // of the last task

  // Measures a candidate of the open task. Error: measuring cannot go on.
  StatusOr<Measurement> Measure(const MeasureMessage& candidate);

 private:
  explicit TaskRunner(TaskRunnerOptions options) : options_(std::move(options)) {}
  StatusOr<Measurement> OpenTask();
  Status StartWorker();
  Status TakeWorker();
  void KeepSpare();
  StatusOr<Measurement> Ask(FrameKind kind, std::span<const uint8_t> payload,
                            std::optional<uint64_t> id, double seconds);
  Measurement LoseWorker(const Status& status, double seconds);
  void WarnOfRetry(const std::string& who, const Measurement& lost);

  TaskRunnerOptions options_;  // with the path of the worker
  ReadyMessage device_;
  std::unique_ptr<WorkerProcess> worker_;  // null: the last one ended; otherwise the task is open
  std::unique_ptr<WorkerProcess> spare_;   // begun, not awaited; null: there is none
  std::string name_;
  std::vector<uint8_t> task_;  // kTask's payload, sent to each worker; empty: none open
  ExpectedTime expected_;
  bool told_hang_ = false;  // the last answer was the worker's own word that a kernel hangs
};

}  // namespace tcc
