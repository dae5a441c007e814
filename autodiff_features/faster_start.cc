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

std::optional<Sketch> FasterStart(const KernelWork& work, const Target& target,
                                  std::span<const SketchRule> rules) {
  if (target.kind != TargetKind::kGpu) return std::nullopt;
  const double margin = GpuProfileOf(target.sm).start_margin;
  if (margin == 0) return std::nullopt;
  std::optional<double> first;
  std::optional<Sketch> best;
  double least = 0;
  for (size_t v = 0; v < work.variants.size(); ++v) {
    std::vector<Sketch> sketches = GenerateSketches(work.variants[v], target, rules);
    for (size_t s = 0; s < sketches.size(); ++s) {
      sketches[s].variant = v;
      std::optional<double> expected = ExpectedAtStart(work, sketches[s], target);
      if (!expected) continue;
      if (v == work.first_variant && s == 0) first = expected;
      if (best && *expected >= least) continue;
      least = *expected;
      best = std::move(sketches[s]);
    }
  }
  if (!best || !first || *first - least < std::log(margin)) return std::nullopt;
  return best;
}

}  // namespace tcc
