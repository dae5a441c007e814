#include "schedule/steps/prefetch.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/analysis/affine.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/interval.h"
#include "ir/text/printer.h"
#include "schedule/analysis/guard.h"
#include "schedule/analysis/placement.h"
#include "support/device_profile.h"

namespace tcc {
namespace {

constexpr int64_t kCacheLineBits = 8 * kCacheLineBytes;
// Each one is an instruction.
constexpr int64_t kMaxLines = 64;

LoopRef PrefetchKey(const Prefetch& step) {
  return step.buffer + ".prefetch/p";
}

// The block's first access of the buffer; its indices over loop variables.
std::optional<Access> AccessIn(const Block& block, const std::string& buffer) {
  Substitution bindings;
  for (const IterVar& iter : block.iters) bindings.emplace(iter.var, iter.binding);
  for (Access& read : ReadsOf(block)) {
    if (read.buffer->name != buffer) continue;
    for (Expr& index : read.indices) index = Substitute(index, bindings);
    return read;
  }
  return std::nullopt;
}

Expr Product(const std::vector<Ref<For>>& loops, size_t from) {
  Expr product(1);
  for (size_t i = loops.size(); i-- > from;) product = loops[i]->extent * product;
  return product;
}

struct Plan {
  Access access;
  Ref<For> over;
  std::vector<Ref<For>> readers;  // loops inside `over` that the access uses
  std::vector<Ref<For>> pace;     // loops inside `over` down to `at`
  Expr total;                     // L, the lines of an iteration of `over`
  Expr every;                     // n: every n-th of the iterations down to `at` asks
  Expr most;                      // P where the block has instances in all iterations
  Expr lines;                     // P, the lines that one asks for
};

// Returns the number of the loop's iterations that the block has instances in: fewer than its
// extent where a free extent ends the block earlier. It is at least 1.
Expr PresentIterations(const Path& block_path, const Ref<For>& loop) {
  const Block& block = *BlockAt(block_path);
  std::vector<Var> vars = {loop->var};
  for (const Ref<For>& inner : LoopsInside(block_path, loop->key)) vars.push_back(inner->var);
  Expr present = loop->extent;
  auto end_by = [&](const Expr& value, const Expr& extent) {
    std::optional<AffineForm> form = ToAffine(value, vars);
    if (!form || form->vars.empty() || !form->vars[0].same_as(loop->var)) return;
    if (AsConstant(form->coefficients[0]).value_or(0) < 1) return;
    Expr until_end = CeilDivide(extent - form->rest, form->coefficients[0]);
    present = MinOf(present, MaxOf(Expr(1), until_end));
  };
  for (const IterVar& iter : block.iters) end_by(iter.binding, iter.domain);
  for (const LoopGuard& guard : block.guards) end_by(guard.value, guard.extent);
  return present;
}

// Returns the largest power of two that is at most `number`, from 1 to 64. A remainder by it is one
// instruction, in loops that have few.
Expr PowerOfTwoUpTo(const Expr& number) {
  Expr power(1);
  for (int64_t next = 2; next <= 64; next *= 2) {
    power = SelectOf(number >= Expr(next), Expr(next), power);
  }
  return power;
}

StatusOr<Plan> MakePlan(const Function& fn, const Prefetch& step) {
  TCC_ASSIGN_OR_RETURN(Path block_path, FindBlock(fn, step.block));
  TCC_ASSIGN_OR_RETURN(Path over_path, FindLoop(fn, step.over));
  TCC_ASSIGN_OR_RETURN(Path at_path, FindLoop(fn, step.at));
  TCC_RETURN_IF_ERROR(BufferNamed(fn, step.buffer).status());
  std::optional<Access> access = AccessIn(*BlockAt(block_path), step.buffer);
  if (!access) {
    return InvalidInput("prefetch: block '{}' does not read buffer '{}'", step.block, step.buffer);
  }
  if (!IsUnder(block_path, step.over)) {
    return InvalidInput("prefetch: loop '{}' is not round block '{}'", step.over, step.block);
  }
  if (!IsUnder(at_path, step.over)) {
    return InvalidInput("prefetch: loop '{}' is not inside loop '{}'", step.at, step.over);
  }
  Plan plan;
  plan.access = *access;
  plan.over = LoopAt(over_path);
  plan.pace = LoopsInside(at_path, step.over);
  for (const Ref<For>& loop : LoopsInside(block_path, step.over)) {
    auto uses = [&](const Expr& index) { return UsesVar(index, loop->var); };
    if (std::ranges::any_of(access->indices, uses)) {
      plan.readers.push_back(loop);
    }
  }
  Expr elements(kCacheLineBits / access->buffer.dtype().bits());
  plan.total = CeilDivide(Product(plan.readers, 0), elements);
  Expr iterations = Product(plan.pace, 0);
  plan.every = PowerOfTwoUpTo(FloorDivide(iterations, plan.total));
  plan.most = plan.lines = CeilDivide(plan.total, CeilDivide(iterations, plan.every));
  if (step.pace == PrefetchPace::kPresent) {
    Expr present(1);
    for (size_t i = plan.pace.size(); i-- > 0;)
      present = PresentIterations(block_path, plan.pace[i]) * present;
    plan.lines = CeilDivide(plan.total, CeilDivide(present, plan.every));
  }
  return plan;
}

Status CheckPlaces(const Function& fn, const Prefetch& step, const Plan& plan) {
  for (const Ref<For>& loop : LoopsOn(FindLoop(fn, step.at).value())) {
    if (loop->for_kind != ForKind::kVectorized) continue;
    return InvalidInput("prefetch: loop '{}' is vectorized; expected a place outside", loop->key);
  }
  if (std::ranges::any_of(plan.access.indices, HasLoad)) {
    return InvalidInput("prefetch: block '{}' reads buffer '{}' at an index from memory",
                        step.block, step.buffer);
  }
  if (IsAllocatedIn(plan.over->body, plan.access.buffer)) {
    return InvalidInput(
        "prefetch: buffer '{}' lives inside loop '{}', so a later iteration has "
        "another",
        step.buffer, step.over);
  }
  if (FindLoop(fn, PrefetchKey(step)).ok()) {
    return InvalidInput("prefetch: buffer '{}' is prefetched already", step.buffer);
  }
  return OkStatus();
}

// The digits of `number` in the radices of the loops' extents, the last loop's lowest. The first
// has no end: what lies beyond the iteration is asked for in vain.
Substitution DigitsOf(const Expr& number, const std::vector<Ref<For>>& loops) {
  Substitution digits;
  for (size_t i = 0; i < loops.size(); ++i) {
    Expr digit = FloorDivide(number, Product(loops, i + 1));
    digits.emplace(loops[i]->var, i == 0 ? digit : FloorModulo(digit, loops[i]->extent));
  }
  return digits;
}

}  // namespace

StatusOr<Constraints> CheckPrefetch(const Function& fn, const Prefetch& step) {
  TCC_ASSIGN_OR_RETURN(Plan plan, MakePlan(fn, step));
  TCC_RETURN_IF_ERROR(CheckPlaces(fn, step, plan));
  Constraints constraints;
  Interval distance = BoundsOf(step.distance, {});
  if (distance.high < 1) {
    return InvalidInput(
        "prefetch: buffer '{}' is to be {} iterations of loop '{}' ahead; expected "
        "at least 1",
        step.buffer, Print(step.distance), step.over);
  }
  if (distance.low < 1) {
    constraints.push_back({Expr(1) - step.distance, "a prefetch distance is at least 1"});
  }
  Interval lines = BoundsOf(plan.most, {});
  if (lines.low > kMaxLines) {
    return InvalidInput(
        "prefetch: an iteration of loop '{}' would ask for {} lines; expected at most {}: place it "
        "further in",
        step.at, lines.low, kMaxLines);
  }
  if (lines.high > kMaxLines) {
    constraints.push_back({plan.most - Expr(kMaxLines), "lines that one iteration prefetches"});
  }
  // Digits divide by the extents.
  for (const auto* loops : {&plan.readers, &plan.pace}) {
    for (const Ref<For>& loop : *loops) {
      Interval extent = BoundsOf(loop->extent, {});
      if (extent.high < 1) {
        return InvalidInput("prefetch: loop '{}' has extent 0; expected at least 1", loop->key);
      }
      if (extent.low < 1) {
        constraints.push_back({Expr(1) - loop->extent, "a prefetched loop has an iteration"});
      }
    }
  }
  return constraints;
}

Function ApplyPrefetch(const Function& fn, const Prefetch& step) {
  Plan plan = MakePlan(fn, step).value();
  Var p = LoopVar("p");
  Expr count(0);
  for (size_t i = 0; i < plan.pace.size(); ++i) {
    count = count + Expr(plan.pace[i]->var) * Product(plan.pace, i + 1);
  }
  Expr line = FloorDivide(count, plan.every) * plan.lines + Expr(p);
  Expr cell = line * Expr(kCacheLineBits / plan.access.buffer.dtype().bits());
  Substitution later = DigitsOf(cell, plan.readers);
  later.emplace(plan.over->var, Expr(plan.over->var) + step.distance);
  Access access = plan.access;
  for (Expr& index : access.indices) index = Substitute(index, later);
  Stmt hint = MakeStmt<If>(line < plan.total, MakeStmt<PrefetchLine>(access));
  const ForKind kind = step.pace == PrefetchPace::kPresent ? ForKind::kSerial : ForKind::kUnrolled;
  Stmt hints = MakeStmt<If>(FloorModulo(count, plan.every) < Expr(1),
                            MakeStmt<For>(p, plan.lines, kind, PrefetchKey(step), hint));

  std::function<Stmt(const Stmt&)> place = [&](const Stmt& body) -> Stmt {
    if (const auto* allocate = body.as<Allocate>()) {
      return MakeStmt<Allocate>(allocate->buffer, place(allocate->body));
    }
    return SeqOf({hints, body});
  };
  Function result = fn;
  result.body = MapBodyOf(fn.body, step.at, place);
  return result;
}

}  // namespace tcc
