#include <algorithm>
#include <cmath>

#include "codegen_cuda/nvrtc/nvrtc.h"
#include "codegen_cuda/text/cuda_source.h"
#include "schedule/space/limits.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/legality_verdict.h"

// tcc-fuzz legality --target sm_86: points of GPU sketches by what NVRTC makes of them.
namespace tcc {
namespace {

// What a drawn point says of itself by its formulas.
enum class Claim : uint8_t { kLegal, kIllegal, kCapped, kSlow };

struct Candidate {
  Claim claim = Claim::kLegal;
  std::string description;
  Function lowered;
  std::vector<int64_t> registers;  // of a thread of each launch, by the formula
};

struct LaunchCode {
  const Launch* launch = nullptr;
  KernelResources resources;
};

// What the machine has registers for, and keeps in them.
bool HasRegisters(const LaunchCode& code) {
  constexpr int64_t kUnit = 8;  // that registers of a thread are given in
  int64_t registers = (code.resources.registers + kUnit - 1) / kUnit * kUnit;
  return code.resources.spill_stores == 0 && code.resources.spill_loads == 0 &&
         registers * code.launch->Threads() <= kCudaLimits.register_file;
}

class MachineJudge {
 public:
  MachineJudge(const Target& target, Nvrtc nvrtc, FuzzResult& result)
      : target_(target), nvrtc_(std::move(nvrtc)), result_(result) {}

  void Add(Candidate candidate) {
    // The compiler's front end takes longer for the prelude than for most kernels.
    constexpr size_t kTogether = 10;
    candidate.lowered.name = fmt::format("point{}", waiting_.size());
    waiting_.push_back(std::move(candidate));
    if (waiting_.size() == kTogether) Flush();
  }

  void Flush() {
    if (!JudgeTogether(waiting_)) {
      for (const Candidate& candidate : waiting_) {
        if (!JudgeTogether({&candidate, 1})) Count(candidate, false, "does not compile");
      }
    }
    waiting_.clear();
  }

  // A broken point that there is nothing to compile of.
  void CountBroken(Verdict verdict) {
    ++result_.histogram[fmt::format("broken: {}", ToString(verdict))];
  }

  // Fails where more than one in a hundred broken points fit, or more than one in fifty legal ones
  // spill.
  void CheckShares() {
    Expect("broken: truly illegal", "broken: runs all the same", 100);
    Expect("legal: in registers", "legal: spills", 50);
  }

 private:
  // False where the text of all does not compile.
  bool JudgeTogether(std::span<const Candidate> candidates) {
    if (candidates.empty()) return true;
    std::vector<Function> functions;
    for (const Candidate& candidate : candidates) functions.push_back(candidate.lowered);
    StatusOr<CudaSource> source = EmitCuda(functions, target_);
    if (!source.ok()) return false;
    StatusOr<Cubin> cubin = nvrtc_.Compile(source->text, target_.sm);
    if (!cubin.ok()) return false;
    for (size_t i = 0; i < candidates.size(); ++i) {
      std::vector<LaunchCode> codes;
      for (const Launch& launch : source->plans[i].launches) {
        codes.push_back({&launch, ResourcesOf(*cubin, launch.kernel)});
      }
      Judge(candidates[i], codes);
    }
    return true;
  }

  static KernelResources ResourcesOf(const Cubin& cubin, const std::string& kernel) {
    for (const KernelResources& resources : cubin.kernels) {
      if (resources.kernel == kernel) return resources;
    }
    return {};
  }

  void Judge(const Candidate& candidate, const std::vector<LaunchCode>& codes) {
    if (candidate.claim == Claim::kLegal) Tabulate(candidate, codes);
    bool fits = std::ranges::all_of(codes, HasRegisters);
    if (!fits && candidate.claim == Claim::kLegal) PrintRegisters(candidate, codes);
    Count(candidate, fits, "spills");
  }

  void Count(const Candidate& candidate, bool fits, const std::string& why) {
    Histogram& histogram = result_.histogram;
    switch (candidate.claim) {
      case Claim::kLegal:
        // A spill is a loss of speed, and counted; a text that is refused is a wrong claim.
        ++histogram[fits ? "legal: in registers" : "legal: " + why];
        if (!fits) fmt::print(stderr, "a legal point {}: {}\n", why, candidate.description);
        if (!fits && why != "spills") ++result_.failed;
        return;
      case Claim::kIllegal:
        ++histogram[fits ? "broken: runs all the same" : "broken: truly illegal"];
        if (fits) fmt::print(stderr, "runs all the same: {}\n", candidate.description);
        return;
      case Claim::kCapped:
        ++histogram[fits ? "only caps of ours broken: in registers"
                         : "only caps of ours broken: " + why];
        return;
      case Claim::kSlow:
        ++histogram[fits ? "too many registers by the estimate: in registers"
                         : "too many registers by the estimate: spills"];
        return;
    }
  }

  static void PrintRegisters(const Candidate& candidate, const std::vector<LaunchCode>& codes) {
    for (size_t i = 0; i < codes.size(); ++i) {
      const KernelResources& code = codes[i].resources;
      bool known = codes.size() == candidate.registers.size();
      fmt::print(stderr,
                 "{} threads: {} registers by the formula, {} in the code, {} bytes spilt\n",
                 codes[i].launch->Threads(), known ? candidate.registers[i] : 0, code.registers,
                 code.spill_stores);
    }
  }

