#include "ir/expr/combiner.h"
#include "ir/expr/compare.h"
#include "ir/text/printer.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "ir/expr/compare.h"
#include "ir/interpret/interpreter.h"
#include "ir/text/printer.h"
#include "tests/ir/by_hand.h"

using namespace tcc;
using namespace tcc::by_hand;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
using Tuple = std::vector<double>;

// combine(a, b), evaluated by the interpreter in f64 or i64.
Tuple Merged(const Combiner& combiner, const Tuple& a, const Tuple& b) {
  std::vector<Expr> lhs;
  std::vector<Expr> rhs;
  for (size_t e = 0; e < combiner.arity(); ++e) {
    DType dtype = combiner->identities[e].dtype();
    lhs.push_back(Const(dtype, a[e]));
    rhs.push_back(Const(dtype, b[e]));
  }
  std::vector<Expr> results = Combine(combiner, lhs, rhs);
  std::vector<Buffer> params;
  std::vector<Stmt> stores;
  std::vector<Tensor> tensors;
  for (size_t e = 0; e < results.size(); ++e) {
    params.push_back(Declare("R" + std::to_string(e), {1}, results[e].dtype()));
    stores.push_back(Put(params[e], {0}, results[e]));
    tensors.push_back(MakeZeroTensor(results[e].dtype(), {1}));
  }
  StatusOr<InterpretReport> report = Interpret(by_hand::Make(params, SeqOf(stores)), tensors);
  INFO(report.status());
  REQUIRE(report.ok());
  Tuple merged;
  for (const Tensor& tensor : tensors) merged.push_back(ElementAsDouble(tensor, 0));
  return merged;
}

Tuple Identity(const Combiner& combiner) {
  Tuple identity;
  for (const Expr& expr : combiner->identities) {
    const auto* real = expr.as<FloatImm>();
    identity.push_back(real ? real->value : static_cast<double>(*AsConstant(expr)));
  }
  return identity;
}

void CheckSame(const Tuple& got, const Tuple& expected, double tolerance) {
  REQUIRE(got.size() == expected.size());
  for (size_t e = 0; e < got.size(); ++e) {
    INFO("element " << e << ": " << got[e] << " against " << expected[e]);
    bool same = got[e] == expected[e] || (std::isnan(got[e]) && std::isnan(expected[e])) ||
                std::abs(got[e] - expected[e]) <= tolerance * (1 + std::abs(expected[e]));
    CHECK(same);
  }
}

// The three laws over all pairs and triples of the samples.
void CheckLaws(const Combiner& combiner, const std::vector<Tuple>& samples, double tolerance) {
  INFO(combiner->name);
  for (const Tuple& x : samples) {
    CheckSame(Merged(combiner, Identity(combiner), x), x, 0);
    CheckSame(Merged(combiner, x, Identity(combiner)), x, 0);
    for (const Tuple& y : samples) {
      CheckSame(Merged(combiner, x, y), Merged(combiner, y, x), tolerance);
      for (const Tuple& z : samples) {
        CheckSame(Merged(combiner, Merged(combiner, x, y), z),
                  Merged(combiner, x, Merged(combiner, y, z)), tolerance);
      }
    }
  }
}

std::vector<Tuple> Singles(const std::vector<double>& values) {
  std::vector<Tuple> tuples;
  for (double value : values) tuples.push_back({value});
  return tuples;
}

}  // namespace

TEST_CASE("plain combiners are commutative monoids", "[ir][combiner]") {
  std::vector<Tuple> numbers = Singles({0.5, -3, 7, 1e-3});
  CheckLaws(SumCombiner(kFloat64), numbers, 1e-15);
  CheckLaws(ProductCombiner(kFloat64), numbers, 1e-15);
  std::vector<Tuple> integers = Singles({0, -3, 7, 100, -128});
  for (auto make : {SumCombiner, ProductCombiner, MaxCombiner, MinCombiner}) {
    CheckLaws(make(DType(DTypeCode::kInt8)), integers, 0);
    CheckLaws(make(kInt32), integers, 0);
  }
  CheckLaws(SumPairCombiner(kFloat64), {{0.5, 2}, {-3, 1e-3}, {7, 0}}, 1e-15);
  CheckLaws(AndCombiner(), Singles({0, 1}), 0);
  CheckLaws(OrCombiner(), Singles({0, 1}), 0);
}

TEST_CASE("maximum and minimum keep infinities and NaN", "[ir][combiner]") {
  std::vector<Tuple> values = Singles({0.5, -3, kInfinity, -kInfinity, std::nan("")});
  CheckLaws(MaxCombiner(kFloat64), values, 0);
  CheckLaws(MinCombiner(kFloat64), values, 0);
  CHECK(std::isnan(Merged(MaxCombiner(kFloat64), {std::nan("")}, {kInfinity})[0]));
  CHECK(std::isnan(Merged(MinCombiner(kFloat64), {1}, {std::nan("")})[0]));
}

