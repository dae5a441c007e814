#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>

#include "graph/ops/op_lowering.h"
#include "ir/expr/visitor.h"
#include "tests/graph/one_node.h"

using namespace tcc;

namespace {

using Doubles = std::vector<double>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Doubles Unary(OpKind op, const Doubles& x, const Attributes& attributes = {}) {
  Tensor in = F32({static_cast<int64_t>(x.size())}, x);
  return ValuesOf(ResultOf({.op = op, .inputs = {in}, .attributes = attributes}));
}

Doubles Ints32(OpKind op, const Doubles& a, const Doubles& b, const Attributes& attributes = {}) {
  Ints shape = {static_cast<int64_t>(a.size())};
  return ValuesOf(ResultOf({.op = op,
                            .inputs = {Of(kInt32, shape, a), Of(kInt32, shape, b)},
                            .attributes = attributes}));
}

}  // namespace

TEST_CASE("unary functions give C's values", "[graph][ops]") {
  Doubles x = {-2, -0.5, 0, 0.25, 1, 3};
  struct Row {
    OpKind op;
    double (*expected)(double);
  };
  const Row rows[] = {
      {OpKind::kAbs, [](double v) { return std::fabs(v); }},
      {OpKind::kExp, [](double v) { return std::exp(v); }},
      {OpKind::kErf, [](double v) { return std::erf(v); }},
      {OpKind::kTanh, [](double v) { return std::tanh(v); }},
      {OpKind::kSigmoid, [](double v) { return 1 / (1 + std::exp(-v)); }},
      {OpKind::kNeg, [](double v) { return -v; }},
      {OpKind::kRelu, [](double v) { return v > 0 ? v : 0; }},
      {OpKind::kReciprocal, [](double v) { return 1 / v; }},
      {OpKind::kSign, [](double v) { return v > 0   ? 1.0
                                            : v < 0 ? -1.0
                                                    : 0.0; }},
      {OpKind::kFloor, [](double v) { return std::floor(v); }},
      {OpKind::kCeil, [](double v) { return std::ceil(v); }},
      {OpKind::kHardSwish, [](double v) { return v * std::fmin(1, std::fmax(0, v / 6 + 0.5)); }},
  };
  for (const Row& row : rows) {
    Doubles got = Unary(row.op, x);
    for (size_t i = 0; i < x.size(); ++i) {
      INFO(ToString(row.op) << "(" << x[i] << ")");
      CHECK(got[i] == Approx(row.expected(x[i])).margin(1e-7));
    }
  }
  CHECK(Unary(OpKind::kSqrt, {4, 2.25}) == Doubles{2, 1.5});
  CHECK(Unary(OpKind::kLog, {1})[0] == 0);
}

TEST_CASE("round takes halves to even", "[graph][ops]") {
  CHECK(Unary(OpKind::kRound, {0.5, 1.5, 2.5, -0.5, -1.5, 2.6}) == Doubles{0, 2, 2, 0, -2, 3});
}

TEST_CASE("attributes of activations are used", "[graph][ops]") {
  CHECK(Unary(OpKind::kLeakyRelu, {-4, 4}, {{"alpha", 0.25}}) == Doubles{-1, 4});
  CHECK(Unary(OpKind::kHardSigmoid, {-4, 0, 1, 4}, {{"alpha", 0.25}, {"beta", 0.5}}) ==
        Doubles{0, 0.5, 0.75, 1});
}

TEST_CASE("integer division truncates", "[graph][ops]") {
  CHECK(Ints32(OpKind::kDiv, {7, -7, 7, -7}, {2, 2, -2, -2}) == Doubles{3, -3, -3, 3});
}

TEST_CASE("mod has the divisor's sign, with fmod the dividend's", "[graph][ops]") {
  CHECK(Ints32(OpKind::kMod, {7, -7, 7, -7, -4}, {3, 3, -3, -3, 2}) == Doubles{1, 2, -2, -1, 0});
  CHECK(Ints32(OpKind::kMod, {7, -7, 7}, {3, 3, -3}, {{"fmod", int64_t{1}}}) == Doubles{1, -1, 1});
}

