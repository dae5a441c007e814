#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/artefact/artefact.h"
#include "runtime/artefact/memory_plan.h"
#include "support/tensor.h"

namespace tcc {

// A weight that a prepare function makes of constants.
struct PreparedWeight {
  std::string function;  // its key
  std::vector<Tensor> constants;
  int64_t bytes = 0;
  std::span<uint8_t> result;  // where it is to be, once placed; all zeros
};

// The buffers of a plan while its instructions are made, one arena for all bodies. Time is counted
// in instructions, those of a body before the one that it belongs to; a buffer of the arena lives
// from when it is made to when it is last touched.
class PlanBuffers {
 public:
  int64_t now() const { return now_; }
  void Advance() { ++now_; }

  BufferId Add(BufferKind kind, size_t index, int64_t bytes);
  // One buffer for all constants that are the same bytes in memory.
  BufferId AddWeight(const Tensor& tensor);
  // One buffer for what a prepare function makes of the same constants.
  BufferId AddPrepared(const PreparedWeight& weight);
  // A piece of `whole` that moves by its size with a loop's counter; where the loop goes backward,
  // `last` is the counter of the piece at the beginning.
  BufferId AddSlice(BufferId whole, uint32_t counter, int64_t bytes, std::optional<int64_t> last);
  // A piece of `whole` that stays where it is: one buffer for each place and size.
  BufferId AddPart(BufferId whole, int64_t offset, int64_t bytes);

  // The buffer is read or written now.
  void Touch(BufferId buffer);
  // The two will change places in a loop, so that each lives as long as either.
  void Pair(BufferId current, BufferId next);
  bool IsSwapped(BufferId buffer) const { return swapped_.contains(buffer); }
  // Of a loop that began at `begin` and ends now: what is older and is touched in it is needed in
  // the next iteration too.
  void KeepThroughLoop(int64_t begin);

  // Gives every buffer its place and hands over buffers, arena size and weights.
  struct Placed {
    std::vector<PlanBuffer> buffers;
    int64_t arena_bytes = 0;
    int64_t activation_bytes = 0;  // of all arena buffers, without reuse
    SharedBytes weights;
    std::vector<PreparedWeight> prepared;  // parts of the weights, not made yet
  };
  Placed Place() &&;
  // Of all weights.
  int64_t weight_bytes() const;

 private:
  struct Slice {
    BufferId buffer, whole;
    uint32_t counter;
    int64_t bytes;
    std::optional<int64_t> last;
  };

  struct Part {
    BufferId buffer, whole;
    int64_t offset;
  };

  void PlaceArena(Placed& placed);
  void PlaceParts();
  void PlaceSlices();

  std::vector<PlanBuffer> buffers_;
  std::vector<LiveBuffer> live_;  // of all buffers; counts for those in the arena
  std::vector<Slice> slices_;
  std::vector<Part> parts_;
  std::map<std::tuple<BufferId, int64_t, int64_t>, BufferId> part_at_;
  std::map<BufferId, BufferId> whole_of_;  // of slices and parts
  std::set<BufferId> swapped_;
  std::vector<std::pair<BufferId, BufferId>> pairs_;
  std::map<std::pair<const uint8_t*, size_t>, BufferId> weights_;  // looked up, never walked
  std::vector<Tensor> tensors_;
  std::vector<BufferId> weight_buffers_;  // of tensors_
  // By function and constants; looked up, never walked.
  std::map<std::pair<std::string, std::vector<const uint8_t*>>, BufferId> known_prepared_;
  std::vector<PreparedWeight> prepared_;
  std::vector<BufferId> prepared_buffers_;
  int64_t now_ = 0;
};

}  // namespace tcc
