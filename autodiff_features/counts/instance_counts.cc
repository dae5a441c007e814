#include "autodiff_features/counts/instance_counts.h"

#include <algorithm>

#include "autodiff_features/counts/real_formulas.h"
#include "ir/expr/compare.h"
#include "ir/expr/substitute.h"

namespace tcc {
namespace {

// Products over the parts of one site.
class PartProducts {
 public:
  explicit PartProducts(const Site& site) : site_(site) {}

  // Returns the extents of the parts that `counts` is true of.
  template <typename Counts>
  std::vector<Expr> ExtentsOf(const std::vector<size_t>& parts, Counts counts) const {
    std::vector<Expr> extents;
    for (size_t p : parts) {
      if (counts(p)) extents.push_back(site_.parts[p].extent);
    }
    return extents;
  }

  std::vector<size_t> All() const {
    std::vector<size_t> parts;
    for (size_t p = 0; p < site_.parts.size(); ++p) parts.push_back(p);
    return parts;
  }

  bool IsSpread(size_t part) const { return site_.IsSpread(part); }
  // Inside an iteration of the parallel loop, where there is one.
  bool InPiece(size_t part) const {
    return !site_.parallel_loop || site_.parts[part].loop > *site_.parallel_loop;
  }

  // Values of a dense variable that loops[loop..] cover.
  Expr CoveredBy(size_t iter, size_t loop) const {
    Expr covered(1);
    for (size_t p : site_.parts_of[iter]) {
      const LoopPart& part = site_.parts[p];
      if (part.loop < loop || IsConstant(part.extent, 1)) continue;
      covered = IsConstant(covered, 1) ? part.extent : covered * part.extent;
    }
    return covered;
  }
  Expr SpreadOf(size_t iter) const { return CoveredBy(iter, site_.FirstSpreadLoop()); }

  // Whether one run of loops[loop..] has neighbouring values: no loop outside has a smaller stride.
  bool IsDenseInside(size_t iter, size_t loop) const {
    Substitution zeros;
    std::vector<LoopPart> inside;
    for (const LoopPart& part : site_.parts) {
      if (part.loop < loop) zeros.emplace(part.var, Expr(0));
      if (part.loop >= loop) inside.push_back(part);
    }
    return IsDense(Substitute(site_.bindings[iter], zeros), inside);
  }

  // Runs of loops[loop..] that have a value of a dense variable.
  Expr TilesOf(size_t iter, size_t loop) const {
    const Expr& domain = site_.block->iters[iter].domain;
    if (!IsDenseInside(iter, loop)) {
      auto outside = [&](size_t p) { return site_.parts[p].loop < loop; };
      return MinOf(Real(domain), ProductOf(ExtentsOf(site_.parts_of[iter], outside)));
    }
    Expr covered = CoveredBy(iter, loop);
    return Real(IsConstant(covered, 1) ? domain : CeilDivide(domain, covered));
  }
  Expr TilesOf(size_t iter) const { return TilesOf(iter, site_.FirstSpreadLoop()); }

  // Runs of loops[loop..] that have an instance.
  Expr StartsOf(size_t loop) const {
    Expr starts = ProductOf(
        ExtentsOf(site_.other_parts, [&](size_t p) { return site_.parts[p].loop < loop; }));
    for (size_t i : site_.dense) {
      bool outside = std::ranges::any_of(site_.parts_of[i],
                                         [&](size_t p) { return site_.parts[p].loop < loop; });
      if (outside) starts = RealProduct(starts, TilesOf(i, loop));
    }
    return starts;
  }

 private:
  const Site& site_;
};

Expr BodiesInPiece(const Site& site, const PartProducts& products) {
  auto inside = [&](size_t p) { return !products.IsSpread(p) && products.InPiece(p); };
  Expr bodies = ProductOf(products.ExtentsOf(site.other_parts, inside));
  for (size_t i : site.dense) {
    Expr loops = ProductOf(products.ExtentsOf(site.parts_of[i], inside));
    Expr tiles = products.TilesOf(i);
    bodies = RealProduct(bodies, IsReal(loops, 1) ? loops : MinOf(tiles, loops));
  }
  return bodies;
}

void CountTileUse(const Site& site, const PartProducts& products, InstanceCounts& counts) {
  counts.lane_use = counts.row_use = Real(1);
  for (size_t i : site.dense) {
    Expr spread = products.SpreadOf(i);
    if (IsConstant(spread, 1)) continue;
    const std::vector<size_t>& parts = site.parts_of[i];
    bool has_lanes = site.lane_part && std::ranges::find(parts, *site.lane_part) != parts.end();
    Expr use = RealQuotient(Real(site.block->iters[i].domain),
                            RealProduct(products.TilesOf(i), Real(spread)));
    (has_lanes ? counts.lane_use : counts.row_use) =
        RealProduct(has_lanes ? counts.lane_use : counts.row_use, use);
  }
}

void CountStraightLine(const Site& site, const PartProducts& products, InstanceCounts& counts) {
  auto is_copy = [&](size_t p) { return products.IsSpread(p) && p != site.lane_part; };
  auto is_chain = [&](size_t p) { return is_copy(p) && site.FeedsReduction(p); };
  counts.lanes = site.lane_part ? Real(site.parts[*site.lane_part].extent) : Real(1);
  counts.copies = ProductOf(products.ExtentsOf(products.All(), is_copy));
  counts.chain = ProductOf(products.ExtentsOf(products.All(), is_chain));
  CountTileUse(site, products, counts);
}

}  // namespace

InstanceCounts CountsOf(const Site& site) {
  PartProducts products(site);
  auto any = [](size_t) { return true; };
  auto is_loop = [&](size_t p) { return !products.IsSpread(p); };
  InstanceCounts counts;
  counts.issued = ProductOf(products.ExtentsOf(products.All(), any));
  counts.useful = ProductOf(products.ExtentsOf(site.other_parts, any));
  for (size_t i : site.dense) {
    counts.useful = RealProduct(counts.useful, Real(site.block->iters[i].domain));
  }
  for (size_t loop = 0; loop <= site.FirstSpreadLoop(); ++loop) {
    counts.starts.push_back(products.StartsOf(loop));
  }
  counts.bodies = counts.starts.back();
  Expr iterations = ProductOf(products.ExtentsOf(products.All(), is_loop));
  counts.dead = Equal(iterations, counts.bodies) ? Real(0) : iterations - counts.bodies;
  counts.trip = Real(1);
  if (site.first_spread > 0) {
    size_t innermost = site.first_spread - 1;
    auto is_innermost = [&](size_t p) { return site.parts[p].loop == site.parts[innermost].loop; };
    counts.trip = ProductOf(products.ExtentsOf(products.All(), is_innermost));
    counts.accumulates = site.FeedsReduction(innermost);
  }
  counts.entries = RealQuotient(counts.bodies, counts.trip);
  counts.pieces = site.parallel_loop ? Real(site.loops[*site.parallel_loop]->extent) : Real(1);
  counts.piece = BodiesInPiece(site, products);
  CountStraightLine(site, products, counts);
  return counts;
}

}  // namespace tcc
