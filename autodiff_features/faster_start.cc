#include "autodiff_features/faster_start.h"

#include <cmath>

#include "autodiff_features/gpu/gpu_prior.h"
#include "ir/analysis/batch_evaluator.h"
#include "schedule/space/runnable_schedule.h"

namespace tcc {
namespace {

// A network's kernel finds its operands in L2, but not its weights.
constexpr RunSettings kInNetwork = {.cold_weights = true};

// Returns nullopt for a start that does not run on the target.
std::optional<double> ExpectedAtStart(const KernelWork& work, const Sketch& sketch,
                                      const Target& target) {
  const Schedule schedule = {.trace = sketch.trace, .decisions = sketch.start};
  StatusOr<Function> scheduled = ReplayFor(target, work.variants[sketch.variant], schedule);
  if (!scheduled.ok()) return std::nullopt;
  StatusOr<double> expected = ExpectedLnSeconds(*scheduled, target);
  return expected.ok() ? std::optional(*expected) : std::nullopt;
}

}  // namespace

StatusOr<double> ExpectedLnSeconds(const Function& scheduled, const Target& target) {
  const GpuConstants constants = ConstantsOf(GpuProfileOf(target.sm));
  std::vector<LaunchPrior> launches;
  for (const LaunchWork& launch : LaunchesOf(scheduled, target)) {
    launches.push_back(PriorOf(launch, constants, kInNetwork));
  }
  const Expr rows[] = {LnSecondsOf(launches)};
  TCC_ASSIGN_OR_RETURN(BatchEvaluator evaluator, BatchEvaluator::Compile(rows, {}));
  return evaluator.EvaluateAt({})[0];
}

bool TakesFasterStarts(const Target& target) {
  return target.kind == TargetKind::kGpu && GpuProfileOf(target.sm).start_margin > 0;
}

size_t FasterStart(const KernelWork& work, std::span<const Sketch> sketches, const Target& target) {
  if (sketches.empty()) return 0;
  std::optional<double> first = ExpectedAtStart(work, sketches[0], target);
  if (!first) return 0;
  size_t best = 0;
  double least = *first - std::log(GpuProfileOf(target.sm).start_margin);
  for (size_t s = 1; s < sketches.size(); ++s) {
    std::optional<double> expected = ExpectedAtStart(work, sketches[s], target);
    if (!expected || *expected >= least) continue;
    least = *expected;
    best = s;
  }
  return best;
}

}  // namespace tcc
