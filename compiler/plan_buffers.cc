#include "compiler/plan_buffers.h"

#include <algorithm>

#include "ir/expr/evaluate.h"
#include "support/check.h"

namespace tcc {
BufferId PlanBuffers::Add(BufferKind kind, size_t index, const Expr& bytes) {
  std::optional<int64_t> usual = AtUsual(bytes);
  TCC_CHECK(usual.has_value()) << "bytes are not known at the usual sizes";
  PlanBuffer buffer;
  buffer.kind = kind;
  buffer.index = static_cast<uint32_t>(index);
  buffer.bytes = sizes_->Of(bytes);
  buffers_.push_back(std::move(buffer));
  live_.push_back({bytes, {std::max<int64_t>(*usual, 0), now_, now_}});
  return static_cast<BufferId>(buffers_.size() - 1);
}

BufferId PlanBuffers::AddWeight(const Tensor& tensor) {
  auto [known, absent] = weights_.emplace(std::pair(tensor.bytes.data(), tensor.bytes.size()), 0);
  if (absent) {
    known->second = Add(BufferKind::kWeight, 0, static_cast<int64_t>(tensor.bytes.size()));
    tensors_.push_back(tensor);
    weight_buffers_.push_back(known->second);
  }
  return known->second;
}

BufferId PlanBuffers::AddPrepared(const PreparedWeight& weight) {
  std::vector<const uint8_t*> places;
  for (const Tensor& tensor : weight.constants) places.push_back(tensor.bytes.data());
  auto [known, absent] = known_prepared_.emplace(std::pair(weight.function, places), 0);
  if (absent) {
    known->second = Add(BufferKind::kWeight, 0, weight.bytes);
    prepared_.push_back(weight);
    prepared_buffers_.push_back(known->second);
  }
  return known->second;
}

int64_t PlanBuffers::weight_bytes() const {
  int64_t sum = 0;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i].kind != BufferKind::kWeight) continue;
    if (__builtin_add_overflow(sum, live_[i].live.bytes, &sum)) return INT64_MAX;
  }
  return sum;
}

BufferId PlanBuffers::AddSlice(BufferId whole, uint32_t counter, const Expr& bytes,
                               const std::optional<Expr>& last) {
  BufferKind kind = buffers_[whole].kind;
  BufferId slice = Add(kind, buffers_[whole].index, bytes);
  std::optional<SizeExpr> last_counter;
  if (last) last_counter = sizes_->Of(*last);
  slices_.push_back({slice, whole, counter, std::move(last_counter)});
  whole_of_[slice] = whole;
  Touch(whole);
  return slice;
}

BufferId PlanBuffers::AddPart(BufferId whole, const Expr& offset, const Expr& bytes) {
  SizeExpr from = sizes_->Of(offset);
  auto size = [](const SizeExpr& expr) { return Size(expr.code[0].op, expr.code[0].value); };
  auto [known, absent] =
      part_at_.emplace(std::tuple(whole, size(from), size(sizes_->Of(bytes))), 0);
  if (absent) {
    BufferKind kind = buffers_[whole].kind;
    known->second = Add(kind, buffers_[whole].index, bytes);
    parts_.push_back({known->second, whole, from});
    whole_of_[known->second] = whole;
  }
  return known->second;
}

void PlanBuffers::Touch(BufferId buffer) {
  for (auto whole = whole_of_.find(buffer); whole != whole_of_.end();
       whole = whole_of_.find(buffer)) {
    buffer = whole->second;
  }
  live_[buffer].live.last = now_;
}

void PlanBuffers::Pair(BufferId current, BufferId next) {
  swapped_.insert({current, next});
  pairs_.emplace_back(current, next);
}

void PlanBuffers::KeepThroughLoop(int64_t begin) {
  for (auto& [bytes, live] : live_) {
    if (live.first < begin && live.last >= begin) live.last = now_;
  }
}

