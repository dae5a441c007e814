#include <algorithm>

#include "ir/expr/visitor.h"
#include "ir/simplify/simplifier.h"

namespace tcc {
namespace {

// Returns whether a sum has all terms of a part, at least one with the same coefficient. Other
// terms may leave a remainder, e.g. after products of sums have merged. A part of one term must
// match exactly: (c div 16) * 32 + c mod 16 is better left alone.
bool Contains(const Polynomial& sum, const Polynomial& part) {
  bool whole = false;
  for (const Term& term : part.terms) {
    auto found =
        std::ranges::find_if(sum.terms, [&](const Term& t) { return t.monomial == term.monomial; });
    if (found == sum.terms.end()) return false;
    bool positive = term.coefficient > 0;
    if (positive ? found->coefficient < term.coefficient : found->coefficient > term.coefficient) {
      return false;
    }
    whole |= found->coefficient == term.coefficient;
  }
  return whole;
}

}  // namespace

Polynomial Simplifier::AtomOf(const Expr& atom) {
  if (std::optional<int64_t> value = AsConstant(atom)) return {*value, {}};
  Monomial monomial;
  monomial.degree = 1;
  monomial.atoms[0] = atoms_.IdOf(atom);
  return {0, {{monomial, 1}}};
}

Polynomial Simplifier::ToPolynomial(const Expr& expr) {
  if (const auto* imm = expr.as<IntImm>()) return {imm->value, {}};
  auto found = polynomials_.find(expr.get());
  if (found != polynomials_.end()) return found->second.second;
  Polynomial result = JoinRemainders(Expand(expr));
  polynomials_.emplace(expr.get(), std::pair(expr, result));
  return result;
}

Polynomial Simplifier::Expand(const Expr& expr) {
  if (const auto* imm = expr.as<IntImm>()) return {imm->value, {}};
  // A sum or product with one use is expanded once, so it is not memoized.
  bool is_kept = expr->IsShared() || !(expr.as<Add>() || expr.as<Sub>() || expr.as<Mul>());
  auto found = is_kept ? expanded_.find(expr.get()) : expanded_.end();
  if (found != expanded_.end()) return found->second.second;
  ++steps_;
  Polynomial result = VisitExpr(
      expr,
      Overloaded{
          [&](const Add& e) { return ExpandArithmetic(expr, e.a, e.b); },
          [&](const Sub& e) { return ExpandArithmetic(expr, e.a, e.b); },
          [&](const Mul& e) { return ExpandArithmetic(expr, e.a, e.b); },
          [&](const FloorDiv& e) { return Divide(e.kind, ToPolynomial(e.a), ToPolynomial(e.b)); },
          [&](const FloorMod& e) { return Divide(e.kind, ToPolynomial(e.a), ToPolynomial(e.b)); },
          [&](const CeilDiv& e) { return Divide(e.kind, ToPolynomial(e.a), ToPolynomial(e.b)); },
          [&](const Min& e) { return MinOrMax(e.kind, ToPolynomial(e.a), ToPolynomial(e.b)); },
          [&](const Max& e) { return MinOrMax(e.kind, ToPolynomial(e.a), ToPolynomial(e.b)); },
          [&](const VarNode& var) {
            Polynomial atom = AtomOf(var);
            Interval bounds = BoundsOfPolynomial(atom);
            return IsPoint(bounds) ? Polynomial{bounds.low, {}} : atom;
          },
          [&](const auto&) {
            Expr result = RunOther(expr);
            bool same_kind = result.kind() == expr.kind();
            return same_kind ? AtomOf(result) : Expand(result);
          },
      });
  if (is_kept) expanded_.emplace(expr.get(), std::pair(expr, result));
  return result;
}

Polynomial Simplifier::ExpandArithmetic(const Expr& expr, const Expr& left, const Expr& right) {
  Polynomial a = Expand(left), b = Expand(right);
  std::optional<Polynomial> result = expr.as<Add>()   ? Sum(a, b, atoms_)
                                     : expr.as<Sub>() ? Difference(a, b, atoms_)
                                                      : Product(a, b, atoms_);
  if (result) return *result;
  // The result is too large for a polynomial: keep the node with simplified operands.
  Expr x = Render(JoinRemainders(a)), y = Render(JoinRemainders(b));
  return AtomOf(expr.as<Add>() ? x + y : expr.as<Sub>() ? x - y : x * y);
}

Interval Simplifier::BoundsOfAtom(AtomId atom) {
  if (atom_bounds_.size() < atoms_.size()) atom_bounds_.resize(atoms_.size());
  auto& [known, interval] = atom_bounds_[atom];
  if (!known) {
    interval = BoundsOf(atoms_.ExprOf(atom), bounds_);
    known = true;
  }
  return interval;
}

Interval Simplifier::BoundsOfPolynomial(const Polynomial& polynomial) {
  Interval sum = Interval::Point(polynomial.constant);
  for (const Term& term : polynomial.terms) {
    Interval product = Interval::Point(term.coefficient);
    for (AtomId atom : term.monomial.factors()) product = product * BoundsOfAtom(atom);
    sum = sum + product;
  }
  return sum;
}

Interval Simplifier::BoundsOfMultiples(const Polynomial& polynomial, Interval otherwise) {
  Polynomial rest = polynomial;
  Interval remainders = Interval::Point(0);
  bool found = false;
  for (const Term& term : polynomial.terms) {
    if (term.monomial.degree != 1) continue;
    const Expr atom = atoms_.ExprOf(term.monomial.atoms[0]);
    const auto* floor = atom.as<FloorDiv>();
    const auto* ceil = atom.as<CeilDiv>();
    if (!floor && !ceil) continue;
    const int64_t d = AsConstant(floor ? floor->b : ceil->b).value_or(0);
    if (d < 1 || term.coefficient % d != 0) continue;
    const int64_t times = term.coefficient / d;
    std::optional<Polynomial> x = Scale(ToPolynomial(floor ? floor->a : ceil->a), times);
    std::optional<Polynomial> sum = Difference(rest, Polynomial{0, {term}}, atoms_);
    if (sum && x) sum = Sum(*sum, *x, atoms_);
    if (!sum || !x) return otherwise;
    rest = *std::move(sum);
    const Interval within = floor ? Interval{1 - d, 0} : Interval{0, d - 1};
    remainders = remainders + Interval::Point(times) * within;
    found = true;
  }
  return found ? BoundsOfPolynomial(rest) + remainders : otherwise;
}

const Expr* Simplifier::SoleAtom(const Polynomial& polynomial) const {
  if (polynomial.constant != 0 || polynomial.terms.size() != 1) return nullptr;
  const Term& term = polynomial.terms[0];
  if (term.coefficient != 1 || term.monomial.degree != 1) return nullptr;
  return &atoms_.ExprOf(term.monomial.atoms[0]);
}

// Applies x mod d + d * (x div d) == x: looks for a remainder whose quotient, with the matching
// factor, is in the same sum.
Polynomial Simplifier::JoinRemainders(Polynomial sum) {
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    std::optional<Polynomial> joined = JoinOneRemainder(sum, sum.terms[i]);
    if (!joined) continue;
    sum = *std::move(joined);
    i = static_cast<size_t>(-1);
  }
  return sum;
}

