#include "autodiff_features/gpu/gpu_prior.h"

#include <algorithm>

#include "autodiff_features/counts/real_formulas.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

constexpr double kOfExchange = 12;

// Sets what a block needs: the counts of all runs in all warps.
void CountBlock(const LaunchWork& launch, const GpuConstants& gpu, LaunchPrior& prior) {
  auto sum = [&](Expr WarpSite::* count) {
    Expr total = Real(0);
    for (const WarpSite& site : launch.sites) {
      total = RealSum(total, RealProduct(RealProduct(site.warps, site.runs), site.*count));
    }
    return total;
  };
  prior.multiply_adds = sum(&WarpSite::multiply_adds);
  prior.special = sum(&WarpSite::special);
  prior.mma = Real(0);
  for (const WarpSite& site : launch.sites) {
    Expr all = RealProduct(RealProduct(site.warps, site.runs), site.mma);
    prior.mma = RealSum(prior.mma, site.by_group ? RealQuotient(all, gpu.group_speed) : all);
  }
  prior.block_passes = sum(&WarpSite::passes);
  prior.sectors = sum(&WarpSite::sectors);
  Expr of_steps = RealProduct(RealProduct(launch.warps, launch.steps), gpu.step_instructions);
  prior.instructions = RealSum(sum(&WarpSite::instructions), of_steps);
  for (const WarpSite& site : launch.sites) {
    Expr exchanges = RealProduct(RealProduct(site.warps, site.exchanges), Real(kOfExchange));
    prior.instructions = RealSum(prior.instructions, exchanges);
  }
}

Expr RoundedUp(const Expr& value, int64_t unit) {
  return CeilDivide(value, Expr(unit)) * Expr(unit);
}

// Returns the number of blocks that are resident on a multiprocessor, at least 1.
Expr ResidentOf(const LaunchWork& launch, const GpuConstants& gpu) {
  const NestResources& needs = launch.resources;
  Expr warps = CeilDivide(needs.threads, Expr(Target::kWarp));
  Expr registers = MinOf(needs.registers, Expr(kCudaLimits.registers));
  Expr of_warp = RoundedUp(registers * Expr(Target::kWarp), kRegisterUnit);
  Expr shared = RoundedUp(needs.shared_bytes + Expr(gpu.reserved_bytes), kSharedUnit);
  Expr resident = MinOf(Expr(gpu.blocks), FloorDivide(Expr(gpu.warps), warps));
  resident = MinOf(resident, FloorDivide(Expr(kCudaLimits.register_file), of_warp * warps));
  if (!IsConstant(needs.shared_bytes, 0)) {
    // A point may need none.
    Expr some = MaxOf(shared, Expr(kSharedUnit));
    resident = MinOf(resident, FloorDivide(Expr(gpu.shared_bytes), some));
  }
  return MaxOf(resident, Expr(1));
}

// Returns the slowdown by values that do not fit the registers of a thread.
Expr SpillFactor(const LaunchWork& launch, const GpuConstants& gpu) {
  const NestResources& needs = launch.resources;
  Expr threads = MaxOf(Real(needs.threads), Real(Target::kWarp));
  Expr file =
      MinOf(Real(kCudaLimits.registers), RealQuotient(Real(kCudaLimits.register_file), threads));
  Expr beyond = RealQuotient(MaxOf(Real(needs.registers), file), file) - Real(1);
  return RealSum(Real(1), RealProduct(gpu.spill, beyond));
}

// Returns the bytes that move between memory and L2.
Expr MemoryBytes(const LaunchWork& launch, const Expr& l2_bytes, const Expr& resident,
                 const GpuConstants& gpu, const RunSettings& settings) {
  const Expr& all = launch.memory_bytes;
  Expr cold = Real(0);
  if (settings.cold_weights) cold = RealSum(cold, launch.constant_bytes);
  if (settings.cold_activations) cold = RealSum(cold, all - launch.constant_bytes);
  Expr at_once = RealProduct(resident, Real(static_cast<double>(gpu.multiprocessors)));
  Expr waves = MaxOf(RealQuotient(Real(launch.blocks), at_once), Real(1));
  Expr again = RealSum(Real(1), RealProduct(gpu.read_again, waves - Real(1)));
  Expr larger = MinOf(RealProduct(all, again), MaxOf(l2_bytes, all));
  return SelectOf(all <= RealProduct(gpu.l2_bytes, gpu.usable), cold, larger);
}

// Returns the instructions of the launch's machine code. Copies stand before the loop of steps and
// in it, and loops stand with and without conditions: 520 instructions for 232 counted ones, 560
// for 247, 872 for 380 in convolutions of resnet18. Too few elsewhere: products have 3 to 8 times.
Expr CodeOf(const LaunchWork& launch, const GpuConstants& gpu) {
  Expr code = gpu.step_instructions;
  for (const WarpSite& site : launch.sites) code = RealSum(code, site.instructions);
  return RealProduct(code, gpu.code_versions);
}

