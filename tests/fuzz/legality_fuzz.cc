#include <algorithm>

#include "codegen_llvm/jit.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/legality_verdict.h"
#include "tests/programs/random_trace.h"
#include "tests/programs/satisfies.h"

namespace tcc {
namespace {

// Every sketch of every operator of the built-in networks.
const std::vector<LegalityProgram>& ZooPrograms() {
  static const auto* programs = [] {
    auto* all = new std::vector<LegalityProgram>;
    for (const char* name : {"native", "sm_86"}) {
      for (LegalityProgram& program : ZooLegalityPrograms(FindTarget(name).value())) {
        all->push_back(std::move(program));
      }
    }
    return all;
  }();
  return *programs;
}

// What satisfies the constraints lowers, fits the machine, takes what the formulas say and, for a
// CPU, compiles.
Status CheckLegal(const LegalityProgram& program, const SearchSpace& space, const Point& point,
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
Status CheckFormulas(const LegalityProgram& program, Random& random, Histogram& histogram) {
  constexpr int kAssignments = 10;
  constexpr int64_t kMaxUnrolled = 1000;
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
    bool whole = unrolled <= kMaxUnrolled && random.OneIn(4);
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

// Whether what a thread keeps in local buffers, counted in the lowered function, is more than all
// its registers, or a block's.
bool OverflowsRegisters(const LegalityProgram& program, const Decisions& decisions) {
  StatusOr<LoweredPoint> point = LowerAt(program.symbolic, decisions, LoweringDepth::kMarked);
  if (!point.ok()) return false;
  const Target& target = program.target;
  return std::ranges::any_of(point->marked, [&](const NestFacts& nest) {
    if (target.kind == TargetKind::kCpu) {
      return nest.local_bytes > int64_t{target.vector_registers} * target.vector_bytes;
    }
    int64_t registers = nest.local_bytes / 4;
    return registers > target.limits.registers ||
           registers * nest.threads() > target.limits.register_file;
  });
}

const char* NameOf(TargetKind kind) {
  return kind == TargetKind::kCpu ? "CPU" : "GPU";
}

// What breaks a step's condition or a limit of the device, by what shows that it cannot run.
void CountHard(const LegalityProgram& program, const Decisions& decisions, Histogram& histogram) {
  const Constraint& broken = *GravestBroken(program, decisions);
  Judgement judgement = Judge(program, decisions);
  const char* verdict = ToString(judgement.verdict);
  bool runs = judgement.verdict == Verdict::kRuns;
  bool shown = runs || judgement.verdict == Verdict::kRefused;
  ++histogram[fmt::format("broken: {}", verdict)];
  ++histogram[fmt::format("broken for a {}: {}", NameOf(program.target.kind), verdict)];
  ++histogram[fmt::format("broken: '{}' ({}), as {}", KindOf(broken),
                          ToString(GroundOf(program, broken)),
                          runs ? "nothing shows" : judgement.why)];
  if (shown) {
    fmt::print(stderr, "{} ({}): {}\n", verdict, broken.why, Describe(program, decisions));
  }
}

// What breaks only caps of ours: it would run, and is no illegal point. Whether the lowered code is
// as far beyond as the formula says.
void CountCapped(const LegalityProgram& program, const Decisions& decisions, Histogram& histogram) {
  const Constraint& broken = *GravestBroken(program, decisions);
  std::string beyond = CapExceeded(program, decisions);
  ++histogram[beyond.empty() ? "only caps broken: the lowered code is within them"
                             : "only caps broken: so is the lowered code"];
  ++histogram[fmt::format("only caps broken: '{}', in the lowered code {}", KindOf(broken),
                          beyond.empty() ? "none" : beyond)];
  if (beyond.empty()) {
    fmt::print(stderr, "within caps ({}): {}\n", broken.why, Describe(program, decisions));
  }
}

// Whether what the estimate stands for is so: more registers than there are.
bool LacksRegisters(const LegalityProgram& program, const Decisions& decisions) {
  if (OverflowsRegisters(program, decisions)) return true;
  if (program.target.kind != TargetKind::kCpu) return false;
  StatusOr<LoweredPoint> point = LowerAt(program.symbolic, decisions, LoweringDepth::kWhole);
  return point.ok() &&
         VectorsAlive(point->lowered, program.target) > program.target.vector_registers;
}

// What breaks only estimates.
void CountSlow(const LegalityProgram& program, const Decisions& decisions, Histogram& histogram) {
  const Constraint* broken = GravestBroken(program, decisions);
  ++histogram["only estimates broken: " + KindOf(*broken)];
  if (broken->why.find("registers") == std::string::npos) return;
  ++histogram[fmt::format("estimates of registers on a {}: {}", NameOf(program.target.kind),
                          LacksRegisters(program, decisions) ? "too many in the lowered code"
                                                             : "enough in the lowered code")];
}

StatusOr<FoundPoints> CheckProgram(const LegalityProgram& program, Random& random,
                                   Histogram& histogram) {
  TCC_RETURN_IF_ERROR(CheckFormulas(program, random, histogram));
  TCC_ASSIGN_OR_RETURN(SearchSpace space, SearchSpace::Create(program.symbolic));
  std::optional<Point> legal = space.Sample(random);
  BrokenPoints broken = FindBroken(program, space, random);
  if (broken.hard) CountHard(program, *broken.hard, histogram);
  if (broken.capped) CountCapped(program, *broken.capped, histogram);
  if (broken.slow) CountSlow(program, *broken.slow, histogram);
  if (legal) {
    ++histogram["legal points for " + program.target.name];
    TCC_RETURN_IF_ERROR(CheckLegal(program, space, *legal, histogram));
  }
  return FoundPoints{legal.has_value(), broken.hard.has_value()};
}

Status CheckPointOf(uint64_t seed, Histogram& histogram) {
  return LookForBoth(seed, ZooPrograms(), RandomLegalityProgram,
                     [&](const LegalityProgram& program, Random& random) {
                       return CheckProgram(program, random, histogram);
                     });
}

}  // namespace

FuzzResult FuzzLegality(const FuzzOptions& options) {
  if (!options.target.empty()) return FuzzMachineLegality(options);
  FuzzResult result = RunPoints("legality", options, CheckPointOf);
  result.histogram["sketches of the built-in networks"] =
      static_cast<int64_t>(ZooPrograms().size());
  // Of each, one in a hundred, rounded up where there are fewer.
  auto expect = [&](const std::string& good, const std::string& bad) {
    int64_t goods = result.histogram[good], bads = result.histogram[bad];
    if (bads <= (goods + bads + 99) / 100) return;
    fmt::print(stderr, "{}: {} of {}\n", bad, bads, goods + bads);
    ++result.failed;
  };
  for (const char* of : {"broken", "broken for a CPU", "broken for a GPU"}) {
    expect(fmt::format("{}: truly illegal", of), fmt::format("{}: runs all the same", of));
  }
  // A step that refuses what would run makes itself the only proof.
  constexpr int64_t kMaxRefused = 5;
  if (result.histogram["broken for a GPU: refused by its step alone"] >
      result.histogram["broken for a GPU: truly illegal"] + kMaxRefused) {
    fmt::print(stderr, "most broken points for a GPU are refused by a step alone\n");
    ++result.failed;
  }
  expect("only caps broken: so is the lowered code",
         "only caps broken: the lowered code is within them");
  return result;
}

}  // namespace tcc
