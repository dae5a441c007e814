#include "ir/interpret/interpret_eval.h"

#include <algorithm>
#include <cstring>

#include "ir/expr/operators.h"
#include "support/check.h"
#include "support/storage_types.h"

namespace tcc::interpret {
namespace {

bool HoldsReals(const Node& node) {
  if (node.op == Op::kBinary && IsComparison(node.kind)) return false;
  return HoldsFloats(node.dtype);
}

}  // namespace

Evaluator::Evaluator(const ExprCode& code, Monitor& monitor, int max_lanes)
    : code_(code), monitor_(monitor), max_lanes_(max_lanes) {
  epochs_.assign(code.max_depth + 1, 0);
  states_.resize(code.nodes.size());
  for (size_t i = 0; i < code.nodes.size(); ++i) {
    size_t count = code.nodes[i].varying ? max_lanes : 1;
    if (HoldsReals(code.nodes[i])) {
      states_[i].reals = std::make_unique<double[]>(count);
    } else {
      states_[i].integers = std::make_unique<int64_t[]>(count);
    }
  }
  accesses_.resize(code.accesses.size());
  for (AccessState& state : accesses_) state.lanes.resize(max_lanes);
}

void Evaluator::Enter(Context& context, int n) {
  context_ = &context;
  lanes_ = n;
  Advance(0);
}

void Evaluator::Advance(int depth) {
  ++now_;
  std::fill(epochs_.begin() + depth, epochs_.end(), now_);
}

bool Evaluator::Covers(uint64_t id, const Mask& mask) const {
  for (const Mask* m = &mask; m != nullptr; m = m->parent) {
    if (m->id == id) return true;
  }
  return false;
}

bool Evaluator::Refine(const Mask& parent, int node, bool wanted, Mask& mask) {
  const State& state = states_[node];
  mask.id = next_mask_++;
  mask.parent = &parent;
  mask.full = parent.full;
  mask.lanes.clear();
  if (state.uniform) {
    if ((state.integers[0] != 0) != wanted) return false;
    if (!parent.full) mask.lanes = parent.lanes;
    return true;
  }
  mask.lanes.resize(lanes_);
  int count = 0;
  int* kept = mask.lanes.data();
  const int64_t* values = state.integers.get();
  const int64_t flip = wanted ? 0 : 1;
  ForActive(parent, [&](int lane) {
    kept[count] = lane;
    count += static_cast<int>((values[lane] != 0) ^ flip);
  });
  mask.lanes.resize(count);
  mask.full = parent.full && count == lanes_;
  if (mask.full) mask.lanes.clear();
  return count > 0;
}

void Evaluator::Evaluate(int id, const Mask& mask) {
  const Node& node = code_.nodes[id];
  State& state = states_[id];
  if (state.stamp >= epochs_[node.depth] && (node.total || Covers(state.mask, mask))) return;
  Compute(id, mask);
  state.stamp = now_;
  state.mask = mask.id;
}

void Evaluator::Compute(int id, const Mask& mask) {
  const Node& node = code_.nodes[id];
  State& state = states_[id];
  switch (node.op) {
    case Op::kInt:
      state.integers[0] = node.integer;
      return;
    case Op::kReal:
      state.reals[0] = node.real;
      return;
    case Op::kSlot: {
      const Slot& slot = context_->slots[node.index];
      state.uniform = !node.varying;
      if (HoldsFloats(node.dtype)) {
        const double* from = node.varying ? slot.reals.data() : &slot.real;
        std::copy_n(from, node.varying ? lanes_ : 1, state.reals.get());
      } else {
        const int64_t* from = node.varying ? slot.integers.data() : &slot.integer;
        std::copy_n(from, node.varying ? lanes_ : 1, state.integers.get());
      }
      return;
    }
    case Op::kLaneVar:
      state.uniform = lanes_ == 1;
      std::copy_n(lane_vars_[node.index].data(), lanes_, state.integers.get());
      return;
    case Op::kLaneNumber:
      state.uniform = lanes_ == 1;
      for (int i = 0; i < lanes_; ++i) state.integers[i] = i;
      return;
    case Op::kCast:
      Evaluate(node.a, mask);
      return ComputeCast(node, state);
    case Op::kBinary:
      Evaluate(node.a, mask);
      Evaluate(node.b, mask);
      return ComputeBinary(node, state, mask);
    case Op::kLogic:
      return ComputeLogic(node, state, mask);
    case Op::kNot: {
      Evaluate(node.a, mask);
      state.uniform = states_[node.a].uniform;
      ForLanes1(states_[node.a].integers.get(), state.integers.get(), state.uniform ? 1 : lanes_,
                [](int64_t a) { return int64_t{a == 0}; });
      return;
    }
    case Op::kSelect:
      return ComputeSelect(node, state, mask);
    case Op::kLoad:
      return ComputeLoad(node, state, mask);
    case Op::kCall:
      Evaluate(node.a, mask);
      if (node.b >= 0) Evaluate(node.b, mask);
      if (node.call == ScalarOp::kTruncDiv || node.call == ScalarOp::kTruncMod) {
        return ComputePartial(node, state, mask);
      }
      return ComputeCall(node, state);
    case Op::kAffineTest:
      return ComputeAffineTest(node, state, mask);
  }
}

void Evaluator::CopyLanes(int from, State& to, const Mask& mask, bool real) {
  const State& source = states_[from];
  int step = source.uniform ? 0 : 1;
  if (real) {
    ForActive(mask, [&](int i) { to.reals[i] = source.reals[i * step]; });
  } else {
    ForActive(mask, [&](int i) { to.integers[i] = source.integers[i * step]; });
  }
}

void Evaluator::ComputeSelect(const Node& node, State& state, const Mask& mask) {
  Evaluate(node.a, mask);
  bool real = HoldsReals(node);
  if (states_[node.a].uniform) {
    int arm = states_[node.a].integers[0] != 0 ? node.b : node.c;
    Evaluate(arm, mask);
    state.uniform = states_[arm].uniform;
    int count = state.uniform ? 1 : lanes_;
    if (real) {
      std::copy_n(states_[arm].reals.get(), count, state.reals.get());
    } else {
      std::copy_n(states_[arm].integers.get(), count, state.integers.get());
    }
    return;
  }
  state.uniform = false;
  for (bool wanted : {true, false}) {
    Mask arm_mask;
    // A select whose arms are defined everywhere is evaluated for all lanes, so that its value
    // does not depend on the mask.
    const Mask& parent = node.total ? full_ : mask;
    if (!Refine(parent, node.a, wanted, arm_mask)) continue;
    int arm = wanted ? node.b : node.c;
    Evaluate(arm, arm_mask);
    CopyLanes(arm, state, arm_mask, real);
  }
}

void Evaluator::ComputeLogic(const Node& node, State& state, const Mask& mask) {
  bool conjunction = node.kind == ExprKind::kAnd;
  Evaluate(node.a, mask);
  const State& a = states_[node.a];
  if (a.uniform) {
    bool decided = (a.integers[0] != 0) != conjunction;
    if (decided) {
      state.uniform = true;
      state.integers[0] = !conjunction;
      return;
    }
    Evaluate(node.b, mask);
    const State& b = states_[node.b];
    state.uniform = b.uniform;
    std::copy_n(b.integers.get(), b.uniform ? 1 : lanes_, state.integers.get());
    return;
  }
  state.uniform = false;
  const State& b = states_[node.b];
  if (code_.nodes[node.b].total) {
    Evaluate(node.b, mask);
    if (conjunction) {
      ForLanes2(a.integers.get(), false, b.integers.get(), b.uniform, state.integers.get(), lanes_,
                [](int64_t x, int64_t y) { return x & y; });
    } else {
      ForLanes2(a.integers.get(), false, b.integers.get(), b.uniform, state.integers.get(), lanes_,
                [](int64_t x, int64_t y) { return x | y; });
    }
    return;
  }
  std::copy_n(a.integers.get(), lanes_, state.integers.get());
  Mask open;
  if (!Refine(mask, node.a, conjunction, open)) return;
  Evaluate(node.b, open);
  CopyLanes(node.b, state, open, false);
}

const Evaluator::State& Evaluator::RangeOf(int node) {
  Evaluate(node, full_);
  State& state = states_[node];
  if (state.range_stamp == state.stamp) return state;
  int count = state.uniform ? 1 : lanes_;
  auto [low, high] = std::minmax_element(state.integers.get(), state.integers.get() + count);
  state.low = *low;
  state.high = *high;
  state.range_stamp = state.stamp;
  return state;
}

// Decides a test for a whole chunk by its smallest and largest lane where possible; that covers
// most tests of a convolution's padding.
void Evaluator::ComputeAffineTest(const Node& node, State& state, const Mask&) {
  int64_t base = node.a < 0 ? 0 : Integer(node.a);
  const State& chunk = RangeOf(node.b);
  int64_t low = base + chunk.low;
  int64_t high = base + chunk.high;
  const int64_t* lanes = chunk.integers.get();
  auto decide = [&](bool always, bool never, auto&& test) {
    state.uniform = always || never || lanes_ == 1;
    if (state.uniform) {
      state.integers[0] = always;
    } else {
      for (int i = 0; i < lanes_; ++i) state.integers[i] = test(base + lanes[i]);
    }
  };
  // Use the sign bit: index arithmetic does not overflow, and SSE2 has no 64-bit comparison.
  auto negative = [](int64_t x) { return static_cast<int64_t>(static_cast<uint64_t>(x) >> 63); };
  if (node.kind == ExprKind::kLt) {
    decide(high < 0, low >= 0, negative);
  } else if (node.kind == ExprKind::kLe) {
    decide(high <= 0, low > 0, [&](int64_t x) { return negative(x - 1); });
  } else if (node.kind == ExprKind::kEq) {
    decide(low == 0 && high == 0, low > 0 || high < 0, [](int64_t x) { return int64_t{x == 0}; });
  } else {
    decide(low > 0 || high < 0, low == 0 && high == 0, [](int64_t x) { return int64_t{x != 0}; });
  }
}

void Evaluator::ComputeLoad(const Node& node, State& state, const Mask& mask) {
  const AccessCode& access = code_.accesses[node.index];
  Offsets at;
  state.uniform = true;
  if (!Locate(node.index, mask, &at)) return;
  const Cells& cells = *context_->buffers[access.buffer];
  state.uniform = at.kind == Offsets::kUniform;
  int bad = 0;
  bool written = HoldsReals(node) ? cells.Load(at, lanes_, mask.lanes, state.reals.get(), &bad)
                                  : cells.Load(at, lanes_, mask.lanes, state.integers.get(), &bad);
  if (!written && !monitor_.reads_garbage)
    return FailAt(access, bad, "is read but was never written");
  if (monitor_.detect_races) NoteUses(access, at, mask, false);
}

void Evaluator::StoreTo(int access, int node, const Mask& mask) {
  Evaluate(node, mask);
  Offsets at;
  if (monitor_.failed() || !Locate(access, mask, &at)) return;
  Cells& cells = *context_->buffers[code_.accesses[access].buffer];
  const State& state = states_[node];
  if (HoldsReals(code_.nodes[node])) {
    cells.Store(at, lanes_, mask.lanes, state.reals.get(), state.uniform);
  } else {
    cells.Store(at, lanes_, mask.lanes, state.integers.get(), state.uniform);
  }
  if (monitor_.detect_races) NoteUses(code_.accesses[access], at, mask, true);
}

}  // namespace tcc::interpret
