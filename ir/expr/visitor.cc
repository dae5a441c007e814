#include "ir/expr/visitor.h"

#include <array>
#include <unordered_map>

namespace tcc {
namespace {

// A walker that passes each Expr of a field to `on_expr`.
template <typename F>
struct FieldWalker {
  const F& on_expr;

  void operator()(const Expr& expr) const {
    if (expr) on_expr(expr);
  }
  // Without this overload the template for plain fields would match a Var better than Expr does.
  void operator()(const Var& var) const { (*this)(static_cast<const Expr&>(var)); }
  template <typename T>
  void operator()(const std::vector<T>& values) const {
    for (const T& value : values) (*this)(value);
  }
  template <typename T>
    requires requires(const T& value) { value.Fields(); }
  void operator()(const T& value) const {
    std::apply([this](const auto&... field) { ((*this)(field), ...); }, value.Fields());
  }
  template <typename T>
    requires(!requires(const T& value) { value.Fields(); })
  void operator()(const T&) const {}
};

// A walker that passes each Stmt of a field to `on_stmt` and skips expressions.
struct ChildWalker {
  const std::function<void(const Stmt&)>& on_stmt;

  void operator()(const Stmt& stmt) const {
    if (stmt) on_stmt(stmt);
  }
  void operator()(const std::vector<Stmt>& stmts) const {
    for (const Stmt& stmt : stmts) (*this)(stmt);
  }
  template <typename T>
  void operator()(const T&) const {}
};

template <typename F>
void WalkChildren(const Expr& expr, const F& f) {
  VisitExpr(expr, [&](const auto& node) {
    std::apply([&](const auto&... field) { (FieldWalker<F>{f}(field), ...); }, node.Fields());
  });
}

// The set of visited addresses. Small sets need no heap memory, which suffices for most
// expressions.
class SeenNodes {
 public:
  // Returns false if the node was inserted before.
  bool Insert(const ExprNode* node) {
    if (count_ == kMax) return more_.insert(node).second && !IsFew(node);
    size_t slot = SlotOf(node);
    if (few_[slot] == node) return false;
    few_[slot] = node;
    ++count_;
    return true;
  }

 private:
  static constexpr size_t kSlots = 64, kMax = 48;

  // Returns the slot that holds the node or that is free for it.
  size_t SlotOf(const ExprNode* node) const {
    size_t slot = (reinterpret_cast<uintptr_t>(node) >> 4) * 0x9E3779B97F4A7C15 >> 58;
    while (few_[slot] && few_[slot] != node) slot = (slot + 1) % kSlots;
    return slot;
  }
  bool IsFew(const ExprNode* node) const { return few_[SlotOf(node)] == node; }

