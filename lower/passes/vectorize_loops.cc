#include "ir/analysis/affine.h"
#include "ir/expr/compare.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "lower/passes/passes.h"

namespace tcc {
namespace {

// Rewrites the body of one vectorized loop: every expression becomes either uniform (scalar, the
// same in all lanes) or a vector.
class LoopVectorizer {
 public:
  LoopVectorizer(Var var, int lanes) : var_(std::move(var)), lanes_(lanes) {}

  // `mask` is null where every lane is active.
  Stmt Vectorize(const Stmt& stmt, const Expr& mask) {
    return VisitStmt(
        stmt,
        Overloaded{[&](const Store& store) { return VectorStore(store, mask); },
                   [&](const Seq& seq) {
                     std::vector<Stmt> stmts;
                     for (const Stmt& child : seq.stmts) stmts.push_back(Vectorize(child, mask));
                     return SeqOf(stmts);
                   },
                   [&](const For& loop) -> Stmt {
                     TCC_CHECK(!UsesVar(loop.extent, var_))
                         << "a loop's extent differs between lanes";
                     return MakeStmt<For>(loop.var, loop.extent, loop.for_kind, loop.key,
                                          Vectorize(loop.body, mask));
                   },
                   // A hint is worth giving once.
                   [&](const PrefetchLine& prefetch) {
                     return Substitute(Stmt(prefetch), var_, Expr(0));
                   },
                   // The lanes of a thread reach it together.
                   [&](const Barrier& barrier) { return Stmt(barrier); },
                   [&](const If& test) { return VectorIf(test, mask); },
                   [&](const Let& let) { return VectorLet(let, mask); },
                   [&](const auto&) -> Stmt {
                     TCC_CHECK(false)
                         << "a statement that cannot be vectorized; CheckVectorize refuses it";
                     return {};
                   }});
  }

 private:
  bool Varies(const Expr& expr) const { return expr.dtype().lanes() > 1; }

  Expr Widen(const Expr& expr) const { return Varies(expr) ? expr : Make<Broadcast>(expr, lanes_); }

  // A null mask stays null; otherwise both.
  Expr Intersect(const Expr& mask, const Expr& condition) const {
    return mask ? BothOf(mask, Widen(condition)) : Widen(condition);
  }

  // Integers that are affine in the loop stay ramps, which codegen addresses as such.
  Expr AsRamp(const Expr& expr) const {
    std::optional<AffineForm> form = ToAffine(expr, {var_});
    if (!form || form->vars.empty()) return {};
    return Make<Ramp>(form->rest, form->coefficients[0], lanes_);
  }

  Expr Vector(const Expr& expr) {
    bool varies = UsesVar(expr, var_);
    for (const auto& [scalar, vector] : lets_) varies = varies || UsesVar(expr, scalar);
    if (!varies) return expr;
    if (expr.dtype() == kInt64) {
      if (Expr ramp = AsRamp(expr)) return ramp;
    }
    return VisitExpr(
        expr,
        Overloaded{[&](const VarNode& var) -> Expr {
                     if (expr.same_as(var_)) return Make<Ramp>(Expr(0), Expr(1), lanes_);
                     return lets_.at(Var(var));
                   },
                   [&](const Cast& cast) -> Expr {
                     return Make<Cast>(cast.dtype.WithLanes(lanes_), Vector(cast.value));
                   },
                   [&](const Not& n) -> Expr { return Make<Not>(Vector(n.a)); },
                   [&](const Select& select) -> Expr {
                     return Make<Select>(Vector(select.condition), Widen(Vector(select.then_value)),
                                         Widen(Vector(select.else_value)));
                   },
                   [&](const Load& load) -> Expr {
                     std::vector<Expr> indices;
                     for (const Expr& index : load.indices) indices.push_back(Vector(index));
                     return Make<Load>(load.buffer, indices);
                   },
                   [&](const Call& call) -> Expr {
                     std::vector<Expr> args;
                     for (const Expr& arg : call.args) args.push_back(Widen(Vector(arg)));
                     return Make<Call>(call.op, args);
                   },
                   [&](const auto& node) -> Expr {
                     using Node = std::decay_t<decltype(node)>;
                     if constexpr (requires {
                                     node.a;
                                     node.b;
                                   }) {
                       return Make<Node>(Widen(Vector(node.a)), Widen(Vector(node.b)));
                     } else {
                       TCC_CHECK(false) << "an expression of a vector inside a vectorized loop";
                       return {};
                     }
                   }});
  }

  Stmt VectorStore(const Store& store, const Expr& mask) {
    std::vector<Expr> indices;
    bool varies = false;
    for (const Expr& index : store.indices) {
      indices.push_back(Vector(index));
      varies = varies || Varies(indices.back());
    }
    Expr value = Vector(store.value);
    // Every lane stores the same value to the same cell: once is enough.
    if (!varies && !Varies(value) && !mask) return store;
    TCC_CHECK(varies) << "lanes of a vectorized loop store to one cell of " << store.buffer->name;
    return MakeStmt<Store>(store.buffer, indices, Widen(value), mask);
  }