PlanBuffers::Placed PlanBuffers::Place() && {
  Placed placed;
  std::vector<int64_t> blanks;
  for (const PreparedWeight& weight : prepared_) blanks.push_back(weight.bytes);
  PackedWeights packed = PackWeights(tensors_, blanks);
  for (size_t i = 0; i < tensors_.size(); ++i) {
    buffers_[weight_buffers_[i]].offset = packed.offsets[i];
  }
  for (size_t i = 0; i < prepared_.size(); ++i) {
    buffers_[prepared_buffers_[i]].offset = packed.offsets[tensors_.size() + i];
    prepared_[i].result = packed.blanks[i];
  }
  placed.weights = packed.bytes;
  placed.prepared = std::move(prepared_);
  // An odd number of iterations leaves the two buffers' contents swapped.
  for (const auto& [current, next] : pairs_) {
    LiveBuffer &a = live_[current].live, &b = live_[next].live;
    a.first = b.first = std::min(a.first, b.first);
    a.last = b.last = std::max(a.last, b.last);
  }
  bodies_.push_back(static_cast<BufferId>(buffers_.size()));
  for (size_t b = 0; b + 1 < bodies_.size(); ++b) PlaceArena(bodies_[b], bodies_[b + 1], placed);
  PlaceParts();
  PlaceSlices();
  placed.buffers = std::move(buffers_);
  return placed;
}

void PlanBuffers::PlaceArena(BufferId begin, BufferId end, Placed& placed) {
  std::vector<BufferId> arena;
  for (BufferId id = begin; id < end; ++id) {
    if (buffers_[id].kind != BufferKind::kArena || whole_of_.contains(id)) continue;
    arena.push_back(id);
    placed.activation_bytes += live_[id].live.bytes;
  }
  bool is_fixed = std::ranges::all_of(
      arena, [&](BufferId id) { return AsConstant(live_[id].bytes).has_value(); });
  std::vector<Lifetime>& lifetimes = placed.lifetimes.emplace_back();
  placed.arena_bytes.push_back(is_fixed ? PlaceFixed(arena, lifetimes)
                                        : PlaceFree(arena, lifetimes));
}

// Places buffers of known size. Returns the bytes of the arena.
SizeExpr PlanBuffers::PlaceFixed(std::span<const BufferId> arena,
                                 std::vector<Lifetime>& lifetimes) {
  std::vector<LiveBuffer> live;
  for (BufferId id : arena) live.push_back(live_[id].live);
  MemoryPlan memory = PlanMemory(live);
  for (size_t i = 0; i < arena.size(); ++i) {
    buffers_[arena[i]].offset = memory.offsets[i];
    lifetimes.push_back({arena[i], memory.offsets[i], live[i]});
  }
  return memory.arena_bytes;
}

// Places buffers of free size. Returns the bytes of the arena.
SizeExpr PlanBuffers::PlaceFree(std::span<const BufferId> arena, std::vector<Lifetime>& lifetimes) {
  std::vector<FreeBuffer> buffers;
  for (BufferId id : arena) buffers.push_back(live_[id]);
  FreeMemoryPlan memory = PlanFreeMemory(
      buffers, [&](const std::vector<Expr>& formulas) { return sizes_->Maximum(formulas); });
  for (size_t i = 0; i < arena.size(); ++i) {
    buffers_[arena[i]].offset = sizes_->Of(memory.offsets[i]);
    lifetimes.push_back({arena[i], AtUsual(memory.offsets[i]).value(), live_[arena[i]].live});
  }
  return sizes_->Of(memory.arena_bytes);
}

// Places parts in order of creation, since a part may be inside another part.
void PlanBuffers::PlaceParts() {
  for (const Part& part : parts_) {
    buffers_[part.buffer].offset =
        sizes_->Let(Combine(SizeOp::kAdd, buffers_[part.whole].offset, part.offset));
  }
}

// Places slices in order of creation, since a slice may be inside another slice. No let may follow,
// which would move the counters.
void PlanBuffers::PlaceSlices() {
  for (const Slice& slice : slices_) {
    SizeExpr index = sizes_->Counter(slice.counter);
    if (slice.last) index = Combine(SizeOp::kSub, *slice.last, index);
    buffers_[slice.buffer].offset =
        Combine(SizeOp::kAdd, buffers_[slice.whole].offset,
                Combine(SizeOp::kMul, index, buffers_[slice.buffer].bytes));
  }
}

}  // namespace tcc