TEST_CASE("max and min take many operands, broadcast and keep NaN", "[graph][ops]") {
  Tensor a = F32({2, 1}, {1, 5});
  Tensor b = F32({3}, {0, kNan, 9});
  Tensor c = F32({}, {2});
  Tensor max = ResultOf({.op = OpKind::kMax, .inputs = {a, b, c}});
  CHECK(max.shape == Ints{2, 3});
  Doubles values = ValuesOf(max);
  CHECK(values[0] == 2);
  CHECK(std::isnan(values[1]));
  CHECK(values[2] == 9);
  CHECK(values[3] == 5);
  CHECK(std::isnan(ValuesOf(ResultOf({.op = OpKind::kMin, .inputs = {a, b}}))[4]));
}

TEST_CASE("clip with crossed bounds gives the upper one", "[graph][ops]") {
  Tensor x = F32({3}, {-9, 2.5, 9});
  auto clip = [&](const Tensor& low, const Tensor& high) {
    return ValuesOf(ResultOf({.op = OpKind::kClip, .inputs = {x, low, high}}));
  };
  CHECK(clip(F32({}, {-1}), F32({}, {3})) == Doubles{-1, 2.5, 3});
  CHECK(clip(F32({}, {5}), F32({}, {3})) == Doubles{3, 3, 3});
  CHECK(clip(Tensor{}, F32({}, {3})) == Doubles{-9, 2.5, 3});
  CHECK(clip(F32({}, {-1}), Tensor{}) == Doubles{-1, 2.5, 9});
}

TEST_CASE("pow keeps the base's type whatever the exponent's", "[graph][ops]") {
  Tensor ints = Of(kInt32, {3}, {2, 3, 4});
  Tensor result = ResultOf({.op = OpKind::kPow, .inputs = {ints, F32({}, {0.5})}});
  CHECK(result.dtype == kInt32);
  CHECK(ValuesOf(result) == Doubles{1, 1, 2});
  Tensor floats = F32({3}, {2, -3, 4});
  CHECK(ValuesOf(ResultOf({.op = OpKind::kPow, .inputs = {floats, I64({3}, {3, 2, -1})}})) ==
        Doubles{8, 9, 0.25});
  OneNode square = {.op = OpKind::kPow, .inputs = {floats, F32({}, {2})}, .constants = {1}};
  CHECK(ValuesOf(ResultOf(square)) == Doubles{4, 9, 16});
}

TEST_CASE("the text of an integer power does not double with each bit of the exponent",
          "[graph][ops]") {
  TestGraph builder;
  ValueId base = builder.Input("base", kInt64, {3});
  ValueId exponent = builder.Input("exponent", kInt64, {3});
  builder.Output(builder.Add("power", OpKind::kPow, {base, exponent}));
  Graph graph = builder.Build();
  StatusOr<LoweredNode> lowered = LowerNode(graph, graph.nodes[0]);
  REQUIRE(lowered.ok());
  REQUIRE(lowered->program.stages.size() == 1);
  // A shared square is written once by a kernel; results in both arms of a choice were not.
  std::map<const ExprNode*, int> choices;
  PreOrder(std::get<ComputeExpr>(lowered->program.stages[0]).values[0], [&](const Expr& expr) {
    const auto* choice = expr.as<Select>();
    if (!choice) return;
    for (const Expr& arm : {choice->then_value, choice->else_value}) {
      PreOrder(arm, [&](const Expr& inner) { choices[choice] += inner.as<Select>() != nullptr; });
    }
  });
  int nested = 0;
  for (const auto& [choice, inside] : choices) nested += inside > 0;
  CHECK(choices.size() == 8);
  CHECK(nested == 1);  // the last one, between 0 and the power
}

