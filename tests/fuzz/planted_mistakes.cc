#include <algorithm>
#include <functional>

#include "ir/analysis/accesses.h"
#include "ir/expr/compare.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "lower/passes/passes.h"
#include "schedule/space/whole_launches.h"
#include "schedule/steps/prefetch.h"
#include "tests/fuzz/cuda_mistakes.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mistakes.h"
#include "tests/fuzz/watchdog.h"
#include "tests/programs/point_check.h"
#include "tests/programs/prefetch_check.h"
#include "tests/programs/random_step.h"
#include "tests/programs/random_trace.h"
#include "tests/programs/satisfies.h"
#include "tests/programs/spike_programs.h"

namespace tcc {
namespace {

size_t KindOf(std::string_view step) {
  std::span<const std::string_view> names = StepNames();
  return static_cast<size_t>(std::ranges::find(names, step) - names.begin());
}

void MakeConstants(Function& fn) {
  for (Buffer& param : fn.params) {
    bool written = false;
    for (const Ref<Block>& block : BlocksOf(fn.body)) written |= Writes(*block, param.var);
    if (!written) param.scope = Scope::kConstant;
  }
}

// A program whose schedule holds the step: one of the hand-written ones, or a random one.
SpikeProgram ProgramWith(std::string_view step, Random& random) {
  for (;;) {
    SpikeProgram program = BuildSpike(random.Below(SpikeCount()), random);
    if (step.empty() || Contains(program.trace, KindOf(step))) return program;
    if (random.OneIn(2)) continue;
    if (step == "tensorize") program.fn = MatmulFunction(16, 32, random.Between(1, 5));
    if (step == "prepack") MakeConstants(program.fn);
    RandomTraceOptions options{.steps = static_cast<int>(random.Between(2, 8)),
                               .hardware = step == "bind",
                               .wanted = KindOf(step)};
    program.trace = RandomTrace(program.fn, options, random);
    if (Contains(program.trace, KindOf(step))) return program;
  }
}

Verdict PlantIn(const Mistake& mistake, const SpikeProgram& spike, Random& random) {
  StatusOr<SymbolicProgram> program = Instantiate(spike.fn, spike.trace);
  if (!program.ok() || !ExpectWholeLaunches(program->fn).ok()) return Verdict::kNotPlanted;
  // The pass takes the order of a pipeline's statements for granted and would end the run.
  if (mistake.step != "pipeline" && Contains(spike.trace, KindOf("pipeline"))) {
    return Verdict::kNotPlanted;
  }
  Decisions decisions = RandomDecisions(spike.trace, random);
  if (!Satisfies(*program, decisions)) return Verdict::kNotPlanted;
  bool planted = false;
  uint64_t which = random.Next();
  PointCheckOptions options;
  options.max_instances = 100'000;
  options.plant_after = mistake.pass;
  options.plant = [&](const Function& fn) {
    Function wrong = mistake.plant(fn, which);
    planted = planted || !wrong.body.same_as(fn.body);
    return wrong;
  };
  options.compare_with_replay = false;  // that would find everything
  PointReport report = CheckPoint(spike.fn, *program, decisions, random, options);
  if (!planted || report.outcome == PointOutcome::kTooLarge) return Verdict::kNotPlanted;
  return report.outcome == PointOutcome::kWrong ? Verdict::kFound : Verdict::kMissed;
}

// The wrong Apply: after every step, what can be proven at the time is dropped.
Function ApplyDroppingGuards(const Function& fn, const Trace& trace, const Substitution& values) {
  Function current = fn;
  current.level = Level::kScheduled;
  for (const Step& step : trace.steps) {
    current = DropPredicates(Apply(current, Substitute(step, values)));
  }
  return current;
}

Verdict DropProvableGuards(const SpikeProgram& spike, Random& random) {
  StatusOr<SymbolicProgram> program = Instantiate(spike.fn, spike.trace);
  if (!program.ok()) return Verdict::kNotPlanted;
  Substitution values = ToSubstitution(program->fn, RandomDecisions(spike.trace, random));
  Function free = ApplyDroppingGuards(spike.fn, spike.trace, {});
  Function known = ApplyDroppingGuards(spike.fn, spike.trace, values);
  free.vars = program->fn.vars;
  bool equal = AlphaEqual(Simplify(Substitute(free, values)), Simplify(known));
  return equal ? Verdict::kMissed : Verdict::kFound;
}

// Hints for the iteration after the right one.
Verdict PrefetchLater(const SpikeProgram& spike, Random& random) {
  StatusOr<SymbolicProgram> program = Instantiate(spike.fn, spike.trace);
  Decisions decisions = RandomDecisions(spike.trace, random);
  if (!program.ok() || !Satisfies(*program, decisions)) return Verdict::kNotPlanted;
  LoopRef over;
  for (const Step& step : spike.trace.steps) {
    if (const auto* prefetch = step.as<Prefetch>()) over = prefetch->over;
  }
  bool planted = false;
  auto shift = [&](const Function& fn) {
    StatusOr<Path> path = FindLoop(fn, over);
    if (!path.ok()) return fn;
    Var var = LoopAt(*path)->var;
    auto later = [&](const Stmt& stmt) -> Stmt {
      const auto* hint = stmt.as<PrefetchLine>();
      if (!hint) return stmt;
      Access cell = hint->cell;
      for (Expr& index : cell.indices) {
        planted = planted || UsesVar(index, var);
        index = Substitute(index, {{var, Expr(var) + Expr(1)}});
      }
      return MakeStmt<PrefetchLine>(cell);
    };
    Function result = fn;
    result.body = RewriteBottomUp(fn.body, later, [](const Expr& expr) { return expr; });
    return result;
  };
  std::string missed = FirstLineNotPrefetched(spike.fn, spike.trace, decisions, shift);
  if (!planted) return Verdict::kNotPlanted;
  return missed.empty() ? Verdict::kMissed : Verdict::kFound;
}

void Count(std::string_view name, const FuzzOptions& options,
           const std::function<Verdict(Random& random)>& plant, FuzzResult& result) {
  constexpr int64_t kFoundOften = 5;
  int64_t planted = 0, found = 0;
  for (int64_t i = 0; i < options.points && found < kFoundOften; ++i) {
    WatchPoint(fmt::format("{}, point {}\n", name, i));
    Random random(options.seed + static_cast<uint64_t>(i));
    Verdict verdict = plant(random);
    planted += verdict != Verdict::kNotPlanted;
    found += verdict == Verdict::kFound;
  }
  result.histogram[fmt::format("points with {}", name)] = planted;
  result.histogram[fmt::format("points that found {}", name)] = found;
  ++(found > 0 ? result.passed : result.failed);
  WatchPoint("");
  if (found == 0) fmt::print(stderr, "{}: planted {} times and never found\n", name, planted);
}

}  // namespace

FuzzResult FuzzPlanted(const FuzzOptions& options) {
  StartWatchdog({.seconds = 60});
  FuzzResult result;
  for (const Mistake& mistake : Mistakes()) {
    auto plant = [&](Random& random) {
      return PlantIn(mistake, ProgramWith(mistake.step, random), random);
    };
    Count(mistake.name, options, plant, result);
  }
  for (const CudaMistake& mistake : CudaMistakes()) {
    Count(
        mistake.name, options, [&](Random& random) { return PlantInText(mistake, random); },
        result);
  }
  auto drop = [](Random& random) { return DropProvableGuards(ProgramWith("", random), random); };
  Count("Apply dropping guards that it can prove", options, drop, result);
  auto late = [](Random& random) { return PrefetchLater(ProgramWith("prefetch", random), random); };
  Count("prefetch: one iteration off", options, late, result);
  return result;
}

}  // namespace tcc
