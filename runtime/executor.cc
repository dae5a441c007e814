#include "runtime/executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "runtime/aligned_memory.h"
#include "runtime/binding.h"

namespace tcc {
namespace {

constexpr uintptr_t kAlignment = 64;

bool IsAligned(const Tensor& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.bytes.data()) % kAlignment == 0;
}

// Kernels get plain pointers; VerifyPlan and the compiler see to it that inputs are only read.
BufferPlace PlaceOf(std::span<const uint8_t> bytes) {
  return {const_cast<uint8_t*>(bytes.data()), static_cast<int64_t>(bytes.size())};
}

StatusOr<std::vector<Tensor>> AllocateOutputs(const Metadata& metadata,
                                              std::span<const int64_t> shape_variables) {
  std::vector<Tensor> outputs;
  for (const TensorInfo& info : metadata.outputs) {
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> shape, ShapeOf(info, shape_variables));
    TCC_ASSIGN_OR_RETURN(Tensor output,
                         AllocateTensor(info.dtype, shape, fmt::format("output '{}'", info.name)));
    outputs.push_back(std::move(output));
  }
  return outputs;
}

}  // namespace

Executor::Executor(Module module) : module_(std::move(module)), frame_(module_.artefact().plan) {}

StatusOr<std::vector<Tensor>> Executor::Run(std::span<const Tensor> inputs) {
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> variables, BindInputs(module_.metadata(), inputs));
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, AllocateOutputs(module_.metadata(), variables));
  TCC_RETURN_IF_ERROR(RunOn(inputs, variables, outputs));
  return outputs;
}

Status Executor::RunInto(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Metadata& metadata = module_.metadata();
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> variables, BindInputs(metadata, inputs));
  if (outputs.size() != metadata.outputs.size()) {
    return InvalidInput("expected {} outputs, got {}", metadata.outputs.size(), outputs.size());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> shape, ShapeOf(metadata.outputs[i], variables));
    TCC_RETURN_IF_ERROR(CheckOutput(metadata.outputs[i], shape, outputs[i]));
  }
  std::vector<Tensor> places(outputs.begin(), outputs.end());
  for (Tensor& place : places) {
    if (IsAligned(place)) continue;
    TCC_ASSIGN_OR_RETURN(place, AllocateTensor(place.dtype, place.shape, "an output"));
  }
  TCC_RETURN_IF_ERROR(RunOn(inputs, variables, places));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (IsAligned(outputs[i])) continue;
    std::ranges::copy(places[i].bytes, MutableBytes(outputs[i]).begin());
    CountCopy(outputs[i]);
  }
  return OkStatus();
}

void Executor::CountCopy(const Tensor& tensor) {
  ++copies_.tensors;
  copies_.bytes += tensor.bytes.size();
}

StatusOr<BufferPlace> Executor::FitArena(std::span<const int64_t> shape_variables) {
  TCC_ASSIGN_OR_RETURN(int64_t bytes,
                       Evaluate(module_.artefact().plan.arena_bytes, shape_variables));
  if (bytes > arena_bytes_) {
    arena_.reset();
    arena_bytes_ = -1;
    TCC_ASSIGN_OR_RETURN(arena_, AllocateMemory(bytes, "the activations"));
    arena_bytes_ = bytes;
  }
  return BufferPlace{arena_.get(), bytes};
}

Status Executor::RunOn(std::span<const Tensor> inputs, std::span<const int64_t> shape_variables,
                       std::span<Tensor> outputs) {
  FrameMemory memory;
  std::vector<Tensor> copies;
  copies_ = {};
  for (const Tensor& input : inputs) {
    if (IsAligned(input)) {
      memory.inputs.push_back(PlaceOf(input.bytes));
      continue;
    }
    copies.push_back(MakeTensor(input.dtype, input.shape, input.bytes));
    memory.inputs.push_back(PlaceOf(copies.back().bytes));
    CountCopy(input);
  }
  for (const Tensor& output : outputs) memory.outputs.push_back(PlaceOf(output.bytes));
  memory.weights = PlaceOf(module_.artefact().weights.bytes);
  TCC_ASSIGN_OR_RETURN(memory.arena, FitArena(shape_variables));
  TCC_RETURN_IF_ERROR(frame_.Begin(memory, shape_variables));
  return RunBody(module_.artefact().plan.body);
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
  shape_args_.clear();
  for (BufferId buffer : call.buffers) {
    TCC_ASSIGN_OR_RETURN(BufferPlace place, frame_.Find(buffer));
    buffers_.push_back(place.data);
    bytes_.push_back(place.bytes);
  }
  for (const SizeExpr& arg : call.shape_args) {
    TCC_ASSIGN_OR_RETURN(int64_t value, Evaluate(arg, frame_.variables()));
    shape_args_.push_back(value);
  }
  using Clock = std::chrono::steady_clock;
  Clock::time_point start;
  if (hook_) start = Clock::now();
  Status status =
      module_.device().Launch(module_.kernels(), call.kernel, {buffers_, bytes_, shape_args_});
  if (!status.ok()) return Annotate(status, module_.metadata().kernels[call.kernel].name);
  if (hook_) hook_(call.kernel, std::chrono::duration<double>(Clock::now() - start).count());
  return OkStatus();
}

Status Executor::Execute(const PlanCopy& copy) {
  TCC_ASSIGN_OR_RETURN(BufferPlace from, frame_.Find(copy.from));
  TCC_ASSIGN_OR_RETURN(BufferPlace to, frame_.Find(copy.to));
  if (from.bytes != to.bytes) {
    return InvalidInput("plan copies buffer {} of {} bytes to buffer {} of {}", copy.from,
                        from.bytes, copy.to, to.bytes);
  }
  if (from.bytes > 0) std::memmove(to.data, from.data, static_cast<size_t>(from.bytes));
  return OkStatus();
}

StatusOr<int64_t> Executor::TripCount(const PlanLoop& loop) const {
  TCC_ASSIGN_OR_RETURN(int64_t extent, Evaluate(loop.extent, frame_.variables()));
  if (!loop.trip_count) return extent;
  TCC_ASSIGN_OR_RETURN(BufferPlace place, frame_.Find(*loop.trip_count));
  int64_t limit;
  std::memcpy(&limit, place.data, sizeof(limit));
  return std::min(extent, limit);
}

StatusOr<bool> Executor::ReadCondition(BufferId buffer) const {
  TCC_ASSIGN_OR_RETURN(BufferPlace place, frame_.Find(buffer));
  return *place.data != 0;
}

Status Executor::Execute(const PlanLoop& loop) {
  TCC_ASSIGN_OR_RETURN(int64_t trips, TripCount(loop));
  for (int64_t i = 0; i < trips; ++i) {
    if (loop.condition) {
      TCC_ASSIGN_OR_RETURN(bool goes_on, ReadCondition(*loop.condition));
      if (!goes_on) break;
    }
    frame_.SetCounter(loop.counter, i);
    TCC_RETURN_IF_ERROR(RunBody(loop.body));
    for (const auto& [first, second] : loop.swaps) frame_.Swap(first, second);
  }
  return OkStatus();
}

Status Executor::Execute(const PlanIf& branch) {
  TCC_ASSIGN_OR_RETURN(bool taken, ReadCondition(branch.condition));
  return RunBody(taken ? branch.then_body : branch.else_body);
}

}  // namespace tcc
