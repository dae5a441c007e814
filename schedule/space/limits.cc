#include "schedule/space/limits.h"

#include <algorithm>
#include <limits>
#include <span>

#include "ir/analysis/accesses.h"
#include "ir/expr/evaluate.h"
#include "ir/expr/layout.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/interval.h"
#include "ir/simplify/simplify.h"
#include "schedule/analysis/footprint.h"
#include "schedule/analysis/loop_tree.h"
#include "schedule/space/resources.h"
#include "schedule/space/vdla_limits.h"

namespace tcc {
namespace {

// Collects constraints, except those that always hold.
class Limits {
 public:
  Limits(const Function& fn, const Decisions& start) {
    for (const Var& var : fn.vars) {
      least_.emplace(var, var->low);
      auto value = start.find(var->name);
      start_.emplace(var, value == start.end() ? var->low : value->second);
    }
  }

  // Requires `amount` <= most.
  void AtMost(const Expr& amount, int64_t most, std::string why) {
    Add(amount - Expr(most), std::move(why));
  }

  // Requires `excess` <= 0. Formulas stay as they are built: multiplied out they would have
  // hundreds of terms.
  void Add(const Expr& excess, std::string why) {
    if (BoundsOf(excess, {}).high > 0) constraints_.push_back({excess, std::move(why)});
  }

  // Adds a bound for speed: like AtMost, but dropped if the smallest sizes break it, and raised to
  // the amount at the start. Code that chose the start had a reason to go beyond, and every start
  // is a point of its own space.
  void Cap(const Expr& amount, int64_t most, std::string why) {
    std::optional<int64_t> least = EvaluateInt(amount, least_);
    if (least && *least > most) return;
    std::optional<int64_t> taken = EvaluateInt(amount, start_);
    if (taken && *taken > most) {
      most = *taken;
      why += fmt::format("; the start takes {}", most);
    }
    AtMost(amount, most, std::move(why));
  }

  Constraints Take() && { return std::move(constraints_); }