  std::array<const ExprNode*, kSlots> few_{};
  size_t count_ = 0;
  std::unordered_set<const ExprNode*> more_;
};

void PreOrder(const Expr& expr, const std::function<void(const Expr&)>& f, SeenNodes& seen) {
  if (expr->IsShared() && !seen.Insert(expr.get())) return;
  f(expr);
  WalkChildren(expr, [&](const Expr& child) { PreOrder(child, f, seen); });
}

bool Contains(const Expr& expr, const std::function<bool(const Expr&)>& test, SeenNodes& seen) {
  if (expr->IsShared() && !seen.Insert(expr.get())) return false;
  bool found = test(expr);
  if (found) return true;
  WalkChildren(expr, [&](const Expr& child) { found = found || Contains(child, test, seen); });
  return found;
}

bool UsesVar(const Expr& expr, const Var& var, SeenNodes& seen) {
  if (expr.kind() == ExprKind::kVarNode) return expr.same_as(var);
  if (expr->IsShared() && !seen.Insert(expr.get())) return false;
  bool found = false;
  WalkChildren(expr, [&](const Expr& child) { found = found || UsesVar(child, var, seen); });
  return found;
}

// Returns whether a result may be needed again and costs more than memoizing it. The result of a
// variable is always kept: if it becomes another variable, that must be the same everywhere.
bool IsWorthKeeping(const Expr& expr) {
  if (expr.kind() == ExprKind::kVarNode) return true;
  bool is_number = expr.kind() == ExprKind::kIntImm || expr.kind() == ExprKind::kFloatImm;
  return !is_number && expr->IsShared();
}

}  // namespace

void ForEachChild(const Expr& expr, const std::function<void(const Expr&)>& f) {
  WalkChildren(expr, f);
}

void ForEachExpr(const Stmt& stmt, const std::function<void(const Expr&)>& f) {
  VisitStmt(stmt, [&](const auto& node) { FieldWalker{f}(node); });
}

void ForEachChild(const Stmt& stmt, const std::function<void(const Stmt&)>& f) {
  VisitStmt(stmt, [&](const auto& node) {
    std::apply([&](const auto&... field) { (ChildWalker{f}(field), ...); }, node.Fields());
  });
}

void PreOrder(const Expr& expr, const std::function<void(const Expr&)>& f) {
  SeenNodes seen;
  PreOrder(expr, f, seen);
}

void PreOrder(const Stmt& stmt, const std::function<void(const Stmt&)>& f) {
  std::function<void(const Stmt&)> visit = [&](const Stmt& s) {
    f(s);
    ForEachChild(s, visit);
  };
  if (stmt) visit(stmt);
}

void PreOrderExprs(const Stmt& stmt, const std::function<void(const Expr&)>& f) {
  PreOrder(stmt, [&](const Stmt& s) { ForEachExpr(s, [&](const Expr& e) { PreOrder(e, f); }); });
}

bool Contains(const Expr& expr, const std::function<bool(const Expr&)>& test) {
  SeenNodes seen;
  return Contains(expr, test, seen);
}

bool Contains(const Stmt& stmt, const std::function<bool(const Stmt&)>& test) {
  bool found = false;
  PreOrder(stmt, [&](const Stmt& s) { found = found || test(s); });
  return found;
}

bool UsesVar(const Expr& expr, const Var& var) {
  SeenNodes seen;
  return UsesVar(expr, var, seen);
}

bool UsesVar(const Stmt& stmt, const Var& var) {
  bool found = false;
  PreOrder(stmt, [&](const Stmt& s) {
    if (found) return;
    ForEachExpr(s, [&](const Expr& e) { found = found || UsesVar(e, var); });
  });
  return found;
}

std::vector<Var> VarsOf(const Expr& expr) {
  std::vector<Var> vars;
  PreOrder(expr, [&](const Expr& e) {
    const auto* var = e.as<VarNode>();
    if (var && var->role != VarRole::kBuffer) vars.push_back(Var(var));
  });
  return vars;
}

Expr Mutator::Mutate(const Expr& expr) {
  if (!IsWorthKeeping(expr)) {
    return VisitExpr(expr, [&](const auto& node) { return Rewrite(node); });
  }
  if (const Expr* known = memo_.Find(expr.get())) return *known;
  Expr result = VisitExpr(expr, [&](const auto& node) { return Rewrite(node); });
  memo_.Add(expr, result);
  return result;
}

const Expr* Mutator::Memo::Find(const ExprNode* node) const {
  for (size_t i = 0; i < few_count_; ++i) {
    if (few_[i].first.get() == node) return &few_[i].second;
  }
  if (more_.empty()) return nullptr;
  auto found = more_.find(node);
  return found == more_.end() ? nullptr : &found->second.second;
}

void Mutator::Memo::Add(const Expr& expr, const Expr& result) {
  if (few_count_ < few_.size()) {
    few_[few_count_++] = {expr, result};
  } else {
    more_.emplace(expr.get(), std::pair(expr, result));
  }
}

void Mutator::Memo::Clear() {
  while (few_count_ > 0) few_[--few_count_] = {};
  more_.clear();
}

Stmt Mutator::Mutate(const Stmt& stmt) {
  return VisitStmt(stmt, [&](const auto& node) { return Rewrite(node); });
}

Function Mutator::Mutate(const Function& fn) {
  Function result = fn;
  for (Buffer& param : result.params) param = RewriteBuffer(param);
  result.body = Mutate(fn.body);
  return result;
}

#define TCC_MUTATE_EXPR(node)               \
  Expr Mutator::Rewrite(const node& expr) { \
    return RewriteChildren(expr);           \
  }
TCC_EXPR_KINDS(TCC_MUTATE_EXPR)
#undef TCC_MUTATE_EXPR

#define TCC_MUTATE_STMT(node)               \
  Stmt Mutator::Rewrite(const node& stmt) { \
    return RewriteChildren(stmt);           \
  }
TCC_STMT_KINDS(TCC_MUTATE_STMT)
#undef TCC_MUTATE_STMT

Buffer Mutator::RewriteBuffer(const Buffer& buffer) {
  FieldMutator mutate(*this);
  Buffer result = buffer;
  result.var = mutate(buffer.var);
  result.shape = mutate(buffer.shape);
  result.window = mutate(buffer.window);
  result.versions = mutate(buffer.versions);
  result.layout = mutate(buffer.layout);
  return result;
}

namespace {

class BottomUp final : public Mutator {
 public:
  // Both functions outlive it.
  BottomUp(const std::function<Expr(const Expr&)>& after_expr,
           const std::function<Stmt(const Stmt&)>& after_stmt)
      : after_expr_(after_expr), after_stmt_(after_stmt) {}

