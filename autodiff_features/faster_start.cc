#include "autodiff_features/faster_start.h"

#include <cmath>

#include "autodiff_features/gpu/gpu_prior.h"
#include "ir/analysis/batch_evaluator.h"
#include "ir/expr/visitor.h"
#include "ir/expr/warp_instruction.h"
#include "schedule/space/runnable_schedule.h"

namespace tcc {
namespace {

// A network's kernel finds its operands in L2, but not its weights.
constexpr RunSettings kInNetwork = {.cold_weights = true};

bool UsesTensorCores(const Function& scheduled) {
  bool uses = false;
  PreOrder(scheduled.body, [&](const Stmt& stmt) {
    const auto* call = stmt.as<IntrinsicCall>();
    const WarpInstruction* known = call ? FindWarpInstruction(call->intrinsic) : nullptr;
    uses = uses || (known && known->Multiplies());
  });
  return uses;
}

struct ExpectedStart {
  double ln_seconds = 0;
  bool tensor_cores = false;
};

// Returns nullopt for a start that does not run on the target.
std::optional<ExpectedStart> ExpectedAtStart(const KernelWork& work, const Sketch& sketch,
                                             const Target& target) {
  const Schedule schedule = {.trace = sketch.trace, .decisions = sketch.start};
  StatusOr<Function> scheduled = ReplayFor(target, work.variants[sketch.variant], schedule);
  if (!scheduled.ok()) return std::nullopt;
  StatusOr<double> expected = ExpectedLnSeconds(*scheduled, target);
  if (!expected.ok()) return std::nullopt;
  return ExpectedStart{*expected, UsesTensorCores(*scheduled)};
}

}  // namespace

StatusOr<double> ExpectedLnSeconds(const Function& scheduled, const Target& target) {
  const GpuConstants constants = ConstantsOf(GpuProfileOf(target));
  std::vector<LaunchPrior> launches;
  for (const LaunchWork& launch : LaunchesOf(scheduled, target)) {
    launches.push_back(PriorOf(launch, constants, kInNetwork));
  }
  const Expr rows[] = {LnSecondsOf(launches)};
  TCC_ASSIGN_OR_RETURN(BatchEvaluator evaluator, BatchEvaluator::Compile(rows, {}));
  return evaluator.EvaluateAt({})[0];
}

bool TakesFasterStarts(const Target& target) {
  return target.kind == TargetKind::kGpu && GpuProfileOf(target).start_margin > 0;
}

size_t FasterStart(const KernelWork& work, std::span<const Sketch> sketches, const Target& target) {
  if (sketches.empty()) return 0;
  std::optional<ExpectedStart> first = ExpectedAtStart(work, sketches[0], target);
  if (!first) return 0;
  // No device has timed attention on tensor cores yet.
  if (first->tensor_cores && sketches[0].name.starts_with("attention")) return 0;
  size_t best = 0;
  double least = first->ln_seconds - std::log(GpuProfileOf(target).start_margin);
  for (size_t s = 1; s < sketches.size(); ++s) {
    std::optional<ExpectedStart> expected = ExpectedAtStart(work, sketches[s], target);
    if (!expected || expected->ln_seconds >= least) continue;
    if (first->tensor_cores && !expected->tensor_cores) continue;
    least = expected->ln_seconds;
    best = s;
  }
  return best;
}

}  // namespace tcc
