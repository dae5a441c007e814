#include "schedule/steps/loop_kind.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/analysis/cross_thread.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/interval.h"
#include "schedule/analysis/guard.h"
#include "schedule/analysis/reduction_nest.h"
#include "schedule/steps/prepack.h"

namespace tcc {
namespace {

// Returns whether `block` is reduced across threads (ir/analysis/cross_thread.h) by loops in the
// form that lowering accepts: no loop around them takes part, and there are no virtual threads. A
// loop that each iteration's results live in takes no part.
bool IsAcrossThreads(const Function& fn, const std::string& block) {
  Path path = FindBlock(fn, block).value();
  Ref<Block> leaf = BlockAt(path);
  for (const Ref<For>& loop : LoopsOn(path)) {
    if (loop->for_kind == ForKind::kVthread) return false;
  }
  auto first = std::ranges::find_if(path, [&](const Stmt& stmt) {
    const auto* allocate = stmt.as<Allocate>();
    return allocate && Writes(leaf->body, allocate->buffer.var);
  });
  if (first != path.end()) path.erase(path.begin(), first);
  for (const Ref<For>& loop : LoopsOn(path)) {
    if (MeetsIn(*loop, *leaf)) return MatchCrossThread(*loop).has_value();
  }
  return false;
}

Function WithKind(const Function& fn, const LoopRef& key, ForKind kind) {
  Ref<For> loop = LoopAt(FindLoop(fn, key).value());
  Function result = fn;
  result.body = Replace(fn.body, loop.get(),
                        MakeStmt<For>(loop->var, loop->extent, kind, loop->key, loop->body));
  return result;
}

// Returns whether binding the loop to `kind` would make its only block a reduction across threads,
// with lanes.
bool MayReduce(const Function& fn, const For& loop, ForKind kind) {
  if (kind != ForKind::kThreadIdxX && kind != ForKind::kVectorized) return false;
  std::vector<Ref<Block>> blocks = BlocksOf(loop.body);
  return blocks.size() == 1 && UnsharedAxes(*blocks[0]).empty() &&
         IsAcrossThreads(WithKind(fn, loop.key, kind), blocks[0]->name);
}

Status CheckSpatial(const char* step, const Function& fn, const LoopRef& loop, ForKind kind) {
  TCC_ASSIGN_OR_RETURN(Path path, FindLoop(fn, loop));
  TCC_RETURN_IF_ERROR(ExpectSerial(step, LoopAt(path)));
  TCC_RETURN_IF_ERROR(ExpectOutsideVectors(step, path));
  TCC_RETURN_IF_ERROR(ExpectCarriesNothing(step, fn, *LoopAt(path)));
  if (FeedsReduction(*LoopAt(path)) && !MayReduce(fn, *LoopAt(path), kind)) {
    return InvalidInput("{}: loop '{}' feeds a reduction; expected a loop of spatial axes", step,
                        loop);
  }
  for (const Ref<Block>& block : BlocksOf(path.back())) {
    if (!FeedsUnsharedAxis(*LoopAt(path), *block)) continue;
    return InvalidInput(
        "{}: loop '{}' feeds an axis that some outputs of block '{}' lack; "
        "rfactor_tile it first",
        step, loop, block->name);
  }
  return OkStatus();
}

bool UsesLoop(const Block& block, const Var& loop) {
  return std::ranges::any_of(block.iters,
                             [&](const IterVar& iter) { return UsesVar(iter.binding, loop); }) ||
         std::ranges::any_of(block.guards,
                             [&](const LoopGuard& guard) { return UsesVar(guard.value, loop); });
}

// Refuses two loops of one hardware index around a block: an index has one value, which can only be
// the inner loop's.
Status ExpectOneLoopOfAxis(const Function& fn, const Bind& step) {
  Path path = FindLoop(fn, step.loop).value();
  // Only this nest is looked at: the function may have thousands.
  Function nest;
  nest.body = path.back();
  path.pop_back();
  for (const Ref<Block>& block : BlocksOf(nest.body)) {
    Path inside = FindBlock(nest, block->name).value();
    Path whole = path;
    whole.insert(whole.end(), inside.begin(), inside.end());
    std::vector<Ref<For>> loops = LoopsOn(whole);
    std::erase_if(loops, [&](const Ref<For>& loop) {
      return loop->key != step.loop && loop->for_kind != step.kind;
    });
    for (size_t i = 0; i + 1 < loops.size(); ++i) {
      if (!UsesLoop(*block, loops[i]->var)) continue;
      return InvalidInput(
          "bind: block '{}' uses loop '{}' and stands inside loop '{}'; both would "
          "be {}",
          block->name, loops[i]->key, loops.back()->key, ToString(step.kind));
    }
  }
  return OkStatus();
}

std::vector<Buffer> SharedBuffers(const Function& fn) {
  std::vector<Buffer> shared;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    const auto* allocate = stmt.as<Allocate>();
    if (allocate && allocate->buffer.scope == Scope::kShared) shared.push_back(allocate->buffer);
  });
  return shared;
}

