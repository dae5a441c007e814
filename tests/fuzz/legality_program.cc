#include "tests/fuzz/legality_program.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "ir/expr/evaluate.h"
#include "ir/expr/visitor.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/limits.h"
#include "support/check.h"
#include "tests/fuzz/random/task_functions.h"
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
      // With enough padding the image may be one pixel.
      auto reach = [&](int64_t kernel) {
        return shape.dilation * (kernel - 1) + 1 - 2 * shape.pad;
      };
      shape.height = std::max(Extent(random), reach(shape.kernel_h));
      shape.width = std::max(Extent(random), reach(shape.kernel_w));
      shape.channels = Extent(random);
      shape.filters = Extent(random);
      return ConvFunction(shape);
    }
  }
}

StatusOr<LegalityProgram> MakeProgram(std::string name, const Function& fn, const Trace& trace,
                                      const Target& target) {
  StatusOr<SymbolicProgram> symbolic = Instantiate(fn, trace);
  if (!symbolic.ok()) return Annotate(symbolic.status(), name);
  Constraints asked = symbolic->constraints;
  return LegalityProgram{std::move(name), fn, target, WithLimits(*std::move(symbolic), target),
                         asked};
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

}  // namespace

StatusOr<LegalityProgram> RandomGpuProgram(const Target& target, Random& random) {
  Function fn = LargeFunction(random);
  std::vector<Sketch> sketches = GenerateSketches(fn, target);
  const Sketch& sketch = sketches[random.Below(sketches.size())];
  return MakeProgram(fmt::format("sketch '{}' of {} for {}", sketch.name, fn.name, target.name), fn,
                     sketch.trace, target);
}

StatusOr<LegalityProgram> RandomLegalityProgram(Random& random) {
  bool gpu = random.OneIn(2);
  const char* name = gpu ? kGpus[random.Below(std::size(kGpus))] : "native";
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget(name));
  if (gpu || random.OneIn(2)) return RandomGpuProgram(target, random);
  SpikeProgram spike = BuildSpike(random.Below(SpikeCount()), random);
  if (random.OneIn(2)) {
    spike.trace = RandomTrace(spike.fn, {.steps = static_cast<int>(random.Between(2, 12))}, random);
    spike.name = "random trace of " + spike.fn.name;
  }
  TCC_ASSIGN_OR_RETURN(LegalityProgram program,
                       MakeProgram(spike.name, spike.fn, spike.trace, target));
  if (!NeedsGpu(program.symbolic.fn)) return program;
  TCC_ASSIGN_OR_RETURN(Target gpu_target, FindTarget("sm_86"));
  return MakeProgram(spike.name, spike.fn, spike.trace, gpu_target);
}

std::vector<LegalityProgram> ZooLegalityPrograms(const Target& target) {
  std::vector<LegalityProgram> all;
  for (const TaskFunction& task : ZooTaskFunctions()) {
    for (const Sketch& sketch : GenerateSketches(task.fn, target)) {
      std::string title =
          fmt::format("sketch '{}' of {} for {}", sketch.name, task.nodes, target.name);
      StatusOr<LegalityProgram> program = MakeProgram(title, task.fn, sketch.trace, target);
      TCC_CHECK(program.ok()) << Message(program.status());
      if (!sketch.trace.sizes.empty()) all.push_back(*std::move(program));
    }
  }
  return all;
}

bool Runs(const LoweredPoint& point, const Target& target) {
  if (target.kind == TargetKind::kGpu && !point.aligned) return false;
  return std::ranges::all_of(point.marked,
                             [&](const NestFacts& nest) { return Fits(nest, target); });
}

std::string WhyNot(const LoweredPoint& point, const Target& target) {
  for (const NestFacts& nest : point.marked) {
    if (Fits(nest, target)) continue;
    return fmt::format("{} threads, {} along z, a grid of {}, {} shared bytes, vectors of {} bytes",
                       nest.threads(), nest.threads_by_axis[2], fmt::join(nest.grid, " x "),
                       nest.shared_bytes, nest.vector_bytes);
  }
  return "a vector is not aligned";
}

std::string Describe(const LegalityProgram& program, const Decisions& decisions) {
  std::string text = program.name + " at";
  for (const auto& [name, value] : decisions) text += fmt::format(" {}={}", name, value);
  return text + "\ntrace:\n" + Print(program.symbolic.trace);
}

std::string KindOf(const Constraint& constraint) {
  size_t colon = constraint.why.find(": ");
  return colon == std::string::npos ? constraint.why : constraint.why.substr(colon + 2);
}

Status LookForBoth(
    uint64_t seed, const std::vector<LegalityProgram>& zoo,
    const std::function<StatusOr<LegalityProgram>(Random&)>& draw,
    const std::function<StatusOr<FoundPoints>(const LegalityProgram&, Random&)>& look) {
  constexpr int kMaxPrograms = 50;
  Random random(seed);
  FoundPoints found;
  if (seed % 2 == 0) {
    TCC_ASSIGN_OR_RETURN(found, look(zoo[seed / 2 % zoo.size()], random));
  }
  for (int tries = 0; tries < kMaxPrograms && !(found.legal && found.broken); ++tries) {
    TCC_ASSIGN_OR_RETURN(LegalityProgram program, draw(random));
    if (program.symbolic.trace.sizes.empty()) continue;
    TCC_ASSIGN_OR_RETURN(FoundPoints now, look(program, random));
    found = {found.legal || now.legal, found.broken || now.broken};
  }
  if (found.legal && found.broken) return OkStatus();
  return absl::InternalError(fmt::format("no program of {} had a {} point", kMaxPrograms,
                                         found.legal ? "broken" : "legal"));
}

}  // namespace tcc