  Stmt VectorLet(const Let& let, const Expr& mask) {
    Expr value = Vector(let.value);
    // A load that all lanes share waits for the mask as well: there may be no lane.
    if (mask && HasLoad(value)) value = Widen(value);
    if (!Varies(value)) return MakeStmt<Let>(let.var, value, Vectorize(let.body, mask));
    // Lanes that are masked off do not load either.
    if (mask) value = SelectOf(mask, value, Make<Broadcast>(Const(let.value.dtype(), 0), lanes_));
    Expr wide = Make<VarNode>(let.var->name, VarRole::kLoop, value.dtype(), 0, 0, 0);
    lets_.emplace(let.var, wide);
    // Both versions of a masked region may define it, so each definition has a variable of its own.
    Stmt result = MakeStmt<Let>(Var(wide.as<VarNode>()), value, Vectorize(let.body, mask));
    lets_.erase(let.var);
    return result;
  }

  Stmt VectorIf(const If& test, const Expr& mask) {
    Expr same = SameInAllLanes(test.condition);
    Expr condition = same ? same : Vector(test.condition);
    if (!Varies(condition)) {
      return MakeStmt<If>(condition, Vectorize(test.then_body, mask),
                          test.else_body ? Vectorize(test.else_body, mask) : Stmt());
    }
    Stmt masked = Vectorize(test.then_body, Intersect(mask, condition));
    if (test.else_body) {
      Stmt other = Vectorize(test.else_body, Intersect(mask, Make<Not>(condition)));
      return SeqOf({masked, other});
    }
    Expr all = HoldsInAllLanes(test.condition);
    if (!all || mask) return masked;
    return MakeStmt<If>(all, Vectorize(test.then_body, mask), WithFreshVars(masked));
  }

  // Returns a scalar condition under which every lane passes, or null where that is not known.
  Expr HoldsInAllLanes(const Expr& condition) const {
    if (const auto* both = condition.as<And>()) {
      Expr a = HoldsInAllLanes(both->a);
      Expr b = HoldsInAllLanes(both->b);
      return a && b ? BothOf(a, b) : Expr();
    }
    if (!UsesVar(condition, var_)) return condition;
    std::optional<bool> last = IsDecidedByLast(condition);
    return last ? Substitute(condition, var_, Expr(*last ? lanes_ - 1 : 0)) : Expr();
  }

  // Returns the condition as a scalar if it is the same in all lanes, as 16 i + lane < 64 is in 8
  // lanes; else null.
  Expr SameInAllLanes(const Expr& condition) {
    if (const auto* both = condition.as<And>()) {
      Expr a = SameInAllLanes(both->a);
      Expr b = SameInAllLanes(both->b);
      return a && b ? BothOf(a, b) : Expr();
    }
    Expr same = condition;
    if (UsesVar(condition, var_)) {
      if (!IsDecidedByLast(condition)) return {};
      same = Simplify(Substitute(condition, var_, Expr(0)));
      Expr last = Simplify(Substitute(condition, var_, Expr(lanes_ - 1)));
      if (!Equal(same, last)) return {};
    }
    same = Vector(same);  // a let may differ between lanes
    return Varies(same) ? Expr() : same;
  }

  // A condition a < b with both affine in the loop is decided by the first or the last lane: where
  // that one passes, all pass. Returns which one, or nullopt for another condition.
  std::optional<bool> IsDecidedByLast(const Expr& condition) const {
    const auto* less = condition.as<Lt>();
    const auto* at_most = condition.as<Le>();
    if (!less && !at_most) return std::nullopt;
    Expr gap = less ? less->a - less->b : at_most->a - at_most->b;
    if (gap.dtype() != kInt64) return std::nullopt;
    std::optional<AffineForm> form = ToAffine(gap, {var_});
    if (!form || form->vars.empty()) return std::nullopt;
    std::optional<int64_t> slope = AsConstant(Simplify(form->coefficients[0]));
    return slope ? std::optional(*slope > 0) : std::nullopt;
  }

  Var var_;
  int lanes_;
  Substitution lets_;
};

// Whether every store in the loop goes to a cell of its own in each lane. Not where a tensor's
// extent of 1 made an index constant: then one lane is alive at most, and a plain loop finds it.
bool StoresVary(const For& loop) {
  std::vector<Var> varying = {loop.var};
  auto varies = [&](const Expr& expr) {
    for (const Var& var : varying) {
      if (UsesVar(expr, var)) return true;
    }
    return false;
  };
  bool all = true;
  PreOrder(loop.body, [&](const Stmt& stmt) {
    if (const auto* let = stmt.as<Let>(); let && varies(let->value)) varying.push_back(let->var);
    if (const auto* store = stmt.as<Store>()) {
      bool any = false;
      for (const Expr& index : store->indices) any = any || varies(index);
      all = all && any;
    }
  });
  return all;
}

Stmt VectorizeLoop(const Stmt& stmt) {
  const auto* loop = stmt.as<For>();
  if (!loop || loop->for_kind != ForKind::kVectorized) return stmt;
  std::optional<int64_t> extent = AsConstant(loop->extent);
  // Lanes are a matter of code size; beyond this, and for unknown extents, a plain loop is right
  // too.
  constexpr int64_t kMaxVectorLanes = 256;
  if (!extent || *extent > kMaxVectorLanes || *extent < 2 || !StoresVary(*loop)) {
    bool once = extent && *extent == 1;
    return once ? Substitute(loop->body, loop->var, Expr(0))
                : MakeStmt<For>(loop->var, loop->extent, ForKind::kSerial, loop->key, loop->body);
  }
  return LoopVectorizer(loop->var, static_cast<int>(*extent)).Vectorize(loop->body, {});
}

}  // namespace

Function VectorizeLoops(const Function& fn) {
  Function result = fn;
  result.body = RewriteBottomUp(fn.body, VectorizeLoop, [](const Expr& expr) { return expr; });
  return result;
}

}  // namespace tcc