// Refuses a loop that holds a reduction across threads: the exchanged values exist once, not per
// virtual thread.
Status ExpectNoneAcrossThreads(const Function& fn, const Bind& step) {
  for (const Ref<Block>& block : BlocksOf(FindLoop(fn, step.loop)->back())) {
    if (!IsAcrossThreads(fn, block->name)) continue;
    return InvalidInput("bind: block '{}' in loop '{}' is reduced across threads; expected no {}",
                        block->name, step.loop, ToString(step.kind));
  }
  return OkStatus();
}

}  // namespace

StatusOr<Constraints> CheckParallel(const Function& fn, const Parallel& step) {
  TCC_RETURN_IF_ERROR(CheckSpatial("parallel", fn, step.loop, ForKind::kParallel));
  return Constraints{};
}

StatusOr<Constraints> CheckVectorize(const Function& fn, const Vectorize& step) {
  TCC_RETURN_IF_ERROR(CheckSpatial("vectorize", fn, step.loop, ForKind::kVectorized));
  Ref<For> loop = LoopAt(FindLoop(fn, step.loop).value());
  Status status;
  PreOrder(loop->body, [&](const Stmt& stmt) {
    const auto* inner = stmt.as<For>();
    const char* held = nullptr;
    if (inner && !IsInOrder(inner->for_kind)) held = "a bound loop";
    if (stmt.as<Allocate>()) held = "an allocation";
    if (stmt.as<IntrinsicCall>()) held = "an intrinsic";
    if (held) {
      status =
          InvalidInput("vectorize: loop '{}' holds {}; expected only serial and unrolled loops",
                       step.loop, held);
    }
  });
  TCC_RETURN_IF_ERROR(status);
  return Constraints{};
}

StatusOr<Constraints> CheckUnroll(const Function& fn, const Unroll& step) {
  TCC_ASSIGN_OR_RETURN(Path path, FindLoop(fn, step.loop));
  TCC_RETURN_IF_ERROR(ExpectSerial("unroll", LoopAt(path)));
  return Constraints{};
}

StatusOr<Constraints> CheckPartition(const Function& fn, const Partition& step) {
  TCC_ASSIGN_OR_RETURN(Path path, FindLoop(fn, step.loop));
  TCC_RETURN_IF_ERROR(ExpectSerial("partition", LoopAt(path)));
  TCC_RETURN_IF_ERROR(ExpectOutsideVectors("partition", path));
  return Constraints{};
}

StatusOr<Constraints> CheckBind(const Function& fn, const Bind& step) {
  bool thread = IsThreadIdx(step.kind) || step.kind == ForKind::kVthread;
  if (!thread && !IsBlockIdx(step.kind)) {
    return InvalidInput("bind: loop '{}' to {}; expected a hardware index", step.loop,
                        ToString(step.kind));
  }
  TCC_RETURN_IF_ERROR(CheckSpatial("bind", fn, step.loop, step.kind));
  Ref<For> loop = LoopAt(FindLoop(fn, step.loop).value());
  for (const Ref<Block>& block : BlocksOf(loop->body)) {
    if (!RunsWhenLinked(fn, *block)) continue;
    return InvalidInput("bind: block '{}' runs when the model is linked, on the host", block->name);
  }
  for (const Buffer& buffer : thread ? SharedBuffers(fn) : std::vector<Buffer>()) {
    for (const Expr& origin : buffer.window.origin) {
      if (UsesVar(origin, loop->var)) {
        return InvalidInput(
            "bind: the window of shared buffer '{}' moves with loop '{}'; bind loops "
            "to {} before the buffer is placed",
            buffer.var->name, step.loop, ToString(step.kind));
      }
    }
  }
  Constraints constraints;
  // With one thread nothing would tell whose result it is.
  if (FeedsReduction(*loop) && BoundsOf(loop->extent, {}).low < 2) {
    constraints.push_back({Expr(2) - loop->extent,
                           fmt::format("bind: two threads or more for loop '{}'", step.loop)});
  }
  if (step.kind == ForKind::kVthread) {
    TCC_RETURN_IF_ERROR(ExpectNoneAcrossThreads(fn, step));
  } else {
    TCC_RETURN_IF_ERROR(ExpectOneLoopOfAxis(fn, step));
  }
  return constraints;
}

Function ApplyParallel(const Function& fn, const Parallel& step) {
  return WithKind(fn, step.loop, ForKind::kParallel);
}
Function ApplyVectorize(const Function& fn, const Vectorize& step) {
  return WithKind(fn, step.loop, ForKind::kVectorized);
}
Function ApplyUnroll(const Function& fn, const Unroll& step) {
  return WithKind(fn, step.loop, ForKind::kUnrolled);
}
Function ApplyPartition(const Function& fn, const Partition& step) {
  return WithKind(fn, step.loop, ForKind::kPartitioned);
}
Function ApplyBind(const Function& fn, const Bind& step) {
  return WithKind(fn, step.loop, step.kind);
}

}  // namespace tcc
