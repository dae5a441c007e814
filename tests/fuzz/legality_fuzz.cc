#include <fmt/ranges.h>

#include <algorithm>

#include "codegen_llvm/jit.h"
#include "ir/evaluate.h"
#include "ir/support/check.h"
#include "ir/visitor.h"
#include "schedule/limits.h"
#include "schedule/sketch.h"
#include "schedule/space.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/task_functions.h"
#include "tests/programs/formula_check.h"
#include "tests/programs/random_trace.h"
#include "tests/programs/spike_programs.h"

namespace tcc {
namespace {

constexpr const char* kGpus[] = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90a"};
constexpr int64_t kExtents[] = {1, 2, 3, 7, 13, 31, 64, 197, 224};

int64_t Extent(Random& random) {
  return kExtents[random.Below(std::size(kExtents))];
}

Function LargeFunction(Random& random) {
  switch (random.Below(4)) {
    case 0:
      return MatmulFunction(Extent(random), Extent(random), Extent(random));
    case 1:
      return SoftmaxFunction(Extent(random), Extent(random));
    case 2:
      return TwoReadersFunction(Extent(random));
    default: {
      ConvShape shape;
      shape.stride = random.Between(1, 2);
      shape.dilation = random.Between(1, 2);
      shape.pad = random.Between(0, 2);
      shape.kernel_h = random.Between(1, 3);
      shape.kernel_w = random.Between(1, 3);
      shape.height = std::max<int64_t>(Extent(random), 7);
      shape.width = std::max<int64_t>(Extent(random), 7);
      shape.channels = Extent(random);
      shape.filters = Extent(random);
      return ConvFunction(shape);
    }
  }
}

struct Program {
  std::string name;
  Function fn;
  Target target;
  SymbolicProgram symbolic;    // with the target's limits
  Constraints asked_by_steps;  // without them
};

StatusOr<Program> MakeProgram(std::string name, const Function& fn, const Trace& trace,
                              const Target& target) {
  StatusOr<SymbolicProgram> symbolic = Instantiate(fn, trace);
  if (!symbolic.ok()) return Annotate(symbolic.status(), name);
  Constraints asked = symbolic->constraints;
  return Program{std::move(name), fn, target, WithLimits(*std::move(symbolic), target), asked};
}

// Whether only a GPU has what it uses.
bool NeedsGpu(const Function& fn) {
  bool found = false;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    const auto* allocate = stmt.as<Allocate>();
    found = found || (allocate && allocate->buffer.scope == Scope::kShared);
    const auto* loop = stmt.as<For>();
    found = found || (loop && (IsThreadIdx(loop->for_kind) || IsBlockIdx(loop->for_kind) ||
                               loop->for_kind == ForKind::kVthread ||
                               loop->for_kind == ForKind::kPipelinedAsync));
  });
  return found;
}

StatusOr<Program> RandomProgram(Random& random) {
  bool gpu = random.OneIn(2);
  const char* name = gpu ? kGpus[random.Below(std::size(kGpus))] : "native";
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget(name));
  if (gpu || random.OneIn(2)) {
    Function fn = LargeFunction(random);
    std::vector<Sketch> sketches = GenerateSketches(fn, target);
    const Sketch& sketch = sketches[random.Below(sketches.size())];
    return MakeProgram(fmt::format("sketch '{}' of {} for {}", sketch.name, fn.name, name), fn,
                       sketch.trace, target);
  }
  SpikeProgram spike = BuildSpike(random.Below(SpikeCount()), random);
  if (random.OneIn(2)) {
    spike.trace = RandomTrace(spike.fn, {.steps = static_cast<int>(random.Between(2, 12))}, random);
    spike.name = "random trace of " + spike.fn.name;
  }
  TCC_ASSIGN_OR_RETURN(Program program, MakeProgram(spike.name, spike.fn, spike.trace, target));
  if (!NeedsGpu(program.symbolic.fn)) return program;
  TCC_ASSIGN_OR_RETURN(Target gpu_target, FindTarget("sm_86"));
  return MakeProgram(spike.name, spike.fn, spike.trace, gpu_target);
}

bool Runs(const LoweredPoint& point, const Target& target) {
  if (target.kind == TargetKind::kCuda && !point.aligned) return false;
  return std::all_of(point.marked.begin(), point.marked.end(),
                     [&](const NestFacts& nest) { return Fits(nest, target); });
}

