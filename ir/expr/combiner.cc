#include "ir/expr/combiner.h"

#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>

#include "ir/expr/operators.h"
#include "ir/expr/substitute.h"
#include "support/check.h"

namespace tcc {
namespace {

struct Parts {
  std::vector<Expr> identities;
  std::vector<Var> lhs;
  std::vector<Var> rhs;
  std::vector<Expr> results;
  std::vector<Expr> direct = {};
  std::vector<Ref<CombinerNode>> direct_ops = {};
};

Parts ParametersFor(std::vector<Expr> identities) {
  Parts parts;
  for (size_t i = 0; i < identities.size(); ++i) {
    std::string suffix = identities.size() == 1 ? "" : std::to_string(i);
    parts.lhs.push_back(IterationVar("a" + suffix, identities[i].dtype()));
    parts.rhs.push_back(IterationVar("b" + suffix, identities[i].dtype()));
  }
  parts.identities = std::move(identities);
  return parts;
}

// Returns one object per name from a table that only grows, so that equal combiners are mostly
// identical.
Combiner Interned(const std::string& name, const std::function<Parts()>& build) {
  static std::mutex mutex;
  static auto* table = new std::map<std::string, Combiner>;
  std::lock_guard lock(mutex);
  auto found = table->find(name);
  if (found != table->end()) return found->second;
  Parts parts = build();
  auto* node = new CombinerNode;
  node->name = name;
  node->identities = std::move(parts.identities);
  node->lhs = std::move(parts.lhs);
  node->rhs = std::move(parts.rhs);
  node->results = std::move(parts.results);
  node->direct = std::move(parts.direct);
  node->direct_ops = std::move(parts.direct_ops);
  Combiner combiner(node);
  table->emplace(name, combiner);
  return combiner;
}

Combiner Elementwise(const std::string& name, const Expr& identity,
                     Expr (*merge)(const Expr&, const Expr&)) {
  return Interned(name + "_" + ToString(identity.dtype()), [&] {
    Parts parts = ParametersFor({identity});
    parts.results = {merge(parts.lhs[0], parts.rhs[0])};
    return parts;
  });
}

Expr Lowest(DType dtype) {
  if (dtype.is_float()) return FloatConst(dtype, -std::numeric_limits<double>::infinity());
  return IntConst(dtype, MinValue(dtype));
}

Expr Highest(DType dtype) {
  if (dtype.is_float()) return FloatConst(dtype, std::numeric_limits<double>::infinity());
  return IntConst(dtype, MaxValue(dtype));
}

// Picks the better (value, index) pair. Index -1 marks the identity, which loses to everything. A
// NaN wins over every number, the first one over later ones.
Combiner ArgBest(const std::string& name, const Expr& worst, TieBreak tie,
                 Expr (*better)(const Expr&, const Expr&)) {
  DType dtype = worst.dtype();
  std::string full = name + (tie == TieBreak::kFirst ? "_first_" : "_last_") + ToString(dtype);
  return Interned(full, [&] {
    Parts parts = ParametersFor({worst, IntConst(kInt64, -1)});
    const std::vector<Var>& a = parts.lhs;
    const std::vector<Var>& b = parts.rhs;
    Expr ordered = tie == TieBreak::kFirst ? Expr(b[1]) < Expr(a[1]) : Expr(b[1]) > Expr(a[1]);
    Expr tied = BothOf(Make<Eq>(a[0], b[0]), ordered);
    Expr take = EitherOf(better(b[0], a[0]), tied);
    if (dtype.is_float()) {
      Expr a_nan = CallOf(ScalarOp::kIsNan, {a[0]});
      Expr b_nan = CallOf(ScalarOp::kIsNan, {b[0]});
      take = SelectOf(a_nan, BothOf(b_nan, ordered), EitherOf(b_nan, take));
    }
    take = EitherOf(Make<Eq>(a[1], Expr(-1)), BothOf(Make<Ne>(b[1], Expr(-1)), take));
    parts.results = {SelectOf(take, b[0], a[0]), SelectOf(take, b[1], a[1])};
    return parts;
  });
}

}  // namespace

uint64_t FieldHash(const Combiner& combiner) {
  return combiner ? FieldHash(combiner->name) + FieldHash(combiner->results) : 0;
}

std::vector<Expr> Combine(const Combiner& combiner, const std::vector<Expr>& lhs,
                          const std::vector<Expr>& rhs) {
  TCC_CHECK(lhs.size() == combiner.arity() && rhs.size() == combiner.arity()) << combiner->name;
  Substitution values;
  for (size_t i = 0; i < combiner.arity(); ++i) {
    values.emplace(combiner->lhs[i], lhs[i]);
    values.emplace(combiner->rhs[i], rhs[i]);
  }
  std::vector<Expr> results;
  for (const Expr& result : combiner->results) results.push_back(Substitute(result, values));
  return results;
}

Combiner SumCombiner(DType dtype) {
  return Elementwise("sum", Const(dtype, 0), [](const Expr& a, const Expr& b) { return a + b; });
}
Combiner ProductCombiner(DType dtype) {
  return Elementwise("product", Const(dtype, 1),
                     [](const Expr& a, const Expr& b) { return a * b; });
}
Combiner SumPairCombiner(DType dtype) {
  return Interned("sum_pair_" + ToString(dtype), [&] {
    Parts parts = ParametersFor({Const(dtype, 0), Const(dtype, 0)});
    for (size_t e = 0; e < 2; ++e) parts.results.push_back(parts.lhs[e] + parts.rhs[e]);
    return parts;
  });
}
Combiner MaxCombiner(DType dtype) {
  return Elementwise("max", Lowest(dtype), MaxOf);
}
Combiner MinCombiner(DType dtype) {
  return Elementwise("min", Highest(dtype), MinOf);
}
Combiner AndCombiner() {
  return Elementwise("and", IntConst(kBool, 1), BothOf);
}
Combiner OrCombiner() {
  return Elementwise("or", IntConst(kBool, 0), EitherOf);
}

Combiner ArgMaxCombiner(DType dtype, TieBreak tie) {
  return ArgBest("argmax", Lowest(dtype), tie, [](const Expr& x, const Expr& y) { return x > y; });
}
Combiner ArgMinCombiner(DType dtype, TieBreak tie) {
  return ArgBest("argmin", Highest(dtype), tie, [](const Expr& x, const Expr& y) { return x < y; });
}

namespace {

// Makes the combiner of (maximum, sums...), whose terms are scaled by e^(their score - the
// maximum). The direct form of the last sum rounds that factor to `factors`.
Combiner ScaledSums(const std::string& name, DType dtype, size_t sums,
                    std::optional<DType> factors = {}) {
  Combiner max = MaxCombiner(dtype);
  Combiner sum = SumCombiner(dtype);
  return Interned(name + "_" + ToString(dtype), [&] {
    std::vector<Expr> identities = {Lowest(dtype)};
    identities.resize(1 + sums, Const(dtype, 0));
    Parts parts = ParametersFor(identities);
    const std::vector<Var>& a = parts.lhs;
    const std::vector<Var>& b = parts.rhs;
    Expr maximum = MaxOf(a[0], b[0]);
    parts.results = {maximum};
    parts.direct = {b[0]};
    parts.direct_ops = {max};
    for (size_t e = 1; e <= sums; ++e) {
      parts.results.push_back(a[e] * CallOf(ScalarOp::kExpDiff, {a[0], maximum}) +
                              b[e] * CallOf(ScalarOp::kExpDiff, {b[0], maximum}));
      Expr factor = CallOf(ScalarOp::kExpDiff, {b[0], a[0]});
      if (factors && e == sums) factor = CastTo(dtype, CastTo(*factors, factor));
      parts.direct.push_back(b[e] * factor);
      parts.direct_ops.push_back(sum);
    }
    return parts;
  });
}

}  // namespace

Combiner SoftmaxCombiner(DType dtype) {
  return ScaledSums("softmax", dtype, 1);
}
Combiner AttentionCombiner(DType dtype) {
  return ScaledSums("attention", dtype, 2);
}

namespace {

// Returns AttentionCombiner whose direct form rounds the exponentials that values are multiplied
// with to `factors`, a type of floats.
template <DTypeCode factors>
Combiner AttentionBy(DType dtype) {
  return ScaledSums("attention_by_" + ToString(DType(factors)), dtype, 2, DType(factors));
}

// A family of combiners, one for each type of element.
struct Row {
  std::string_view prefix;  // the start of the name; the element's type follows
  OperandRule rule;
  Combiner (*make)(DType);
};

constexpr Row kRows[] = {
    {"sum_", OperandRule::kNumeric, SumCombiner},
    {"sum_pair_", OperandRule::kNumeric, SumPairCombiner},
    {"product_", OperandRule::kNumeric, ProductCombiner},
    {"max_", OperandRule::kOrdered, MaxCombiner},
    {"min_", OperandRule::kOrdered, MinCombiner},
    {"and_", OperandRule::kBool, [](DType) { return AndCombiner(); }},
    {"or_", OperandRule::kBool, [](DType) { return OrCombiner(); }},
    {"argmax_first_", OperandRule::kOrdered,
     [](DType t) { return ArgMaxCombiner(t, TieBreak::kFirst); }},
    {"argmax_last_", OperandRule::kOrdered,
     [](DType t) { return ArgMaxCombiner(t, TieBreak::kLast); }},
    {"argmin_first_", OperandRule::kOrdered,
     [](DType t) { return ArgMinCombiner(t, TieBreak::kFirst); }},
    {"argmin_last_", OperandRule::kOrdered,
     [](DType t) { return ArgMinCombiner(t, TieBreak::kLast); }},
    {"softmax_", OperandRule::kFloat, SoftmaxCombiner},
    {"attention_", OperandRule::kFloat, AttentionCombiner},
    {"attention_by_f16_", OperandRule::kFloat, AttentionBy<DTypeCode::kFloat16>},
    {"attention_by_bf16_", OperandRule::kFloat, AttentionBy<DTypeCode::kBFloat16>},
};

}  // namespace

Combiner FindStandardCombiner(std::string_view name) {
  for (const Row& row : kRows) {
    if (!name.starts_with(row.prefix)) continue;
    std::optional<DType> dtype = ParseDType(name.substr(row.prefix.size()));
    if (dtype && dtype->lanes() == 1 && Accepts(row.rule, *dtype)) return row.make(*dtype);
  }
  return {};
}

}  // namespace tcc
