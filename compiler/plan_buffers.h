#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler/free_memory_plan.h"
#include "compiler/plan_sizes.h"
#include "runtime/artefact/artefact.h"
#include "runtime/artefact/memory_plan.h"
#include "support/tensor.h"

namespace tcc {

// A weight that a prepare function computes from constants.
struct PreparedWeight {
  std::string function;  // the function's key
  std::vector<Tensor> constants;
  int64_t bytes = 0;
  std::span<uint8_t> result;  // the destination, once placed; all zeros
};

// The buffers of a plan while its instructions are made, with one arena for all bodies. Time is
// counted in instructions; a body's instructions come before the one that owns it. An arena buffer
// is live from its creation to its last touch. Bytes are formulas over Shape variables.
class PlanBuffers {
 public:
  explicit PlanBuffers(PlanSizes& sizes) : sizes_(&sizes) {}

  int64_t now() const { return now_; }
  void Advance() { ++now_; }

  // Expects that the bytes have code and a value at the usual sizes.
  BufferId Add(BufferKind kind, size_t index, const Expr& bytes);
  // Adds a weight; constants that are the same bytes in memory share one buffer.
  BufferId AddWeight(const Tensor& tensor);
  // Adds a prepared weight; equal functions of the same constants share one buffer.
  BufferId AddPrepared(const PreparedWeight& weight);
  // Adds a slice of `whole` that moves by its size with a loop's counter. Where the loop runs
  // backward, `last` is the counter of the slice at the beginning.
  BufferId AddSlice(BufferId whole, uint32_t counter, const Expr& bytes,
                    const std::optional<Expr>& last);
  // Adds a part of `whole` at a fixed offset; there is one buffer per offset and size.
  BufferId AddPart(BufferId whole, const Expr& offset, const Expr& bytes);

  // Notes that the buffer is read or written now.
  void Touch(BufferId buffer);
  // Notes that a loop swaps the two buffers, so that each lives as long as either.
  void Pair(BufferId current, BufferId next);
  bool IsSwapped(BufferId buffer) const { return swapped_.contains(buffer); }
  // Extends live ranges at the end of a loop that began at `begin`: the next iteration needs every
  // older buffer that the loop touches.
  void KeepThroughLoop(int64_t begin);

  // An arena buffer with memory of its own at the usual sizes, and when it is live.
  struct Lifetime {
    BufferId buffer = 0;
    int64_t offset = 0;
    LiveBuffer live;
  };

  // Begins another body of the plan, which runs instead of the earlier ones: its buffers may lie
  // anywhere in the arena.
  void BeginBody() { bodies_.push_back(static_cast<BufferId>(buffers_.size())); }

  // Assigns every buffer its place and returns buffers, arena sizes and weights. A body without
  // free sizes is packed by PlanMemory, others by PlanFreeMemory.
  struct Placed {
    std::vector<PlanBuffer> buffers;
    std::vector<std::vector<Lifetime>> lifetimes;  // by body, then by buffer
    std::vector<SizeExpr> arena_bytes;             // by body: a number or a let
    int64_t activation_bytes = 0;                  // of all arena buffers, without reuse
    SharedBytes weights;
    std::vector<PreparedWeight> prepared;  // parts of the weights, not computed yet
  };
  Placed Place() &&;
  // Returns the bytes of all weights.
  int64_t weight_bytes() const;

 private:
  struct Slice {
    BufferId buffer, whole;
    uint32_t counter;
    std::optional<SizeExpr> last;
  };

  struct Part {
    BufferId buffer, whole;
    SizeExpr offset;
  };
  // A number, a variable or a let of the plan.
  using Size = std::pair<SizeOp, int64_t>;

  void PlaceArena(BufferId begin, BufferId end, Placed& placed);
  SizeExpr PlaceFixed(std::span<const BufferId> arena, std::vector<Lifetime>& lifetimes);
  SizeExpr PlaceFree(std::span<const BufferId> arena, std::vector<Lifetime>& lifetimes);
  void PlaceParts();
  void PlaceSlices();

  PlanSizes* sizes_;
  std::vector<PlanBuffer> buffers_;
  std::vector<FreeBuffer> live_;  // by buffer; lifetimes are used for arena buffers only
  std::vector<Slice> slices_;
  std::vector<Part> parts_;
  std::map<std::tuple<BufferId, Size, Size>, BufferId> part_at_;
  std::map<BufferId, BufferId> whole_of_;  // by slice or part
  std::set<BufferId> swapped_;
  std::vector<std::pair<BufferId, BufferId>> pairs_;
  std::map<std::pair<const uint8_t*, size_t>, BufferId> weights_;  // looked up, never iterated
  std::vector<Tensor> tensors_;
  std::vector<BufferId> weight_buffers_;  // by index into tensors_
  // The prepared weights by function and constants; looked up, never iterated.
  std::map<std::pair<std::string, std::vector<const uint8_t*>>, BufferId> known_prepared_;
  std::vector<PreparedWeight> prepared_;
  std::vector<BufferId> prepared_buffers_;
  std::vector<BufferId> bodies_ = {0};  // the first buffer of each
  int64_t now_ = 0;
};

}  // namespace tcc