std::optional<Polynomial> Simplifier::JoinOneRemainder(const Polynomial& sum, const Term& term) {
  if (sum.terms.size() < 2) return std::nullopt;
  for (AtomId atom : term.monomial.factors()) {
    const auto* mod = atoms_.ExprOf(atom).as<FloorMod>();
    if (!mod) continue;
    Ref<FloorMod> keep(mod);  // the table of atoms may grow below
    Monomial remainder{1, {atom}};
    Polynomial x = ToPolynomial(mod->a), d = ToPolynomial(mod->b);
    std::optional<Polynomial> quotient = Product(Divide(ExprKind::kFloorDiv, x, d), d, atoms_);
    std::optional<Monomial> rest = Quotient(term.monomial, remainder);
    Polynomial factor = rest->degree == 0 ? Polynomial{term.coefficient, {}}
                                          : Polynomial{0, {{*rest, term.coefficient}}};
    if (quotient) quotient = Product(*quotient, factor, atoms_);
    if (!quotient || quotient->terms.empty()) continue;
    if (!Contains(sum, *quotient)) continue;
    std::optional<Polynomial> whole = Product(x, factor, atoms_);
    if (!whole) continue;
    std::optional<Polynomial> result = Difference(sum, *quotient, atoms_);
    if (result) result = Difference(*result, Polynomial{0, {term}}, atoms_);
    if (result) result = Sum(*result, *whole, atoms_);
    if (result) return result;
  }
  return std::nullopt;
}

}  // namespace tcc
