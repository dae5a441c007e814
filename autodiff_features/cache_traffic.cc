#include "autodiff_features/cache_traffic.h"

#include "autodiff_features/real_formulas.h"

namespace tcc {

Expr LinesInto(const Site& site, const InstanceCounts& counts, const TracedAccess& access,
               const std::vector<Expr>& footprints, const Expr& bytes) {
  size_t start = site.FirstSpreadLoop();
  Expr lines = access.lines[start];
  std::vector<Expr> extents;
  for (size_t j = start; j-- > 0;) {
    const Expr& extent = site.loops[j]->extent;
    if (IsConstant(extent, 1)) continue;
    extents.push_back(extent);
    lines = SelectOf(footprints[j] <= bytes, access.lines[j], Times(Real(extent), lines));
  }
  // Iterations beyond an extent fetch nothing.
  return Times(lines, Over(counts.bodies, ProductOf(extents)));
}

}  // namespace tcc
