#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/cuda/cuda_timing.h"
#include "runtime/executor/executor.h"
#include "runtime/measure/cuda_measuring_queue.h"
#include "runtime/measure/measurement.h"
#include "support/tensor.h"

namespace tcc {

class BoundKernels;

// A network on a GPU whose kernels are candidates, bound one by one as in a BoundNetwork; operands
// lie on the device as long as it lives. A run is timed as a whole: what a choice of candidates
// launches is captured as a graph, which is replayed between two events. A network with loops or
// branches waits for values, so that its runs are enqueued one by one.
class GpuNetwork {
 public:
  // The skeleton is BoundNetwork's; `roles` has the roles of each kernel's parameters.
  GpuNetwork(Artefact skeleton, std::vector<std::vector<OperandRole>> roles,
             const CudaMeasuringOptions& options);
  ~GpuNetwork();
  GpuNetwork(const GpuNetwork&) = delete;
  GpuNetwork& operator=(const GpuNetwork&) = delete;

  // Makes the network and its inputs: FillValues with the seed, and the next one for each further
  // input. Must be called first; nothing else may be called where it fails. Errors: the skeleton's;
  // memory is short.
  Status Open(uint64_t seed);

  // Loads a candidate's artefact into a kernel's slot, 0 or 1.
  Status Bind(size_t kernel, size_t slot, std::vector<uint8_t> artefact);

  // Runs the network, each kernel from the given slot. Returns the mean seconds of `runs` runs that
  // follow each other, after some that are not timed. Errors: a slot is empty; a kernel fails.
  StatusOr<double> Run(std::span<const uint8_t> slots, int runs);

  // Returns the outputs of the last run.
  StatusOr<std::vector<Tensor>> Outputs();

  // Returns kOk, or the kFault or kHang after which no call of the driver can succeed in this
  // process: it has to end by _exit.
  MeasureStatus end() const { return end_; }

 private:
  // A tensor whose bytes the host must not read.
  struct DeviceTensor {
    CudaMemory memory;
    Tensor tensor;
  };
  // A graph of one run.
  struct CapturedRun {
    std::vector<uint8_t> slots;
    CudaGraphExec graph;
  };

  const std::shared_ptr<const CudaContext>& context() const { return options_.context; }
  Status Make(uint64_t seed);
  StatusOr<DeviceTensor> Allocate(const TensorInfo& info);
  Status BindNow(size_t kernel, size_t slot, std::vector<uint8_t> artefact);
  Status Enqueue();
  // Returns the graph of a choice; null where there can be none.
  StatusOr<CudaGraphExecHandle> GraphOf(std::span<const uint8_t> slots);
  StatusOr<double> TimeRuns(std::span<const uint8_t> slots, int runs);
  StatusOr<std::vector<Tensor>> Download();
  // Returns the status, and notes whether the GPU is lost.
  Status Ended(Status status);

  Artefact skeleton_;                            // until it is opened
  std::vector<std::vector<OperandRole>> roles_;  // until it is opened
  CudaMeasuringOptions options_;
  MeasureStatus end_ = MeasureStatus::kOk;
  double least_ = 0;  // seconds of a run; 0: not known yet

  std::unique_ptr<CudaTimer> timer_;
  CudaStopwatch stopwatch_;  // beside the timer's own, which a run may use
  std::unique_ptr<BoundKernels> kernels_;
  std::vector<DeviceTensor> inputs_, outputs_;
  std::optional<Executor> executor_;
  std::deque<CapturedRun> graphs_;  // the latest last
};

}  // namespace tcc
