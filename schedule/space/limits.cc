#include "schedule/space/limits.h"

#include <algorithm>
#include <limits>

#include "ir/analysis/nested_blocks.h"
#include "ir/expr/evaluate.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/interval.h"
#include "ir/simplify/simplify.h"
#include "schedule/analysis/alignment.h"
#include "schedule/analysis/footprint.h"
#include "schedule/space/resources.h"

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
  limits.AtMost(nest.threads, Target::kMaxThreads,
                why(fmt::format("at most {} threads a block", Target::kMaxThreads)));
  limits.AtMost(nest.threads_by_axis[2], Target::kMaxThreadsInZ,
                why(fmt::format("at most {} threads along z", Target::kMaxThreadsInZ)));
  Expr warps = SelectOf(nest.threads <= Expr(Target::kWarp), Expr(0),
                        FloorModulo(nest.threads, Expr(Target::kWarp)));
  limits.Add(warps, why("whole warps beyond the first"));
  for (size_t axis : {0, 1, 2}) {
    int64_t most = axis == 0 ? Target::kMaxGridX : Target::kMaxGridYZ;
    limits.AtMost(nest.grid[axis], most,
                  why(fmt::format("at most {} blocks along {}", most, "xyz"[axis])));
  }
  limits.AtMost(nest.shared_bytes, target.shared_bytes,
                why(fmt::format("at most {} bytes of shared memory", target.shared_bytes)));
  limits.Cap(nest.registers, Target::kMaxRegisters,
             why(fmt::format("at most {} registers a thread", Target::kMaxRegisters)));
  limits.Cap(nest.registers * nest.threads, Target::kRegisterFile,
             why(fmt::format("at most {} registers a block", Target::kRegisterFile)));
  limits.AtMost(nest.vthreads, kMaxVthreads,
                why(fmt::format("at most {} virtual threads", kMaxVthreads)));
  limits.Add(FloorModulo(Expr(Target::kWidestAccess), nest.vector_bytes),
             why(fmt::format("vector accesses of 1, 2, 4, ... {} bytes", Target::kWidestAccess)));
}

bool StaysLoop(ForKind kind) {
  return IsInOrder(kind) && kind != ForKind::kUnrolled;
}

bool FeedsReduceOf(const For& loop, const Block& block) {
  return std::any_of(block.iters.begin(), block.iters.end(), [&](const IterVar& iter) {
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
  return std::any_of(blocks.begin(), blocks.end(), [&](const Ref<Block>& other) {
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

}  // namespace

Constraints LimitsOf(const Function& nested, const Target& target, const Decisions& start) {
  if (target.kind == TargetKind::kReference) return {};
  Function fn = UnnestBlocks(nested);
  Limits limits(fn, start);
  for (const NestResources& nest : ResourcesOf(fn, target)) {
    if (target.kind == TargetKind::kCuda) AddGpuLimits(nest, target, limits);
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
  if (target.kind == TargetKind::kCuda) {
    for (Constraint& constraint : AlignmentOf(fn)) {
      limits.Add(constraint.expr, std::move(constraint.why));
    }
  }
  return std::move(limits).Take();
}

SymbolicProgram WithLimits(SymbolicProgram program, const Target& target, const Decisions& start) {
  Constraints limits = LimitsOf(program.fn, target, start);
  program.constraints.insert(program.constraints.end(), limits.begin(), limits.end());
  return program;
}

}  // namespace tcc
