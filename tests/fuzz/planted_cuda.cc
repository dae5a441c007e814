#include "codegen_cuda/text/prelude.h"
#include "ir/expr/behind_blocks.h"
#include "ir/simplify/simplify.h"
#include "lower/pipeline.h"
#include "lower/split_prepare.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/whole_launches.h"
#include "tests/codegen_cuda/emulated/emulated_program.h"
#include "tests/fuzz/cuda_mistakes.h"
#include "tests/fuzz/random/random_product.h"
#include "tests/fuzz/random/typed_function.h"
#include "tests/fuzz/run_compiled.h"
#include "tests/fuzz/schedule_point.h"
#include "tests/programs/compare_programs.h"
#include "tests/programs/random_step.h"
#include "tests/programs/random_trace.h"
#include "tests/programs/spike_programs.h"

namespace tcc {
namespace {

bool IsAsynchronous(const Trace& trace) {
  return Print(trace).find("pipelined_async") != std::string::npos;
}

bool TakesTickets(const SpikeProgram& spike) {
  StatusOr<SymbolicProgram> program = Instantiate(spike.fn, spike.trace);
  return program.ok() && GoesOnBehindBlocks(program->fn.body);
}

// A hand-written schedule, or a sketch of a function over all dtypes.
struct Subject {
  ScheduledFunction scheduled;
  std::vector<Tensor> arguments;
};

Subject AnySubject(CudaMistake::Needs needs, const Target& target, Random& random) {
  if (needs == CudaMistake::Needs::kFragments) {
    Function fn = RandomProduct(random);
    return {{"product", fn, FirstSketch(fn, target).trace}, RandomArguments(fn, random)};
  }
  while (needs == CudaMistake::Needs::kGroups) {
    Function fn = RandomProduct(random);
    Sketch sketch = FirstSketch(fn, target);
    if (sketch.name.find("group_mma") == std::string::npos) continue;
    return {{"product of four warps", fn, sketch.trace}, RandomArguments(fn, random)};
  }
  bool asynchronous = needs == CudaMistake::Needs::kCopies;
  bool tickets = needs == CudaMistake::Needs::kTickets;
  if (!asynchronous && !tickets && random.OneIn(2)) {
    TypedFunction typed = RandomTypedFunction(random);
    std::vector<Sketch> sketches = GenerateSketches(typed.fn, target);
    return {{"typed", typed.fn, sketches[random.Below(sketches.size())].trace}, typed.arguments};
  }
  for (;;) {
    SpikeProgram spike = BuildSpike(random.Below(SpikeCount()), random);
    if (asynchronous && !IsAsynchronous(spike.trace)) continue;
    if (tickets && !TakesTickets(spike)) continue;
    std::vector<Tensor> arguments = RandomArguments(spike.fn, random);
    return {{spike.name, spike.fn, spike.trace}, std::move(arguments)};
  }
}

// A tile of four warps is 8,192 instances a column of tiles.
PointLimits LimitsOf(CudaMistake::Needs needs) {
  bool groups = needs == CudaMistake::Needs::kGroups;
  return groups ? PointLimits{.instances = 600'000, .statements = 600}
                : PointLimits{.instances = 50'000, .statements = 200};
}

// Its text at a random point; nothing where it has no threads or no code.
std::optional<std::pair<Function, CudaSource>> TextOf(const Subject& subject,
                                                      CudaMistake::Needs needs,
                                                      const Target& target, Random& random) {
  StatusOr<SymbolicProgram> program = Instantiate(subject.scheduled.fn, subject.scheduled.trace);
  if (!program.ok() || !HasThreads(program->fn) || !ExpectWholeLaunches(program->fn).ok())
    return std::nullopt;
  std::optional<Decisions> point = DrawPoint(subject.scheduled, LimitsOf(needs), random);
  if (!point) return std::nullopt;
  StatusOr<Function> fn = Replay(subject.scheduled.fn, subject.scheduled.trace, *point);
  StatusOr<Function> lowered = fn.ok() ? RunPipeline(Simplify(*fn)) : fn.status();
  if (!lowered.ok()) return std::nullopt;
  StatusOr<PreparedFunction> parts = SplitPrepare(*lowered);
  if (!parts.ok() || !parts->prepare.empty()) return std::nullopt;
  StatusOr<CudaSource> source = EmitCuda({{*lowered}}, target);
  if (!source.ok()) return std::nullopt;
  return std::pair(*lowered, *std::move(source));
}

}  // namespace

Verdict PlantInText(const CudaMistake& mistake, Random& random) {
  const bool newest = mistake.needs == CudaMistake::Needs::kDependentLaunches ||
                      mistake.needs == CudaMistake::Needs::kGroups;
  Target target = FindTarget(newest ? "sm_90a" : "sm_86").value();
  Subject subject = AnySubject(mistake.needs, target, random);
  auto made = TextOf(subject, mistake.needs, target, random);
  if (!made) return Verdict::kNotPlanted;
  auto& [lowered, source] = *made;
  std::optional<std::string> planted = mistake.plant(KernelsOf(source), random.Next());
  if (!planted) return Verdict::kNotPlanted;
  StatusOr<std::vector<Tensor>> expected = RunInterpreter(subject.scheduled.fn, subject.arguments);
  if (!expected.ok()) return Verdict::kNotPlanted;
  source.text = std::string(CudaPrelude()) + *planted;
  StatusOr<EmulatedProgram> program = EmulatedProgram::Compile({lowered}, source);
  if (!program.ok()) {
    fmt::print(stderr, "{}: no program: {}\n", mistake.name, Message(program.status()));
    return Verdict::kNotPlanted;
  }
  std::vector<Tensor> arguments = subject.arguments;
  if (!program->Run(0, arguments, {}).ok()) return Verdict::kFound;
  return FirstDifference(arguments, *expected).empty() ? Verdict::kMissed : Verdict::kFound;
}

}  // namespace tcc