TEST_CASE("the best value comes with its lowest or highest index", "[ir][combiner]") {
  std::vector<Tuple> pairs = {
      {2, 0}, {2, 5}, {-kInfinity, 3}, {std::nan(""), 4}, {std::nan(""), 7}, {kInfinity, 2}};
  for (TieBreak tie : {TieBreak::kFirst, TieBreak::kLast}) {
    CheckLaws(ArgMaxCombiner(kFloat64, tie), pairs, 0);
    CheckLaws(ArgMinCombiner(kFloat64, tie), pairs, 0);
    CheckLaws(ArgMaxCombiner(kInt32, tie), {{2, 0}, {2, 5}, {-2147483648.0, 3}}, 0);
  }
  CHECK(Merged(ArgMaxCombiner(kFloat64, TieBreak::kFirst), {2, 5}, {2, 0})[1] == 0);
  CHECK(Merged(ArgMaxCombiner(kFloat64, TieBreak::kLast), {2, 5}, {2, 0})[1] == 5);
  CHECK(Merged(ArgMinCombiner(kFloat64, TieBreak::kFirst), {-1, 5}, {2, 0})[1] == 5);
  CHECK(Merged(ArgMaxCombiner(kFloat64, TieBreak::kFirst), {9, 1}, {std::nan(""), 8})[1] == 8);
}

TEST_CASE("softmax merges partial sums, masked rows included", "[ir][combiner]") {
  CheckLaws(SoftmaxCombiner(kFloat64),
            {{0.5, 1}, {-3, 2.5}, {800, 1}, {-kInfinity, 1}, {-kInfinity, 0}}, 1e-15);
  Tuple merged = Merged(SoftmaxCombiner(kFloat64), {1, 1}, {3, 1});
  CHECK(merged[0] == 3);
  CHECK(merged[1] == Approx(1 + std::exp(-2.0)));
}

TEST_CASE("attention merges weighted sums of values, masked tiles included", "[ir][combiner]") {
  Combiner attention = AttentionCombiner(kFloat64);
  CheckLaws(attention,
            {{0.5, 1, 2}, {-3, 2.5, -1}, {800, 1, 7}, {-kInfinity, 1, 3}, {-kInfinity, 0, 0}},
            1e-14);
  Tuple merged = Merged(attention, {1, 1, 10}, {3, 1, 20});
  double share = std::exp(-2.0);
  CheckSame(merged, {3, 1 + share, 20 + 10 * share}, 1e-15);
}

TEST_CASE("attention's factors are rounded in the direct form alone", "[ir][combiner]") {
  Combiner exact = AttentionCombiner(kFloat32);
  for (const char* type : {"f16", "bf16"}) {
    Combiner rounded = FindStandardCombiner(std::string("attention_by_") + type + "_f32");
    REQUIRE(rounded);
    CHECK_FALSE(Equal(rounded, exact));
    CHECK(Print(rounded->direct[2]).find(std::string(type) + "(exp_diff(") != std::string::npos);
    CHECK(Print(rounded->direct[1]) == Print(exact->direct[1]));
    for (size_t e = 0; e < 3; ++e) CHECK(Print(rounded->results[e]) == Print(exact->results[e]));
  }
}

namespace {

// An expression over the parameters of a combiner.
double Value(const Combiner& combiner, const Expr& expr, const Tuple& lhs, const Tuple& rhs) {
  auto* only = new CombinerNode;
  only->name = combiner->name;
  only->identities = combiner->identities;
  only->lhs = combiner->lhs;
  only->rhs = combiner->rhs;
  only->results = std::vector<Expr>(combiner.arity(), Const(kFloat64, 0));
  only->results[0] = expr;
  return Merged(Combiner(only), lhs, rhs)[0];
}

}  // namespace

TEST_CASE("the direct form of a tuple gives what combining one by one gives", "[ir][combiner]") {
  for (const Combiner& combiner : {SoftmaxCombiner(kFloat64), AttentionCombiner(kFloat64)}) {
    REQUIRE(combiner->direct.size() == combiner.arity());
    for (const std::vector<double>& scores : std::vector<std::vector<double>>{
             {0.5, 3, -2}, {-kInfinity, 1}, {2, -kInfinity}, {-kInfinity, -kInfinity}, {}}) {
      Tuple combined = Identity(combiner);
      Tuple direct = Identity(combiner);
      std::vector<Tuple> inputs;
      for (double score : scores) {
        Tuple input = {score, 1, score == 3 ? 0.25 : 5};
        input.resize(combiner.arity());
        inputs.push_back(input);
        combined = Merged(combiner, combined, input);
      }
      for (size_t e = 0; e < combiner.arity(); ++e) {
        Combiner plain(combiner->direct_ops[e].get());
        for (const Tuple& input : inputs) {
          double term = Value(combiner, combiner->direct[e], direct, input);
          direct[e] = Merged(plain, {direct[e]}, {term})[0];
        }
      }
      CheckSame(direct, combined, 1e-15);
    }
  }
}
