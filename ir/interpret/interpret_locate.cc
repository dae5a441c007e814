#include <algorithm>

#include "ir/interpret/interpret_eval.h"

// The part of Evaluator that turns indices into cells.
namespace tcc::interpret {

bool Evaluator::Locate(int access, const Mask& mask, Offsets* at) {
  const AccessCode& code = code_.accesses[access];
  const Cells* cells = context_->buffers[code.buffer];
  if (cells == nullptr) {
    monitor_.Fail("a buffer is used outside its lifetime");
    return false;
  }
  bool found = code.mixed || cells->circular() >= 0 ? LocateMixed(access, mask, at)
                                                    : LocateFixed(access, mask, at);
  return found && !monitor_.failed();
}

int64_t Evaluator::IndexAt(const IndexCode& index, int lane) {
  int64_t sum = 0;
  for (int part : {index.uniform, index.chunk, index.mixed}) {
    if (part >= 0) sum += states_[part].integers[states_[part].uniform ? 0 : lane];
  }
  return sum;
}

bool Evaluator::CheckLane(const AccessCode& access, const Cells& cells, int lane) {
  for (int d = 0; d < cells.rank(); ++d) {
    if (d == cells.circular()) continue;
    int64_t index = IndexAt(access.indices[d], lane) - cells.origin(d);
    if (index >= 0 && index < cells.size(d)) continue;
    FailAt(access, lane,
           fmt::format("lies outside dimension {}, which keeps [{}, {})", d, cells.origin(d),
                       cells.origin(d) + cells.size(d)));
    return false;
  }
  return true;
}

void Evaluator::FailAt(const AccessCode& access, int lane, const std::string& what) {
  const Cells& cells = *context_->buffers[access.buffer];
  std::string indices;
  for (const IndexCode& index : access.indices) {
    indices += (indices.empty() ? "" : ", ") + std::to_string(IndexAt(index, lane));
  }
  std::string where = describe ? describe(lane) : "";
  monitor_.Fail(fmt::format("{}[{}] {}{}{}", cells.name(), indices, what,
                            where.empty() ? "" : "; in ", where));
}

// Computes the parts of the lanes' offsets that stay fixed for the whole chunk.
void Evaluator::FixChunk(const AccessCode& access, const Cells& cells, AccessState& state) {
  std::fill_n(state.lanes.begin(), lanes_, 0);
  state.kind = Offsets::kUniform;
  for (int d = 0; d < cells.rank(); ++d) {
    int part = access.indices[d].chunk;
    if (part < 0) continue;
    const State& range = RangeOf(part);
    if (range.low == range.high) {
      for (int i = 0; i < lanes_; ++i) state.lanes[i] += cells.stride(d) * range.low;
      continue;
    }
    for (int i = 0; i < lanes_; ++i) state.lanes[i] += cells.stride(d) * range.integers[i];
    state.kind = Offsets::kScattered;
  }
  if (state.kind == Offsets::kUniform) return;
  bool contiguous = true;
  for (int i = 1; i < lanes_; ++i) contiguous &= state.lanes[i] == state.lanes[0] + i;
  if (contiguous) state.kind = Offsets::kContiguous;
}

bool Evaluator::LocateFixed(int access, const Mask& mask, Offsets* at) {
  const AccessCode& code = code_.accesses[access];
  const Cells& cells = *context_->buffers[code.buffer];
  AccessState& state = accesses_[access];
  if (state.stamp < epochs_[code_.lane_depth] || state.cells != &cells) {
    FixChunk(code, cells, state);
    state.stamp = now_;
    state.cells = &cells;
  }
  *at = {.kind = state.kind, .base = 0, .lanes = state.lanes.data()};
  for (int d = 0; d < cells.rank(); ++d) {
    const IndexCode& index = code.indices[d];
    int64_t first = -cells.origin(d);
    if (index.uniform >= 0) {
      Evaluate(index.uniform, mask);
      first += states_[index.uniform].integers[0];
    }
    at->base += first * cells.stride(d);
    int64_t low = first;
    int64_t high = first;
    if (index.chunk >= 0) {
      low += RangeOf(index.chunk).low;
      high += RangeOf(index.chunk).high;
    }
    if (low >= 0 && high < cells.size(d)) continue;
    at->masked_only = true;
    if (!IsInside(state, d, index.chunk, first, cells.size(d), mask)) {
      bool inside = true;
      ForActive(mask, [&](int lane) { inside = inside && CheckLane(code, cells, lane); });
      return false;
    }
  }
  return true;
}

// Remembers checks that passed, since a convolution repeats those of its border for every input
// channel. Masks other than the full one get new ids in each chunk.
bool Evaluator::IsInside(AccessState& state, int dim, int chunk, int64_t first, int64_t size,
                         const Mask& mask) const {
  AccessState::Inside& known = state.inside[(mask.id * 4 + dim) % std::size(state.inside)];
  if (mask.id != 0 && known.mask == mask.id && known.dim == dim && known.first == first) {
    return true;
  }
  if (!LanesInside(chunk, first, size, mask)) return false;
  known = {.mask = mask.id, .first = first, .dim = dim};
  return true;
}

bool Evaluator::LanesInside(int chunk, int64_t first, int64_t size, const Mask& mask) const {
  if (chunk < 0) return false;
  const State& state = states_[chunk];
  const int64_t* lanes = state.integers.get();
  int outside = 0;
  int step = state.uniform ? 0 : 1;
  ForActive(mask, [&](int lane) {
    outside += static_cast<uint64_t>(first + lanes[lane * step]) >= static_cast<uint64_t>(size);
  });
  return outside == 0;
}

bool Evaluator::LocateMixed(int access, const Mask& mask, Offsets* at) {
  const AccessCode& code = code_.accesses[access];
  const Cells& cells = *context_->buffers[code.buffer];
  AccessState& state = accesses_[access];
  state.stamp = 0;
  for (const IndexCode& index : code.indices) {
    for (int part : {index.uniform, index.chunk, index.mixed}) {
      if (part >= 0) Evaluate(part, mask);
    }
  }
  bool inside = true;
  ForActive(mask, [&](int lane) {
    inside = inside && CheckLane(code, cells, lane);
    if (!inside) return;
    int64_t offset = 0;
    for (int d = 0; d < cells.rank(); ++d) {
      int64_t index = IndexAt(code.indices[d], lane) - cells.origin(d);
      if (d == cells.circular()) index = ((index % cells.size(d)) + cells.size(d)) % cells.size(d);
      offset += index * cells.stride(d);
    }
    state.lanes[lane] = offset;
  });
  bool one = !code.varying || lanes_ == 1;
  *at = {.kind = one ? Offsets::kUniform : Offsets::kScattered,
         .base = 0,
         .lanes = state.lanes.data(),
         .masked_only = !mask.full};
  return inside;
}

void Evaluator::NoteUses(const AccessCode& access, const Offsets& at, const Mask& mask,
                         bool write) {
  Cells& cells = *context_->buffers[access.buffer];
  ForActive(mask, [&](int lane) {
    bool fine = cells.NoteUse(at.At(lane), write, context_->thread, monitor_.epoch);
    if (fine || monitor_.failed()) return;
    FailAt(access, lane,
           write ? "is written while another thread or iteration uses it (a race)"
                 : "is read while another thread or iteration writes it (a race)");
  });
}

}  // namespace tcc::interpret
