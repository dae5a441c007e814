#include "runtime/executor/frame.h"

#include <algorithm>
#include <numeric>

#include "runtime/artefact/plan.h"

namespace tcc {
namespace {

const BufferPlace& MemoryOf(const PlanBuffer& buffer, const FrameMemory& memory) {
  switch (buffer.kind) {
    case BufferKind::kInput:
      return memory.inputs[buffer.index];
    case BufferKind::kOutput:
      return memory.outputs[buffer.index];
    case BufferKind::kWeight:
      return memory.weights;
    case BufferKind::kArena:
      return memory.arena;
  }
  __builtin_unreachable();
}

}  // namespace

Frame::Frame(const Plan& plan)
    : plan_(&plan),
      variables_(size_t{plan.shape_variables} + plan.counters, 0),
      places_(plan.buffers.size()),
      stands_for_(plan.buffers.size()) {
  auto is_counter = [&](int64_t variable) { return variable >= plan.shape_variables; };
  for (const PlanBuffer& buffer : plan.buffers) {
    moves_.push_back(std::ranges::any_of(VariablesOf(buffer.offset), is_counter) ||
                     std::ranges::any_of(VariablesOf(buffer.bytes), is_counter));
  }
}

Status Frame::Begin(const FrameMemory& memory, std::span<const int64_t> shape_variables) {
  memory_ = memory;
  std::ranges::copy(shape_variables, variables_.begin());
  std::iota(stands_for_.begin(), stands_for_.end(), BufferId{0});
  for (BufferId buffer = 0; buffer < places_.size(); ++buffer) {
    if (moves_[buffer]) continue;
    TCC_ASSIGN_OR_RETURN(places_[buffer], Place(buffer));
  }
  return OkStatus();
}

StatusOr<BufferPlace> Frame::Place(BufferId id) const {
  const PlanBuffer& buffer = plan_->buffers[id];
  const BufferPlace& memory = MemoryOf(buffer, memory_);
  TCC_ASSIGN_OR_RETURN(int64_t offset, Evaluate(buffer.offset, variables_));
  TCC_ASSIGN_OR_RETURN(int64_t bytes, Evaluate(buffer.bytes, variables_));
  TCC_RETURN_IF_ERROR(
      Annotate(CheckExtent(offset, bytes, memory.bytes), fmt::format("plan: buffer {}", id)));
  return BufferPlace{memory.data + offset, bytes};
}

StatusOr<BufferPlace> Frame::Find(BufferId buffer) const {
  BufferId id = stands_for_[buffer];
  if (moves_[id]) return Place(id);
  return places_[id];
}

void Frame::Swap(BufferId first, BufferId second) {
  std::swap(stands_for_[first], stands_for_[second]);
}

void Frame::SetCounter(uint32_t counter, int64_t value) {
  variables_[size_t{plan_->shape_variables} + counter] = value;
}

}  // namespace tcc
