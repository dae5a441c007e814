#include "autodiff_features/cache_traffic.h"

#include "autodiff_features/real_formulas.h"

namespace tcc {

Expr LinesInto(const Site& site, const InstanceCounts& counts, const TracedAccess& access,
               const std::vector<Expr>& footprints, const Expr& bytes) {
  size_t start = site.FirstSpreadLoop();
  Expr lines = Times(access.lines[start], counts.starts[start]);
  for (size_t j = start; j-- > 0;) {
    if (IsConstant(site.loops[j]->extent, 1)) continue;
    // A run over an extent's end has fewer lines than a whole one.
    Expr once = MinOf(lines, Times(access.lines[j], counts.starts[j]));
    lines = SelectOf(footprints[j] <= bytes, once, lines);
  }
  return lines;
}

}  // namespace tcc
