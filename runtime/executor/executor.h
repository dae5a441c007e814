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

// A call of a kernel that has just ended. Its buffers hold what the kernel has left there, in the
// memory where kernels run.
struct EndedCall {
  const PlanCall& call;  // of the module's plan
  double seconds = 0;
  const LaunchArguments& arguments;
};

// A function that is called after each kernel.
using CallHook = std::function<void(const EndedCall& ended)>;

// An executor runs a module repeatedly in an arena of its own; it shares weights and kernels with
// the module's other executors. It makes one run at a time; different executors may run at once.
//
// On a device with memory of its own, a run uploads its inputs, works there and downloads its
// outputs. A run whose steps depend on shapes and not on values (MayBeRecorded) is recorded when it
// comes for the second time with the same shapes, and launched as a whole from then on.
class Executor {
 public:
  explicit Executor(Module module);
  Executor(Executor&&) = default;
  Executor& operator=(Executor&&) = default;

  const Module& module() const { return module_; }

  // Runs the model. Inputs and outputs are in the model's order. Fails if inputs do not fit
  // (binding.h), memory is short (ResourceExhausted) or a kernel fails, which is then named.
  StatusOr<std::vector<Tensor>> Run(std::span<const Tensor> inputs);

  // Runs the model into the caller's memory: one tensor per output, of its type and shape. Its
  // bytes are overwritten and must not overlap the inputs. Where kernels run on host memory, an
  // input or output that is not at a multiple of the device's TensorAlignment costs a copy; for
  // CPUs that is the size of its element.
  Status RunInto(std::span<const Tensor> inputs, std::span<Tensor> outputs);

  // The tensors of a run, checked, and where kernels access them.
  struct Bound {
    std::vector<Tensor> inputs, outputs;  // the caller's
    std::shared_ptr<const RunSizes> sizes;
    // On host memory: the places of the tensors, or of copies of those that are not aligned.
    FrameMemory memory;
    std::vector<std::shared_ptr<uint8_t>> copies;
  };
  // Checks tensors like RunInto, for any number of runs of this executor.
  StatusOr<Bound> Bind(std::vector<Tensor> inputs, std::vector<Tensor> outputs);
  // Runs like RunInto. On host memory this allocates nothing but the activations, which are kept,
  // and what kernels take for themselves.
  Status RunBound(Bound& bound);

  // Enqueues a run on tensors in the memory of the module's device, without copies; each lies at a
  // multiple of 16. The work goes to the caller's `stream` (for "cuda": a CUstream, not null) and
  // continues after the call; the call waits only for values that a loop or branch depends on. The
  // next run uses the same stream or begins after the work has ended. The executor must outlive the
  // work.
  //
  // Fails with FailedPrecondition where kernels run on host memory, and with InvalidArgument where
  // the stream or memory are another device's. A stream that is being captured is refused as well,
  // with InvalidArgument: the caller's graph would use the executor's memory. A caller that turns
  // recording off may capture the stream, answers for that memory, and makes no larger run during
  // the capture. Whatever the call fails with, the work that it had enqueued has ended.
  Status Enqueue(std::span<const Tensor> inputs, std::span<const Tensor> outputs, void* stream);

  // The tensors that the last run copied because they were not aligned.
  struct Copies {
    int tensors = 0;
    size_t bytes = 0;
  };
  const Copies& copies() const { return copies_; }

  // Turns recording on or off. When off, every run launches its kernels one by one, which a caller
  // needs who captures Enqueue's `stream`.
  void set_recording(bool on) { may_record_ = on; }

  // Sets the hook that receives calls and their times; an empty hook ends that. With a hook,
  // kernels are launched one by one.
  void set_call_hook(CallHook hook) { hook_ = std::move(hook); }
  // Copies the first bytes of a buffer of an ended call to the host. For use in the hook.
  Status Fetch(const EndedCall& ended, size_t operand, std::span<uint8_t> to) const;

 private:
  Status MakeReady();
  StatusOr<BufferPlace> PlaceOnHost(const Tensor& tensor, const std::string& what,
                                    std::vector<std::shared_ptr<uint8_t>>& copies) const;
  StatusOr<BufferPlace> FitArena(int64_t bytes);
  Status RunOnHost(Bound& bound);
  StatusOr<FrameMemory> PlaceOnDevice(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                                      int64_t arena_bytes);
  BufferPlace WeightsOnDevice() const;
  Status Upload(std::span<const Tensor> inputs, const FrameMemory& memory);
  Status RunOnDevice(Bound& bound);
  Status EnqueueOnDevice(FrameMemory memory, const RunSizes& sizes);
  // The memory and shapes of a run on the queue; runs with equal ones do the same work.
  struct Work {
    FrameMemory memory;
    std::vector<int64_t> variables;  // shape variables, lets
    friend bool operator==(const Work&, const Work&) = default;
  };
  Status EnqueueWork(const FrameMemory& memory, const RunSizes& sizes);
  void Remember(Work work, bool may_be_recorded);
  // The call with the largest workspace in a body.
  struct Workspace {
    const PlanCall* call = nullptr;
    int64_t bytes = 0;
  };
  Status FindWorkspace(const std::vector<Instruction>& body, Workspace& most);
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
  Status Execute(const PlanSwitch& choice);
  Status Launch(const PlanCall& call);
  Status Fetch(const uint8_t* from, std::span<uint8_t> to) const;
  template <typename Scalar>
  StatusOr<Scalar> Read(BufferId buffer) const;
  StatusOr<int64_t> TripCount(const PlanLoop& loop) const;
  StatusOr<const std::vector<Instruction>*> TakenBody(const PlanSwitch& choice) const;

  Module module_;
  std::unique_ptr<DeviceQueue> queue_;  // null where kernels run on host memory
  bool ready_ = false;                  // queue_ was made, if the device has one
  // Work that was done, which the next time is recorded under this number.
  struct DoneWork {
    Work work;
    size_t recording = 0;
    bool may_be_recorded = false;
  };
  std::vector<DoneWork> latest_;  // most recent first
  bool may_record_ = true;
  CallHook hook_;
  Copies copies_;
  std::shared_ptr<uint8_t> arena_;
  int64_t arena_bytes_ = -1;
  RunSizesByShape sizes_;
  Frame frame_;
  // The arguments of a call, kept to save their allocation.
  std::vector<void*> buffers_;
  std::vector<int64_t> bytes_;
  std::vector<int64_t> shape_args_;
};

}  // namespace tcc
