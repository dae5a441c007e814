#include "tests/fuzz/planted_mistakes.h"

#include <algorithm>

#include "ir/compare.h"
#include "ir/simplify.h"
#include "ir/visitor.h"
#include "lower/passes/passes.h"
#include "tests/programs/point_check.h"
#include "tests/programs/random_trace.h"
#include "tests/programs/spike_programs.h"

namespace tcc {
namespace {

// The `which`-th node (modulo their number) that `wanted` accepts is replaced by change(node).
Function ChangeOne(const Function& fn, uint64_t which,
                   const std::function<bool(const Stmt&)>& wanted,
                   const std::function<Stmt(const Stmt&)>& change) {
  uint64_t count = 0;
  PreOrder(fn.body, [&](const Stmt& stmt) { count += wanted(stmt); });
  if (count == 0) return fn;
  uint64_t at = which % count;
  Function result = fn;
  result.body = RewriteBottomUp(
      fn.body,
      [&](const Stmt& stmt) -> Stmt {
        if (!wanted(stmt)) return stmt;
        return at-- == 0 ? change(stmt) : stmt;
      },
      [](const Expr& expr) { return expr; });
  return result;
}

bool IsWindow(const Stmt& stmt) {
  const auto* allocate = stmt.as<Allocate>();
  return allocate && !allocate->buffer.window.size.empty();
}

Function ShrinkWindow(const Function& fn, uint64_t which) {
  return ChangeOne(fn, which, IsWindow, [&](const Stmt& stmt) {
    const auto* allocate = stmt.as<Allocate>();
    Buffer buffer = allocate->buffer;
    Expr& size = buffer.window.size[which % buffer.window.size.size()];
    size = size - Expr(1);
    return MakeStmt<Allocate>(buffer, allocate->body);
  });
}

bool HasGuard(const Stmt& stmt) {
  const auto* block = stmt.as<Block>();
  return block && !block->guards.empty();
}

Function DropGuard(const Function& fn, uint64_t which) {
  return ChangeOne(fn, which, HasGuard, [&](const Stmt& stmt) {
    const auto* block = stmt.as<Block>();
    std::vector<LoopGuard> guards = block->guards;
    guards.erase(guards.begin() + static_cast<std::ptrdiff_t>(which / 7 % guards.size()));
    return MakeStmt<Block>(block->name, block->iters, guards, block->predicate, block->body);
  });
}

struct Mistake {
  const char* name;
  Function (*plant)(const Function& fn, uint64_t which);
};

constexpr Mistake kMistakes[] = {
    {"planted: a region one short", ShrinkWindow},
    {"planted: a dropped guard", DropGuard},
};

// The wrong Apply: after every step, what can be proven at the time is dropped.
Function ApplyDroppingGuards(const Function& fn, const Trace& trace, const Substitution& values) {
  Function current = fn;
  current.level = Level::kScheduled;
  for (const Step& step : trace.steps) {
    current = DropPredicates(Apply(current, Substitute(step, values)));
  }
  return current;
}

bool FindsDroppingApply(const SpikeProgram& spike, const SymbolicProgram& program,
                        const Decisions& decisions) {
  Substitution values = ToSubstitution(program.fn, decisions);
  Function free = ApplyDroppingGuards(spike.fn, spike.trace, {});
  Function known = ApplyDroppingGuards(spike.fn, spike.trace, values);
  free.vars = program.fn.vars;
  return !AlphaEqual(Simplify(Substitute(free, values)), Simplify(known));
}

}  // namespace

void AddPlantedMistakes(const FuzzOptions& options, FuzzResult& result) {
  int64_t points = std::max<int64_t>(options.points / 10, options.points > 1 ? 20 : 0);
  for (int64_t i = 0; i < points; ++i) {
    Random random(options.seed + static_cast<uint64_t>(i));
    SpikeProgram spike = BuildSpike(random.Below(SpikeCount()), random);
    StatusOr<SymbolicProgram> program = Instantiate(spike.fn, spike.trace);
    if (!program.ok()) continue;  // counted as a failure by the run itself
    Decisions decisions = RandomDecisions(spike.trace, random);
    for (const Mistake& mistake : kMistakes) {
      PointCheckOptions check;
      bool planted = false;
      uint64_t which = random.Next();
      check.plant = [&](const Function& fn) {
        Function wrong = mistake.plant(fn, which);
        planted = !wrong.body.same_as(fn.body);
        return wrong;
      };
      check.compare_with_replay = false;  // that would find everything
      PointReport report = CheckPoint(spike.fn, *program, decisions, random, check);
      if (!planted || report.outcome == PointOutcome::kTooLarge) continue;
      ++result.histogram[std::string(mistake.name) + ", points"];
      result.histogram[std::string(mistake.name) + ", found"] +=
          report.outcome == PointOutcome::kWrong;
    }
    const std::string dropping = "planted: Apply drops guards that it can prove";
    ++result.histogram[dropping + ", points"];
    result.histogram[dropping + ", found"] += FindsDroppingApply(spike, *program, decisions);
  }
  for (auto& [name, count] : result.histogram) {
    bool never = name.starts_with("planted") && name.ends_with("found") && count == 0;
    result.failed += never;
  }
}

}  // namespace tcc