 private:
  Constraints constraints_;
  Assignment least_, start_;
};

void AddGpuLimits(const NestResources& nest, const Target& target, Limits& limits) {
  auto why = [&](const std::string& what) {
    return fmt::format("launch '{}': {}", nest.name, what);
  };
  limits.AtMost(nest.threads, target.limits.max_threads,
                why(fmt::format("at most {} threads a block", target.limits.max_threads)));
  limits.AtMost(nest.threads_by_axis[2], target.limits.max_threads_in_z,
                why(fmt::format("at most {} threads along z", target.limits.max_threads_in_z)));
  const Expr multiple(target.ThreadMultiple());
  Expr rest = SelectOf(nest.threads <= multiple, Expr(0), FloorModulo(nest.threads, multiple));
  limits.Add(rest, why("whole warps beyond the first"));
  for (size_t axis : {0, 1, 2}) {
    int64_t most = target.limits.max_blocks[axis];
    limits.AtMost(nest.grid[axis], most,
                  why(fmt::format("at most {} blocks along {}", most, "xyz"[axis])));
  }
  limits.AtMost(nest.shared_bytes, target.shared_bytes,
                why(fmt::format("at most {} bytes of shared memory", target.shared_bytes)));
  limits.Cap(nest.registers, target.limits.registers,
             why(fmt::format("at most {} registers a thread", target.limits.registers)));
  limits.Cap(nest.registers * nest.threads, target.limits.register_file,
             why(fmt::format("at most {} registers a block", target.limits.register_file)));
  limits.AtMost(nest.vthreads, kMaxVthreads,
                why(fmt::format("at most {} virtual threads", kMaxVthreads)));
  limits.Add(FloorModulo(Expr(Target::kWidestAccess), nest.vector_bytes),
             why(fmt::format("vector accesses of 1, 2, 4, ... {} bytes", Target::kWidestAccess)));
}

bool StaysLoop(ForKind kind) {
  return IsInOrder(kind) && kind != ForKind::kUnrolled;
}

bool FeedsReduceOf(const For& loop, const Block& block) {
  return std::ranges::any_of(block.iters, [&](const IterVar& iter) {
    return iter.kind == IterKind::kReduce && UsesVar(iter.binding, loop.var);
  });
}

// The runs of loops of `block`'s reduction that are neither unrolled nor vectorized, outermost
// first; loops of other axes separate them. A run is its first and last position in `loops`.
struct Run {
  size_t first, last;
};
std::vector<Run> ReductionRuns(const std::vector<Ref<For>>& loops, const Block& block) {
  std::vector<Run> runs;
  for (size_t i = 0; i < loops.size(); ++i) {
    if (!StaysLoop(loops[i]->for_kind) || !FeedsReduceOf(*loops[i], block)) continue;
    if (!runs.empty() && runs.back().last + 1 == i) {
      runs.back().last = i;
    } else {
      runs.push_back({i, i});
    }
  }
  return runs;
}

// Returns whether the block adds up results that another block computes in each step of the loop;
// that other block then tells what a step needs.
bool CombinesSteps(const For& loop, const Block& block) {
  std::vector<Ref<Block>> blocks = BlocksOf(loop.body);
  return std::ranges::any_of(blocks, [&](const Ref<Block>& other) {
    return other->name != block.name && other->body.as<Reduce>() && FeedsReduceOf(loop, *other);
  });
}

// Adds the limits on caches. With two runs of reduction loops, the tiles of results between them
// take turns within one step of the reduction: the operands of one tile then stay in L1, so that
// the next tile finds the operand that they share, and the operands of all tiles in L2. With one
// run, the operands of a tile fit L2.
void AddCacheLimits(const Function& fn, const Target& target, Limits& limits) {
  for (const Ref<Block>& block : BlocksOf(fn.body)) {
    if (!block->body.as<Reduce>()) continue;
    std::vector<Ref<For>> loops = LoopsOn(FindBlock(fn, block->name).value());
    std::vector<Run> runs = ReductionRuns(loops, *block);
    if (runs.empty() || runs.back().first == 0) continue;
    if (CombinesSteps(*loops[runs.back().last], *block)) continue;
    Expr tile = FootprintInside(fn, loops[runs.back().first - 1]->key).value();
    if (runs.size() == 1) {
      limits.Cap(tile, target.l2_bytes,
                 fmt::format("block '{}': the operands of one tile fit L2", block->name));
      continue;
    }
    limits.Cap(tile, target.l1_bytes,
               fmt::format("block '{}': a tile's step of the reduction fits L1", block->name));
    limits.Cap(FootprintInside(fn, loops[runs[runs.size() - 2].last]->key).value(), target.l2_bytes,
               fmt::format("block '{}': a step of the reduction fits L2", block->name));
  }
}

// The bound on a reduction's issued work, in multiples of its own work: tiles that do not divide
// its extents compute values that nobody needs.
constexpr int64_t kMaxWaste = 4;

// Returns how often the block's body runs in all of the loops around it, guarded or not.
Expr IssuedBy(const Function& fn, const Block& block) {
  Expr issued(1);
  for (const Ref<For>& loop : LoopsOn(FindBlock(fn, block.name).value())) {
    issued = issued * loop->extent;
  }
  return issued;
}

void AddWasteLimits(const Function& fn, Limits& limits) {
  for (const Ref<Block>& block : BlocksOf(fn.body)) {
    if (!block->body.as<Reduce>()) continue;
    Expr domain(1);
    for (const IterVar& iter : block->iters) domain = domain * iter.domain;
    std::optional<int64_t> work = AsConstant(Simplify(domain));
    if (!work || *work > std::numeric_limits<int64_t>::max() / kMaxWaste) continue;
    limits.Cap(IssuedBy(fn, *block), kMaxWaste * *work,
               fmt::format("block '{}': at most {} times its work", block->name, kMaxWaste));
  }
}

// An offset as a sum of terms: a coefficient times a loop, or times a quotient or remainder of it.
class OffsetTerms {
 public:
  OffsetTerms(const std::vector<Ref<For>>& loops, const Var& lane) : loops_(loops), lane_(lane) {}

