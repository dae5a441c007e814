#include "ir/simplify/polynomial.h"

#include <algorithm>

#include "ir/expr/visitor.h"

namespace tcc {
namespace {

template <typename T>
int Sign(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

int Compare(const Monomial& a, const Monomial& b, const AtomTable& atoms) {
  int shared = std::min(a.degree, b.degree);
  for (int i = 0; i < shared; ++i) {
    int order = atoms.Compare(a.atoms[i], b.atoms[i]);
    if (order != 0) return order;
  }
  // The longer product comes first: x*y + x.
  return Sign(b.degree, a.degree);
}

// Makes a polynomial of terms in any order; equal monomials may repeat.
std::optional<Polynomial> Collect(std::vector<Term> terms, int64_t constant,
                                  const AtomTable& atoms) {
  std::ranges::sort(terms, [&](const Term& a, const Term& b) {
    return Compare(a.monomial, b.monomial, atoms) < 0;
  });
  Polynomial result{constant, {}};
  for (const Term& term : terms) {
    if (!result.terms.empty() && result.terms.back().monomial == term.monomial) {
      int64_t& sum = result.terms.back().coefficient;
      if (__builtin_add_overflow(sum, term.coefficient, &sum)) return std::nullopt;
      if (sum == 0) result.terms.pop_back();
    } else if (term.coefficient != 0) {
      result.terms.push_back(term);
    }
  }
  return result;
}

// Returns |coefficient| * monomial; the caller applies the sign. INT64_MIN keeps its sign: see
// ToExpr.
Expr Magnitude(const Term& term, const AtomTable& atoms) {
  Expr product;
  for (AtomId atom : term.monomial.factors()) {
    product = product ? product * atoms.ExprOf(atom) : atoms.ExprOf(atom);
  }
  int64_t magnitude = std::abs(term.coefficient);
  return magnitude == 1 ? product : product * Expr(magnitude);
}

}  // namespace

int VarOrder::RankOf(const ExprNode* var) {
  return ranks_.emplace(var, static_cast<int>(ranks_.size())).first->second;
}

template <typename T>
int VarOrder::CompareField(const T& a, const T& b) {
  if constexpr (std::is_base_of_v<Expr, T>) {
    return CompareOperands(a, b);
  } else if constexpr (requires {
                         a.size();
                         a[0];
                       } && !std::is_same_v<T, std::string>) {
    if (a.size() != b.size()) return Sign(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      if (int order = CompareField(a[i], b[i]); order != 0) return order;
    }
    return 0;
  } else if constexpr (std::is_same_v<T, DType>) {
    if (a.code() != b.code()) return Sign(a.code(), b.code());
    return Sign(a.lanes(), b.lanes());
  } else if constexpr (std::is_same_v<T, double>) {
    // The order by bits is total and tells -0, 0 and NaNs apart.
    return Sign(__builtin_bit_cast(int64_t, a), __builtin_bit_cast(int64_t, b));
  } else {
    return Sign(a, b);
  }
}

int VarOrder::Compare(const Expr& a, const Expr& b) {
  if (a.same_as(b)) return 0;
  if (!equal_.empty()) equal_.clear();
  return CompareDifferent(a, b);
}

// Compares two DAGs as DAGs: a pair of nodes is walked once, however many paths lead to it.
int VarOrder::CompareOperands(const Expr& a, const Expr& b) {
  if (a.same_as(b)) return 0;
  bool may_return = a->IsShared() || b->IsShared();
  if (may_return && equal_.contains({a.get(), b.get()})) return 0;
  int order = CompareDifferent(a, b);
  if (may_return && order == 0) equal_.emplace(a.get(), b.get());
  return order;
}

// Compares the operands of a sum and a difference; returns 0 for other pairs.
int VarOrder::CompareSums(const Expr& a, const Expr& b) {
  const auto* add = a.kind() == ExprKind::kAdd ? a.as<Add>() : b.as<Add>();
  const auto* sub = a.kind() == ExprKind::kSub ? a.as<Sub>() : b.as<Sub>();
  if (!add || !sub) return 0;
  int order = CompareOperands(add->a, sub->a);
  if (order == 0) order = CompareOperands(add->b, sub->b);
  return a.kind() == ExprKind::kAdd ? order : -order;
}

int VarOrder::CompareDifferent(const Expr& a, const Expr& b) {
  if (a.kind() != b.kind()) {
    // The operator at a sum's root, plus or minus, depends on the order of its terms, so it must
    // not determine that order.
    int order = CompareSums(a, b);
    return order != 0 ? order : Sign(a.kind(), b.kind());
  }
  if (a.kind() == ExprKind::kVarNode) return Sign(RankOf(a.get()), RankOf(b.get()));
  return VisitExpr(a, [&](const auto& node) {
    using Node = std::decay_t<decltype(node)>;
    const Node& other = static_cast<const Node&>(*b);
    auto fields = node.Fields(), others = other.Fields();
    int order = 0;
    [&]<size_t... I>(std::index_sequence<I...>) {
      ((order == 0 ? void(order = CompareField(std::get<I>(fields), std::get<I>(others))) : void()),
       ...);
    }(std::make_index_sequence<std::tuple_size_v<decltype(fields)>>());
    return order;
  });
}

AtomId AtomTable::IdOfVar(const Expr& var) {
  auto [found, added] = vars_.try_emplace(var.get(), static_cast<AtomId>(atoms_.size()));
  if (added) {
    atoms_.push_back(var);
    order_.RankOf(var.get());
  }
  return found->second;
}

AtomId AtomTable::IdOf(const Expr& atom) {
  if (atom.kind() == ExprKind::kVarNode) return IdOfVar(atom);
  std::vector<AtomId>& candidates = by_hash_[atom->hash];
  for (AtomId id : candidates) {
    if (order_.Compare(atoms_[id], atom) == 0) return id;
  }
  atoms_.push_back(atom);
  candidates.push_back(static_cast<AtomId>(atoms_.size() - 1));
  return candidates.back();
}

std::optional<Monomial> Product(const Monomial& a, const Monomial& b, const AtomTable& atoms) {
  if (a.degree + b.degree > Monomial::kMaxDegree) return std::nullopt;
  Monomial result;
  result.degree = static_cast<uint8_t>(a.degree + b.degree);
  auto fa = a.factors(), fb = b.factors();
  std::merge(fa.begin(), fa.end(), fb.begin(), fb.end(), result.atoms.begin(),
             [&](AtomId x, AtomId y) { return atoms.Compare(x, y) < 0; });
  return result;
}

std::optional<Monomial> Quotient(const Monomial& a, const Monomial& b) {
  // Both have the same order, so a single walk finds b's factors in a.
  Monomial result;
  int next = 0;
  for (AtomId atom : a.factors()) {
    if (next < b.degree && b.atoms[next] == atom) {
      ++next;
    } else {
      result.atoms[result.degree++] = atom;
    }
  }
  return next == b.degree ? std::optional(result) : std::nullopt;
}

std::optional<Polynomial> Sum(const Polynomial& a, const Polynomial& b, const AtomTable& atoms) {
  Polynomial result;
  if (__builtin_add_overflow(a.constant, b.constant, &result.constant)) return std::nullopt;
  result.terms.reserve(a.terms.size() + b.terms.size());
  auto x = a.terms.begin();
  auto y = b.terms.begin();
  while (x != a.terms.end() || y != b.terms.end()) {
    int order = x == a.terms.end()   ? 1
                : y == b.terms.end() ? -1
                                     : Compare(x->monomial, y->monomial, atoms);
    if (order != 0) {
      result.terms.push_back(order < 0 ? *x++ : *y++);
      continue;
    }
    int64_t sum = 0;
    if (__builtin_add_overflow(x->coefficient, y->coefficient, &sum)) return std::nullopt;
    if (sum != 0) result.terms.push_back({x->monomial, sum});
    ++x, ++y;
  }
  return result;
}

std::optional<Polynomial> Scale(const Polynomial& a, int64_t factor) {
  Polynomial result = a;
  if (factor == 0) return Polynomial{};
  if (__builtin_mul_overflow(result.constant, factor, &result.constant)) return std::nullopt;
  for (Term& term : result.terms) {
    if (__builtin_mul_overflow(term.coefficient, factor, &term.coefficient)) return std::nullopt;
  }
  return result;
}

std::optional<Polynomial> Difference(const Polynomial& a, const Polynomial& b,
                                     const AtomTable& atoms) {
  std::optional<Polynomial> minus = Scale(b, -1);
  return minus ? Sum(a, *minus, atoms) : std::nullopt;
}

std::optional<Polynomial> Product(const Polynomial& a, const Polynomial& b,
                                  const AtomTable& atoms) {
  if (a.IsConstant()) return Scale(b, a.constant);
  if (b.IsConstant()) return Scale(a, b.constant);
  if ((a.terms.size() + 1) * (b.terms.size() + 1) > kMaxTerms) return std::nullopt;
  std::vector<Term> terms;
  Polynomial a_whole = a, b_whole = b;
  if (a.constant != 0) a_whole.terms.push_back({{}, a.constant});
  if (b.constant != 0) b_whole.terms.push_back({{}, b.constant});
  int64_t constant = 0;
  for (const Term& x : a_whole.terms) {
    for (const Term& y : b_whole.terms) {
      std::optional<Monomial> monomial = Product(x.monomial, y.monomial, atoms);
      int64_t coefficient = 0;
      if (!monomial || __builtin_mul_overflow(x.coefficient, y.coefficient, &coefficient)) {
        return std::nullopt;
      }
      if (monomial->degree == 0) {
        constant = coefficient;
      } else {
        terms.push_back({*monomial, coefficient});
      }
    }
  }
  return Collect(std::move(terms), constant, atoms);
}

std::optional<Polynomial> ExactQuotient(const Polynomial& a, const Term& b) {
  if (b.coefficient == -1 || b.coefficient == 0) return std::nullopt;
  if (a.constant % b.coefficient != 0 || (a.constant != 0 && b.monomial.degree > 0)) {
    return std::nullopt;
  }
  Polynomial result{a.constant / b.coefficient, {}};
  for (const Term& term : a.terms) {
    std::optional<Monomial> monomial = Quotient(term.monomial, b.monomial);
    if (!monomial || term.coefficient % b.coefficient != 0) return std::nullopt;
    int64_t coefficient = term.coefficient / b.coefficient;
    if (monomial->degree == 0) {
      result.constant += coefficient;
    } else {
      result.terms.push_back({*monomial, coefficient});
    }
  }
  return result;
}

Expr ToExpr(const Polynomial& polynomial, const AtomTable& atoms) {
  const std::vector<Term>& terms = polynomial.terms;
  if (terms.empty()) return Expr(polynomial.constant);
  auto first = std::ranges::find_if(terms, [](const Term& term) { return term.coefficient > 0; });
  bool constant_first = first == terms.end() && polynomial.constant > 0;
  Expr sum = constant_first ? Expr(polynomial.constant) : Expr();
  if (first != terms.end()) sum = Magnitude(*first, atoms);
  for (auto term = terms.begin(); term != terms.end(); ++term) {
    if (term == first) continue;
    if (term->coefficient > 0) {
      sum = sum + Magnitude(*term, atoms);
    } else if (term->coefficient == INT64_MIN || !sum) {
      Term positive{term->monomial, 1};
      Expr scaled = Magnitude(positive, atoms) * Expr(term->coefficient);
      sum = sum ? sum + scaled : scaled;
    } else {
      sum = sum - Magnitude(*term, atoms);
    }
  }
  if (constant_first || polynomial.constant == 0) return sum;
  if (polynomial.constant > 0 || polynomial.constant == INT64_MIN) {
    return sum + Expr(polynomial.constant);
  }
  return sum - Expr(-polynomial.constant);
}

}  // namespace tcc
