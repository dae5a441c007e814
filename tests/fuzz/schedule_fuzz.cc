#include "schedule/sketches/parts/sketch.h"
#include "tests/fuzz/free_schedule_point.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/operator_point.h"
#include "tests/fuzz/random/typed_function.h"
#include "tests/fuzz/run_compiled.h"
#include "tests/fuzz/schedule_point.h"
#include "tests/fuzz/sketch_point.h"
#include "tests/fuzz/step_table.h"
#include "tests/fuzz/watchdog.h"
#include "tests/programs/random_step.h"
#include "tests/programs/spike_programs.h"

namespace tcc {
namespace {

// The spike's hand-written symbolic schedules.
Status CheckSpikePoint(uint64_t seed, Histogram& histogram) {
  Random random(seed);
  for (;;) {
    SpikeProgram spike = BuildSpike(random.Below(SpikeCount()), random);
    ++histogram["program " + spike.name];
    StatusOr<SymbolicProgram> program = Instantiate(spike.fn, spike.trace);
    PointCheckOptions options;
    bool compile = program.ok() && !HasThreads(program->fn) && random.OneIn(2);
    if (compile) options.run_lowered = RunCompiled;
    TCC_ASSIGN_OR_RETURN(
        std::optional<Decisions> decisions,
        CheckAtRandomPoint({spike.name, spike.fn, spike.trace}, options, {}, random, histogram));
    if (decisions) return OkStatus();
  }
}

// A sketch of a random function over all dtypes, as machine code equal to the last bit.
Status CheckTypedPoint(uint64_t seed, const Target& target, Histogram& histogram) {
  // A statement on a vector of nibbles stores each of them on its own.
  const PointLimits kFew{.statements = 200};
  Random random(seed);
  for (;;) {
    TypedFunction typed = RandomTypedFunction(random);
    std::vector<Sketch> sketches = GenerateSketches(typed.fn, target);
    const Sketch& sketch = sketches[random.Below(sketches.size())];
    PointCheckOptions options;
    options.arguments = typed.arguments;
    options.exact = true;
    options.run_lowered = RunCompiled;
    TCC_ASSIGN_OR_RETURN(
        std::optional<Decisions> decisions,
        CheckAtRandomPoint({"typed, sketch " + sketch.name, typed.fn, sketch.trace}, options, kFew,
                           random, histogram));
    if (decisions) return OkStatus();
  }
}

// Of eight points, one is of a hand-written schedule or of a function over all dtypes, one of a
// sketch of a network's task, two are of sketches of operators and four of steps: these go through
// all pairs of operator and step in turn.
Status CheckPointOf(uint64_t seed, const std::string& folder, Histogram& histogram) {
  constexpr ScheduleSource kSources[] = {ScheduleSource::kSteps,     ScheduleSource::kSteps,
                                         ScheduleSource::kSteps,     ScheduleSource::kThreadedSteps,
                                         ScheduleSource::kCpuSketch, ScheduleSource::kGpuSketch};
  constexpr size_t kOfSteps = 4;
  uint64_t round = seed / 8, place = seed % 8;
  if (place == 7 && round % 2 == 0) return CheckSpikePoint(seed, histogram);
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget("native"));
  if (place == 7) return CheckTypedPoint(seed, target, histogram);
  if (place == 6) {
    PointCheckOptions options;
    if (round % 4 < 2) options.run_lowered = RunCompiled;
    return CheckSketchPoint(round, target, options, {}, histogram);
  }
  size_t ops = OperatorNames().size();
  uint64_t pair = place < kOfSteps ? round * kOfSteps + place : round;
  OperatorPoint point{.op = pair % ops,
                      .source = kSources[place],
                      .wanted = pair / ops % StepNames().size(),
                      .emit = folder};
  return CheckOperatorPoint(point, seed, histogram);
}

// Every third point is a function with free sizes; the others are numbered without it.
constexpr uint64_t kFreeShare = 3;

}  // namespace

FuzzResult FuzzSchedule(const FuzzOptions& options) {
  StartWatchdog({.seconds = 120, .resident_bytes = int64_t{4} << 30});
  int64_t of_numbers = 0;
  FuzzResult result = RunPoints("schedule", options, [&](uint64_t seed, Histogram& histogram) {
    if (seed % kFreeShare == 0) return CheckFreeSchedulePoint(seed, histogram);
    ++of_numbers;
    std::string folder = options.emit.empty() ? "" : fmt::format("{}/{}", options.emit, seed);
    return CheckPointOf(seed - seed / kFreeShare, folder, histogram);
  });
  ReportStepTable(OperatorNames(), std::min(of_numbers, result.passed), result);
  return result;
}

}  // namespace tcc
