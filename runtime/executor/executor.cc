#include "runtime/executor/executor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "runtime/executor/aligned_memory.h"
#include "runtime/executor/available_memory.h"
#include "runtime/executor/binding.h"
#include "support/stopwatch.h"

namespace tcc {
namespace {

constexpr char kArenaText[] = "the activations";
// The recordings of an executor, for as many shapes or memories of a caller's.
constexpr size_t kMostRecordings = 4;

// Memory of the caller's on the queue's device; kernels rely on the alignment
// (artefact/gpu_program.h).
Status CheckDeviceMemory(DeviceQueue& queue, const TensorInfo& info, const Tensor& tensor) {
  constexpr uintptr_t kDeviceAlignment = 16;
  const auto address = reinterpret_cast<uintptr_t>(tensor.bytes.data());
  if (address % kDeviceAlignment != 0) {
    return InvalidInput("'{}' lies {} above a multiple of {}", info.name,
                        address % kDeviceAlignment, kDeviceAlignment);
  }
  return tensor.bytes.empty() ? OkStatus() : queue.CheckMemory(tensor.bytes.data(), info.name);
}

// Kernels get plain pointers; VerifyPlan and the compiler see to it that inputs are only read.
BufferPlace PlaceOf(std::span<const uint8_t> bytes) {
  return {const_cast<uint8_t*>(bytes.data()), static_cast<int64_t>(bytes.size())};
}

StatusOr<std::vector<Tensor>> AllocateOutputs(const Metadata& metadata,
                                              std::span<const int64_t> shape_variables) {
  std::vector<Tensor> outputs;
  for (const TensorInfo& info : metadata.outputs) {
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> shape, ShapeOf(info, metadata, shape_variables));
    TCC_ASSIGN_OR_RETURN(Tensor output,
                         AllocateTensor(info.dtype, shape, fmt::format("output '{}'", info.name)));
    outputs.push_back(std::move(output));
  }
  return outputs;
}

}  // namespace

Executor::Executor(Module module)
    : module_(std::move(module)),
      sizes_(module_.artefact().plan),
      frame_(module_.artefact().plan) {}

Status Executor::MakeReady() {
  if (ready_) return OkStatus();
  TCC_ASSIGN_OR_RETURN(queue_, module_.device().MakeQueue(module_.kernels()));
  ready_ = true;
  return OkStatus();
}

StatusOr<std::vector<Tensor>> Executor::Run(std::span<const Tensor> inputs) {
  TCC_RETURN_IF_ERROR(MakeReady());
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> variables, BindInputs(module_.metadata(), inputs));
  TCC_RETURN_IF_ERROR(sizes_.For(variables).status());  // the plan's checks come before any memory
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, AllocateOutputs(module_.metadata(), variables));
  TCC_RETURN_IF_ERROR(RunInto(inputs, outputs));
  return outputs;
}

Status Executor::RunInto(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  TCC_ASSIGN_OR_RETURN(Bound bound,
                       Bind({inputs.begin(), inputs.end()}, {outputs.begin(), outputs.end()}));
  return RunBound(bound);
}

StatusOr<Executor::Bound> Executor::Bind(std::vector<Tensor> inputs, std::vector<Tensor> outputs) {
  TCC_RETURN_IF_ERROR(MakeReady());
  const Metadata& metadata = module_.metadata();
  Bound bound;
  bound.inputs = std::move(inputs);
  bound.outputs = std::move(outputs);
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> variables, BindInputs(metadata, bound.inputs));
  TCC_ASSIGN_OR_RETURN(bound.sizes, sizes_.For(variables));
  TCC_RETURN_IF_ERROR(CheckOutputs(variables, bound.outputs));
  if (queue_ != nullptr) return bound;
  for (size_t i = 0; i < bound.inputs.size(); ++i) {
    TCC_ASSIGN_OR_RETURN(
        BufferPlace place,
        PlaceOnHost(bound.inputs[i], "input '" + metadata.inputs[i].name + "'", bound.copies));
    bound.memory.inputs.push_back(place);
  }
  for (size_t i = 0; i < bound.outputs.size(); ++i) {
    TCC_ASSIGN_OR_RETURN(
        BufferPlace place,
        PlaceOnHost(bound.outputs[i], "output '" + metadata.outputs[i].name + "'", bound.copies));
    bound.memory.outputs.push_back(place);
  }
  bound.memory.weights = PlaceOf(module_.artefact().weights.bytes);
  return bound;
}