// Returns the cycles that an instruction in a loop is waited for, on average. Code that takes turns
// in a cache smaller than itself is never found there as a whole: the part beyond is fetched anew
// each time.
Expr FetchCyclesInLoops(const LaunchWork& launch, const GpuConstants& gpu) {
  Expr looped = gpu.step_instructions;
  for (const WarpSite& site : launch.sites) {
    looped = RealSum(looped, SelectOf(site.runs > Real(1), site.instructions, Real(0)));
  }
  Expr beyond = MaxOf(looped - gpu.cached_instructions, Real(0));
  return RealProduct(RealQuotient(beyond, looped), gpu.fetch_cycles);
}

// Returns the cycles that a block takes if its warps never wait for each other's instructions: each
// instruction a cycle, and what loads and barriers let a warp wait for. With copies for `ahead`
// steps under way, ahead + 1 steps of c cycles take at least the latency and one step: a step takes
// max(c, (c + latency) / (ahead + 1)).
Expr CyclesAlone(const LaunchWork& launch, const GpuConstants& gpu) {
  Expr cycles = Real(0), waits = gpu.memory_latency;
  Expr of_instruction = RealSum(Real(1), FetchCyclesInLoops(launch, gpu));
  // Machine code issues several loads of a loop before it uses the first.
  Expr of_load = RealQuotient(gpu.memory_latency, gpu.loads_together);
  for (const WarpSite& site : launch.sites) {
    Expr each = RealProduct(site.instructions, of_instruction);
    if (site.waits_for_shared) each = RealSum(each, gpu.shared_latency);
    if (site.waits_for_memory) each = RealSum(each, of_load);
    if (site.fills_from_memory) {
      each = RealSum(each, SelectOf(launch.ahead < Real(1), of_load, Real(0)));
    }
    cycles = RealSum(cycles, RealProduct(site.runs, each));
    waits = RealSum(waits, RealProduct(site.exchanges, gpu.exchange_cycles));
  }
  if (IsReal(launch.steps, 0)) return RealSum(cycles, waits);
  Expr step = RealQuotient(cycles, launch.steps);
  Expr shared_by = RealSum(launch.ahead, Real(1));
  Expr each = MaxOf(step, RealQuotient(RealSum(step, gpu.memory_latency), shared_by));
  return RealSum(waits, RealProduct(launch.steps, RealSum(each, gpu.barrier_cycles)));
}

}  // namespace

LaunchPrior PriorOf(const LaunchWork& launch, const GpuConstants& gpu,
                    const RunSettings& settings) {
  LaunchPrior prior;
  CountBlock(launch, gpu, prior);
  Expr blocks = Real(launch.blocks), processors(gpu.multiprocessors);
  Expr resident = ResidentOf(launch, gpu);
  Expr busy = Largest({RealQuotient(prior.instructions, gpu.issued_per_cycle),
                       RealQuotient(prior.multiply_adds, gpu.fma_per_cycle),
                       RealQuotient(prior.special, gpu.special_per_cycle),
                       RealQuotient(prior.mma, gpu.mma_per_cycle)});
  Expr l2_bytes = RealProduct(RealProduct(blocks, prior.sectors), Real(kSectorBytes));
  Expr ports = RealProduct(MinOf(blocks, Real(processors)), RealProduct(gpu.l2_port, gpu.hertz));

  prior.rounds = Real(CeilDivide(launch.blocks, processors));
  prior.resident = Real(resident);
  prior.issue = RealQuotient(RealProduct(RealProduct(prior.rounds, busy), SpillFactor(launch, gpu)),
                             gpu.hertz);
  prior.passes = RealQuotient(
      RealProduct(prior.rounds, RealQuotient(prior.block_passes, gpu.passes_per_cycle)), gpu.hertz);
  prior.l2 = RealQuotient(l2_bytes, MinOf(gpu.l2_rate, ports));
  prior.memory =
      RealQuotient(MemoryBytes(launch, l2_bytes, prior.resident, gpu, settings), gpu.memory_rate);
  prior.waves = Real(CeilDivide(launch.blocks, processors * resident));
  // The first warp finds no code in the cache.
  prior.code = CodeOf(launch, gpu);
  Expr fetched = RealProduct(prior.code, gpu.fetch_cycles);
  prior.latency =
      RealQuotient(RealSum(RealProduct(prior.waves, CyclesAlone(launch, gpu)), fetched), gpu.hertz);
  prior.seconds = RealSum(
      Overlapped({prior.issue, prior.passes, prior.l2, prior.memory, prior.latency}, gpu.overlap),
      gpu.launch_seconds);
  prior.fma_share = RealQuotient(prior.multiply_adds, MaxOf(prior.instructions, Real(1)));
  return prior;
}

Expr LnSecondsOf(std::span<const LaunchPrior> launches) {
  Expr seconds = Real(0);
  for (const LaunchPrior& launch : launches) seconds = RealSum(seconds, launch.seconds);
  return Ln(seconds);
}

}  // namespace tcc