 private:
#define TCC_AFTER(node) \
  Expr Rewrite(const node& expr) override { return after_expr_(RewriteChildren(expr)); }
  TCC_EXPR_KINDS(TCC_AFTER)
#undef TCC_AFTER
#define TCC_AFTER(node) \
  Stmt Rewrite(const node& stmt) override { return after_stmt_(RewriteChildren(stmt)); }
  TCC_STMT_KINDS(TCC_AFTER)
#undef TCC_AFTER

  const std::function<Expr(const Expr&)>& after_expr_;
  const std::function<Stmt(const Stmt&)>& after_stmt_;
};

double WrittenSize(const Expr& expr, std::unordered_map<const ExprNode*, double>& known) {
  auto [entry, fresh] = known.emplace(expr.get(), 1);
  if (!fresh) return entry->second;
  double size = 1;
  ForEachChild(expr, [&](const Expr& child) { size += WrittenSize(child, known); });
  return known[expr.get()] = size;
}

// A shared condition is collected once: it holds already where it comes again.
void CollectConjuncts(const Expr& condition, SeenNodes& seen, std::vector<Expr>& terms) {
  if (condition->IsShared() && !seen.Insert(condition.get())) return;
  if (const auto* both = condition.as<And>()) {
    CollectConjuncts(both->a, seen, terms);
    CollectConjuncts(both->b, seen, terms);
  } else {
    terms.push_back(condition);
  }
}

}  // namespace

bool HasLoad(const Expr& expr) {
  return Contains(expr, [&](const Expr& node) { return node.as<Load>() != nullptr; });
}

double WrittenSize(const Expr& expr) {
  std::unordered_map<const ExprNode*, double> known;
  return WrittenSize(expr, known);
}

std::vector<Expr> ConjunctsOf(const Expr& condition) {
  SeenNodes seen;
  std::vector<Expr> terms;
  CollectConjuncts(condition, seen, terms);
  return terms;
}

Expr RewriteBottomUp(const Expr& expr, const std::function<Expr(const Expr&)>& after) {
  const std::function<Stmt(const Stmt&)> same = [](const Stmt& stmt) { return stmt; };
  return BottomUp(after, same).Mutate(expr);
}

Stmt RewriteBottomUp(const Stmt& stmt, const std::function<Stmt(const Stmt&)>& after_stmt,
                     const std::function<Expr(const Expr&)>& after_expr) {
  return BottomUp(after_expr, after_stmt).Mutate(stmt);
}

Stmt RewriteExprs(const Stmt& stmt, const std::function<Expr(const Expr&)>& after) {
  return RewriteBottomUp(stmt, [](const Stmt& s) { return s; }, after);
}

}  // namespace tcc
