#include "ir/interpret/interpret_nest.h"

#include <algorithm>

#include "support/integer_division.h"
#include "support/target.h"

namespace tcc::interpret {

bool RunsHere(const LeafGuard& guard, const Context& context, Evaluator& scalars) {
  for (const AxisGuard& axis : guard.axes) {
    int64_t index = context.hardware[axis.axis];
    if (axis.only_first && index != 0) return false;
    if (axis.extent >= 0 && index >= scalars.Integer(axis.extent)) return false;
  }
  if (guard.first_lane && context.thread % Target::kWarp != 0) return false;
  return std::ranges::all_of(guard.first_slots,
                             [&](int slot) { return context.slots[slot].integer == 0; });
}

NestRunner::NestRunner(const Nest& nest, Monitor& monitor, int max_lanes)
    : nest_(nest),
      monitor_(monitor),
      max_lanes_(nest.lanes.empty() ? nest.vector_lanes : max_lanes),
      eval_(nest.code, monitor, max_lanes_) {
  for (size_t i = 0; i < nest.lanes.size(); ++i) eval_.AddLaneVar();
  eval_.describe = [this](int lane) { return Describe(lane); };
  condition_masks_.resize(nest.conditions.size());
  first_condition_.resize(nest.code.max_depth + 2);
  for (int depth = 0; depth <= nest.code.max_depth + 1; ++depth) {
    auto is_before = [&](const Condition& condition) { return condition.depth < depth; };
    first_condition_[depth] = std::ranges::count_if(nest.conditions, is_before);
  }
}

int64_t NestRunner::CountInstances(Evaluator& scalars) {
  auto extents_of = [&](const std::vector<NestLoop>& loops, std::vector<int64_t>& extents) {
    extents.clear();
    int64_t product = 1;
    for (const NestLoop& loop : loops) {
      extents.push_back(std::max<int64_t>(0, scalars.Integer(loop.extent)));
      product *= extents.back();
    }
    return product;
  };
  int64_t outer = extents_of(nest_.outer, outer_extents_);
  lane_count_ = extents_of(nest_.lanes, lane_extents_);
  inner_count_ = extents_of(nest_.inner, inner_extents_);
  return outer * lane_count_ * inner_count_;
}

void NestRunner::Run(Context& context, Evaluator& scalars, Share share) {
  if (CountInstances(scalars) == 0 || monitor_.failed()) return;
  share_ = share;
  share_depth_ = static_cast<int>(nest_.outer.size()) + 1;
  for (size_t i = nest_.outer.size(); i-- > 0;) {
    if (outer_extents_[i] > 1) share_depth_ = static_cast<int>(i) + 1;
  }
  context_ = &context;
  eval_.Enter(context, 1);
  PlacePredicates();
  if (const Mask* mask = Hold(0, eval_.full())) {
    Outer(0, *mask);
  } else {
    monitor_.CountIssued(CountInstances(scalars));
  }
}

std::pair<int64_t, int64_t> NestRunner::ShareOf(int depth, int64_t extent) const {
  if (depth != share_depth_) return {0, extent};
  return {extent * share_.part / share_.parts, extent * (share_.part + 1) / share_.parts};
}

const Mask* NestRunner::Hold(int depth, const Mask& mask) {
  const Mask* held = &mask;
  for (size_t i = first_condition_[depth]; i < first_condition_[depth + 1]; ++i) {
    int node = nest_.conditions[i].node;
    eval_.Evaluate(node, *held);
    if (monitor_.failed()) return nullptr;
    if (eval_.uniform(node)) {
      if (eval_.integers(node)[0] == 0) return nullptr;
      continue;
    }
    if (!eval_.Refine(*held, node, true, condition_masks_[i])) return nullptr;
    held = &condition_masks_[i];
  }
  return held;
}

void NestRunner::Outer(size_t i, const Mask& mask) {
  if (i == nest_.outer.size()) return Lanes(mask);
  int depth = static_cast<int>(i) + 1;
  int64_t below = lane_count_ * inner_count_;
  for (size_t k = i + 1; k < nest_.outer.size(); ++k) below *= outer_extents_[k];
  auto [first, last] = ShareOf(depth, outer_extents_[i]);
  int64_t& value = context_->slots[nest_.outer[i].slot].integer;
  for (value = first; value < last && !monitor_.failed(); ++value) {
    eval_.Advance(depth);
    if (const Mask* held = Hold(depth, mask)) {
      Outer(i + 1, *held);
    } else {
      monitor_.CountIssued(below);
    }
  }
}

// Fills the lane variables. Lane loops count as one loop, the last varying fastest.
void NestRunner::FillLaneVars(int64_t start, int n) {
  for (int lane = 0; lane < n; ++lane) {
    int64_t rest = start + lane;
    for (size_t k = nest_.lanes.size(); k-- > 0;) {
      eval_.lane_var(static_cast<int>(k))[lane] = rest % lane_extents_[k];
      rest /= lane_extents_[k];
    }
  }
}

void NestRunner::Lanes(const Mask& mask) {
  int64_t chunk = max_lanes_;
  if (nest_.lanes.empty()) {
    lane_count_ = nest_.vector_lanes;
  } else if (int64_t row = lane_extents_.back(); row <= chunk) {
    chunk = chunk / row * row;  // whole rows keep accesses regular
  }
  int depth = nest_.code.lane_depth;
  int64_t chunks = CeilDivision(lane_count_, chunk);
  auto [first, last] = ShareOf(depth, chunks);
  for (int64_t c = first; c < last && !monitor_.failed(); ++c) {
    int n = static_cast<int>(std::min(chunk, lane_count_ - c * chunk));
    FillLaneVars(c * chunk, n);
    eval_.set_lanes(n);
    eval_.Advance(depth);
    if (const Mask* held = Hold(depth, mask)) {
      Inner(0, *held);
    } else {
      monitor_.CountIssued((nest_.lanes.empty() ? 1 : n) * inner_count_);
    }
  }
  if (nest_.lanes.empty()) lane_count_ = 1;
  eval_.set_lanes(1);
}

void NestRunner::Inner(size_t i, const Mask& mask) {
  if (i == nest_.inner.size()) return Step(mask);
  int depth = nest_.code.lane_depth + 1 + static_cast<int>(i);
  int64_t below = eval_.lanes();
  for (size_t k = i + 1; k < nest_.inner.size(); ++k) below *= inner_extents_[k];
  int64_t& value = context_->slots[nest_.inner[i].slot].integer;
  for (value = 0; value < inner_extents_[i] && !monitor_.failed(); ++value) {
    eval_.Advance(depth);
    if (const Mask* held = Hold(depth, mask)) {
      Inner(i + 1, *held);
    } else {
      monitor_.CountIssued(below);
    }
  }
}

int NestRunner::ActiveCount(const Mask& mask) const {
  return mask.full ? eval_.lanes() : static_cast<int>(mask.lanes.size());
}

void NestRunner::Step(const Mask& mask) {
  bool vector = nest_.lanes.empty();
  monitor_.CountIssued(vector ? 1 : eval_.lanes());
  monitor_.report.instances_executed += vector ? 1 : ActiveCount(mask);
  if (nest_.init) Init(mask);
  const Mask* held = Predicate(mask);
  if (!held) return;
  // All values come before the first store: elements of a tuple read each other's old values.
  for (int input : nest_.inputs) eval_.Evaluate(input, *held);
  for (const OutputCode& output : nest_.outputs) eval_.Evaluate(output.value, *held);
  for (const OutputCode& output : nest_.outputs) {
    if (!monitor_.failed()) eval_.StoreTo(output.access, output.value, *held);
  }
}

void NestRunner::Init(const Mask& mask) {
  const Mask* first = &mask;
  std::vector<Mask> masks(nest_.reduce_values.size());
  for (size_t i = 0; i < nest_.reduce_values.size(); ++i) {
    int node = nest_.reduce_values[i];
    eval_.Evaluate(node, *first);
    if (eval_.uniform(node)) {
      if (eval_.integers(node)[0] != 0) return;
      continue;
    }
    if (!eval_.Refine(*first, node, false, masks[i])) return;
    first = &masks[i];
  }
  for (const OutputCode& output : nest_.outputs) {
    eval_.StoreTo(output.access, output.identity, *first);
  }
}

// Chooses the loops that index the kept predicates, as long as they have few combinations. The
// predicate must be without loads, so that it depends on loops alone.
void NestRunner::PlacePredicates() {
  constexpr int64_t kMaxHeld = 256;
  held_strides_.clear();
  int64_t count = 1;
  if (nest_.predicate < 0) return;
  const Node& node = nest_.code.nodes[nest_.predicate];
  held_depth_ = node.depth;
  for (size_t k = 0; k < nest_.inner.size() && node.total; ++k) {
    int depth = nest_.code.lane_depth + 1 + static_cast<int>(k);
    if (depth < 63 && (node.loops >> depth & 1) == 0) continue;
    held_strides_.emplace_back(nest_.inner[k].slot, count);
    count *= inner_extents_[k];
    if (depth >= 63 || count > kMaxHeld) {
      held_strides_.clear();
      count = 1;
      break;
    }
  }
  if (!held_strides_.empty()) held_depth_ = nest_.code.lane_depth;
  if (static_cast<int64_t>(held_.size()) < count) held_.resize(static_cast<size_t>(count));
  for (Held& held : held_) held.stamp = 0;
}

const Mask* NestRunner::Predicate(const Mask& mask) {
  if (nest_.predicate < 0) return monitor_.failed() ? nullptr : &mask;
  int64_t index = 0;
  for (auto [slot, stride] : held_strides_) index += context_->slots[slot].integer * stride;
  Held& held = held_[index];
  if (!eval_.IsKept(held.stamp, held_depth_) || held.parent != mask.id) {
    eval_.Evaluate(nest_.predicate, mask);
    if (monitor_.failed()) return nullptr;
    held.any = eval_.Refine(mask, nest_.predicate, true, held.mask);
    held.stamp = eval_.now();
    held.parent = mask.id;
  }
  return held.any && !monitor_.failed() ? &held.mask : nullptr;
}

std::string NestRunner::Describe(int lane) const {
  std::string text = nest_.leaf;
  auto add = [&](const NestLoop& loop, int64_t value) {
    text += fmt::format(" {}={}", loop.name, value);
  };
  for (const NestLoop& loop : nest_.surroundings) add(loop, context_->slots[loop.slot].integer);
  for (const NestLoop& loop : nest_.outer) add(loop, context_->slots[loop.slot].integer);
  for (size_t k = 0; k < nest_.lanes.size(); ++k) {
    add(nest_.lanes[k], const_cast<Evaluator&>(eval_).lane_var(static_cast<int>(k))[lane]);
  }
  for (const NestLoop& loop : nest_.inner) add(loop, context_->slots[loop.slot].integer);
  return text;
}

}  // namespace tcc::interpret