Status Executor::RunBound(Bound& bound) {
  copies_ = {};
  if (queue_ == nullptr) return RunOnHost(bound);
  queue_->UseStream(nullptr);
  return EndIfFailed(RunOnDevice(bound));
}

Status Executor::CheckOutputs(std::span<const int64_t> shape_variables,
                              std::span<const Tensor> outputs) const {
  const Metadata& metadata = module_.metadata();
  if (outputs.size() != metadata.outputs.size()) {
    return InvalidInput("expected {} outputs, got {}", metadata.outputs.size(), outputs.size());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> shape,
                         ShapeOf(metadata.outputs[i], metadata, shape_variables));
    TCC_RETURN_IF_ERROR(CheckOutput(metadata.outputs[i], shape, outputs[i]));
  }
  return OkStatus();
}

// Returns the place of the tensor, or of memory for a copy if it is not aligned.
StatusOr<BufferPlace> Executor::PlaceOnHost(const Tensor& tensor, const std::string& what,
                                            std::vector<std::shared_ptr<uint8_t>>& copies) const {
  auto alignment = static_cast<uintptr_t>(module_.device().TensorAlignment(tensor.dtype));
  BufferPlace place = PlaceOf(tensor.bytes);
  if (reinterpret_cast<uintptr_t>(place.data) % alignment == 0) return place;
  TCC_ASSIGN_OR_RETURN(std::shared_ptr<uint8_t> copy,
                       AllocateMemory(place.bytes, "a copy of " + what));
  copies.push_back(copy);
  return BufferPlace{copy.get(), place.bytes};
}

StatusOr<BufferPlace> Executor::FitArena(int64_t bytes) {
  if (bytes > arena_bytes_) {
    arena_.reset();
    arena_bytes_ = -1;
    TCC_ASSIGN_OR_RETURN(arena_, AllocateMemory(bytes, kArenaText));
    arena_bytes_ = bytes;
  }
  return BufferPlace{arena_.get(), bytes};
}

Status Executor::RunOnHost(Bound& bound) {
  auto copy = [this](std::span<const uint8_t> from, uint8_t* to) {
    if (from.data() == to) return;
    std::ranges::copy(from, to);
    ++copies_.tensors;
    copies_.bytes += from.size();
  };
  for (size_t i = 0; i < bound.inputs.size(); ++i) {
    copy(bound.inputs[i].bytes, bound.memory.inputs[i].data);
  }
  TCC_ASSIGN_OR_RETURN(bound.memory.arena, FitArena(bound.sizes->arena_bytes));
  frame_.Begin(bound.memory, *bound.sizes);
  TCC_RETURN_IF_ERROR(RunBody(module_.artefact().plan.body));
  for (size_t i = 0; i < bound.outputs.size(); ++i) {
    const BufferPlace& place = bound.memory.outputs[i];
    copy({place.data, static_cast<size_t>(place.bytes)}, MutableBytes(bound.outputs[i]).data());
  }
  return OkStatus();
}

Status Executor::RunOnDevice(Bound& bound) {
  TCC_ASSIGN_OR_RETURN(FrameMemory memory,
                       PlaceOnDevice(bound.inputs, bound.outputs, bound.sizes->arena_bytes));
  TCC_RETURN_IF_ERROR(Upload(bound.inputs, memory));
  TCC_RETURN_IF_ERROR(EnqueueWork(memory, *bound.sizes));
  return Download(bound.outputs, memory);
}

// Memory that was taken in a stream's order, and work that uses it, are nothing that a next run in
// another stream could know of. A run that fails may have lost memory that earlier ones left, so
// their work is done unrecorded again before it is recorded.
Status Executor::EndIfFailed(Status status) {
  if (status.ok()) return status;
  for (const DoneWork& done : latest_) queue_->Forget(done.recording);
  latest_.clear();
  queue_->Abandon();
  return status;
}

