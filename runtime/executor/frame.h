#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/artefact/plan.h"
#include "runtime/executor/run_sizes.h"
#include "support/status.h"

namespace tcc {

// The place of a plan's buffer in memory.
struct BufferPlace {
  uint8_t* data = nullptr;
  int64_t bytes = 0;
  friend bool operator==(const BufferPlace&, const BufferPlace&) = default;
};

// The memory blocks that contain a run's buffers.
struct FrameMemory {
  std::vector<BufferPlace> inputs, outputs;
  BufferPlace weights, arena;
  friend bool operator==(const FrameMemory&, const FrameMemory&) = default;
};

// The places of one run's buffers, given the values of its variables. Expects a plan that
// VerifyPlan accepted.
class Frame {
 public:
  explicit Frame(const Plan& plan);

  // Begins a run: undoes all swaps and places every buffer whose place depends on no loop counter.
  // `sizes` are the plan's.
  void Begin(const FrameMemory& memory, const RunSizes& sizes);

  // Returns the current place of the buffer, or of the one that swaps have put in its stead. Fails
  // if it does not lie within its memory: buffers of a switch's other bodies need not.
  StatusOr<BufferPlace> Find(BufferId buffer) const;
  void Swap(BufferId first, BufferId second);

  void SetCounter(uint32_t counter, int64_t value);
  // Returns the values of the plan's variables: shape variables, lets, counters.
  std::span<const int64_t> variables() const { return variables_; }

 private:
  StatusOr<BufferPlace> PlaceNow(BufferId buffer) const;

  const Plan* plan_;
  FrameMemory memory_;
  std::vector<int64_t> variables_;
  std::vector<bool> moves_;  // by buffer: whether its place depends on a loop counter
  // By buffer: the places that do not. One that is not within its memory is looked up when used.
  std::vector<std::optional<BufferPlace>> places_;
  std::vector<BufferId> stands_for_;  // by buffer: the one whose place it has after swaps
};

}  // namespace tcc