// What of a point that does not run is too large.
std::string WhyNot(const LoweredPoint& point, const Target& target) {
  for (const NestFacts& nest : point.marked) {
    if (Fits(nest, target)) continue;
    return fmt::format("{} threads, {} along z, a grid of {}, {} shared bytes, vectors of {} bytes",
                       nest.threads(), nest.threads_by_axis[2], fmt::join(nest.grid, " x "),
                       nest.shared_bytes, nest.vector_bytes);
  }
  return "a vector is not aligned";
}

std::string Describe(const Program& program, const Decisions& decisions) {
  std::string text = program.name + " at";
  for (const auto& [name, value] : decisions) text += fmt::format(" {}={}", name, value);
  return text + "\ntrace:\n" + Print(program.symbolic.trace);
}

// What satisfies the constraints lowers, fits the machine, takes what the formulas say and, for a
// CPU, compiles.
Status CheckLegal(const Program& program, const SearchSpace& space, const Point& point,
                  Histogram& histogram) {
  Decisions decisions = space.ToDecisions(point);
  auto fail = [&](const std::string& what) {
    return absl::InternalError("a legal point " + what + ": " + Describe(program, decisions));
  };
  const Function& symbolic = program.symbolic.fn;
  std::vector<NestResources> formulas = ResourcesOf(symbolic, program.target);
  StatusOr<LoweredPoint> lowered = LowerAt(program.symbolic, decisions, LoweringDepth::kWhole);
  if (!lowered.ok()) return fail("does not lower (" + Message(lowered.status()) + ")");
  if (!Runs(*lowered, program.target)) {
    return fail("does not fit (" + WhyNot(*lowered, program.target) + ")");
  }
  std::string wrong = FirstWrongFormula(formulas, symbolic, decisions, *lowered);
  if (!wrong.empty()) return fail("has a wrong formula (" + wrong + ")");
  bool exact = HasAllVectors(formulas, symbolic, decisions, *lowered);
  ++histogram[exact ? "formulas exact" : "formulas exact but for vectors that stay loops"];
  if (program.target.kind != TargetKind::kCpu) return OkStatus();
  StatusOr<std::unique_ptr<JitModule>> module = Jit({{lowered->lowered}}, program.target);
  if (!module.ok() || !(*module)->Find(lowered->lowered.name)) return fail("does not compile");
  ++histogram["legal points compiled"];
  return OkStatus();
}

// The formulas have the values that are counted in the lowered function, at points that need fit
// nothing.
Status CheckFormulas(const Program& program, Random& random, Histogram& histogram) {
  constexpr int kAssignments = 10;
  constexpr int64_t kMostUnrolled = 1000;
  const Function& symbolic = program.symbolic.fn;
  std::vector<NestResources> formulas = ResourcesOf(symbolic, program.target);
  SymbolicProgram asked{symbolic, program.asked_by_steps, program.symbolic.trace};
  for (int i = 0; i < kAssignments; ++i) {
    Decisions decisions = RandomDecisions(program.symbolic.trace, random);
    if (!Satisfies(asked, decisions)) continue;
    int64_t unrolled = 0;
    for (const NestResources& nest : formulas) {
      unrolled = std::max(unrolled, FormulaAt(nest.statements, symbolic, decisions));
    }
    bool whole = unrolled <= kMostUnrolled && random.OneIn(4);
    LoweringDepth depth = whole ? LoweringDepth::kWhole : LoweringDepth::kMarked;
    StatusOr<LoweredPoint> lowered = LowerAt(program.symbolic, decisions, depth);
    std::string wrong = lowered.ok() ? FirstWrongFormula(formulas, symbolic, decisions, *lowered)
                                     : Message(lowered.status());
    if (!wrong.empty()) return absl::InternalError(wrong + ": " + Describe(program, decisions));
    ++histogram[whole ? "formulas held against unrolled code"
                      : "formulas held against marked loops"];
  }
  return OkStatus();
}

// Every sketch of every operator of the built-in networks.
const std::vector<Program>& ZooPrograms() {
  static const auto* programs = [] {
    auto* all = new std::vector<Program>;
    for (const char* name : {"native", "sm_86"}) {
      Target target = FindTarget(name).value();
      for (const TaskFunction& task : ZooTaskFunctions()) {
        for (const Sketch& sketch : GenerateSketches(task.fn, target)) {
          std::string title =
              fmt::format("sketch '{}' of {} for {}", sketch.name, task.nodes, target.name);
          StatusOr<Program> program = MakeProgram(title, task.fn, sketch.trace, target);
          TCC_CHECK(program.ok()) << Message(program.status());
          if (!sketch.trace.sizes.empty()) all->push_back(*std::move(program));
        }
      }
    }
    return all;
  }();
  return *programs;
}