StatusOr<FrameMemory> Executor::PlaceOnDevice(std::span<const Tensor> inputs,
                                              std::span<Tensor> outputs, int64_t arena_bytes) {
  DeviceQueue& queue = *queue_;
  const Metadata& metadata = module_.metadata();
  size_t slot = 0;
  auto reserve = [&](int64_t bytes, const std::string& what) -> StatusOr<BufferPlace> {
    TCC_ASSIGN_OR_RETURN(uint8_t* memory, queue.Reserve(slot++, bytes, what));
    return BufferPlace{memory, bytes};
  };
  FrameMemory memory;
  TCC_ASSIGN_OR_RETURN(memory.arena, reserve(arena_bytes, kArenaText));
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string what = fmt::format("input '{}'", metadata.inputs[i].name);
    TCC_ASSIGN_OR_RETURN(BufferPlace place,
                         reserve(static_cast<int64_t>(inputs[i].bytes.size()), what));
    memory.inputs.push_back(place);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string what = fmt::format("output '{}'", metadata.outputs[i].name);
    TCC_ASSIGN_OR_RETURN(BufferPlace place,
                         reserve(static_cast<int64_t>(outputs[i].bytes.size()), what));
    memory.outputs.push_back(place);
  }
  memory.weights = WeightsOnDevice();
  return memory;
}

BufferPlace Executor::WeightsOnDevice() const {
  return {module_.kernels().weights, static_cast<int64_t>(module_.artefact().weights.bytes.size())};
}

Status Executor::Upload(std::span<const Tensor> inputs, const FrameMemory& memory) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    TCC_RETURN_IF_ERROR(queue_->Upload(memory.inputs[i].data, inputs[i].bytes));
  }
  return OkStatus();
}

// Equal work is recorded the second time, when all memory is there, and replayed from then on:
// loops are unrolled, with the counters and swaps of a run. A model with free dimensions does
// different work for each of its latest shapes.
Status Executor::EnqueueWork(const FrameMemory& memory, const RunSizes& sizes) {
  const std::vector<Instruction>& body = module_.artefact().plan.body;
  Work work{memory, sizes.variables};
  auto done = std::ranges::find(latest_, work, &DoneWork::work);
  const bool is_new = done == latest_.end();
  if (!is_new && may_record_ && !hook_ && done->may_be_recorded) {
    std::rotate(latest_.begin(), done, done + 1);
    return queue_->DoRecorded(latest_.front().recording, [&] {
      frame_.Begin(memory, sizes);
      return RunBody(body);
    });
  }
  frame_.Begin(memory, sizes);
  TCC_RETURN_IF_ERROR(ReserveWorkspace(body));
  TCC_RETURN_IF_ERROR(RunBody(body));
  if (is_new) Remember(std::move(work), MayBeRecorded(module_.artefact().plan, sizes.variables));
  return OkStatus();
}

// The work that was done least recently makes room.
void Executor::Remember(Work work, bool may_be_recorded) {
  size_t recording = latest_.size();
  if (recording == kMostRecordings) {
    recording = latest_.back().recording;
    queue_->Forget(recording);
    latest_.pop_back();
  }
  latest_.insert(latest_.begin(), {std::move(work), recording, may_be_recorded});
}

// Calls in loops and branches may not come about, and make room when they do.
Status Executor::FindWorkspace(const std::vector<Instruction>& body, Workspace& most) {
  for (const Instruction& instruction : body) {
    if (const auto* choice = std::get_if<PlanSwitch>(&instruction.op)) {
      TCC_ASSIGN_OR_RETURN(const std::vector<Instruction>* taken, TakenBody(*choice));
      TCC_RETURN_IF_ERROR(FindWorkspace(*taken, most));
    }
    const auto* call = std::get_if<PlanCall>(&instruction.op);
    if (call == nullptr) continue;
    TCC_RETURN_IF_ERROR(EvaluateShapes(*call));
    StatusOr<int64_t> bytes = queue_->WorkspaceBytes(call->kernel, shape_args_);
    if (!bytes.ok()) {
      return Annotate(bytes.status(), module_.metadata().kernels[call->kernel].name);
    }
    if (*bytes > most.bytes) most = {call, *bytes};
  }
  return OkStatus();
}

