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
      if (!same && !AlwaysHolds(guard) && !ImpliedByDomain(guard, block)) guards.push_back(guard);
    }
    if (guards.size() == block.guards.size()) return block;
    return MakeStmt<Block>(block.name, block.iters, guards, block.predicate, block.body);
  }

  bool AlwaysHolds(const LoopGuard& guard) const {
    return Prove(guard.value < guard.extent, bounds()) == Proof::kTrue;
  }

  // binding = c * value + (something >= 0) with c * extent >= domain: where the domain holds, value
  // is below extent. The least such c is tried. (reference: symbolic_schedule, "DropPredicates")
  bool ImpliedByDomain(const LoopGuard& guard, const Block& block) const {
    std::optional<int64_t> extent = AsConstant(guard.extent);
    if (!extent || *extent < 1 || BoundsOf(guard.value, bounds()).low < 0) return false;
    for (const IterVar& iter : block.iters) {
      std::optional<int64_t> domain = AsConstant(iter.domain);
      if (!domain) continue;
      int64_t c = CeilDivision(*domain, *extent);
      Expr rest = iter.binding - Expr(c) * guard.value;
      if (Prove(Expr(0) <= rest, bounds()) == Proof::kTrue) return true;
    }
    return false;
  }
};

}  // namespace

Function DropPredicates(const Function& fn) {
  return Dropper().Mutate(fn);
}

}  // namespace tcc
