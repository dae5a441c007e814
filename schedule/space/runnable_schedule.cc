#include "schedule/space/runnable_schedule.h"

#include <algorithm>

#include "ir/expr/visitor.h"
#include "ir/simplify/interval.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"
#include "schedule/space/limits.h"
#include "schedule/space/resources.h"
#include "schedule/space/space.h"
#include "schedule/space/whole_launches.h"

namespace tcc {
namespace {

// The limit on unrolled statements. It is well above the sensible one (kMaxStatements), which
// sketches with large attention cores exceed, too; beyond it, compiling does not end in minutes.
constexpr int64_t kMaxRunStatements = 16 * kMaxStatements;
// The number of values of one size that are tried.
constexpr int64_t kMaxValues = int64_t{1} << 20;

Status ExpectNoHardware(const Function& fn, const Target& target) {
  Status status;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    if (!loop) return;
    // Virtual threads of an accelerator's program are its contexts.
    const bool is_context =
        loop->for_kind == ForKind::kVthread && target.accelerator == Accelerator::kVdla;
    bool bound = IsBlockIdx(loop->for_kind) || IsThreadIdx(loop->for_kind) ||
                 (loop->for_kind == ForKind::kVthread && !is_context);
    if (bound) {
      status = InvalidInput("the schedule binds loop '{}' to {}, which target '{}' does not have",
                            loop->key, ToString(loop->for_kind), target.name);
    }
  });
  return status;
}

// Checks that no loop whose iterations are ordered encloses a blockIdx loop: the blocks of a launch
// run in no order.
Status ExpectBlocksOutermost(const Stmt& stmt, const For* in_order) {
  const auto* loop = stmt.as<For>();
  if (loop && in_order && IsBlockIdx(loop->for_kind)) {
    return InvalidInput("loop '{}', which is bound to {}, is inside loop '{}', which is {}",
                        loop->key, ToString(loop->for_kind), in_order->key,
                        ToString(in_order->for_kind));
  }
  bool stays = loop && IsInOrder(loop->for_kind) && loop->for_kind != ForKind::kUnrolled;
  Status status;
  ForEachChild(stmt, [&](const Stmt& child) {
    if (status.ok()) status = ExpectBlocksOutermost(child, stays ? loop : in_order);
  });
  return status;
}

// Checks that an amount, if it is known, is at most `most`.
Status ExpectAtMost(const NestResources& nest, const char* what, const Expr& amount, int64_t most) {
  std::optional<int64_t> known = AsConstant(Simplify(amount));
  if (!known || *known <= most) return OkStatus();
  return InvalidInput("nest '{}' has {} {}; expected at most {}", nest.name, *known, what, most);
}

bool UsesShape(const Expr& amount) {
  return std::ranges::any_of(VarsOf(amount),
                             [](const Var& var) { return var->role == VarRole::kShape; });
}

// Checks that free sizes do not decide an amount that the code of a launch fixes.
Status ExpectFixed(const NestResources& nest, const char* what, const Expr& amount) {
  const Expr known = Simplify(amount);
  if (!UsesShape(known)) return OkStatus();
  return InvalidInput("nest '{}' has {} {}; expected a number", nest.name, Print(known), what);
}

// Shared memory of a free size is set aside for the largest one, which leaves room for another
// block on the multiprocessor.
Status ExpectSharedRoom(const NestResources& nest, const Target& target) {
  constexpr const char* kWhat = "bytes of shared memory";
  const Expr bytes = Simplify(nest.shared_bytes);
  if (!UsesShape(bytes)) return ExpectAtMost(nest, kWhat, bytes, target.shared_bytes);
  const int64_t most = target.limits.default_shared_bytes;
  if (BoundsOf(bytes, {}).high <= most) return OkStatus();
  return InvalidInput("nest '{}' has {} {}; expected at most {} for all sizes", nest.name,
                      Print(bytes), kWhat, most);
}