// Before the first launch, so that a run for which memory is short launches nothing.
Status Executor::ReserveWorkspace(const std::vector<Instruction>& body) {
  Workspace most;
  TCC_RETURN_IF_ERROR(FindWorkspace(body, most));
  if (most.call == nullptr) return OkStatus();
  Status status = queue_->ReserveWorkspace(most.bytes);
  if (status.ok()) return status;
  return Annotate(status, module_.metadata().kernels[most.call->kernel].name);
}

Status Executor::Download(std::span<Tensor> outputs, const FrameMemory& memory) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    TCC_RETURN_IF_ERROR(queue_->Download(MutableBytes(outputs[i]), memory.outputs[i].data));
  }
  return queue_->Finish();
}

Status Executor::Enqueue(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                         void* stream) {
  TCC_RETURN_IF_ERROR(MakeReady());
  if (queue_ == nullptr) {
    return UsageError("the module is for '{}', whose kernels run on host memory; expected a GPU",
                      module_.artefact().target);
  }
  const Metadata& metadata = module_.metadata();
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> variables, BindInputs(metadata, inputs));
  TCC_ASSIGN_OR_RETURN(std::shared_ptr<const RunSizes> sizes, sizes_.For(variables));
  TCC_RETURN_IF_ERROR(CheckOutputs(variables, outputs));
  TCC_RETURN_IF_ERROR(queue_->CheckStream(stream));
  if (may_record_) TCC_RETURN_IF_ERROR(queue_->CheckNotCaptured(stream));
  FrameMemory memory;
  memory.weights = WeightsOnDevice();
  for (size_t i = 0; i < inputs.size(); ++i) {
    TCC_RETURN_IF_ERROR(CheckDeviceMemory(*queue_, metadata.inputs[i], inputs[i]));
    memory.inputs.push_back(PlaceOf(inputs[i].bytes));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    TCC_RETURN_IF_ERROR(CheckDeviceMemory(*queue_, metadata.outputs[i], outputs[i]));
    memory.outputs.push_back(PlaceOf(outputs[i].bytes));
  }
  queue_->UseStream(stream);
  return EndIfFailed(EnqueueOnDevice(std::move(memory), *sizes));
}

Status Executor::EnqueueOnDevice(FrameMemory memory, const RunSizes& sizes) {
  TCC_ASSIGN_OR_RETURN(uint8_t* arena, queue_->Reserve(0, sizes.arena_bytes, kArenaText));
  memory.arena = {arena, sizes.arena_bytes};
  return EnqueueWork(memory, sizes);
}

Status Executor::RunBody(const std::vector<Instruction>& body) {
  for (const Instruction& instruction : body) {
    TCC_RETURN_IF_ERROR(std::visit([this](const auto& op) { return Execute(op); }, instruction.op));
  }
  return OkStatus();
}

Status Executor::Execute(const PlanCall& call) {
  buffers_.clear();
  bytes_.clear();
  for (BufferId buffer : call.buffers) {
    TCC_ASSIGN_OR_RETURN(BufferPlace place, frame_.Find(buffer));
    buffers_.push_back(place.data);
    bytes_.push_back(place.bytes);
  }
  TCC_RETURN_IF_ERROR(EvaluateShapes(call));
  Status status = Launch(call);
  return status.ok() ? status : Annotate(status, module_.metadata().kernels[call.kernel].name);
}

Status Executor::EvaluateShapes(const PlanCall& call) {
  shape_args_.clear();
  const KernelInfo& kernel = module_.metadata().kernels[call.kernel];
  for (size_t i = 0; i < call.shape_args.size(); ++i) {
    TCC_ASSIGN_OR_RETURN(int64_t value, Evaluate(call.shape_args[i], frame_.variables()));
    const SizeRange& range = kernel.shape_args[i];
    if (value < range.low || value > range.high) {
      return InvalidInput("size {} of {} is {}; expected {} to {}", i, kernel.name, value,
                          range.low, range.high);
    }
    shape_args_.push_back(value);
  }
  return OkStatus();
}

