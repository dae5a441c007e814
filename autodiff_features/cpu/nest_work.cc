#include "autodiff_features/cpu/nest_work.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "autodiff_features/counts/real_formulas.h"
#include "ir/analysis/accesses.h"
#include "ir/expr/compare.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "schedule/analysis/footprint.h"
#include "schedule/analysis/registers.h"

namespace tcc {
namespace {

// Vector registers that hold operands on their way.
constexpr int kWorkingRegisters = 2;

AccessInstructions Add(const AccessInstructions& a, const AccessInstructions& b,
                       const Expr& share) {
  return {RealSum(a.vectors, RealProduct(b.vectors, share)),
          RealSum(a.broadcasts, RealProduct(b.broadcasts, share)),
          RealSum(a.elements, RealProduct(b.elements, share))};
}

// Counts the sites of one nest.
class NestCounter {
 public:
  NestCounter(const Function& fn, const Target& target, const Stmt& nest)
      : fn_(fn), target_(target) {
    PreOrder(nest, [&](const Stmt& stmt) {
      const auto* allocate = stmt.as<Allocate>();
      if (allocate && IsRegisters(*allocate)) registers_.insert(allocate->buffer.var);
    });
  }

  SiteWork Count(Site site) {
    SiteWork work;
    work.counts = CountsOf(site);
    work.operations = OperationsOf(site);
    work.loads = work.stores = {Real(0), Real(0), Real(0)};
    AccessInstructions kept = work.loads;  // of cells that stay the same in the innermost loop
    const Block& block = *site.block;
    std::vector<Access> writes = WritesOf(block);
    work.in_registers = std::ranges::all_of(
        writes, [&](const Access& write) { return registers_.contains(write.buffer); });
    work.vectors = VectorsOf(site, writes);
    for (const Ref<For>& loop : site.loops) work.footprints.push_back(FootprintOf(loop));
    work.site = std::move(site);
    for (const Access& read : ReadsOf(block)) AddAccess(work, read, false, kept);
    bool reduces = block.body.as<Reduce>() != nullptr;
    for (const Access& write : writes) {
      if (reduces) AddAccess(work, write, false, kept);
      AddAccess(work, write, true, kept);
    }
    work.loads = Add(work.loads, kept, ShareOfKept(work, kept));
    return work;
  }

 private:
  Expr VectorsOf(const Site& site, const std::vector<Access>& writes) const {
    if (!site.lane_part || writes.empty()) return Real(1);
    int bits = writes[0].buffer.dtype().bits();
    int64_t of_vector = std::max(target_.vector_bytes * 8 / bits, 1);
    return Real(CeilDivide(site.parts[*site.lane_part].extent, Expr(of_vector)));
  }

  Expr FootprintOf(const Ref<For>& loop) {
    auto [entry, is_new] = footprints_.try_emplace(loop.get());
    if (is_new) entry->second = Real(Simplify(BytesTouchedBy(fn_, loop->body)));
    return entry->second;
  }

  static bool VariesInside(const SiteWork& work, const Access& access) {
    const Site& site = work.site;
    if (site.first_spread == 0) return true;
    const Var& innermost = site.loops[site.parts[site.first_spread - 1].loop]->var;
    return BindingsUse(*site.block, VarsOf(access), innermost);
  }

  // A cell that stays the same in the innermost loop is kept in a register while that runs: loaded
  // once of `trip` times. Cells for which no register is free beside the results are loaded anew
  // each time.
  Expr ShareOfKept(const SiteWork& work, const AccessInstructions& kept) const {
    Expr once = RealQuotient(Real(1), work.counts.trip);
    Expr wanted = RealSum(RealSum(kept.vectors, kept.broadcasts), kept.elements);
    if (target_.vector_registers == 0 || IsReal(wanted, 0)) return once;
    Expr results = work.in_registers ? RealQuotient(RealProduct(work.counts.copies, work.vectors),
                                                    work.counts.chain)
                                     : Real(0);
    Expr free = MaxOf(Real(target_.vector_registers - kWorkingRegisters) - results, Real(0));
    Expr share = MinOf(RealQuotient(free, MaxOf(wanted, Real(1e-9))), Real(1));
    return RealSum(RealProduct(share, once), Real(1) - share);
  }

  // A cell that is read twice is loaded once.
  static bool IsKnown(const SiteWork& work, const Access& access, bool is_write) {
    return std::ranges::any_of(work.accesses, [&](const TracedAccess& known) {
      return known.is_write == is_write && known.access.buffer == access.buffer &&
             std::ranges::equal(known.access.indices, access.indices,
                                [](const Expr& a, const Expr& b) { return Equal(a, b); });
    });
  }