Status ExpectRoom(const NestResources& nest, const Target& target) {
  TCC_RETURN_IF_ERROR(ExpectAtMost(nest, "statements once unrolled",
                                   nest.statements * nest.vthreads, kMaxRunStatements));
  TCC_RETURN_IF_ERROR(ExpectAtMost(nest, "lanes", nest.lanes, kMaxLanes));
  if (target.kind != TargetKind::kGpu) return OkStatus();
  TCC_RETURN_IF_ERROR(ExpectFixed(nest, "threads a block", nest.threads));
  TCC_RETURN_IF_ERROR(ExpectFixed(nest, "bytes of local memory", nest.local_bytes));
  TCC_RETURN_IF_ERROR(
      ExpectAtMost(nest, "threads a block", nest.threads, target.limits.max_threads));
  TCC_RETURN_IF_ERROR(ExpectSharedRoom(nest, target));
  TCC_RETURN_IF_ERROR(ExpectAtMost(nest, "threads along z", nest.threads_by_axis[2],
                                   target.limits.max_threads_in_z));
  const char* const kAlong[] = {"blocks along x", "blocks along y", "blocks along z"};
  for (size_t axis : {0, 1, 2}) {
    int64_t most = target.limits.max_blocks[axis];
    TCC_RETURN_IF_ERROR(ExpectAtMost(nest, kAlong[axis], nest.grid[axis], most));
  }
  return OkStatus();
}

Status ExpectRunnable(const Function& fn, const Target& target) {
  if (target.kind == TargetKind::kGpu) {
    TCC_RETURN_IF_ERROR(ExpectBlocksOutermost(fn.body, nullptr));
    TCC_RETURN_IF_ERROR(ExpectWholeLaunches(fn));
  } else {
    TCC_RETURN_IF_ERROR(ExpectNoHardware(fn, target));
  }
  for (const NestResources& nest : ResourcesOf(fn, target)) {
    TCC_RETURN_IF_ERROR(ExpectRoom(nest, target));
  }
  return OkStatus();
}

// Names the step that makes the schedule illegal. Later steps may repair a state that earlier ones
// leave, so it is the step after the longest prefix of the trace that can run.
Status NameStep(Status status, const Target& target, const Function& fn, Schedule schedule) {
  std::vector<Step>& steps = schedule.trace.steps;
  while (!steps.empty()) {
    Step last = std::move(steps.back());
    steps.pop_back();
    StatusOr<Function> before = Replay(fn, schedule.trace, schedule.decisions);
    if (!before.ok() || !ExpectRunnable(*before, target).ok()) continue;
    return Annotate(status, fmt::format("step {} ({})", steps.size() + 1, Print(last)));
  }
  return status;
}

}  // namespace

StatusOr<Decisions> DecideOpenSizes(const Function& fn, const Schedule& schedule,
                                    const Target& target) {
  Decisions decisions = schedule.decisions;
  Trace open = schedule.trace;
  std::erase_if(open.sizes,
                [&](const FreeSize& size) { return decisions.contains(size.var->name); });
  if (open.sizes.empty()) return decisions;
  for (const FreeSize& size : open.sizes) {
    if (size.var->high - size.var->low < kMaxValues) continue;
    return InvalidInput("'{}' has more than {} values; expected one of them by 'set {} VALUE'",
                        Print(size), kMaxValues, size.var->name);
  }
  TCC_ASSIGN_OR_RETURN(SymbolicProgram program, Instantiate(fn, schedule.trace, decisions));
  program.trace.sizes = open.sizes;
  TCC_ASSIGN_OR_RETURN(SearchSpace space,
                       SearchSpace::Create(WithLimits(std::move(program), target)));
  Random random(0);
  std::optional<Point> point = space.Sample(random);
  if (!point) {
    return InvalidInput("no values of '{}' and the other open sizes were found that '{}' allows",
                        open.sizes[0].var->name, target.name);
  }
  decisions.merge(space.ToDecisions(*point));
  return decisions;
}

StatusOr<Function> ReplayFor(const Target& target, const Function& fn, const Schedule& schedule) {
  TCC_ASSIGN_OR_RETURN(Function scheduled, Replay(fn, schedule.trace, schedule.decisions));
  Status status = ExpectRunnable(scheduled, target);
  if (!status.ok()) return NameStep(std::move(status), target, fn, schedule);
  return scheduled;
}

}  // namespace tcc
