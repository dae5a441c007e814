#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/measure/loaded_candidate.h"
#include "runtime/measure/measure_protocol.h"
#include "support/status.h"

namespace tcc {

// The times of the runs of a kernel.
struct RunTimes {
  double min_seconds = 0, median_seconds = 0;  // of one run
  int64_t runs = 0;
};

// A GPU on which candidates of a task are measured: memory, transfers, launches and a clock. Each
// piece of work runs after the ones before. A failure of enqueued work may show at any later call,
// at Finish at the latest.
class MeasuringQueue {
 public:
  // Returns the buffers of a run on operands number `set`.
  using BuffersOfSet = std::function<std::vector<void*>(size_t set)>;

  virtual ~MeasuringQueue() = default;

  // Allocates memory, which is freed with the last copy of the pointer; 0 bytes are allowed. `what`
  // names it in messages. ResourceExhausted: no memory.
  virtual StatusOr<std::shared_ptr<uint8_t>> Allocate(int64_t bytes, std::string_view what) = 0;
  // Returns how many sets of operands keep the device's cache cold (CountColdSets).
  virtual int64_t ColdSets(int64_t set_bytes) const = 0;

  // Enqueues an upload. The caller may change `from` after Finish.
  virtual Status Upload(uint8_t* to, std::span<const uint8_t> from) = 0;
  // Waits for all work and reads.
  virtual Status Download(std::span<uint8_t> to, const uint8_t* from) = 0;
  virtual Status Copy(uint8_t* to, const uint8_t* from, int64_t bytes) = 0;

  // Loads a candidate for this queue. Fails like QueueCandidate.
  virtual StatusOr<QueuedCandidate> Load(std::vector<uint8_t> artefact,
                                         std::span<const OperandRole> roles) = 0;
  virtual Status Launch(const QueuedCandidate& candidate, const KernelCall& call,
                        std::span<void* const> buffers) = 0;

  // Limits the seconds that later calls wait for one run, where the driver lets a wait end.
  virtual void LimitRuns(double seconds) = 0;
  // Waits for all work. DeadlineExceeded: it was not done after the limit.
  virtual Status Finish() = 0;

  // Returns the seconds of one run of the candidate's kernel, the least of three, after one to warm
  // up.
  virtual StatusOr<double> TimeOnce(const QueuedCandidate& candidate,
                                    const BuffersOfSet& buffers) = 0;
  // Times the candidate's kernel, which takes `once` seconds roughly, on `sets` sets in turn.
  virtual StatusOr<RunTimes> Time(const QueuedCandidate& candidate, const BuffersOfSet& buffers,
                                  int64_t sets, double once, const GpuTimingLimits& limits) = 0;
};

// Makes a queue for a task.
using MakeMeasuringQueue = std::function<StatusOr<std::unique_ptr<MeasuringQueue>>()>;

}  // namespace tcc
