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
      total = Plus(total, Times(Times(site.warps, site.runs), site.*count));
    }
    return total;
  };
  prior.multiply_adds = sum(&WarpSite::multiply_adds);
  prior.special = sum(&WarpSite::special);
  prior.mma = sum(&WarpSite::mma);
  prior.block_passes = sum(&WarpSite::passes);
  prior.sectors = sum(&WarpSite::sectors);
  Expr of_steps = Times(Times(launch.warps, launch.steps), gpu.step_instructions);
  prior.instructions = Plus(sum(&WarpSite::instructions), of_steps);
  for (const WarpSite& site : launch.sites) {
    Expr exchanges = Times(Times(site.warps, site.exchanges), Real(kOfExchange));
    prior.instructions = Plus(prior.instructions, exchanges);
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
  Expr file = MinOf(Real(kCudaLimits.registers), Over(Real(kCudaLimits.register_file), threads));
  Expr beyond = Over(MaxOf(Real(needs.registers), file), file) - Real(1);
  return Plus(Real(1), Times(gpu.spill, beyond));
}

// Returns the bytes that move between memory and L2.
Expr MemoryBytes(const LaunchWork& launch, const Expr& l2_bytes, const Expr& resident,
                 const GpuConstants& gpu, const RunSettings& settings) {
  const Expr& all = launch.memory_bytes;
  Expr cold = Real(0);
  if (settings.cold_weights) cold = Plus(cold, launch.constant_bytes);
  if (settings.cold_activations) cold = Plus(cold, all - launch.constant_bytes);
  Expr at_once = Times(resident, Real(static_cast<double>(gpu.multiprocessors)));
  Expr waves = MaxOf(Over(Real(launch.blocks), at_once), Real(1));
  Expr again = Plus(Real(1), Times(gpu.read_again, waves - Real(1)));
  Expr larger = MinOf(Times(all, again), MaxOf(l2_bytes, all));
  return SelectOf(all <= Times(gpu.l2_bytes, gpu.usable), cold, larger);
}

// Returns the instructions of the launch's machine code. Copies stand before the loop of steps and
// in it, and loops stand with and without conditions: 520 instructions for 232 counted ones, 560
// for 247, 872 for 380 in convolutions of resnet18. Too few elsewhere: products have 3 to 8 times.
Expr CodeOf(const LaunchWork& launch, const GpuConstants& gpu) {
  Expr code = gpu.step_instructions;
  for (const WarpSite& site : launch.sites) code = Plus(code, site.instructions);
  return Times(code, gpu.code_versions);
}

// Returns the cycles that an instruction in a loop is waited for, on average. Code that takes turns
// in a cache smaller than itself is never found there as a whole: the part beyond is fetched anew
// each time.
Expr FetchCyclesInLoops(const LaunchWork& launch, const GpuConstants& gpu) {
  Expr looped = gpu.step_instructions;
  for (const WarpSite& site : launch.sites) {
    looped = Plus(looped, SelectOf(site.runs > Real(1), site.instructions, Real(0)));
  }
  Expr beyond = MaxOf(looped - gpu.cached_instructions, Real(0));
  return Times(Over(beyond, looped), gpu.fetch_cycles);
}

// Returns the cycles that a block takes if its warps never wait for each other's instructions: each
// instruction a cycle, and what loads and barriers let a warp wait for. With copies for `ahead`
// steps under way, ahead + 1 steps of c cycles take at least the latency and one step: a step takes
// max(c, (c + latency) / (ahead + 1)).
Expr CyclesAlone(const LaunchWork& launch, const GpuConstants& gpu) {
  Expr cycles = Real(0), waits = gpu.memory_latency;
  Expr of_instruction = Plus(Real(1), FetchCyclesInLoops(launch, gpu));
  // Machine code issues several loads of a loop before it uses the first.
  Expr of_load = Over(gpu.memory_latency, gpu.loads_together);
  for (const WarpSite& site : launch.sites) {
    Expr each = Times(site.instructions, of_instruction);
    if (site.waits_for_shared) each = Plus(each, gpu.shared_latency);
    if (site.waits_for_memory) each = Plus(each, of_load);
    if (site.fills_from_memory) {
      each = Plus(each, SelectOf(launch.ahead < Real(1), of_load, Real(0)));
    }
    cycles = Plus(cycles, Times(site.runs, each));
    waits = Plus(waits, Times(site.exchanges, gpu.exchange_cycles));
  }
  if (IsReal(launch.steps, 0)) return Plus(cycles, waits);
  Expr step = Over(cycles, launch.steps);
  Expr shared_by = Plus(launch.ahead, Real(1));
  Expr each = MaxOf(step, Over(Plus(step, gpu.memory_latency), shared_by));
  return Plus(waits, Times(launch.steps, Plus(each, gpu.barrier_cycles)));
}

}  // namespace

LaunchPrior PriorOf(const LaunchWork& launch, const GpuConstants& gpu,
                    const RunSettings& settings) {
  LaunchPrior prior;
  CountBlock(launch, gpu, prior);
  Expr blocks = Real(launch.blocks), processors(gpu.multiprocessors);
  Expr resident = ResidentOf(launch, gpu);
  Expr busy = Largest(
      {Over(prior.instructions, gpu.issued_per_cycle), Over(prior.multiply_adds, gpu.fma_per_cycle),
       Over(prior.special, gpu.special_per_cycle), Over(prior.mma, gpu.mma_per_cycle)});
  Expr l2_bytes = Times(Times(blocks, prior.sectors), Real(kSectorBytes));
  Expr ports = Times(MinOf(blocks, Real(processors)), Times(gpu.l2_port, gpu.hertz));

  prior.rounds = Real(CeilDivide(launch.blocks, processors));
  prior.resident = Real(resident);
  prior.issue = Over(Times(Times(prior.rounds, busy), SpillFactor(launch, gpu)), gpu.hertz);
  prior.passes =
      Over(Times(prior.rounds, Over(prior.block_passes, gpu.passes_per_cycle)), gpu.hertz);
  prior.l2 = Over(l2_bytes, MinOf(gpu.l2_rate, ports));
  prior.memory =
      Over(MemoryBytes(launch, l2_bytes, prior.resident, gpu, settings), gpu.memory_rate);
  prior.waves = Real(CeilDivide(launch.blocks, processors * resident));
  // The first warp finds no code in the cache.
  prior.code = CodeOf(launch, gpu);
  Expr fetched = Times(prior.code, gpu.fetch_cycles);
  prior.latency = Over(Plus(Times(prior.waves, CyclesAlone(launch, gpu)), fetched), gpu.hertz);
  prior.seconds = Plus(
      Overlapped({prior.issue, prior.passes, prior.l2, prior.memory, prior.latency}, gpu.overlap),
      gpu.launch_seconds);
  prior.fma_share = Over(prior.multiply_adds, MaxOf(prior.instructions, Real(1)));
  return prior;
}

Expr LnSecondsOf(std::span<const LaunchPrior> launches) {
  Expr seconds = Real(0);
  for (const LaunchPrior& launch : launches) seconds = Plus(seconds, launch.seconds);
  return Ln(seconds);
}

}  // namespace tcc
