#include "ir/simplify/simplifier.h"

#include <algorithm>
#include <numeric>

#include "support/integer_division.h"

// Simplifies x div d, x mod d and ceildiv(x, d) of polynomials, d >= 1. The steps, in order: take
// out multiples of d, decide by bounds, cancel a common factor, take out a part that is known to
// lie below a factor of d, merge nested divisions.
namespace tcc {
namespace {

constexpr ExprKind kDiv = ExprKind::kFloorDiv;
constexpr ExprKind kMod = ExprKind::kFloorMod;
constexpr ExprKind kCeil = ExprKind::kCeilDiv;

// Expects b >= 1. Computes unsigned, since std::gcd cannot take the least int64.
int64_t Gcd(int64_t a, int64_t b) {
  uint64_t magnitude = a < 0 ? -static_cast<uint64_t>(a) : static_cast<uint64_t>(a);
  return static_cast<int64_t>(std::gcd(magnitude, static_cast<uint64_t>(b)));
}

// Returns the divisor as one term, a constant (degree 0) or c * monomial; nullopt if it is none.
std::optional<Term> AsTerm(const Polynomial& divisor) {
  if (divisor.IsConstant()) return Term{{}, divisor.constant};
  if (divisor.constant != 0 || divisor.terms.size() != 1) return std::nullopt;
  if (divisor.terms[0].coefficient < 1) return std::nullopt;
  return divisor.terms[0];
}

Polynomial AsPolynomial(const Term& term) {
  if (term.monomial.degree == 0) return {term.coefficient, {}};
  return {0, {term}};
}

struct Parts {
  Polynomial quotient;
  Polynomial rest;
};

// Splits dividend == quotient * divisor + rest, with the rest's coefficients below the divisor's.
Parts TakeMultiples(const Polynomial& dividend, const Term& divisor, const AtomTable& atoms) {
  Parts parts;
  for (const Term& term : dividend.terms) {
    std::optional<Monomial> monomial = Quotient(term.monomial, divisor.monomial);
    int64_t times = monomial ? term.coefficient / divisor.coefficient : 0;
    int64_t left = term.coefficient - times * divisor.coefficient;
    if (times != 0) {
      Polynomial multiple = AsPolynomial({*monomial, times});
      parts.quotient = *Sum(parts.quotient, multiple, atoms);
    }
    if (left != 0) parts.rest.terms.push_back({term.monomial, left});
  }
  bool constant_divisor = divisor.monomial.degree == 0;
  int64_t times = constant_divisor ? FloorDivision(dividend.constant, divisor.coefficient) : 0;
  parts.quotient.constant += times;
  parts.rest.constant = dividend.constant - times * divisor.coefficient;
  return parts;
}

size_t Length(const Polynomial& polynomial) {
  return polynomial.terms.size() + (polynomial.constant != 0);
}

// Does the same for a divisor of several terms: takes out q * divisor where all its terms occur.
Parts TakeMultiples(const Polynomial& dividend, const Polynomial& divisor, const AtomTable& atoms) {
  Parts parts{{}, dividend};
  const Term& lead = divisor.terms[0];
  for (size_t i = 0; i < parts.rest.terms.size(); ++i) {
    const Term term = parts.rest.terms[i];
    std::optional<Monomial> monomial = Quotient(term.monomial, lead.monomial);
    if (!monomial || term.coefficient % lead.coefficient != 0) continue;
    Polynomial factor = AsPolynomial({*monomial, term.coefficient / lead.coefficient});
    std::optional<Polynomial> multiple = Product(factor, divisor, atoms);
    std::optional<Polynomial> rest =
        multiple ? Difference(parts.rest, *multiple, atoms) : std::nullopt;
    if (!rest || Length(*rest) + Length(*multiple) != Length(parts.rest)) continue;
    std::optional<Polynomial> quotient = Sum(parts.quotient, factor, atoms);
    if (!quotient) continue;
    parts = {*std::move(quotient), *std::move(rest)};
    i = static_cast<size_t>(-1);
  }
  return parts;
}

// Returns the common factor of all terms of both: the gcd of the coefficients and the common atoms.
// The constant's value does not count, but a constant other than 0 allows no atoms.
Term CommonFactor(const Polynomial& rest, const Term& divisor) {
  Term factor = divisor;
  if (rest.constant != 0) factor.monomial = {};
  for (const Term& term : rest.terms) {
    factor.coefficient = Gcd(term.coefficient, factor.coefficient);
    Monomial shared;
    Monomial left = term.monomial;
    for (AtomId atom : factor.monomial.factors()) {
      Monomial single{1, {atom}};
      std::optional<Monomial> without = Quotient(left, single);
      if (!without) continue;
      left = *without;
      shared.atoms[shared.degree++] = atom;
    }
    factor.monomial = shared;
  }
  return factor;
}

}  // namespace

Polynomial Simplifier::Divide(ExprKind kind, const Polynomial& dividend,
                              const Polynomial& divisor) {
  // A divisor below 1 is a bug elsewhere; assume nothing about the value here.
  if (divisor.IsConstant() && divisor.constant < 1) return DivideRest(kind, dividend, divisor);
  std::optional<Term> term = AsTerm(divisor);
  auto [quotient, rest] =
      term ? TakeMultiples(dividend, *term, atoms_) : TakeMultiples(dividend, divisor, atoms_);
  if (rest == Polynomial{}) return kind == kMod ? Polynomial{} : quotient;
  Polynomial divided = DivideRest(kind, rest, divisor);
  if (kind == kMod) return divided;
  std::optional<Polynomial> sum = Sum(quotient, divided, atoms_);
  return sum ? *sum : AtomOf(Render(quotient) + Render(divided));
}

Polynomial Simplifier::DivideRest(ExprKind kind, const Polynomial& rest,
                                  const Polynomial& divisor) {
  bool positive = !divisor.IsConstant() || divisor.constant >= 1;
  if (positive) {
    if (auto result = DivideByBounds(kind, rest, divisor)) return *result;
    if (auto result = CancelFactor(kind, rest, divisor)) return *result;
    if (divisor.IsConstant()) {
      if (auto result = SplitByFactor(kind, rest, divisor.constant)) return *result;
    }
    if (auto result = DivideNested(kind, rest, divisor)) return *result;
  }
  Expr a = Render(rest), b = Render(divisor);
  return AtomOf(kind == kDiv   ? FloorDivide(a, b)
                : kind == kMod ? FloorModulo(a, b)
                               : CeilDivide(a, b));
}

std::optional<Polynomial> Simplifier::DivideByBounds(ExprKind kind, const Polynomial& rest,
                                                     const Polynomial& divisor) {
  Interval x = BoundsOfPolynomial(rest), d = BoundsOfPolynomial(divisor);
  Interval quotient = kind == kCeil ? CeilDivide(x, d) : FloorDivide(x, d);
  if (!IsPoint(quotient)) return std::nullopt;
  if (kind != kMod) return Polynomial{quotient.low, {}};
  std::optional<Polynomial> multiple = Scale(divisor, quotient.low);
  return multiple ? Difference(rest, *multiple, atoms_) : std::nullopt;
}

// Applies (g*x + c) div (g*d) == (x + c div g) div d, and likewise for mod and ceildiv.
std::optional<Polynomial> Simplifier::CancelFactor(ExprKind kind, const Polynomial& rest,
                                                   const Polynomial& divisor) {
  std::optional<Term> divisor_term = AsTerm(divisor);
  if (!divisor_term) return std::nullopt;
  Term factor = CommonFactor(rest, *divisor_term);
  int64_t g = factor.coefficient;
  if (g == 1 && factor.monomial.degree == 0) return std::nullopt;
  // Without atoms in the factor the constant is divided; with atoms it is 0.
  int64_t whole = kind == kCeil ? CeilDivision(rest.constant, g) : FloorDivision(rest.constant, g);
  int64_t below = rest.constant - whole * g;
  Polynomial scaled = rest;
  scaled.constant = whole * g;
  std::optional<Polynomial> x = ExactQuotient(scaled, factor);
  std::optional<Polynomial> d = ExactQuotient(divisor, factor);
  if (!x || !d) return std::nullopt;
  Polynomial divided = Divide(kind, *x, *d);
  if (kind != kMod) return divided;
  std::optional<Polynomial> result = Product(divided, AsPolynomial(factor), atoms_);
  return result ? Sum(*result, Polynomial{below, {}}, atoms_) : std::nullopt;
}

// Applies (g*x + r) div (g*d) == (x + k) div d where r div g is k at every point of the bounds.
std::optional<Polynomial> Simplifier::SplitByFactor(ExprKind kind, const Polynomial& rest,
                                                    int64_t divisor) {
  std::vector<int64_t> factors;
  for (const Term& term : rest.terms) factors.push_back(Gcd(term.coefficient, divisor));
  std::ranges::sort(factors, std::greater<>());
  factors.erase(std::unique(factors.begin(), factors.end()), factors.end());
  for (int64_t g : factors) {
    if (g == 1) break;
    Polynomial multiple, below{rest.constant, {}};
    for (const Term& term : rest.terms) {
      (term.coefficient % g == 0 ? multiple : below).terms.push_back(term);
    }
    Interval bounds = BoundsOfPolynomial(below), by = Interval::Point(g);
    Interval quotient = kind == kCeil ? CeilDivide(bounds, by) : FloorDivide(bounds, by);
    if (!IsPoint(quotient)) continue;
    int64_t k = quotient.low;
    std::optional<Polynomial> x = ExactQuotient(multiple, {{}, g});
    if (!x) continue;
    x->constant += k;
    Polynomial divided = Divide(kind, *x, {divisor / g, {}});
    if (kind != kMod) return divided;
    std::optional<Polynomial> result = Scale(divided, g);
    if (result) result = Sum(*result, below, atoms_);
    if (result) return Sum(*result, Polynomial{-k * g, {}}, atoms_);
  }
  return std::nullopt;
}

std::optional<Polynomial> Simplifier::DivideNested(ExprKind kind, const Polynomial& rest,
                                                   const Polynomial& divisor) {
  if (kind == kMod) {
    // A remainder by a multiple of d inside a sum modulo d is its dividend.
    std::optional<Term> d = AsTerm(divisor);
    if (!d) return std::nullopt;
    for (const Term& term : rest.terms) {
      for (AtomId atom : term.monomial.factors()) {
        const auto* mod = atoms_.ExprOf(atom).as<FloorMod>();
        if (!mod) continue;
        Ref<FloorMod> keep(mod);
        if (!ExactQuotient(ToPolynomial(mod->b), *d)) continue;
        Monomial single{1, {atom}};
        Polynomial factor = AsPolynomial({*Quotient(term.monomial, single), term.coefficient});
        std::optional<Polynomial> whole = Product(ToPolynomial(mod->a), factor, atoms_);
        std::optional<Polynomial> others = Difference(rest, AsPolynomial(term), atoms_);
        if (!whole || !others) continue;
        std::optional<Polynomial> sum = Sum(*whole, *others, atoms_);
        if (sum) return Divide(kind, JoinRemainders(*sum), divisor);
      }
    }
    return std::nullopt;
  }
  // (y div a + r) div d == (y + a*r) div (a*d); ceildiv likewise.
  for (const Term& term : rest.terms) {
    if (term.coefficient != 1 || term.monomial.degree != 1) continue;
    Expr atom = atoms_.ExprOf(term.monomial.atoms[0]);
    if (atom.kind() != kind) continue;
    const auto* div = atom.as<FloorDiv>();
    const auto* ceil = atom.as<CeilDiv>();
    Polynomial y = ToPolynomial(div ? div->a : ceil->a), a = ToPolynomial(div ? div->b : ceil->b);
    if (a.IsConstant() && a.constant < 1) continue;
    std::optional<Polynomial> r = Difference(rest, AsPolynomial(term), atoms_);
    if (r) r = Product(*r, a, atoms_);
    std::optional<Polynomial> dividend = r ? Sum(y, *r, atoms_) : std::nullopt;
    std::optional<Polynomial> product = Product(a, divisor, atoms_);
    if (dividend && product) return Divide(kind, JoinRemainders(*dividend), *product);
  }
  // (x mod (d*m)) div d == (x div d) mod m
  const Expr* sole = SoleAtom(rest);
  Expr atom = sole ? *sole : Expr();
  const auto* mod = atom.as<FloorMod>();
  std::optional<Term> d = AsTerm(divisor);
  if (!mod || !d || kind != kDiv) return std::nullopt;
  std::optional<Polynomial> m = ExactQuotient(ToPolynomial(mod->b), *d);
  if (!m) return std::nullopt;
  return Divide(kMod, Divide(kDiv, ToPolynomial(mod->a), divisor), *m);
}

}  // namespace tcc
