#include "ir/expr/compare.h"

#include <unordered_map>

#include "ir/expr/visitor.h"

namespace tcc {
namespace {

// A comparison that walks two trees in step. Bound variables are paired when their definition is
// reached.
class Comparer {
 public:
  explicit Comparer(bool bind) : bind_(bind) {}

  bool Same(const Expr& a, const Expr& b) {
    if (a.same_as(b) && (!bind_ || forward_.empty())) return true;
    if (!a || !b) return !a && !b;
    if (a->hash != b->hash || a.kind() != b.kind()) return false;
    if (a.kind() == ExprKind::kVarNode) return SameVar(a, b);
    // A DAG is compared as a DAG: pairs found equal are not walked again. This is sound because
    // pairings of variables only grow, so an equal pair stays equal.
    bool is_shared = a->IsShared();
    if (is_shared) {
      auto known = equal_.find(a.get());
      if (known != equal_.end() && known->second == b.get()) return true;
    }
    bool same = VisitExpr(a, [&](const auto& node) {
      using Node = std::decay_t<decltype(node)>;
      return SameFields(node, static_cast<const Node&>(*b));
    });
    if (same && is_shared) equal_[a.get()] = b.get();
    return same;
  }

  bool Same(const Stmt& a, const Stmt& b) {
    if (a.same_as(b) && (!bind_ || forward_.empty())) return true;
    if (!a || !b) return !a && !b;
    if (a->hash != b->hash || a.kind() != b.kind()) return false;
    return VisitStmt(a, [&](const auto& node) {
      using Node = std::decay_t<decltype(node)>;
      return SameNode(node, static_cast<const Node&>(*b));
    });
  }

  bool Same(const Combiner& a, const Combiner& b) {
    if (a.get() == b.get()) return true;
    if (!a || !b || a->name != b->name || a.arity() != b.arity()) return false;
    if (a->direct_ops.size() != b->direct_ops.size()) return false;
    for (size_t i = 0; i < a->direct_ops.size(); ++i) {
      if (!Same(Combiner(a->direct_ops[i].get()), Combiner(b->direct_ops[i].get()))) return false;
    }
    Comparer inner(true);
    for (size_t i = 0; i < a.arity(); ++i) {
      inner.Bind(a->lhs[i], b->lhs[i]);
      inner.Bind(a->rhs[i], b->rhs[i]);
    }
    return inner.Same(a->identities, b->identities) && inner.Same(a->results, b->results) &&
           inner.Same(a->direct, b->direct);
  }

  bool Same(const Buffer& a, const Buffer& b) {
    Bind(a.var, b.var);
    return SameFields(a, b);
  }

  bool Same(const IterVar& a, const IterVar& b) {
    Bind(a.var, b.var);
    return SameFields(a, b);
  }

  template <typename T>
  bool Same(const std::vector<T>& a, const std::vector<T>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!Same(a[i], b[i])) return false;
    }
    return true;
  }

  template <typename T>
    requires requires(const T& value) { value.Fields(); }
  bool Same(const T& a, const T& b) {
    return SameFields(a, b);
  }

  bool Same(double a, double b) { return __builtin_memcmp(&a, &b, sizeof a) == 0; }
  bool Same(const std::string& a, const std::string& b) { return a == b; }
  template <typename T>
    requires(std::is_integral_v<T> || std::is_enum_v<T> || std::is_same_v<T, DType>)
  bool Same(T a, T b) {
    return a == b;
  }

  void Bind(const Var& a, const Var& b) {
    if (!bind_) return;
    forward_[a.get()] = b.get();
    backward_[b.get()] = a.get();
    equal_.clear();
  }

 private:
  bool SameVar(const Expr& a, const Expr& b) {
    auto to = forward_.find(a.get());
    auto from = backward_.find(b.get());
    if (to == forward_.end() && from == backward_.end()) return a.same_as(b);
    return to != forward_.end() && from != backward_.end() && to->second == b.get() &&
           from->second == a.get();
  }

  bool SameNode(const For& a, const For& b) {
    Bind(a.var, b.var);
    return SameFields(a, b);
  }
  bool SameNode(const Let& a, const Let& b) {
    Bind(a.var, b.var);
    return SameFields(a, b);
  }
  template <typename Node>
  bool SameNode(const Node& a, const Node& b) {
    return SameFields(a, b);
  }

  template <typename Node>
  bool SameFields(const Node& a, const Node& b) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return (Same(std::get<I>(a.Fields()), std::get<I>(b.Fields())) && ...);
    }(std::make_index_sequence<std::tuple_size_v<decltype(a.Fields())>>());
  }

  bool bind_;
  std::unordered_map<const ExprNode*, const ExprNode*> forward_;
  std::unordered_map<const ExprNode*, const ExprNode*> backward_;
  std::unordered_map<const ExprNode*, const ExprNode*> equal_;
};

}  // namespace

bool Equal(const Expr& a, const Expr& b) {
  // Most pairs need no comparer.
  if (a.same_as(b)) return true;
  if (a && b && a->hash != b->hash) return false;
  return Comparer(false).Same(a, b);
}
bool Equal(const Stmt& a, const Stmt& b) {
  return Comparer(false).Same(a, b);
}
bool Equal(const Combiner& a, const Combiner& b) {
  return Comparer(false).Same(a, b);
}
bool AlphaEqual(const Stmt& a, const Stmt& b) {
  return Comparer(true).Same(a, b);
}
bool AlphaEqual(const Function& a, const Function& b) {
  if (a.name != b.name || a.attributes != b.attributes) return false;
  if (a.level != b.level || a.vars.size() != b.vars.size()) return false;
  Comparer comparer(true);
  for (size_t i = 0; i < a.vars.size(); ++i) {
    if (a.vars[i]->role != b.vars[i]->role) return false;
    if (a.vars[i]->low != b.vars[i]->low || a.vars[i]->high != b.vars[i]->high) return false;
    if (a.vars[i]->usual != b.vars[i]->usual) return false;
    comparer.Bind(a.vars[i], b.vars[i]);
  }
  return comparer.Same(a.params, b.params) && comparer.Same(a.body, b.body);
}

}  // namespace tcc