  void AddAccess(SiteWork& work, const Access& access, bool is_write, AccessInstructions& kept) {
    if (registers_.contains(access.buffer) || IsKnown(work, access, is_write)) return;
    TracedAccess traced;
    traced.access = access;
    traced.buffer = *FindBuffer(fn_, access.buffer);
    traced.is_write = is_write;
    for (size_t first = 0; first <= work.site.FirstSpreadLoop(); ++first) {
      AccessLines lines = LinesOf(work.site, access, traced.buffer, first);
      traced.lines.push_back(lines.lines);
      traced.exact = traced.exact && lines.exact;
    }
    AccessInstructions instructions = InstructionsOf(work.site, access, traced.buffer, target_);
    bool varies = VariesInside(work, access);
    if (is_write) {
      Expr share = varies ? Real(1) : RealQuotient(Real(1), work.counts.trip);
      work.stores = Add(work.stores, instructions, share);
    } else {
      AccessInstructions& sum = varies ? work.loads : kept;
      sum = Add(sum, instructions, Real(1));
    }
    work.accesses.push_back(std::move(traced));
  }

  const Function& fn_;
  const Target& target_;
  std::unordered_set<Var, VarHash> registers_;
  std::unordered_map<const For*, Expr> footprints_;
};

// The product of a block's domains that are numbers: the same at every point.
double KnownInstances(const Site& site) {
  double instances = 1;
  for (const IterVar& iter : site.block->iters) {
    instances *= static_cast<double>(AsConstant(iter.domain).value_or(1));
  }
  return instances;
}

size_t MainOf(const std::vector<SiteWork>& sites) {
  auto rank = [&](size_t s) {
    const Site& site = sites[s].site;
    return std::pair(site.block->body.as<Reduce>() != nullptr, KnownInstances(site));
  };
  size_t main = 0;
  for (size_t s = 1; s < sites.size(); ++s) {
    if (rank(s) > rank(main)) main = s;
  }
  return main;
}

Expr CountForks(const Stmt& stmt, const Expr& times) {
  const auto* loop = stmt.as<For>();
  if (loop && loop->for_kind == ForKind::kParallel) return times;
  Expr inside = loop ? RealProduct(times, Real(loop->extent)) : times;
  Expr forks = Real(0);
  ForEachChild(stmt, [&](const Stmt& child) { forks = RealSum(forks, CountForks(child, inside)); });
  return forks;
}

// Returns n where the condition asks whether a number is a multiple of n, else 1.
Expr IterationsBetween(const Expr& condition) {
  const auto* less = condition.as<Lt>();
  const auto* mod = less ? less->a.as<FloorMod>() : nullptr;
  return mod && IsConstant(less->b, 1) ? mod->b : Expr(1);
}

// Returns the number of lines, where `stmt` runs so many times. What is asked for only up to the
// end of a panel counts as if the panel had no end.
Expr CountPrefetches(const Stmt& stmt, const Expr& times) {
  if (stmt.as<PrefetchLine>()) return times;
  Expr inside = times;
  if (const auto* loop = stmt.as<For>()) inside = RealProduct(times, Real(loop->extent));
  if (const auto* test = stmt.as<If>()) {
    inside = RealQuotient(times, Real(IterationsBetween(test->condition)));
  }
  Expr lines = Real(0);
  ForEachChild(stmt,
               [&](const Stmt& child) { lines = RealSum(lines, CountPrefetches(child, inside)); });
  return lines;
}

}  // namespace

std::vector<NestWork> WorkOf(const Function& fn, const Target& target) {
  std::vector<NestSites> nests = SitesOf(fn);
  std::vector<NestResources> resources = ResourcesOf(fn, target);
  std::vector<NestWork> result;
  for (size_t n = 0; n < nests.size(); ++n) {
    if (nests[n].runs_when_linked) continue;
    NestWork& work = result.emplace_back();
    work.name = nests[n].name;
    work.resources = resources[n];
    work.bytes = Real(Simplify(BytesTouchedBy(fn, nests[n].stmt)));
    work.forks = CountForks(nests[n].stmt, Real(1));
    work.prefetched = CountPrefetches(nests[n].stmt, Real(1));
    NestCounter counter(fn, target, nests[n].stmt);
    for (Site& site : nests[n].sites) work.sites.push_back(counter.Count(std::move(site)));
    work.main = MainOf(work.sites);
  }
  return result;
}

Expr LinesInto(const Site& site, const InstanceCounts& counts, const TracedAccess& access,
               const std::vector<Expr>& footprints, const Expr& bytes) {
  size_t start = site.FirstSpreadLoop();
  Expr lines = RealProduct(access.lines[start], counts.starts[start]);
  for (size_t j = start; j-- > 0;) {
    if (IsConstant(site.loops[j]->extent, 1)) continue;
    // A run over an extent's end has fewer lines than a whole one.
    Expr once = MinOf(lines, RealProduct(access.lines[j], counts.starts[j]));
    lines = SelectOf(footprints[j] <= bytes, once, lines);
  }
  return lines;
}

}  // namespace tcc