  // Predicted registers against those of the machine code, in steps of 32.
  void Tabulate(const Candidate& candidate, const std::vector<LaunchCode>& codes) {
    if (codes.size() != candidate.registers.size()) return;
    auto range = [](int64_t registers) {
      int64_t low = std::min<int64_t>(registers, 255) / 32 * 32;
      return fmt::format("{:3} to {:3}", low, low + 31);
    };
    for (size_t i = 0; i < codes.size(); ++i) {
      ++result_
            .histogram[fmt::format("registers: formula {}, ptxas {}", range(candidate.registers[i]),
                                   range(codes[i].resources.registers))];
    }
  }

  void Expect(const std::string& good, const std::string& bad, int64_t one_in) {
    int64_t goods = result_.histogram[good], bads = result_.histogram[bad];
    if (bads <= (goods + bads + one_in - 1) / one_in) return;
    fmt::print(stderr, "{}: {} of {}, more than one in {}\n", bad, bads, goods + bads, one_in);
    ++result_.failed;
  }

  const Target& target_;
  Nvrtc nvrtc_;
  FuzzResult& result_;
  std::vector<Candidate> waiting_;
};

std::optional<Candidate> CandidateAt(const LegalityProgram& program, const Decisions& decisions,
                                     Claim claim) {
  StatusOr<LoweredPoint> point = LowerAt(program.symbolic, decisions, LoweringDepth::kWhole);
  if (!point.ok()) return std::nullopt;
  Candidate candidate{claim, Describe(program, decisions), point->lowered, {}};
  for (const NestResources& nest : ResourcesOf(program.symbolic.fn, program.target)) {
    candidate.registers.push_back(FormulaAt(nest.registers, program.symbolic.fn, decisions));
  }
  return candidate;
}

// Far beyond the registers that there are nothing is left to ask: code for thousands of them takes
// ptxas a quarter of an hour.
bool IsNearTheLimit(const Candidate& candidate) {
  return std::ranges::all_of(candidate.registers,
                             [](int64_t count) { return count <= 2 * kCudaLimits.registers; });
}

// Whether unrolled code is no longer than legal code may be.
bool IsOfModestSize(const LegalityProgram& program, const Decisions& decisions) {
  for (const NestResources& nest : ResourcesOf(program.symbolic.fn, program.target)) {
    Expr copies = nest.statements * nest.vthreads;
    if (FormulaAt(copies, program.symbolic.fn, decisions) > kMaxStatements) return false;
  }
  return true;
}

bool IsOfRegisters(const Constraint* constraint) {
  return constraint && constraint->why.find("registers") != std::string::npos;
}

// What breaks a step's condition or a limit of the device.
void AddBroken(const LegalityProgram& program, const Decisions& decisions, MachineJudge& judge) {
  Verdict verdict = Judge(program, decisions).verdict;
  if (verdict != Verdict::kRuns) return judge.CountBroken(verdict);
  std::optional<Candidate> candidate = CandidateAt(program, decisions, Claim::kIllegal);
  if (!candidate) return judge.CountBroken(Verdict::kNotKnown);
  judge.Add(*std::move(candidate));
}

StatusOr<FoundPoints> TryProgram(const LegalityProgram& program, Random& random,
                                 MachineJudge& judge) {
  TCC_ASSIGN_OR_RETURN(SearchSpace space, SearchSpace::Create(program.symbolic));
  std::optional<Point> legal = space.Sample(random);
  if (legal) {
    Decisions decisions = space.ToDecisions(*legal);
    std::optional<Candidate> candidate = CandidateAt(program, decisions, Claim::kLegal);
    if (!candidate) {
      return absl::InternalError("a legal point does not lower: " + Describe(program, decisions));
    }
    judge.Add(*std::move(candidate));
  }
  BrokenPoints broken = FindBroken(program, space, random);
  if (broken.hard) AddBroken(program, *broken.hard, judge);
  // These take the compiler long.
  constexpr uint64_t kSlowOneIn = 5;
  if (broken.capped && random.OneIn(kSlowOneIn) && IsOfModestSize(program, *broken.capped)) {
    std::optional<Candidate> candidate = CandidateAt(program, *broken.capped, Claim::kCapped);
    if (candidate && IsNearTheLimit(*candidate)) judge.Add(*std::move(candidate));
  }
  if (broken.slow && random.OneIn(kSlowOneIn) &&
      IsOfRegisters(GravestBroken(program, *broken.slow))) {
    std::optional<Candidate> candidate = CandidateAt(program, *broken.slow, Claim::kSlow);
    if (candidate && IsNearTheLimit(*candidate)) judge.Add(*std::move(candidate));
  }
  return FoundPoints{legal.has_value(), broken.hard.has_value()};
}

}  // namespace

FuzzResult FuzzMachineLegality(const FuzzOptions& options) {
  FuzzResult result;
  StatusOr<Target> target = FindGpuTarget("--target", options.target);
  StatusOr<Nvrtc> nvrtc = Nvrtc::Open();
  result.refused = target.ok() ? nvrtc.status() : target.status();
  if (!result.refused.ok()) return result;
  MachineJudge judge(*target, *std::move(nvrtc), result);
  std::vector<LegalityProgram> zoo = ZooLegalityPrograms(*target);
  auto point = [&](uint64_t seed, Histogram&) {
    return LookForBoth(
        seed, zoo, [&](Random& random) { return RandomGpuProgram(*target, random); },
        [&](const LegalityProgram& program, Random& random) {
          return TryProgram(program, random, judge);
        });
  };
  FuzzResult run = RunPoints("legality --target " + options.target, options, point);
  judge.Flush();
  judge.CheckShares();
  result.passed = run.passed;
  result.failed += run.failed;
  return result;
}

}  // namespace tcc
