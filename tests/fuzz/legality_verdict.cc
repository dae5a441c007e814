#include "tests/fuzz/legality_verdict.h"

#include <algorithm>

#include "codegen_cuda/text/launch.h"
#include "ir/expr/evaluate.h"
#include "schedule/space/limits.h"
#include "support/check.h"

namespace tcc {
namespace {

bool SaysAny(const Constraint& constraint, std::initializer_list<const char*> words) {
  return std::ranges::any_of(
      words, [&](const char* word) { return constraint.why.find(word) != std::string::npos; });
}

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". Shared memory is
// the most that a thread block may have; the rest is the same for all.
struct Device {
  int sm;
  int64_t shared_bytes;
};
constexpr Device kDevices[] = {
    {75, 64 << 10}, {80, 163 << 10}, {86, 99 << 10}, {89, 99 << 10}, {90, 227 << 10}};
constexpr int64_t kThreads = 1024, kThreadsAlongZ = 64;
constexpr int64_t kGrid[] = {2147483647, 65535, 65535};

const Device& DeviceOf(const Target& target) {
  const auto* found = std::find_if(std::begin(kDevices), std::end(kDevices),
                                   [&](const Device& device) { return device.sm == target.sm; });
  TCC_CHECK(found != std::end(kDevices)) << target.name;
  return *found;
}

std::string WhyNoLaunch(const NestFacts& nest) {
  if (nest.threads() > kThreads) return "the lowered launch has more threads than a block may";
  if (nest.threads_by_axis[2] > kThreadsAlongZ) {
    return "the lowered launch has more threads along z than a block may";
  }
  for (size_t axis : {0, 1, 2}) {
    if (nest.grid[axis] > kGrid[axis]) return "the lowered launch has more blocks than a grid may";
  }
  return "";
}

// Whether the launches' shared buffers find places. Code far beyond what may be unrolled is not
// looked at: it would take minutes.
Judgement JudgeSharedPlaces(const LegalityProgram& program, const Decisions& decisions,
                            const LoweredPoint& marked) {
  bool small =
      std::ranges::all_of(marked.statements, [](int64_t count) { return count <= kMaxStatements; });
  if (!small) return {Verdict::kNotKnown, "code too long for its launches to be looked at"};
  StatusOr<LoweredPoint> whole = LowerAt(program.symbolic, decisions, LoweringDepth::kWhole);
  if (!whole.ok()) return {Verdict::kNotKnown, "code that does not lower beyond marked loops"};
  Target device = program.target;
  device.shared_bytes = DeviceOf(program.target).shared_bytes;
  StatusOr<LaunchBodies> launches = FindLaunches(whole->lowered, device);
  if (launches.ok()) return {};
  if (Message(launches.status()).find("of shared memory") == std::string::npos) {
    return {Verdict::kNotKnown, "launches beyond other limits than shared memory"};
  }
  return {Verdict::kImpossible, "the lowered launch has more shared memory than a block may"};
}

// From the lowered function alone: no step's condition is asked.
Judgement JudgeLaunch(const LegalityProgram& program, const Decisions& decisions) {
  StatusOr<LoweredPoint> point = LowerAt(program.symbolic, decisions, LoweringDepth::kMarked);
  if (!point.ok()) return {Verdict::kImpossible, "it does not lower"};
  if (program.target.kind != TargetKind::kGpu) return {};
  const int64_t most_shared = DeviceOf(program.target).shared_bytes;
  int64_t shared_bytes = 0;
  for (const NestFacts& nest : point->marked) {
    std::string why = WhyNoLaunch(nest);
    if (!why.empty()) return {Verdict::kImpossible, why};
    if (nest.shared_bytes_at_once > most_shared) {
      return {Verdict::kImpossible, "one statement has more shared memory than a block may"};
    }
    shared_bytes = std::max(shared_bytes, nest.shared_bytes);
  }
  if (shared_bytes <= most_shared) return {};
  return JudgeSharedPlaces(program, decisions, *point);
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

}  // namespace

const char* ToString(Ground ground) {
  switch (ground) {
    case Ground::kStep:
      return "a step's condition";
    case Ground::kMachine:
      return "a limit of the device";
    case Ground::kCap:
      return "a cap of ours";
    case Ground::kEstimate:
      return "an estimate";
  }
  TCC_UNREACHABLE();
}

Ground GroundOf(const LegalityProgram& program, const Constraint& constraint) {
  // The steps' come first.
  bool of_step = &constraint < program.symbolic.constraints.data() + program.asked_by_steps.size();
  if (SaysAny(constraint, {"lines that one iteration prefetches"})) return Ground::kCap;
  if (of_step) return Ground::kStep;
  if (SaysAny(constraint, {"registers", "fits L1", "fit L2", "times its work"}))
    return Ground::kEstimate;
  if (SaysAny(constraint,
              {"threads a block", "threads along z", "blocks along", "shared memory"})) {
    return Ground::kMachine;
  }
  return Ground::kCap;
}

const Constraint* FirstBroken(const LegalityProgram& program, const Decisions& decisions,
                              Ground ground) {
  Assignment values;
  for (const Var& var : program.symbolic.fn.vars) values[var] = decisions.at(var->name);
  for (const Constraint& constraint : program.symbolic.constraints) {
    if (GroundOf(program, constraint) != ground) continue;
    std::optional<int64_t> excess = EvaluateInt(constraint.expr, values);
    if (!excess || *excess > 0) return &constraint;
  }
  return nullptr;
}

const Constraint* GravestBroken(const LegalityProgram& program, const Decisions& decisions) {
  for (Ground ground : {Ground::kStep, Ground::kMachine, Ground::kCap, Ground::kEstimate}) {
    if (const Constraint* broken = FirstBroken(program, decisions, ground)) return broken;
  }
  return nullptr;
}

const char* ToString(Verdict verdict) {
  switch (verdict) {
    case Verdict::kImpossible:
      return "truly illegal";
    case Verdict::kRefused:
      return "refused by its step alone";
    case Verdict::kRuns:
      return "runs all the same";
    case Verdict::kNotKnown:
      return "not known";
  }
  TCC_UNREACHABLE();
}

Judgement Judge(const LegalityProgram& program, const Decisions& decisions) {
  Judgement launch = JudgeLaunch(program, decisions);
  if (launch.verdict != Verdict::kRuns) return launch;
  bool refused = !Replay(program.fn, program.symbolic.trace, decisions).ok();
  return refused ? Judgement{Verdict::kRefused, "a step refuses the sizes once they are known"}
                 : launch;
}

std::string CapExceeded(const LegalityProgram& program, const Decisions& decisions) {
  StatusOr<LoweredPoint> point = LowerAt(program.symbolic, decisions, LoweringDepth::kMarked);
  if (!point.ok()) return "it does not lower";
  if (!Replay(program.fn, program.symbolic.trace, decisions).ok()) return "lines of a prefetch";
  for (int64_t count : point->statements) {
    if (count > kMaxStatements) return "copies of statements";
  }
  bool gpu = program.target.kind == TargetKind::kGpu;
  for (const NestFacts& nest : point->marked) {
    if (nest.lanes > kMaxLanes) return "lanes";
    if (gpu && nest.vthreads > kMaxVthreads) return "virtual threads";
    if (gpu && nest.threads() > Target::kWarp && nest.threads() % Target::kWarp != 0) {
      return "threads that are no whole warps";
    }
    if (gpu && Target::kWidestAccess % nest.vector_bytes != 0) return "the width of a vector";
  }
  if (gpu && !point->aligned) return "a vector that is not aligned";
  return "";
}

BrokenPoints FindBroken(const LegalityProgram& program, const SearchSpace& space, Random& random) {
  constexpr int kDraws = 60;
  BrokenPoints found;
  for (int draw = 0; draw < kDraws && !(found.hard && found.capped && found.slow); ++draw) {
    Decisions decisions = AnyDecisions(space, random);
    const Constraint* broken = GravestBroken(program, decisions);
    if (!broken) continue;
    Ground ground = GroundOf(program, *broken);
    std::optional<Decisions>& place = ground == Ground::kCap        ? found.capped
                                      : ground == Ground::kEstimate ? found.slow
                                                                    : found.hard;
    if (!place) place = decisions;
  }
  return found;
}

}  // namespace tcc
