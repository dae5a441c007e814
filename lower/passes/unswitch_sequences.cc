#include <algorithm>

#include "ir/expr/compare.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "lower/passes/passes.h"
#include "lower/passes/rewrite_statements.h"

namespace tcc {
namespace {

// The number of stores that the copies of a function's sequences may add.
constexpr int kMaxAddedStores = 512;

// The reciprocal share of stores that must be under a condition: below it, unswitching gains less
// than the copy costs.
constexpr int kMinShare = 8;

// Returns the condition that most two-sided branches of `stmt` test. Only conditions that can be
// tested before `stmt` count: nothing inside defines or stores what they use. Null if the most
// frequent one is rare.
Expr CommonCondition(const Stmt& stmt) {
  std::vector<Var> defined;
  PreOrder(stmt, [&](const Stmt& s) {
    if (const auto* let = s.as<Let>()) defined.push_back(let->var);
    if (const auto* loop = s.as<For>()) defined.push_back(loop->var);
  });
  std::vector<std::pair<Expr, int>> asked;
  PreOrder(stmt, [&](const Stmt& s) {
    const auto* test = s.as<If>();
    if (!test || !test->else_body || HasLoad(test->condition)) return;
    for (const Var& var : defined) {
      if (UsesVar(test->condition, var)) return;
    }
    for (auto& [condition, times] : asked) {
      if (!Equal(condition, test->condition)) continue;
      ++times;
      return;
    }
    asked.emplace_back(test->condition, 1);
  });
  std::pair<Expr, int> most = {Expr(), std::max(CountStores(stmt) / kMinShare / 2, 1)};
  for (const auto& candidate : asked) {
    if (candidate.second > most.second) most = candidate;
  }
  return most.first;
}

// Returns the terms of `asked` that remain where all of `known` holds.
Expr WithoutTerms(const Expr& asked, const std::vector<Expr>& known) {
  Expr left;
  for (const Expr& term : ConjunctsOf(asked)) {
    bool holds = std::ranges::any_of(known, [&](const Expr& other) { return Equal(other, term); });
    if (!holds) left = left ? BothOf(left, term) : term;
  }
  return left ? left : True();
}

// Specializes `stmt` for the case that the condition holds.
Stmt WhereItHolds(const Stmt& stmt, const Expr& condition) {
  std::vector<Expr> known = ConjunctsOf(condition);
  return RewriteStatements(stmt, [&](const Stmt& s) -> Stmt {
    const auto* test = s.as<If>();
    if (!test) return s;
    Expr left = WithoutTerms(test->condition, known);
    if (IsConstant(left, 1)) return test->then_body;
    return MakeStmt<If>(left, test->then_body, test->else_body);
  });
}

// Specializes `stmt` for the case that the condition fails, and with it every conjunction that
// contains it.
Stmt WhereItFails(const Stmt& stmt, const Expr& condition) {
  std::vector<Expr> failing = ConjunctsOf(condition);
  return RewriteStatements(stmt, [&](const Stmt& s) -> Stmt {
    if (const auto* seq = s.as<Seq>()) return SeqOf(seq->stmts);
    const auto* test = s.as<If>();
    if (!test) return s;
    std::vector<Expr> asked = ConjunctsOf(test->condition);
    bool fails = std::ranges::all_of(failing, [&](const Expr& term) {
      return std::ranges::any_of(asked, [&](const Expr& other) { return Equal(other, term); });
    });
    if (!fails) return s;
    return test->else_body ? test->else_body : Nothing();
  });
}

// Returns whether `stmt` has threads or barriers. The threads of a block must meet at the same
// barrier, but the two copies would contain different ones.
bool HasThreads(const Stmt& stmt) {
  return Contains(stmt, [&](const Stmt& s) {
    const auto* loop = s.as<For>();
    return s.as<Barrier>() || (loop && IsThreadIdx(loop->for_kind));
  });
}

class SequenceUnswitcher final : public Mutator {
 public:
  explicit SequenceUnswitcher(bool has_free_extents) : has_free_extents_(has_free_extents) {}

 private:
  using Mutator::Rewrite;

  // Visits the largest sequence first: it takes the inner ones along.
  Stmt Rewrite(const Seq& seq) override {
    Expr condition = CommonCondition(seq);
    if (!condition) return RewriteChildren(seq);
    Stmt both = MakeStmt<If>(condition, WhereItHolds(seq, condition), WhereItFails(seq, condition));
    if (has_free_extents_) both = ResolveBranches(both);
    const auto* versions = both.as<If>();
    if (!versions || !versions->else_body) return RewriteChildren(seq);
    int added = std::max(CountStores(both) - CountStores(seq), 0);
    if (added > budget_) return RewriteChildren(seq);
    budget_ -= added;
    Stmt holds = Mutate(versions->then_body);
    return MakeStmt<If>(condition, holds, WithFreshVars(Mutate(versions->else_body)));
  }

  bool has_free_extents_;
  int budget_ = kMaxAddedStores;
};

}  // namespace

Function UnswitchSequences(const Function& fn) {
  return HasThreads(fn.body) ? fn : SequenceUnswitcher(!fn.vars.empty()).Mutate(fn);
}

}  // namespace tcc
