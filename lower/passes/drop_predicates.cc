#include <algorithm>

#include "ir/expr/compare.h"
#include "lower/passes/loop_bounds.h"
#include "lower/passes/passes.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

class Dropper final : public BoundedMutator {
 private:
  using BoundedMutator::Rewrite;

  Stmt Rewrite(const Block& block) override {
    std::vector<LoopGuard> guards;
    for (const LoopGuard& guard : block.guards) {
      bool same = false;
      for (const LoopGuard& kept : guards) {
        same = same || (Equal(kept.value, guard.value) && Equal(kept.extent, guard.extent));
      }
      if (!same && !AlwaysHolds(guard.value < guard.extent) && !ImpliedByDomain(guard, block))
        guards.push_back(guard);
    }
    if (guards.size() == block.guards.size()) return block;
    return MakeStmt<Block>(block.name, block.iters, guards, block.predicate, block.body);
  }

  bool AlwaysHolds(const Expr& condition) const { return ProveInLoops(condition) == Proof::kTrue; }

  // binding = c * value + (something >= 0) with c * extent >= domain: where the domain holds, value
  // is below extent. The least such c is tried. (reference: symbolic_schedule, "DropPredicates")
  bool ImpliedByDomain(const LoopGuard& guard, const Block& block) const {
    if (BoundsOf(guard.value, bounds()).low < 0) return false;
    return std::ranges::any_of(block.iters, [&](const IterVar& iter) {
      Expr c = LeastFactor(guard.extent, iter.domain);
      return c && AlwaysHolds(Expr(0) <= iter.binding - c * guard.value);
    });
  }

  // Returns the least c with c * extent >= domain; for formulas the divisor of an extent that
  // counts tiles, or 1; null where that is not proven.
  Expr LeastFactor(const Expr& extent, const Expr& domain) const {
    std::optional<int64_t> known = AsConstant(extent), known_domain = AsConstant(domain);
    if (known && known_domain)
      return *known < 1 ? Expr() : Expr(CeilDivision(*known_domain, *known));
    const auto* tiles = extent.as<CeilDiv>();
    if (tiles && AlwaysHolds(domain <= tiles->a)) return tiles->b;
    return AlwaysHolds(domain <= extent) ? Expr(1) : Expr();
  }
};

}  // namespace

Function DropPredicates(const Function& fn) {
  return Dropper().Mutate(fn);
}

}  // namespace tcc