  void Add(const Expr& expr, const Expr& factor) {
    if (!UsesLoops(expr)) return Push(factor * expr);
    if (const auto* sum = expr.as<tcc::Add>()) {
      Add(sum->a, factor);
      return Add(sum->b, factor);
    }
    if (const auto* difference = expr.as<Sub>()) {
      Add(difference->a, factor);
      return Add(difference->b, factor);
    }
    if (const auto* product = expr.as<Mul>()) {
      if (!UsesLoops(product->a)) return Add(product->b, factor * product->a);
      if (!UsesLoops(product->b)) return Add(product->a, factor * product->b);
    }
    if (!UsesVar(expr, lane_)) return Push(factor, ValuesOf(expr));
    side_by_side_ =
        side_by_side_ && expr.same_as(lane_) && !seen_lane_ && IsConstant(Simplify(factor), 1);
    seen_lane_ = true;
  }

  // Adds the place along a dimension of `cells` cells, whichever loops decide it.
  void AddPlace(const Expr& stride, const Expr& cells) { Push(stride, cells); }

  // Returns whether the lanes are contiguous; then the coefficients decide where vectors start.
  bool AreSideBySide() const { return seen_lane_ && side_by_side_; }
  // `values`: how many values the term takes, null if unknown. A term with one value is 0.
  struct Coefficient {
    Expr size, values;
  };
  const std::vector<Coefficient>& coefficients() const { return coefficients_; }

 private:
  bool UsesLoops(const Expr& expr) const {
    return std::ranges::any_of(loops_,
                               [&](const Ref<For>& loop) { return UsesVar(expr, loop->var); });
  }

  // Returns the number of values that a loop, or its quotient or remainder by a size, takes; null
  // if unknown.
  Expr ValuesOf(const Expr& expr) const {
    for (const Ref<For>& loop : loops_) {
      if (expr.same_as(loop->var)) return loop->extent;
    }
    if (const auto* quotient = expr.as<FloorDiv>()) {
      Expr values = ValuesOf(quotient->a);
      return values && !UsesLoops(quotient->b) ? CeilDivide(values, quotient->b) : Expr();
    }
    const auto* remainder = expr.as<FloorMod>();
    return remainder && !UsesLoops(remainder->b) ? remainder->b : Expr();
  }

  void Push(const Expr& coefficient, const Expr& values = {}) {
    coefficients_.push_back({Simplify(coefficient), values});
  }