TEST_CASE("casts truncate toward zero and make bools of what is not 0", "[graph][ops]") {
  auto cast = [](const Tensor& x, const char* to) {
    return ResultOf({.op = OpKind::kCast, .inputs = {x}, .attributes = {{"to", std::string(to)}}});
  };
  Tensor x = F32({4}, {-2.75, 0, 0.5, 3.25});
  CHECK(ValuesOf(cast(x, "i64")) == Doubles{-2, 0, 0, 3});
  CHECK(ValuesOf(cast(x, "bool")) == Doubles{1, 0, 1, 1});
  CHECK(ValuesOf(cast(Of(kInt32, {2}, {300, -1}), "u8")) == Doubles{44, 255});
  CHECK(cast(x, "f16").dtype == kFloat16);
}

TEST_CASE("comparisons, logic and where give bools and pick", "[graph][ops]") {
  Tensor a = F32({3}, {1, 2, kNan});
  Tensor b = F32({3}, {2, 2, 2});
  auto test = [&](OpKind op) { return ValuesOf(ResultOf({.op = op, .inputs = {a, b}})); };
  CHECK(test(OpKind::kLess) == Doubles{1, 0, 0});
  CHECK(test(OpKind::kLessOrEqual) == Doubles{1, 1, 0});
  CHECK(test(OpKind::kGreater) == Doubles{0, 0, 0});
  CHECK(test(OpKind::kGreaterOrEqual) == Doubles{0, 1, 0});
  CHECK(test(OpKind::kEqual) == Doubles{0, 1, 0});
  Tensor p = Of(kBool, {2, 1}, {1, 0});
  Tensor q = Of(kBool, {2}, {1, 0});
  CHECK(ValuesOf(ResultOf({.op = OpKind::kAnd, .inputs = {p, q}})) == Doubles{1, 0, 0, 0});
  CHECK(ValuesOf(ResultOf({.op = OpKind::kOr, .inputs = {p, q}})) == Doubles{1, 1, 1, 0});
  CHECK(ValuesOf(ResultOf({.op = OpKind::kNot, .inputs = {q}})) == Doubles{0, 1});
  Tensor picked = ResultOf({.op = OpKind::kWhere, .inputs = {p, F32({2}, {7, 8}), F32({}, {0})}});
  CHECK(picked.shape == Ints{2, 2});
  CHECK(ValuesOf(picked) == Doubles{7, 8, 0, 0});
}

TEST_CASE("halves are computed in f32 and rounded once", "[graph][ops]") {
  Tensor x = Of(kFloat16, {2}, {2048, 1});
  Tensor y = Of(kFloat16, {2}, {1, 0.5});
  Tensor sum = ResultOf({.op = OpKind::kAdd, .inputs = {x, y}});
  CHECK(sum.dtype == kFloat16);
  CHECK(ValuesOf(sum) == Doubles{2048, 1.5});
}

TEST_CASE("an infinite operand stays infinite", "[graph][ops]") {
  CHECK(Unary(OpKind::kExp, {-kInf, kInf}) == Doubles{0, kInf});
  CHECK(Unary(OpKind::kSigmoid, {-kInf, kInf}) == Doubles{0, 1});
}

TEST_CASE("a node with operands that do not fit is named with both shapes", "[graph][ops][error]") {
  CHECK(ErrorOf({.op = OpKind::kAdd, .inputs = {F32({2}, {1, 2}), F32({3}, {1, 2, 3})}}) ==
        "node 'node' (Add): operands of shapes 2 and 3 do not broadcast: dimension 0 is 2 and 3");
  CHECK(ErrorOf({.op = OpKind::kAdd, .inputs = {F32({1}, {1}), I64({1}, {1})}}) ==
        "node 'node' (Add): input 1 has type i64; expected f32 as input 0");
  CHECK(ErrorOf({.op = OpKind::kExp, .inputs = {I64({1}, {1})}}) ==
        "node 'node' (Exp): input 0 has type i64, which the operator does not take");
}
