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
      variables_(plan.fixed_variables() + plan.counters, 0),
      moves_(MovingBuffers(plan)),
      places_(plan.buffers.size()),
      stands_for_(plan.buffers.size()) {}

void Frame::Begin(const FrameMemory& memory, const RunSizes& sizes) {
  memory_ = memory;
  std::ranges::copy(sizes.variables, variables_.begin());
  std::iota(stands_for_.begin(), stands_for_.end(), BufferId{0});
  for (BufferId buffer = 0; buffer < places_.size(); ++buffer) {
    places_[buffer].reset();
    if (moves_[buffer]) continue;
    const BufferPlace& memory = MemoryOf(plan_->buffers[buffer], memory_);
    const auto [offset, bytes] = sizes.extents[buffer];
    if (IsWithin(offset, bytes, memory.bytes)) {
      places_[buffer] = BufferPlace{memory.data + offset, bytes};
    }
  }
}

StatusOr<BufferPlace> Frame::PlaceNow(BufferId id) const {
  RunSizes::Extent extent;
  TCC_ASSIGN_OR_RETURN(extent.offset, Evaluate(plan_->buffers[id].offset, variables_));
  TCC_ASSIGN_OR_RETURN(extent.bytes, Evaluate(plan_->buffers[id].bytes, variables_));
  const BufferPlace& memory = MemoryOf(plan_->buffers[id], memory_);
  Status status = CheckExtent(extent.offset, extent.bytes, memory.bytes);
  if (!status.ok()) return Annotate(status, fmt::format("plan: buffer {}", id));
  return BufferPlace{memory.data + extent.offset, extent.bytes};
}

StatusOr<BufferPlace> Frame::Find(BufferId buffer) const {
  BufferId id = stands_for_[buffer];
  if (places_[id]) return *places_[id];
  return PlaceNow(id);
}

void Frame::Swap(BufferId first, BufferId second) {
  std::swap(stands_for_[first], stands_for_[second]);
}

void Frame::SetCounter(uint32_t counter, int64_t value) {
  variables_[plan_->fixed_variables() + counter] = value;
}

}  // namespace tcc
