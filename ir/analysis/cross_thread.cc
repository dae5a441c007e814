#include "ir/analysis/cross_thread.h"

#include <algorithm>

#include "ir/expr/visitor.h"

namespace tcc {
namespace {

bool FeedsSpatial(const For& loop, const Block& block) {
  for (const IterVar& iter : block.iters) {
    if (iter.kind == IterKind::kSpatial && UsesVar(iter.binding, loop.var)) return true;
  }
  return false;
}

Expr EqualsZero(const Expr& expr) {
  return Make<Eq>(expr, Expr(0));
}

// Returns how often `count` cells are halved until one is left, the logarithm rounded up.
Expr HalvingsOf(const Expr& count) {
  Expr halvings(0);
  for (int64_t least = 1; least < kCudaLimits.max_threads; least *= 2) {
    halvings = halvings + SelectOf(Expr(least) < count, Expr(1), Expr(0));
  }
  return halvings;
}

}  // namespace

bool MeetsIn(const For& loop, const Block& block) {
  for (const IterVar& iter : block.iters) {
    bool reduces = iter.kind == IterKind::kReduce && UsesVar(iter.binding, loop.var);
    if (reduces && !OwnsCells(block, loop.var)) return true;
  }
  return false;
}

std::optional<CrossThreadReduction> MatchCrossThread(const For& nest) {
  CrossThreadReduction found;
  found.nest = &nest;
  std::vector<const For*> loops;
  const Stmt* body = nullptr;
  for (const For* loop = &nest; loop; loop = body->as<For>()) {
    loops.push_back(loop);
    body = &loop->body;
  }
  bool has_thread = std::ranges::any_of(
      loops, [](const For* loop) { return loop->for_kind == ForKind::kThreadIdxX; });
  if (!has_thread) return std::nullopt;
  found.block = body->as<Block>();
  found.reduce = found.block ? found.block->body.as<Reduce>() : nullptr;
  if (!found.reduce) return std::nullopt;
  for (const For* loop : loops) {
    bool meets = MeetsIn(*loop, *found.block);
    // Bindings of known sizes do not contain loops of one iteration.
    bool takes_part = meets || IsConstant(loop->extent, 1);
    if (!takes_part || FeedsSpatial(*loop, *found.block) || found.lanes) return std::nullopt;
    if (loop->for_kind == ForKind::kVectorized) {
      found.lanes = loop;
    } else if (loop->for_kind == ForKind::kThreadIdxX && meets && !found.thread) {
      found.thread = loop;
    } else if (!IsInOrder(loop->for_kind)) {
      return std::nullopt;
    }
  }
  return found.thread ? std::optional(found) : std::nullopt;
}

void NoteWarps(Function& fn, const Target& target) {
  const std::string key(kWithoutWarps);
  if (target.kind == TargetKind::kGpu && target.limits.warp == 0) {
    fn.attributes[key] = "true";
  } else {
    fn.attributes.erase(key);
  }
}

ThreadExchange ExchangeOf(const Function& fn, const std::array<Expr, 3>& threads) {
  if (fn.attributes.contains(std::string(kWithoutWarps))) {
    return {.in_warp = Const(kBool, 0), .in_warps = Const(kBool, 0), .in_tree = true};
  }
  Expr warps_are_whole =
      EqualsZero(FloorModulo(threads[0] * threads[1] * threads[2], Expr(Target::kWarp)));
  return {BothOf(warps_are_whole, EqualsZero(FloorModulo(Expr(Target::kWarp), threads[0]))),
          EqualsZero(FloorModulo(threads[0], Expr(Target::kWarp)))};
}

CrossThreadScratch ScratchOf(const Function& fn, const CrossThreadReduction& reduction,
                             const std::array<Expr, 3>& threads) {
  ThreadExchange exchange = ExchangeOf(fn, threads);
  auto choose = [&](const Expr& in_warp, const Expr& in_warps, const Expr& else_value) {
    return SelectOf(exchange.in_warp, in_warp, SelectOf(exchange.in_warps, in_warps, else_value));
  };
  Expr lanes = reduction.lanes ? reduction.lanes->extent : Expr(1);
  Expr all = threads[0] * threads[1] * threads[2];
  Expr cells = choose(Expr(0), CeilDivide(all, Expr(Target::kWarp)), all);
  CrossThreadScratch scratch;
  const Combiner& combiner = reduction.reduce->combiner;
  for (size_t e = 0; e < combiner.arity(); ++e) {
    std::string name = reduction.block->name + "." + std::to_string(e);
    DType dtype = combiner->identities[e].dtype();
    auto buffer = [&](const char* what, const Expr& size, Scope scope) {
      return Buffer{BufferVar(name + what, dtype), {size}, scope, {}, {}, -1, {}};
    };
    scratch.partial.push_back(buffer(".partial", lanes, Scope::kLocal));
    if (reduction.lanes) scratch.total.push_back(buffer(".total", Expr(1), Scope::kLocal));
    scratch.other.push_back(buffer(".other", Expr(1), Scope::kLocal));
    scratch.shared.push_back(buffer(".shared", cells, Scope::kShared));
  }
  if (!reduction.lanes) scratch.total = scratch.partial;
  // The stores: the lanes' identities; the sum over lanes, with identities again; the exchange,
  // where a shuffle step gives, takes and adds, and a tree leaves, folds and collects; and the
  // result, perhaps with its identities.
  Expr exchanges = exchange.in_tree ? HalvingsOf(threads[0]) + Expr(2)
                                    : choose(Expr(3), Expr(3 + 2 + 3), Expr(1 + 2));
  int64_t results = reduction.reduce->init == ReduceInit::kFirstInstance ? 2 : 1;
  Expr each = lanes + (reduction.lanes ? lanes * Expr(2) : Expr(0)) + Expr(results) + exchanges;
  scratch.stores = each * Expr(static_cast<int64_t>(combiner.arity()));
  return scratch;
}

}  // namespace tcc
