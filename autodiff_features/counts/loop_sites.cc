#include "autodiff_features/counts/loop_sites.h"

#include <algorithm>
#include <set>

#include "ir/analysis/accesses.h"
#include "ir/analysis/affine.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "schedule/analysis/registers.h"
#include "schedule/space/resources.h"

namespace tcc {
namespace {

bool MayExist(const Block& block) {
  return std::ranges::none_of(block.iters,
                              [](const IterVar& iter) { return IsConstant(iter.domain, 0); });
}

bool IsSubset(const std::vector<size_t>& a, const std::vector<size_t>& b) {
  return std::ranges::includes(b, a);
}

bool Meet(const std::vector<size_t>& a, const std::vector<size_t>& b) {
  return std::ranges::any_of(a, [&](size_t part) { return std::ranges::binary_search(b, part); });
}

// The binding at the first iteration of every part outside the unrolled and vectorized ones.
Expr SpreadBinding(const Site& site, size_t iter) {
  Substitution zeros;
  for (size_t p : site.parts_of[iter]) {
    if (!site.IsSpread(p)) zeros.emplace(site.parts[p].var, Expr(0));
  }
  return Substitute(site.bindings[iter], zeros);
}

bool StartsAtZero(const Expr& binding, const std::vector<LoopPart>& parts) {
  std::vector<Var> vars;
  for (const LoopPart& part : parts) vars.push_back(part.var);
  std::optional<AffineForm> form = ToAffine(binding, vars);
  return form && IsConstant(Simplify(form->rest), 0);
}

bool IsDenseIter(const Site& site, size_t iter) {
  std::vector<LoopPart> spread(site.parts.begin() + static_cast<ptrdiff_t>(site.first_spread),
                               site.parts.end());
  return StartsAtZero(site.bindings[iter], site.parts) &&
         IsDense(site.bindings[iter], site.parts) && IsDense(SpreadBinding(site, iter), spread);
}

void FindDense(Site& site) {
  std::vector<size_t> candidates;
  for (size_t i = 0; i < site.bindings.size(); ++i) {
    if (!site.parts_of[i].empty() && IsDenseIter(site, i)) candidates.push_back(i);
  }
  // The variable with most parts decides the others that share them.
  std::ranges::stable_sort(candidates, [&](size_t a, size_t b) {
    return site.parts_of[a].size() > site.parts_of[b].size();
  });
  std::set<size_t> taken;
  for (size_t i : candidates) {
    bool free = std::ranges::none_of(
        site.dense, [&](size_t other) { return Meet(site.parts_of[i], site.parts_of[other]); });
    if (!free) continue;
    site.dense.push_back(i);
    taken.insert(site.parts_of[i].begin(), site.parts_of[i].end());
  }
  std::ranges::sort(site.dense);
  for (size_t p = 0; p < site.parts.size(); ++p) {
    if (!taken.contains(p)) site.other_parts.push_back(p);
  }
}

// Whether a variable that is not dense may have fewer instances than its parts have iterations.
bool MayLeaveOut(const Site& site, size_t iter) {
  if (std::ranges::find(site.dense, iter) != site.dense.end()) return false;
  if (site.parts_of[iter].empty()) return !IsConstant(site.bindings[iter], 0);
  return std::ranges::none_of(site.dense, [&](size_t other) {
    return IsSubset(site.parts_of[iter], site.parts_of[other]);
  });
}

// Whether the value stays below the extent at every iteration, whatever the sizes are.
bool AlwaysHolds(const LoopGuard& guard, const std::vector<Ref<For>>& loops) {
  std::vector<Expr> value = {guard.value};
  std::vector<Var> vars;
  std::vector<Expr> lows, extents;
  for (const LoopPart& part : TakeApart(loops, value)) {
    vars.push_back(part.var);
    lows.emplace_back(0);
    extents.push_back(Simplify(part.extent));
  }
  std::optional<IndexBox> box = BoxOf(value[0], vars, lows, extents);
  if (!box) return false;
  std::optional<int64_t> room = AsConstant(Simplify(guard.extent - (box->origin + box->size)));
  return room && *room >= 0;
}

Site MakeSite(const Ref<Block>& block, const std::vector<Ref<For>>& loops) {
  Site site;
  site.block = block;
  site.loops = loops;
  for (const IterVar& iter : block->iters) site.bindings.push_back(iter.binding);
  site.parts = TakeApart(loops, site.bindings);
  for (LoopPart& part : site.parts) part.extent = Simplify(part.extent);
  for (const Expr& binding : site.bindings) {
    std::vector<size_t>& used = site.parts_of.emplace_back();
    for (size_t p = 0; p < site.parts.size(); ++p) {
      if (UsesVar(binding, site.parts[p].var)) used.push_back(p);
    }
  }
  auto kind = [&](size_t part) { return loops[site.parts[part].loop]->for_kind; };
  site.first_spread = site.parts.size();
  while (site.first_spread > 0 && IsSpread(kind(site.first_spread - 1))) --site.first_spread;
  for (size_t p = site.first_spread; p < site.parts.size(); ++p) {
    if (kind(p) == ForKind::kVectorized) site.lane_part = p;
  }
  for (size_t l = loops.size(); l-- > 0;) {
    if (loops[l]->for_kind == ForKind::kParallel) site.parallel_loop = l;
  }
  FindDense(site);
  for (size_t i = 0; i < site.bindings.size(); ++i) site.exact &= !MayLeaveOut(site, i);
  site.exact = site.exact && std::ranges::all_of(block->guards, [&](const LoopGuard& guard) {
                 return IsImpliedByDomain(guard, *block) || AlwaysHolds(guard, loops);
               });
  return site;
}

void FindSites(const Stmt& stmt, std::vector<Ref<For>>& loops, std::vector<Site>& sites) {
  if (const auto* block = stmt.as<Block>()) {
    if (MayExist(*block)) sites.push_back(MakeSite(Ref<Block>(block), loops));
    return;
  }
  const auto* loop = stmt.as<For>();
  if (loop) loops.emplace_back(loop);
  ForEachChild(stmt, [&](const Stmt& child) { FindSites(child, loops, sites); });
  if (loop) loops.pop_back();
}

// Whether every buffer that the nest writes is constant, or read by nests of link time alone.
bool FeedsLinkTimeAlone(const Function& fn, const NestSites& nest,
                        const std::vector<NestSites>& later) {
  for (const Site& site : nest.sites) {
    for (const Access& write : WritesOf(*site.block)) {
      const Buffer* buffer = FindBuffer(fn, write.buffer);
      if (buffer->scope == Scope::kConstant) continue;
      if (std::ranges::any_of(fn.params,
                              [&](const Buffer& param) { return param.var == write.buffer; })) {
        return false;
      }
      bool is_read = false;
      for (const NestSites& reader : later) {
        if (!Reads(reader.stmt, write.buffer)) continue;
        if (!reader.runs_when_linked) return false;
        is_read = true;
      }
      bool inside = Reads(nest.stmt, write.buffer);
      if (!is_read && !inside) return false;
    }
  }
  return true;
}

}  // namespace

size_t Site::FirstSpreadLoop() const {
  return first_spread < parts.size() ? parts[first_spread].loop : loops.size();
}

bool Site::FeedsReduction(size_t part) const {
  for (size_t i = 0; i < parts_of.size(); ++i) {
    const std::vector<size_t>& used = parts_of[i];
    if (block->iters[i].kind == IterKind::kReduce && std::ranges::find(used, part) != used.end()) {
      return true;
    }
  }
  return false;
}

std::vector<NestSites> SitesOf(const Function& fn) {
  std::vector<NestSites> nests;
  for (const RootNest& root : RootNestsOf(fn)) {
    NestSites& nest = nests.emplace_back();
    nest.name = root.name;
    nest.stmt = root.stmt;
    std::vector<Ref<For>> loops;
    FindSites(root.stmt, loops, nest.sites);
  }
  for (size_t n = nests.size(); n-- > 0;) {
    std::vector<NestSites> later(nests.begin() + static_cast<ptrdiff_t>(n) + 1, nests.end());
    nests[n].runs_when_linked = FeedsLinkTimeAlone(fn, nests[n], later);
  }
  return nests;
}

}  // namespace tcc