// Registers and caches are estimates of speed: what breaks them runs all the same.
bool IsEstimate(const Constraint& constraint) {
  for (const char* word : {"registers", "fits L1", "fit L2"}) {
    if (constraint.why.find(word) != std::string::npos) return true;
  }
  return false;
}

// The first constraint of legality, or else of speed, that does not hold.
const Constraint* FirstBroken(const Program& program, const Decisions& decisions, bool of_speed) {
  Assignment values;
  for (const Var& var : program.symbolic.fn.vars) values[var] = decisions.at(var->name);
  for (const Constraint& constraint : program.symbolic.constraints) {
    if (IsEstimate(constraint) != of_speed) continue;
    std::optional<int64_t> excess = EvaluateInt(constraint.expr, values);
    if (!excess || *excess > 0) return &constraint;
  }
  return nullptr;
}

// What breaks constraints is refused when it is replayed, or too large for the machine, or becomes
// more copies than is allowed.
bool IsTrulyIllegal(const Program& program, const Decisions& decisions) {
  if (!Replay(program.fn, program.symbolic.trace, decisions).ok()) return true;
  StatusOr<LoweredPoint> point = LowerAt(program.symbolic, decisions, LoweringDepth::kMarked);
  if (!point.ok() || !Runs(*point, program.target)) return true;
  bool many = std::any_of(point->statements.begin(), point->statements.end(),
                          [](int64_t count) { return count > kMaxStatements; });
  return many || std::any_of(point->marked.begin(), point->marked.end(),
                             [](const NestFacts& nest) { return nest.vthreads > kMaxVthreads; });
}

// Whether what a thread keeps in local buffers, counted in the lowered function, is more than all
// its registers, or a block's.
bool OverflowsRegisters(const Program& program, const Decisions& decisions) {
  StatusOr<LoweredPoint> point = LowerAt(program.symbolic, decisions, LoweringDepth::kMarked);
  if (!point.ok()) return false;
  const Target& target = program.target;
  return std::any_of(point->marked.begin(), point->marked.end(), [&](const NestFacts& nest) {
    if (target.kind == TargetKind::kCpu) {
      return nest.local_bytes > int64_t{target.vector_registers} * target.vector_bytes;
    }
    int64_t registers = nest.local_bytes / 4;
    return registers > Target::kMaxRegisters || registers * nest.threads() > Target::kRegisterFile;
  });
}

// Points of one constraint's kind: "at most 1024 threads a block".
std::string KindOf(const Constraint& constraint) {
  return constraint.why.substr(constraint.why.find(": ") + 2);
}

const char* NameOf(TargetKind kind) {
  return kind == TargetKind::kCpu ? "CPU" : "GPU";
}

void CountBroken(const Program& program, const Decisions& decisions, Histogram& histogram) {
  const Constraint* broken = FirstBroken(program, decisions, /*of_speed=*/false);
  bool illegal = IsTrulyIllegal(program, decisions);
  ++histogram[illegal ? "broken: truly illegal" : "broken: fits all the same"];
  ++histogram[fmt::format("broken for a {}{}", NameOf(program.target.kind),
                          illegal ? ": truly illegal" : ": fits all the same")];
  ++histogram["broken constraint: " + KindOf(*broken)];
  if (!illegal) {
    fmt::print(stderr, "fits all the same ({}): {}\n", broken->why, Describe(program, decisions));
  }
}

// Whether what the estimate stands for is so: more registers than there are.
bool LacksRegisters(const Program& program, const Decisions& decisions) {
  if (OverflowsRegisters(program, decisions)) return true;
  if (program.target.kind != TargetKind::kCpu) return false;
  StatusOr<LoweredPoint> point = LowerAt(program.symbolic, decisions, LoweringDepth::kWhole);
  return point.ok() &&
         VectorsAlive(point->lowered, program.target) > program.target.vector_registers;
}

