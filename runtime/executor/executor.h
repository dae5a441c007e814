#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/executor/frame.h"
#include "runtime/executor/module.h"
#include "support/status.h"
#include "support/tensor.h"

namespace tcc {

// Called after each kernel with its position in metadata.kernels and how long it ran.
using CallHook = std::function<void(size_t kernel, double seconds)>;

// Runs a module again and again in one arena of its own; weights and kernels are shared with the
// module's other executors. One run at a time; different executors may run at once.
//
// On a device with memory of its own a run uploads its inputs, works there and downloads its
// outputs; a model without loops and branches is recorded when it runs for the second time with the
// same shapes, and launched as a whole from then on.
class Executor {
 public:
  explicit Executor(Module module);
  Executor(Executor&&) = default;
  Executor& operator=(Executor&&) = default;

  const Module& module() const { return module_; }

  // Inputs and outputs in the model's order. Fails if inputs do not fit (binding.h), memory is
  // short (ResourceExhausted) or a kernel fails, which is then named.
  StatusOr<std::vector<Tensor>> Run(std::span<const Tensor> inputs);

  // As Run, into memory of the caller's: one tensor an output, of its type and shape, whose bytes
  // are overwritten. It does not overlap the inputs. Where kernels run on host memory, a tensor
  // that is not at a multiple of 64 costs a copy, here and of inputs.
  Status RunInto(std::span<const Tensor> inputs, std::span<Tensor> outputs);

  // As RunInto, on tensors whose bytes lie in the memory of the module's device, each at a multiple
  // of 16, which is not copied. The work is enqueued in `stream` of the caller's (of "cuda": a
  // CUstream, not null) and goes on after the call; what a loop or branch depends on is waited for.
  // The next run is in the same stream or begins after the work has ended, as does the executor's
  // end. Fails with FailedPrecondition where kernels run on host memory, with InvalidArgument where
  // stream or memory are another device's, and for a stream that is being captured: the caller's
  // graph would use the executor's memory. Whoever sets recording off answers for that, and makes
  // no larger run while it is captured. Whatever it fails with, what it had enqueued has ended.
  Status Enqueue(std::span<const Tensor> inputs, std::span<const Tensor> outputs, void* stream);

  // What the last run copied for that reason.
  struct Copies {
    int tensors = 0;
    size_t bytes = 0;
  };
  const Copies& copies() const { return copies_; }

  // Off: every run launches its kernels one by one, as who captures `stream` of Enqueue needs it.
  void set_recording(bool on) { may_record_ = on; }

  // An empty hook ends the timing.
  void set_call_hook(CallHook hook) { hook_ = std::move(hook); }

 private:
  Status MakeReady();
  bool NeedsCopy(const Tensor& tensor) const;
  void CountCopy(const Tensor& tensor);
  StatusOr<BufferPlace> FitArena(int64_t bytes);
  Status RunOn(std::span<const Tensor> inputs, std::span<const int64_t> shape_variables,
               std::span<Tensor> outputs);
  StatusOr<FrameMemory> PlaceOnHost(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                                    int64_t arena_bytes, std::vector<Tensor>& copies);
  StatusOr<FrameMemory> PlaceOnDevice(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                                      int64_t arena_bytes);
  BufferPlace WeightsOnDevice() const;
  Status Upload(std::span<const Tensor> inputs, const FrameMemory& memory);
  Status RunOnDevice(std::span<const Tensor> inputs, std::span<const int64_t> shape_variables,
                     std::span<Tensor> outputs, int64_t arena_bytes);
  Status EnqueueOnDevice(FrameMemory memory, std::span<const int64_t> shape_variables,
                         int64_t arena_bytes);
  Status EnqueueWork(const FrameMemory& memory, std::span<const int64_t> shape_variables);
  Status ReserveWorkspace(const std::vector<Instruction>& body);
  Status EndIfFailed(Status status);
  Status EvaluateShapes(const PlanCall& call);
  Status Download(std::span<Tensor> outputs, const FrameMemory& memory);
  Status CheckOutputs(std::span<const int64_t> shape_variables,
                      std::span<const Tensor> outputs) const;
  Status RunBody(const std::vector<Instruction>& body);
  Status Execute(const PlanCall& call);
  Status Execute(const PlanCopy& copy);
  Status Execute(const PlanLoop& loop);
  Status Execute(const PlanIf& branch);
  Status Launch(const PlanCall& call);
  template <typename Scalar>
  StatusOr<Scalar> Read(BufferId buffer) const;
  StatusOr<int64_t> TripCount(const PlanLoop& loop) const;

  Module module_;
  std::unique_ptr<DeviceQueue> queue_;  // null where kernels run on host memory
  bool ready_ = false;                  // queue_ was made, if there is to be one
  // What a run on the queue was like: equal ones do the same work.
  struct Work {
    FrameMemory memory;
    std::vector<int64_t> shape_variables;
    friend bool operator==(const Work&, const Work&) = default;
  };
  Work last_;
  bool may_record_ = true;
  CallHook hook_;
  Copies copies_;
  std::shared_ptr<uint8_t> arena_;
  int64_t arena_bytes_ = -1;
  Frame frame_;
  // A call's arguments, kept to save their allocation.
  std::vector<void*> buffers_;
  std::vector<int64_t> bytes_;
  std::vector<int64_t> shape_args_;
};

}  // namespace tcc
