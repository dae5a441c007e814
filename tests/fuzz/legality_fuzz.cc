#include <algorithm>

#include "codegen_llvm/jit.h"
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
  if (!Runs(*lowered, program.target)) return fail("does not fit");
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

// Registers and caches are estimates: nothing in a lowered function is known to break them.
bool IsEstimate(const Constraint& constraint) {
  for (const char* word : {"registers", "fits L1", "fit L2"}) {
    if (constraint.why.find(word) != std::string::npos) return true;
  }
  return false;
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

void CountBroken(const Program& program, const SearchSpace& space, const Point& point,
                 Histogram& histogram) {
  Decisions decisions = space.ToDecisions(point);
  const Constraint* first = space.FirstBroken(point);
  bool registers = first->why.find("registers") != std::string::npos;
  bool illegal =
      IsTrulyIllegal(program, decisions) || (registers && OverflowsRegisters(program, decisions));
  bool estimate = !illegal && IsEstimate(*first);
  ++histogram[illegal    ? "broken: truly illegal"
              : estimate ? "broken: by the estimate of registers or caches alone"
                         : "broken: fits all the same"];
  std::string why = first->why.substr(first->why.find(": ") + 2);
  ++histogram["broken constraint: " + why];
  if (!illegal && !estimate) {
    fmt::print(stderr, "fits all the same ({}): {}\n", first->why, Describe(program, decisions));
  }
}

// Values drawn evenly, however illegal.
std::optional<Point> BrokenPoint(const SearchSpace& space, Random& random) {
  for (int tries = 0; tries < 60; ++tries) {
    Point point;
    for (const FreeSize& size : space.sizes()) {
      std::vector<int64_t> values = ValuesOf(size);
      point.push_back(values[random.Below(values.size())]);
    }
    if (!space.IsLegal(point)) return point;
  }
  return std::nullopt;
}

struct Found {
  bool legal = false;
  bool broken = false;
};

StatusOr<Found> CheckProgram(const Program& program, Random& random, Histogram& histogram) {
  TCC_RETURN_IF_ERROR(CheckFormulas(program, random, histogram));
  TCC_ASSIGN_OR_RETURN(SearchSpace space, SearchSpace::Create(program.symbolic));
  std::optional<Point> legal = space.Sample(random);
  std::optional<Point> broken = BrokenPoint(space, random);
  if (broken) CountBroken(program, space, *broken, histogram);
  if (legal) {
    ++histogram["legal points for " + program.target.name];
    TCC_RETURN_IF_ERROR(CheckLegal(program, space, *legal, histogram));
  }
  return Found{legal.has_value(), broken.has_value()};
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
  int64_t illegal = result.histogram["broken: truly illegal"];
  int64_t fits = result.histogram["broken: fits all the same"];
  // One in a hundred, rounded up where there are fewer.
  if (fits > (illegal + fits + 99) / 100) {
    fmt::print(stderr, "of {} points that break constraints {} fit all the same\n", illegal + fits,
               fits);
    ++result.failed;
  }
  return result;
}

}  // namespace tcc
