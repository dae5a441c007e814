#pragma once

#include <absl/container/flat_hash_set.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/expr/expr.h"
#include "ir/simplify/interval.h"

// Integer polynomials over atoms, the simplifier's normal form of i64 sums and products.
namespace tcc {

// The canonical order of expressions: constants, variables by rank, then by kind and by operands
// from left to right. A variable's rank is its position in the caller's numbering (binding
// position), so the order is the same for alpha-equal functions. A variable without a rank gets the
// next one when first seen.
class VarOrder {
 public:
  int RankOf(const ExprNode* var);
  // Returns < 0, 0 or > 0; 0 only for the same structure over the same variables.
  int Compare(const Expr& a, const Expr& b);

 private:
  template <typename T>
  int CompareField(const T& a, const T& b);
  int CompareOperands(const Expr& a, const Expr& b);
  int CompareDifferent(const Expr& a, const Expr& b);
  int CompareSums(const Expr& a, const Expr& b);
  std::unordered_map<const ExprNode*, int> ranks_;
  // The pairs that the comparison under way has found equal. The first difference ends it.
  absl::flat_hash_set<std::pair<const ExprNode*, const ExprNode*>> equal_;
};

// The id of an atom, one symbol of a polynomial: a variable, or a simplified expression that is no
// sum or product (div, mod, ceildiv, min, max, load, ...).
using AtomId = uint32_t;

class AtomTable {
 public:
  explicit AtomTable(VarOrder& order) : order_(order) {}
  // Returns the same id for equal expressions.
  AtomId IdOf(const Expr& atom);
  const Expr& ExprOf(AtomId id) const { return atoms_[id]; }
  int Compare(AtomId a, AtomId b) const {
    return a == b ? 0 : order_.Compare(atoms_[a], atoms_[b]);
  }
  size_t size() const { return atoms_.size(); }

 private:
  AtomId IdOfVar(const Expr& var);

  VarOrder& order_;
  std::vector<Expr> atoms_;
  // Expression hashes do not tell variables apart, and a function may have thousands of them.
  std::unordered_map<const ExprNode*, AtomId> vars_;
  std::unordered_map<uint64_t, std::vector<AtomId>> by_hash_;  // of all other atoms
};

// A product of atoms in canonical order; an atom occurs once per power.
struct Monomial {
  static constexpr int kMaxDegree = 15;
  uint8_t degree = 0;
  std::array<AtomId, kMaxDegree> atoms{};

  std::span<const AtomId> factors() const { return {atoms.data(), degree}; }
  friend bool operator==(const Monomial& a, const Monomial& b) {
    return a.degree == b.degree &&
           std::equal(a.atoms.begin(), a.atoms.begin() + a.degree, b.atoms.begin());
  }
};

// Returns nullopt beyond kMaxDegree.
std::optional<Monomial> Product(const Monomial& a, const Monomial& b, const AtomTable& atoms);
// Returns a / b, or nullopt where a lacks a factor of b.
std::optional<Monomial> Quotient(const Monomial& a, const Monomial& b);

struct Term {
  Monomial monomial;  // degree >= 1
  int64_t coefficient = 0;
  friend bool operator==(const Term&, const Term&) = default;
};

// The sum of a constant and of terms in canonical order, none with coefficient 0.
struct Polynomial {
  int64_t constant = 0;
  std::vector<Term> terms;

  bool IsConstant() const { return terms.empty(); }
  friend bool operator==(const Polynomial&, const Polynomial&) = default;
};

// The limit on terms. All functions below return nullopt where a coefficient overflows int64, a
// degree exceeds Monomial::kMaxDegree, or a product has more than kMaxTerms terms.
constexpr size_t kMaxTerms = 256;
std::optional<Polynomial> Sum(const Polynomial& a, const Polynomial& b, const AtomTable& atoms);
std::optional<Polynomial> Scale(const Polynomial& a, int64_t factor);
std::optional<Polynomial> Difference(const Polynomial& a, const Polynomial& b,
                                     const AtomTable& atoms);
std::optional<Polynomial> Product(const Polynomial& a, const Polynomial& b, const AtomTable& atoms);

// Returns a / b where b, one term or a constant, divides every term of a, else nullopt.
std::optional<Polynomial> ExactQuotient(const Polynomial& a, const Term& b);

// Returns the normal form as an expression: terms in order, differences for negative coefficients,
// the constant last. If the first term is negative, a positive term, or else a positive constant,
// goes first.
Expr ToExpr(const Polynomial& polynomial, const AtomTable& atoms);

}  // namespace tcc
