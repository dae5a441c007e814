#include "ir/analysis/affine.h"

#include <algorithm>
#include <unordered_map>

#include "ir/expr/visitor.h"
#include "ir/simplify/interval.h"
#include "ir/simplify/simplify.h"

namespace tcc {
namespace {

bool UsesAny(const Expr& expr, const std::vector<Var>& vars) {
  return Contains(expr, [&](const Expr& e) {
    const auto* var = e.as<VarNode>();
    return var && std::ranges::find(vars, Var(var)) != vars.end();
  });
}

// Adds two terms. A null Expr is an absent term or an implicit factor 1. The values of sizes are
// never used, so free and known sizes give the same forms.
Expr Sum(const Expr& a, const Expr& b) {
  return !a ? b : !b ? a : a + b;
}
Expr Difference(const Expr& a, const Expr& b) {
  return !b ? a : a ? a - b : Expr(0) - b;
}
Expr OrOne(const Expr& coefficient) {
  return coefficient ? coefficient : Expr(1);
}

// A term of a linear form, sum coefficient * atom + rest. Atoms are variables, or divisions that
// use variables.
struct Term {
  Expr atom;
  Expr coefficient;  // null: 1
};
struct LinearForm {
  std::vector<Term> terms;
  Expr rest;  // null: 0
};

class LinearReader {
 public:
  LinearReader(const std::vector<Var>& vars, bool divisions) : vars_(vars), divisions_(divisions) {}

  std::optional<LinearForm> Read(const Expr& expr) {
    if (!expr->IsShared()) return ReadNode(expr);
    auto found = read_.find(expr.get());
    if (found != read_.end()) return found->second;
    return read_[expr.get()] = ReadNode(expr);
  }

 private:
  std::optional<LinearForm> ReadNode(const Expr& expr) {
    if (!UsesAny(expr, vars_)) return LinearForm{{}, expr};
    if (expr.as<VarNode>()) return LinearForm{{{expr, {}}}, {}};
    if (const auto* add = expr.as<Add>()) return ReadSum(add->a, add->b, Sum);
    if (const auto* sub = expr.as<Sub>()) return ReadSum(sub->a, sub->b, Difference);
    if (const auto* mul = expr.as<Mul>()) return ReadProduct(*mul);
    if (divisions_ && (expr.as<FloorDiv>() || expr.as<CeilDiv>())) {
      return LinearForm{{{expr, {}}}, {}};
    }
    return std::nullopt;
  }

  std::optional<LinearForm> ReadSum(const Expr& left, const Expr& right,
                                    Expr (*combine)(const Expr&, const Expr&)) {
    std::optional<LinearForm> a = Read(left);
    std::optional<LinearForm> b = a ? Read(right) : std::nullopt;
    if (!b) return std::nullopt;
    a->rest = combine(a->rest, b->rest);
    for (const Term& term : b->terms) {
      auto same =
          std::ranges::find_if(a->terms, [&](const Term& t) { return Equal(t.atom, term.atom); });
      if (same != a->terms.end()) {
        same->coefficient = combine(OrOne(same->coefficient), OrOne(term.coefficient));
      } else {
        bool adds = combine == Sum;
        a->terms.push_back(
            {term.atom, adds ? term.coefficient : Difference({}, OrOne(term.coefficient))});
      }
    }
    return a;
  }

  std::optional<LinearForm> ReadProduct(const Mul& mul) {
    bool left = UsesAny(mul.a, vars_);
    if (left && UsesAny(mul.b, vars_)) return std::nullopt;
    const Expr& factor = left ? mul.b : mul.a;
    std::optional<LinearForm> form = Read(left ? mul.a : mul.b);
    if (!form) return std::nullopt;
    for (Term& term : form->terms) {
      term.coefficient = term.coefficient ? term.coefficient * factor : factor;
    }
    if (form->rest) form->rest = form->rest * factor;
    return form;
  }

  const std::vector<Var>& vars_;
  bool divisions_;
  // The forms of shared nodes, which live as long as the expression that is read.
  std::unordered_map<const ExprNode*, std::optional<LinearForm>> read_;
};

class BoxFinder {
 public:
  BoxFinder(const std::vector<Var>& vars, const std::vector<Expr>& sizes)
      : vars_(vars), sizes_(sizes) {}

  // Returns the number of values from the first to the last; nullopt where the index may decrease.
  std::optional<Expr> SizeOf(const Expr& index) {
    std::optional<LinearForm> form = LinearReader(vars_, true).Read(index);
    if (!form) return std::nullopt;
    Expr size(1);
    for (const Term& term : form->terms) {
      std::optional<Expr> extent = SizeOfAtom(term.atom);
      if (!extent) return std::nullopt;
      if (!term.coefficient) {
        size = size + (*extent - 1);
        continue;
      }
      if (BoundsOf(Simplify(term.coefficient), {}).high < 0) return std::nullopt;
      size = size + term.coefficient * (*extent - 1);
    }
    return size;
  }

 private:
  std::optional<Expr> SizeOfAtom(const Expr& atom) {
    if (const auto* var = atom.as<VarNode>()) {
      auto found = std::ranges::find(vars_, Var(var));
      return sizes_[found - vars_.begin()];
    }
    if (const auto* div = atom.as<FloorDiv>()) return SizeOfQuotient(div->a, div->b);
    const auto* div = atom.as<CeilDiv>();
    return SizeOfQuotient(div->a, div->b);
  }

  std::optional<Expr> SizeOfQuotient(const Expr& dividend, const Expr& divisor) {
    if (UsesAny(divisor, vars_)) return std::nullopt;
    std::optional<Expr> size = SizeOf(dividend);
    if (!size) return std::nullopt;
    return FloorDivide(*size + divisor - 2, divisor) + 1;
  }

  const std::vector<Var>& vars_;
  const std::vector<Expr>& sizes_;
};

}  // namespace

std::optional<AffineForm> ToAffine(const Expr& expr, const std::vector<Var>& vars) {
  std::optional<LinearForm> form = LinearReader(vars, false).Read(expr);
  if (!form) return std::nullopt;
  AffineForm result;
  for (const Var& var : vars) {
    for (const Term& term : form->terms) {
      if (!term.atom.same_as(var)) continue;
      result.vars.push_back(var);
      result.coefficients.push_back(OrOne(term.coefficient));
    }
  }
  result.rest = form->rest ? form->rest : Expr(0);
  return result;
}

std::optional<IndexBox> BoxOf(const Expr& index, const std::vector<Var>& vars,
                              const std::vector<Expr>& lows, const std::vector<Expr>& sizes) {
  TCC_CHECK(vars.size() == lows.size() && vars.size() == sizes.size()) << vars.size();
  std::optional<Expr> size = BoxFinder(vars, sizes).SizeOf(index);
  if (!size) return std::nullopt;
  Substitution at_lows;
  for (size_t i = 0; i < vars.size(); ++i) at_lows.emplace(vars[i], lows[i]);
  return IndexBox{Substitute(index, at_lows), *size};
}

}  // namespace tcc
