#include "autodiff_features/cpu/cpu_prior.h"

#include <algorithm>

#include "autodiff_features/counts/real_formulas.h"

namespace tcc {
namespace {

// --- Traffic ---

bool IsCold(const TracedAccess& access, const RunSettings& settings) {
  bool weights = access.buffer.scope == Scope::kConstant;
  return weights ? settings.cold_weights : settings.cold_activations;
}

struct CacheLevel {
  Expr bytes;
  Expr read = Real(0);
  Expr written = Real(0);
};

void AddTraffic(const NestWork& nest, const SiteWork& site, const TracedAccess& access,
                const RunSettings& settings, CacheLevel& level) {
  Expr lines = LinesInto(site.site, site.counts, access, site.footprints, level.bytes);
  if (!IsCold(access, settings)) lines = SelectOf(nest.bytes <= level.bytes, Real(0), lines);
  Expr& sum = access.is_write ? level.written : level.read;
  sum = RealSum(sum, lines);
}

// --- Cycles ---

// Cycles of one run of the straight-line code, all operands in L1.
Expr CyclesOfBody(const SiteWork& site, const CpuConstants& cpu) {
  const OperationCounts& ops = site.operations;
  Expr copies = RealProduct(site.counts.copies, site.vectors);
  double multiply_adds = ops.fma + ops.add + ops.mul + (ops.compare + ops.convert) / 2;
  Expr each = RealSum(RealQuotient(Real(multiply_adds), cpu.fma_per_cycle),
                      RealSum(RealProduct(Real(ops.divide), cpu.divide_cycles),
                              RealSum(RealProduct(Real(ops.root), cpu.root_cycles),
                                      RealProduct(Real(ops.special), cpu.special_cycles))));
  Expr loads = RealSum(site.loads.vectors, site.loads.broadcasts);
  Expr stores = RealSum(site.stores.vectors, site.stores.broadcasts);
  Expr alone = RealSum(site.loads.elements, site.stores.elements);
  Expr all = RealSum(
      RealSum(RealProduct(copies, Real(ops.Arithmetic() + ops.tests)), RealSum(loads, stores)),
      RealSum(alone, Real(2)));
  Expr latency = RealProduct(cpu.fma_latency, site.counts.chain);
  // Sums that begin anew in each run of the code go on side by side, as many as the core looks
  // ahead.
  if (!site.counts.accumulates)
    latency = RealQuotient(latency, MaxOf(RealQuotient(cpu.in_flight, all), Real(1)));
  return Largest(
      {RealProduct(copies, each),
       RealSum(RealQuotient(loads, cpu.loads_per_cycle), RealProduct(alone, cpu.gather_cycles)),
       RealQuotient(stores, cpu.stores_per_cycle), RealQuotient(all, cpu.ops_per_cycle), latency});
}

Expr SpillFactor(const NestWork& nest, const Target& target, const CpuConstants& cpu) {
  if (target.vector_registers == 0) return Real(1);
  Expr file = Real(target.vector_registers);
  Expr beyond = RealQuotient(MaxOf(Real(nest.resources.registers), file), file) - Real(1);
  return RealSum(Real(1), RealProduct(cpu.spill, beyond));
}

// Cycles of a site on one thread, and of the busiest of some threads.
struct SiteCycles {
  Expr alone;
  Expr shared;
};

SiteCycles CyclesOf(const SiteWork& site, const Expr& spill, const CpuConstants& cpu, int threads) {
  const InstanceCounts& counts = site.counts;
  Expr body = RealProduct(CyclesOfBody(site, cpu), spill);
  Expr enter = RealQuotient(cpu.enter_cycles, counts.trip);
  Expr alone =
      RealSum(RealProduct(counts.bodies, body + enter), RealProduct(counts.dead, cpu.dead_cycles));
  if (threads == 1 || !site.site.parallel_loop) return {alone, alone};
  Expr piece = RealSum(RealProduct(counts.piece, body + enter),
                       RealProduct(RealQuotient(counts.dead, counts.pieces), cpu.dead_cycles));
  Expr rounds = Real(CeilDivide(site.site.loops[*site.site.parallel_loop]->extent,
                                Expr(static_cast<int64_t>(threads))));
  Expr share = MaxOf(RealQuotient(alone, Real(threads)), RealProduct(rounds, piece));
  return {alone, MinOf(alone, share)};
}

}  // namespace

NestTraffic TrafficOf(const NestWork& nest, const CpuConstants& cpu, const RunSettings& settings) {
  CacheLevel l1{RealProduct(cpu.l1_bytes, cpu.usable)}, l2{RealProduct(cpu.l2_bytes, cpu.usable)},
      l3{RealProduct(cpu.l3_bytes, cpu.usable)};
  Expr touched = Real(0);
  for (const SiteWork& site : nest.sites) {
    for (const TracedAccess& access : site.accesses) {
      for (CacheLevel* level : {&l1, &l2, &l3}) {
        AddTraffic(nest, site, access, settings, *level);
      }
      touched = RealSum(touched, access.lines[0]);
    }
  }
  return {l1.read, l2.read, l3.read, l1.written, l2.written, l3.written, touched};
}

NestPrior PriorOf(const NestWork& nest, const NestTraffic& traffic, const Target& target,
                  const CpuConstants& cpu, const RunSettings& settings) {
  Expr spill = SpillFactor(nest, target, cpu);
  Expr alone = Real(0), shared = Real(0);
  for (const SiteWork& site : nest.sites) {
    SiteCycles cycles = CyclesOf(site, spill, cpu, settings.threads);
    alone = RealSum(alone, cycles.alone);
    shared = RealSum(shared, cycles.shared);
  }
  Expr prefetches = RealProduct(nest.prefetched, cpu.prefetch_cycles);
  alone = RealSum(alone, prefetches);
  shared = RealSum(shared, RealQuotient(prefetches, Real(settings.threads)));
  NestPrior prior;
  prior.busy = settings.threads == 1 ? Real(1) : RealQuotient(alone, shared);
  prior.imbalance = RealQuotient(Real(settings.threads), prior.busy);
  // A written line is fetched first and leaves again.
  auto bytes = [](const Expr& read, const Expr& written) {
    return RealProduct(Real(kCacheLineBytes), RealSum(read, RealProduct(Real(2), written)));
  };
  auto rate = [&](const Expr& one, const Expr& all) {
    return settings.threads == 1 ? one : MinOf(RealProduct(one, prior.busy), all);
  };
  prior.issue = RealQuotient(shared, cpu.hertz);
  prior.l2 = RealQuotient(bytes(traffic.l1_read, traffic.l1_written),
                          RealProduct(cpu.l2_rate, prior.busy));
  prior.l3 =
      RealQuotient(bytes(traffic.l2_read, traffic.l2_written), rate(cpu.l3_rate, cpu.l3_all_rate));
  prior.memory = RealQuotient(bytes(traffic.l3_read, traffic.l3_written),
                              rate(cpu.memory_rate, cpu.memory_all_rate));
  prior.overhead = settings.threads == 1 ? Real(0) : RealProduct(nest.forks, cpu.fork_seconds);
  prior.seconds = RealSum(Overlapped({prior.issue, prior.l2, prior.l3, prior.memory}, cpu.overlap),
                          prior.overhead);
  return prior;
}

Expr LnSecondsOf(std::span<const NestPrior> nests, const CpuConstants& cpu) {
  Expr seconds = cpu.call_seconds;
  for (const NestPrior& nest : nests) seconds = RealSum(seconds, nest.seconds);
  return Ln(seconds);
}

}  // namespace tcc
