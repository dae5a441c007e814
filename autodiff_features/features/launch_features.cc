#include "autodiff_features/features/launch_features.h"

#include "autodiff_features/counts/real_formulas.h"
#include "support/check.h"

namespace tcc {

std::vector<Expr> FeaturesOf(const LaunchWork& launch, const LaunchPrior& prior,
                             const GpuConstants& gpu) {
  std::vector<Expr> rows(kLaunchFeatures);
  auto set = [&](LaunchFeature feature, const Expr& formula) {
    rows[static_cast<size_t>(feature)] = formula;
  };
  const NestResources& needs = launch.resources;
  Expr blocks = Real(launch.blocks), threads = Real(needs.threads);
  Expr registers = Real(needs.registers), shared_bytes = Real(needs.shared_bytes);
  Expr shares = RealProduct(prior.rounds, Real(static_cast<double>(gpu.multiprocessors)));

  set(LaunchFeature::kBlocks, blocks);
  set(LaunchFeature::kThreads, threads);
  set(LaunchFeature::kResident, prior.resident);
  set(LaunchFeature::kRounds, prior.rounds);
  set(LaunchFeature::kWaves, prior.waves);
  set(LaunchFeature::kTailShare, Real(1) - RealQuotient(blocks, shares));
  set(LaunchFeature::kInstructions, prior.instructions);
  set(LaunchFeature::kFma, prior.multiply_adds);
  set(LaunchFeature::kMma, prior.mma);
  set(LaunchFeature::kSpecial, prior.special);
  set(LaunchFeature::kPasses, prior.block_passes);
  set(LaunchFeature::kSectors, prior.sectors);
  set(LaunchFeature::kMemoryBytes, launch.memory_bytes);
  set(LaunchFeature::kConstantBytes, launch.constant_bytes);
  set(LaunchFeature::kSteps, launch.steps);
  set(LaunchFeature::kAhead, launch.ahead);
  set(LaunchFeature::kRegisters, registers);
  set(LaunchFeature::kRegisterShare,
      RealQuotient(RealProduct(registers, threads), Real(kCudaLimits.register_file)));
  set(LaunchFeature::kSharedBytes, shared_bytes);
  set(LaunchFeature::kSharedShare,
      RealQuotient(shared_bytes, Real(static_cast<double>(gpu.shared_bytes))));
  set(LaunchFeature::kCode, prior.code);
  set(LaunchFeature::kFmaShare, prior.fma_share);
  set(LaunchFeature::kIssueSeconds, prior.issue);
  set(LaunchFeature::kPassSeconds, prior.passes);
  set(LaunchFeature::kL2Seconds, prior.l2);
  set(LaunchFeature::kMemorySeconds, prior.memory);
  set(LaunchFeature::kLatencySeconds, prior.latency);
  set(LaunchFeature::kSeconds, prior.seconds);
  for (const Expr& row : rows) TCC_CHECK(row) << "a row of the feature table has no formula";
  return rows;
}

}  // namespace tcc
