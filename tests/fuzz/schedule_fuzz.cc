#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/operator_point.h"
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

// Of eight points, one is of a hand-written schedule, one of a sketch of a network's task, two are
// of sketches of operators and four of steps: these go through all pairs of operator and step in
// turn.
Status CheckPointOf(uint64_t seed, const std::string& emit, Histogram& histogram) {
  constexpr ScheduleSource kSources[] = {ScheduleSource::kSteps,     ScheduleSource::kSteps,
                                         ScheduleSource::kSteps,     ScheduleSource::kThreadedSteps,
                                         ScheduleSource::kCpuSketch, ScheduleSource::kGpuSketch};
  constexpr size_t kOfSteps = 4;
  uint64_t round = seed / 8, place = seed % 8;
  if (place == 7) return CheckSpikePoint(seed, histogram);
  if (place == 6) {
    TCC_ASSIGN_OR_RETURN(Target target, FindTarget("native"));
    PointCheckOptions options;
    if (round % 4 < 2) options.run_lowered = RunCompiled;
    return CheckSketchPoint(round, target, options, {}, histogram);
  }
  size_t ops = OperatorNames().size();
  uint64_t pair = place < kOfSteps ? round * kOfSteps + place : round;
  OperatorPoint point{.op = pair % ops,
                      .source = kSources[place],
                      .wanted = pair / ops % StepNames().size(),
                      .emit = emit.empty() ? "" : fmt::format("{}/{}", emit, seed)};
  return CheckOperatorPoint(point, seed, histogram);
}

}  // namespace

FuzzResult FuzzSchedule(const FuzzOptions& options) {
  StartWatchdog({.seconds = 120, .resident_bytes = int64_t{4} << 30});
  FuzzResult result = RunPoints("schedule", options, [&](uint64_t seed, Histogram& histogram) {
    return CheckPointOf(seed, options.emit, histogram);
  });
  ReportStepTable(OperatorNames(), result.passed, result);
  return result;
}

}  // namespace tcc