// What breaks only estimates.
void CountSlow(const Program& program, const Decisions& decisions, Histogram& histogram) {
  const Constraint* broken = FirstBroken(program, decisions, /*of_speed=*/true);
  ++histogram["only estimates broken: " + KindOf(*broken)];
  if (broken->why.find("registers") == std::string::npos) return;
  ++histogram[fmt::format("estimates of registers on a {}: {}", NameOf(program.target.kind),
                          LacksRegisters(program, decisions) ? "too many in the lowered code"
                                                             : "enough in the lowered code")];
}

// Values drawn evenly, or the largest or least, however illegal.
Decisions AnyDecisions(const SearchSpace& space, Random& random) {
  Decisions decisions;
  for (const FreeSize& size : space.sizes()) {
    std::vector<int64_t> values = ValuesOf(size);
    int64_t any = values[random.Below(values.size())];
    bool extreme = random.OneIn(3);
    decisions[size.var->name] = !extreme ? any : random.OneIn(2) ? values.back() : values.front();
  }
  return decisions;
}

// A point that breaks a constraint of legality, and one that breaks constraints of speed alone, as
// far as they are met with.
struct BrokenPoints {
  std::optional<Decisions> illegal, slow;
};
BrokenPoints FindBroken(const Program& program, const SearchSpace& space, Random& random) {
  BrokenPoints found;
  for (int tries = 0; tries < 60 && !(found.illegal && found.slow); ++tries) {
    Decisions decisions = AnyDecisions(space, random);
    if (FirstBroken(program, decisions, /*of_speed=*/false)) {
      if (!found.illegal) found.illegal = decisions;
    } else if (!found.slow && FirstBroken(program, decisions, /*of_speed=*/true)) {
      found.slow = decisions;
    }
  }
  return found;
}

struct Found {
  bool legal = false;
  bool broken = false;
};

StatusOr<Found> CheckProgram(const Program& program, Random& random, Histogram& histogram) {
  TCC_RETURN_IF_ERROR(CheckFormulas(program, random, histogram));
  TCC_ASSIGN_OR_RETURN(SearchSpace space, SearchSpace::Create(program.symbolic));
  std::optional<Point> legal = space.Sample(random);
  BrokenPoints broken = FindBroken(program, space, random);
  if (broken.illegal) CountBroken(program, *broken.illegal, histogram);
  if (broken.slow) CountSlow(program, *broken.slow, histogram);
  if (legal) {
    ++histogram["legal points for " + program.target.name];
    TCC_RETURN_IF_ERROR(CheckLegal(program, space, *legal, histogram));
  }
  return Found{legal.has_value(), broken.illegal.has_value()};
}

// Even seeds go through the built-in networks' sketches in turn; then random programs until there
// was a legal point and one that is broken.
Status CheckPointOf(uint64_t seed, Histogram& histogram) {
  constexpr int kMaxPrograms = 50;
  Random random(seed);
  Found found;
  if (seed % 2 == 0) {
    const std::vector<Program>& programs = ZooPrograms();
    TCC_ASSIGN_OR_RETURN(found,
                         CheckProgram(programs[seed / 2 % programs.size()], random, histogram));
  }
  for (int tries = 0; tries < kMaxPrograms && !(found.legal && found.broken); ++tries) {
    TCC_ASSIGN_OR_RETURN(Program program, RandomProgram(random));
    if (program.symbolic.trace.sizes.empty()) continue;
    TCC_ASSIGN_OR_RETURN(Found now, CheckProgram(program, random, histogram));
    found = {found.legal || now.legal, found.broken || now.broken};
  }
  if (found.legal && found.broken) return OkStatus();
  return absl::InternalError(fmt::format("no program of {} had a {} point", kMaxPrograms,
                                         found.legal ? "broken" : "legal"));
}

}  // namespace

FuzzResult FuzzLegality(const FuzzOptions& options) {
  FuzzResult result = RunPoints("legality", options, CheckPointOf);
  result.histogram["sketches of the built-in networks"] =
      static_cast<int64_t>(ZooPrograms().size());
  for (const char* of : {"broken", "broken for a CPU", "broken for a GPU"}) {
    int64_t illegal = result.histogram[fmt::format("{}: truly illegal", of)];
    int64_t fits = result.histogram[fmt::format("{}: fits all the same", of)];
    // One in a hundred, rounded up where there are fewer.
    if (fits <= (illegal + fits + 99) / 100) continue;
    fmt::print(stderr, "{}: of {} points that break constraints {} fit all the same\n", of,
               illegal + fits, fits);
    ++result.failed;
  }
  return result;
}

}  // namespace tcc
