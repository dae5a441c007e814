#include <cstdlib>

#include "codegen_llvm/jit.h"
#include "ir/visitor.h"
#include "runtime/kernel_math.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/planted_mistakes.h"
#include "tests/fuzz/sketch_point.h"
#include "tests/programs/point_check.h"
#include "tests/programs/random_trace.h"
#include "tests/programs/spike_programs.h"

namespace tcc {
namespace {

// Some operands are constants of the model, as weights are.
void MakeConstants(Function& fn, Random& random) {
  for (Buffer& param : fn.params) {
    bool written = false;
    for (const Ref<Block>& block : BlocksOf(fn.body)) written |= Writes(*block, param.var);
    if (!written && random.OneIn(2)) param.scope = Scope::kConstant;
  }
}

// The functions of the spike under random legal traces.
SpikeProgram RandomProgram(Random& random) {
  SpikeProgram program = BuildSpike(random.Below(SpikeCount()), random);
  MakeConstants(program.fn, random);
  program.trace = RandomTrace(program.fn, static_cast<int>(random.Between(2, 12)), random);
  program.name = "random trace, " + program.fn.name;
  return program;
}

void CountSteps(const SpikeProgram& program, Histogram& histogram) {
  for (const Step& step : program.trace.steps) {
    std::string text = Print(step);
    ++histogram["step " + program.fn.name + " x " + text.substr(0, text.find(' '))];
  }
}

bool HasThreads(const Function& fn) {
  bool found = false;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    found = found || (loop && (IsThreadIdx(loop->for_kind) || IsBlockIdx(loop->for_kind)));
  });
  return found;
}

void RunSerially(void*, int64_t count, TccLoopBody body, void* closure) {
  body(closure, 0, count);
}
void* Allocate64(void*, int64_t bytes) {
  return std::aligned_alloc(64, static_cast<size_t>((bytes + 127) / 64 * 64));
}
void Free64(void*, void* memory) {
  std::free(memory);
}

// Machine code for this CPU, run on the calling thread.
Status RunCompiled(const Function& lowered, std::vector<Tensor>& arguments) {
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget("native"));
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<JitModule> module, Jit({{lowered}}, target));
  TccKernel kernel = module->Find(lowered.name);
  if (!kernel) return absl::InternalError("the compiled module has no kernel " + lowered.name);
  std::vector<void*> buffers;
  for (Tensor& tensor : arguments) buffers.push_back(MutableBytes(tensor).data());
  TccRuntime runtime{nullptr, RunSerially, Allocate64, Free64, TccMath};
  int32_t code = kernel(&runtime, buffers.data(), nullptr);
  return code == TCC_KERNEL_OK ? OkStatus()
                               : absl::InternalError(fmt::format("the kernel returned {}", code));
}

// Whether a point was checked: false where every draw was illegal or too large.
StatusOr<bool> CheckProgram(const SpikeProgram& spike, Random& random, Histogram& histogram) {
  StatusOr<SymbolicProgram> program = Instantiate(spike.fn, spike.trace);
  if (!program.ok()) return Annotate(program.status(), spike.name);
  StatusOr<Trace> reparsed = ParseTrace(Print(spike.trace));
  if (!reparsed.ok() || Print(*reparsed) != Print(spike.trace)) {
    return absl::InternalError("the trace's text does not parse back:\n" + Print(spike.trace));
  }
  PointCheckOptions options;
  bool compile = random.OneIn(4) && !HasThreads(program->fn);
  if (compile) options.run_lowered = RunCompiled;
  // Decisions that would take too long are drawn again; the histogram tells how often.
  for (int tries = 0; tries < 8; ++tries) {
    Decisions decisions = RandomDecisions(spike.trace, random);
    if (!Satisfies(*program, decisions)) {
      ++histogram["redrawn: a constraint says no"];
      continue;
    }
    PointReport report = CheckPoint(spike.fn, *program, decisions, random, options);
    if (report.outcome == PointOutcome::kTooLarge) {
      ++histogram["redrawn: too many instances"];
      continue;
    }
    ++histogram[compile ? "compiled too" : "interpreted"];
    if (report.outcome == PointOutcome::kRight) return true;
    return absl::InternalError(spike.name + ": " + report.message + "\ntrace:\n" +
                               Print(spike.trace));
  }
  ++histogram["another program after 8 draws"];
  return false;
}

// A third of the points are of CPU sketches, a half of those compiled.
Status CheckPointOf(uint64_t seed, Histogram& histogram) {
  constexpr int kMaxPrograms = 100;
  Random random(seed);
  if (seed % 3 == 0) {
    TCC_ASSIGN_OR_RETURN(Target target, FindTarget("native"));
    ++histogram["program of a sketch"];
    RunLowered run = random.OneIn(2) ? RunLowered(RunCompiled) : nullptr;
    return CheckSketchPoint(seed / 3, target, run, histogram);
  }
  for (int tries = 0; tries < kMaxPrograms; ++tries) {
    SpikeProgram spike =
        random.OneIn(2) ? BuildSpike(random.Below(SpikeCount()), random) : RandomProgram(random);
    ++histogram["program " + spike.name];
    CountSteps(spike, histogram);
    TCC_ASSIGN_OR_RETURN(bool checked, CheckProgram(spike, random, histogram));
    if (checked) return OkStatus();
  }
  return absl::InternalError("no program of a hundred had a legal point of acceptable size");
}

}  // namespace

FuzzResult FuzzSchedule(const FuzzOptions& options) {
  FuzzResult result = RunPoints("schedule", options, CheckPointOf);
  AddPlantedMistakes(options, result);
  return result;
}

}  // namespace tcc