  const std::vector<Ref<For>>& loops_;
  Var lane_;
  bool seen_lane_ = false;
  bool side_by_side_ = true;
  std::vector<Coefficient> coefficients_;
};

// Adds the access's offset, in elements from the buffer's start and before the swizzle. Returns
// false for layouts whose offset is not a sum of strided indices.
bool AddOffset(const Block& block, const Access& access, const Buffer& buffer, OffsetTerms& terms) {
  const Layout& layout = buffer.layout;
  if (!layout.blocks.empty() || buffer.circular >= 0) return false;
  Substitution bindings;
  for (const IterVar& iter : block.iters) bindings.emplace(iter.var, iter.binding);
  std::vector<Expr> strides = StoredStrides(buffer);
  for (size_t d = 0; d < strides.size(); ++d) {
    bool windowed = !buffer.window.origin.empty();
    if (IsConstant(buffer.shape[d], 1)) {
      // The only index is 0, but a window with padding may have it anywhere.
      if (windowed) terms.AddPlace(strides[d], buffer.window.size[d]);
      continue;
    }
    Expr index = Substitute(access.indices[d], bindings);
    if (windowed) index = index - buffer.window.origin[d];
    terms.Add(Simplify(index) * strides[d], Expr(1));
  }
  if (layout.offset) terms.Add(layout.offset, Expr(1));
  return true;
}

bool HasFactor(const Expr& product, const Expr& factor) {
  if (Equal(product, factor)) return true;
  const auto* mul = product.as<Mul>();
  return mul && (HasFactor(mul->a, factor) || HasFactor(mul->b, factor));
}

void AddConstraint(const Block& block, const Access& access,
                   const OffsetTerms::Coefficient& coefficient, const Expr& lanes,
                   Constraints& constraints) {
  if (HasFactor(coefficient.size, lanes)) return;
  Expr excess = FloorModulo(coefficient.size, lanes);
  if (coefficient.values) excess = SelectOf(coefficient.values <= Expr(1), Expr(0), excess);
  if (BoundsOf(excess, {}).high <= 0) return;
  for (const Constraint& known : constraints) {
    if (Equal(known.expr, excess)) return;
  }
  constraints.push_back({excess, fmt::format("block '{}': its vectors of '{}' are aligned",
                                             block.name, access.buffer->name)});
}

// Returns the conditions under which every vector access is aligned to its vector's size, so that
// it can be one instruction. For an access whose lanes are contiguous, the cell's offset must have
// coefficients of all other loops and a constant term that are multiples of the lanes. This is
// sufficient, and necessary wherever those loops run at all. Buffers themselves are aligned to
// whole vectors.
Constraints AlignmentOf(const Function& fn) {
  Constraints constraints;
  for (const Ref<Block>& block : BlocksOf(fn.body)) {
    std::vector<Ref<For>> loops = LoopsOn(FindBlock(fn, block->name).value());
    auto vector = std::ranges::find_if(
        loops, [](const Ref<For>& loop) { return loop->for_kind == ForKind::kVectorized; });
    if (vector == loops.end()) continue;
    std::vector<Access> accesses = ReadsOf(*block);
    for (const Access& write : WritesOf(*block)) accesses.push_back(write);
    for (const Access& access : accesses) {
      const Buffer& buffer = *FindBuffer(fn, access.buffer);
      if (buffer.scope == Scope::kLocal || buffer.scope == Scope::kWarp) continue;
      OffsetTerms terms(loops, (*vector)->var);
      if (!AddOffset(*block, access, buffer, terms) || !terms.AreSideBySide()) continue;
      for (const OffsetTerms::Coefficient& coefficient : terms.coefficients()) {
        AddConstraint(*block, access, coefficient, (*vector)->extent, constraints);
      }
      if (const XorSwizzle& swizzle = buffer.layout.swizzle; swizzle.bits > 0) {
        constraints.push_back({(*vector)->extent - Expr(int64_t{1} << swizzle.base),
                               fmt::format("block '{}': its vectors of '{}' lie in one chunk",
                                           block->name, access.buffer->name)});
      }
    }
  }
  return constraints;
}

Constraints LimitsOf(const Function& fn, std::span<const NestResources> resources,
                     const Target& target, const Decisions& start) {
  Limits limits(fn, start);
  if (target.accelerator == Accelerator::kVdla) {
    const std::vector<VdlaNeed> needs = VdlaNeedsOf(fn, VdlaConfig());
    for (const VdlaNeed& need : needs) {
      limits.AtMost(need.amount, need.most,
                    fmt::format("accelerator: at most {} {}", need.most, need.what));
    }
    // The CPU's registers and caches have no part in such a kernel.
    if (!needs.empty()) return std::move(limits).Take();
  }
  for (const NestResources& nest : resources) {
    if (target.kind == TargetKind::kGpu) AddGpuLimits(nest, target, limits);
    if (target.kind == TargetKind::kCpu) {
      limits.Cap(nest.registers, target.vector_registers,
                 fmt::format("nest '{}': at most {} vector registers", nest.name,
                             target.vector_registers));
    }
    limits.AtMost(nest.lanes, kMaxLanes,
                  fmt::format("nest '{}': at most {} lanes", nest.name, kMaxLanes));
    limits.Cap(
        nest.statements, kMaxStatements,
        fmt::format("nest '{}': at most {} statements once unrolled", nest.name, kMaxStatements));
  }
  if (target.kind == TargetKind::kCpu) {
    AddCacheLimits(fn, target, limits);
    AddWasteLimits(fn, limits);
  }
  if (target.kind == TargetKind::kGpu) {
    for (Constraint& constraint : AlignmentOf(fn)) {
      limits.Add(constraint.expr, std::move(constraint.why));
    }
  }
  return std::move(limits).Take();
}

}  // namespace

Constraints LimitsOf(const Function& fn, const Target& target, const Decisions& start) {
  if (target.kind == TargetKind::kReference) return {};
  return LimitsOf(fn, ResourcesOf(fn, target), target, start);
}

SymbolicProgram WithLimits(SymbolicProgram program, const Target& target, const Decisions& start) {
  if (target.kind == TargetKind::kReference) return program;
  program.resources = ResourcesOf(program.fn, target);
  Constraints limits = LimitsOf(program.fn, *program.resources, target, start);
  program.constraints.insert(program.constraints.end(), limits.begin(), limits.end());
  return program;
}

}  // namespace tcc