Status Executor::Launch(const PlanCall& call) {
  const LaunchArguments arguments = {buffers_, bytes_, shape_args_};
  if (queue_ != nullptr) {
    if (!hook_) return queue_->Launch(call.kernel, arguments);
    TCC_ASSIGN_OR_RETURN(double seconds, queue_->TimedLaunch(call.kernel, arguments));
    hook_({call, seconds, arguments});
    return OkStatus();
  }
  if (!hook_) return module_.device().Launch(module_.kernels(), call.kernel, arguments);
  Stopwatch stopwatch;
  TCC_RETURN_IF_ERROR(module_.device().Launch(module_.kernels(), call.kernel, arguments));
  hook_({call, stopwatch.Seconds(), arguments});
  return OkStatus();
}

Status Executor::Fetch(const EndedCall& ended, size_t operand, std::span<uint8_t> to) const {
  return Fetch(static_cast<const uint8_t*>(ended.arguments.buffers[operand]), to);
}

Status Executor::Fetch(const uint8_t* from, std::span<uint8_t> to) const {
  if (queue_ == nullptr) {
    std::copy_n(from, to.size(), to.begin());
    return OkStatus();
  }
  TCC_RETURN_IF_ERROR(queue_->Download(to, from));
  return queue_->Finish();
}

Status Executor::Execute(const PlanCopy& copy) {
  TCC_ASSIGN_OR_RETURN(BufferPlace from, frame_.Find(copy.from));
  TCC_ASSIGN_OR_RETURN(BufferPlace to, frame_.Find(copy.to));
  if (from.bytes != to.bytes) {
    return InvalidInput("plan copies buffer {} of {} bytes to buffer {} of {}", copy.from,
                        from.bytes, copy.to, to.bytes);
  }
  if (from.bytes == 0) return OkStatus();
  if (queue_ != nullptr) return queue_->Copy(to.data, from.data, from.bytes);
  std::memmove(to.data, from.data, static_cast<size_t>(from.bytes));
  return OkStatus();
}

// VerifyPlan has seen that the buffer is of that size.
template <typename Scalar>
StatusOr<Scalar> Executor::Read(BufferId buffer) const {
  TCC_ASSIGN_OR_RETURN(BufferPlace place, frame_.Find(buffer));
  std::array<uint8_t, sizeof(Scalar)> bytes;
  TCC_RETURN_IF_ERROR(Fetch(place.data, bytes));
  return std::bit_cast<Scalar>(bytes);
}

StatusOr<int64_t> Executor::TripCount(const PlanLoop& loop) const {
  TCC_ASSIGN_OR_RETURN(int64_t extent, Evaluate(loop.extent, frame_.variables()));
  if (!loop.trip_count) return extent;
  TCC_ASSIGN_OR_RETURN(int64_t limit, Read<int64_t>(*loop.trip_count));
  return std::min(extent, limit);
}

Status Executor::Execute(const PlanLoop& loop) {
  TCC_ASSIGN_OR_RETURN(int64_t trips, TripCount(loop));
  for (int64_t i = 0; i < trips; ++i) {
    if (loop.condition) {
      TCC_ASSIGN_OR_RETURN(uint8_t goes_on, Read<uint8_t>(*loop.condition));
      if (goes_on == 0) break;
    }
    frame_.SetCounter(loop.counter, i);
    TCC_RETURN_IF_ERROR(RunBody(loop.body));
    for (const auto& [first, second] : loop.swaps) frame_.Swap(first, second);
  }
  return OkStatus();
}

Status Executor::Execute(const PlanIf& branch) {
  TCC_ASSIGN_OR_RETURN(uint8_t taken, Read<uint8_t>(branch.condition));
  return RunBody(taken != 0 ? branch.then_body : branch.else_body);
}

StatusOr<const std::vector<Instruction>*> Executor::TakenBody(const PlanSwitch& choice) const {
  TCC_ASSIGN_OR_RETURN(int64_t which, Evaluate(choice.which, frame_.variables()));
  if (which >= 0 && static_cast<size_t>(which) < choice.bodies.size()) {
    return &choice.bodies[static_cast<size_t>(which)];
  }
  return InvalidInput("plan switches to body {}; there are {}", which, choice.bodies.size());
}

Status Executor::Execute(const PlanSwitch& choice) {
  TCC_ASSIGN_OR_RETURN(const std::vector<Instruction>* taken, TakenBody(choice));
  return RunBody(*taken);
}

}  // namespace tcc
