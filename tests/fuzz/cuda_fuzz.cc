#include "ir/analysis/cross_thread.h"
#include "schedule/sketches/parts/sketch.h"
#include "support/target_api.h"
#include "tests/codegen_cuda/emulated/emulated_program.h"
#include "tests/codegen_cuda/on_device/run_kernel.h"
#include "tests/codegen_cuda/on_device/run_on_device.h"
#include "tests/codegen_opencl/syntax/opencl_syntax.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/nvrtc_sample.h"
#include "tests/fuzz/operator_point.h"
#include "tests/fuzz/random/random_product.h"
#include "tests/fuzz/random/typed_function.h"
#include "tests/fuzz/run_compiled.h"
#include "tests/fuzz/sketch_point.h"
#include "tests/fuzz/step_table.h"
#include "tests/fuzz/watchdog.h"
#include "tests/programs/random_step.h"
#include "tests/programs/random_trace.h"
#include "tests/programs/spike_programs.h"

namespace tcc {
namespace {

// Most of a point's time is the host compiler's, which asks for few statements.
constexpr PointLimits kLimits = {.instances = 100'000, .statements = 400};
// A tile of an instruction is 2,048 instances.
constexpr PointLimits kProductLimits = {.instances = 400'000, .statements = 600};

// What does not fit the target has no code.
PointLimits Within(const Target& target, PointLimits limits = kLimits) {
  limits.target = target;
  return limits;
}

// Where points run.
struct Machine {
  NvrtcSample& sample;
  // The target of the device at hand; nothing: the emulator, which has all.
  std::optional<Target> device = std::nullopt;
  // The emulator runs CUDA text of functions for OpenCL's targets, whose own text must compile.
  bool opencl = false;
  GpuCode code = GpuCode::kCubin;
  bool is_there = true;  // the device; what would run there is compiled in any case

  Target AnyTarget(Random& random) const {
    if (device) return *device;
    std::vector<const Target*> targets;
    for (const Target& target : AllTargets()) {
      if (opencl ? IsOpenCl(target) : IsCuda(target)) targets.push_back(&target);
    }
    Target target = *targets[random.Below(targets.size())];
    // The emulator launches blocks as CUDA does.
    if (opencl) target.limits.max_threads_in_z = kCudaLimits.max_threads_in_z;
    return target;
  }

  RunFunction Run(const Target& target) const {
    return [this, target](const Function& fn, std::vector<Tensor>& arguments) -> Status {
      if (device && !is_there) return CompileForDevice(fn, target, arguments);
      if (device) return RunOnDevice(fn, target, code, arguments);
      if (opencl) TCC_RETURN_IF_ERROR(CheckOpenCl(fn, target));
      Status status = RunEmulated(fn, target, arguments);
      if (opencl) return status;
      if (status.ok()) sample.Add(fn);
      return status;
    };
  }

  static Status CheckOpenCl(const Function& fn, const Target& target) {
    TCC_ASSIGN_OR_RETURN(PreparedFunction parts, LoweredParts(fn));
    TCC_ASSIGN_OR_RETURN(std::string text, OpenClTextOf({&parts.main, 1}, target));
    return CheckOpenClText(text);
  }

  // What a sketch makes has code.
  RunFunction RunSketch(const Target& target) const {
    return [run = Run(target)](const Function& fn, std::vector<Tensor>& arguments) -> Status {
      Status status = run(fn, arguments);
      return status.code() == absl::StatusCode::kUnimplemented
                 ? absl::InternalError(Message(status))
                 : status;
    };
  }
};

void CountTarget(const Target& target, Histogram& histogram) {
  ++histogram["target " + target.name];
}

// A sketch of a random function over all dtypes, equal to the last bit.
Status CheckTypedPoint(const Machine& machine, Random& random, Histogram& histogram) {
  for (;;) {
    const Target target = machine.AnyTarget(random);
    TypedFunction typed = RandomTypedFunction(random);
    NoteWarps(typed.fn, target);
    ScheduledFunction scheduled{.name = "typed", .fn = typed.fn, .trace = {}};
    std::vector<Sketch> sketches = GenerateSketches(typed.fn, target);
    const Sketch& sketch = sketches[random.Below(sketches.size())];
    scheduled.trace = sketch.trace;
    scheduled.name += ", sketch " + sketch.name;
    if (random.OneIn(4)) scheduled.start = sketch.start;
    PointCheckOptions options;
    options.arguments = typed.arguments;
    options.exact = true;
    options.run_scheduled = machine.RunSketch(target);
    TCC_ASSIGN_OR_RETURN(std::optional<Decisions> decisions,
                         CheckAtRandomPoint(scheduled, options, Within(target), random, histogram));
    if (!decisions) continue;
    CountTarget(target, histogram);
    for (const Buffer& param : typed.fn.params) {
      ++histogram["dtype of a parameter: " + ToString(param.dtype())];
    }
    return OkStatus();
  }
}

// A product on tensor cores.
Status CheckProductPoint(const Machine& machine, Random& random, Histogram& histogram) {
  for (;;) {
    const Target target = machine.AnyTarget(random);
    Function fn = RandomProduct(random);
    std::vector<Sketch> sketches = GenerateSketches(fn, target);
    std::erase_if(sketches,
                  [](const Sketch& s) { return s.name.find("mma") == std::string::npos; });
    if (sketches.empty()) continue;
    const Sketch& sketch = sketches[random.Below(sketches.size())];
    ScheduledFunction scheduled{.name = "product, " + target.name, .fn = fn, .trace = sketch.trace};
    if (random.OneIn(4)) scheduled.start = sketch.start;
    PointCheckOptions options;
    options.max_instances = 2 * kProductLimits.instances;
    options.run_scheduled = machine.RunSketch(target);
    TCC_ASSIGN_OR_RETURN(
        std::optional<Decisions> decisions,
        CheckAtRandomPoint(scheduled, options, Within(target, kProductLimits), random, histogram));
    if (!decisions) continue;
    CountTarget(target, histogram);
    bool by_group = sketch.name.find("group_mma") != std::string::npos;
    bool in_parts = sketch.name.find("split_k") != std::string::npos;
    ++histogram["products of " + ToString(fn.params[0].dtype()) + " on tensor cores" +
                (by_group ? ", by four warps" : "") + (in_parts ? ", in parts" : "")];
    return OkStatus();
  }
}

// A hand-written schedule with threads.
Status CheckSpikePoint(const Machine& machine, Random& random, Histogram& histogram) {
  for (;;) {
    const Target target = machine.AnyTarget(random);
    SpikeProgram spike = BuildSpike(random.Below(SpikeCount()), random);
    NoteWarps(spike.fn, target);
    StatusOr<SymbolicProgram> program = Instantiate(spike.fn, spike.trace);
    if (!program.ok() || !HasThreads(program->fn)) continue;
    PointCheckOptions options;
    options.run_scheduled = machine.Run(target);
    TCC_ASSIGN_OR_RETURN(std::optional<Decisions> decisions,
                         CheckAtRandomPoint({spike.name, spike.fn, spike.trace}, options, kLimits,
                                            random, histogram));
    if (!decisions) continue;
    CountTarget(target, histogram);
    return OkStatus();
  }
}

// Of ten points four are of sketches of operators in any float type, two of operators under random
// steps with threads, one of a sketch of a network's task or of a random model's, one of functions
// over all dtypes, one of products on tensor cores, and one of a hand-written schedule.
Status CheckPointOf(uint64_t seed, const Machine& machine, Histogram& histogram) {
  constexpr DTypeCode kReals[] = {DTypeCode::kFloat32, DTypeCode::kFloat16, DTypeCode::kBFloat16,
                                  DTypeCode::kFloat64};
  Random random(seed);
  uint64_t round = seed / 10, place = seed % 10;
  const Target target = machine.AnyTarget(random);
  // These look for a target that has points of theirs.
  if (place == 9) return CheckSpikePoint(machine, random, histogram);
  if (place == 8 && !machine.opencl) return CheckProductPoint(machine, random, histogram);
  if (place >= 7) return CheckTypedPoint(machine, random, histogram);
  CountTarget(target, histogram);
  if (place == 6) {
    PointCheckOptions options;
    options.run_scheduled = machine.RunSketch(target);
    return CheckSketchPoint(round, target, options, Within(target), histogram);
  }
  bool sketch = place < 4;
  size_t ops = OperatorNames().size();
  uint64_t pair = sketch ? round * 4 + place : round * 2 + place - 4;
  OperatorPoint point{
      .op = pair % ops,
      .source = sketch ? ScheduleSource::kGpuSketch : ScheduleSource::kThreadedSteps,
      .wanted = pair / ops % StepNames().size(),
      .gpu = target.name,
      .real = kReals[random.OneIn(2) ? 0 : random.Below(std::size(kReals))],
      .limits = sketch ? Within(target) : kLimits,
      .run_scheduled = sketch ? machine.RunSketch(target) : machine.Run(target)};
  ++histogram["operators in " + ToString(DType(point.real))];
  return CheckOperatorPoint(point, seed, histogram);
}

}  // namespace

FuzzResult FuzzCuda(const FuzzOptions& options) {
  StartWatchdog({.seconds = 300, .resident_bytes = int64_t{4} << 30});
  constexpr size_t kCompiledByNvrtc = 40;
  NvrtcSample sample(kCompiledByNvrtc);
  Machine machine{.sample = sample};
  machine.is_there = options.compile_only.empty();
  if (options.on_device || !machine.is_there) {
    StatusOr<Target> device =
        machine.is_there ? TargetOfDevice() : FindGpuTarget("--compile-only", options.compile_only);
    if (!device.ok()) return {.histogram = {}, .refused = device.status()};
    machine.device = *device;
    machine.code = options.text ? GpuCode::kCudaText : GpuCode::kCubin;
  }
  FuzzResult result = RunPoints("cuda", options, [&](uint64_t seed, Histogram& histogram) {
    return CheckPointOf(seed, machine, histogram);
  });
  if (!machine.device) sample.Check(result);
  return result;
}

FuzzResult FuzzOpenCl(const FuzzOptions& options) {
  StartWatchdog({.seconds = 300, .resident_bytes = int64_t{4} << 30});
  NvrtcSample none(0);
  const Machine machine{.sample = none, .opencl = true};
  return RunPoints("opencl", options, [&](uint64_t seed, Histogram& histogram) {
    return CheckPointOf(seed, machine, histogram);
  });
}

}  // namespace tcc
