#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "graph/ops/node_lowering.h"
#include "graph/passes/infer_shapes.h"
#include "tests/graph/one_node.h"
#include "tests/ir/parsed_graph.h"

using namespace tcc;

namespace {

using Doubles = std::vector<double>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// Over the last axis, which is dropped.
Doubles Reduced(OpKind op, const Tensor& x) {
  return ValuesOf(ResultOf({.op = op,
                            .inputs = {x, I64({1}, {-1})},
                            .attributes = {{"keepdims", int64_t{0}}},
                            .constants = {1}}));
}

Doubles Picked(OpKind op, const Tensor& x, int64_t select_last = 0) {
  Tensor index = ResultOf(
      {.op = op,
       .inputs = {x},
       .attributes = {
           {"axis", int64_t{-1}}, {"keepdims", int64_t{0}}, {"select_last_index", select_last}}});
  CHECK(index.dtype == kInt64);
  return ValuesOf(index);
}

}  // namespace

TEST_CASE("sums of magnitudes, squares and exponentials", "[graph][ops]") {
  Tensor x = F32({2, 3}, {1, -2, 2, 0.5, 0, -0.5});
  CHECK(Reduced(OpKind::kReduceL1, x) == Doubles{5, 1});
  CHECK(Reduced(OpKind::kReduceSumSquare, x) == Doubles{9, 0.5});
  CHECK(Reduced(OpKind::kReduceL2, x)[0] == 3);
  CHECK(Reduced(OpKind::kReduceLogSum, F32({1, 2}, {1, 2}))[0] == Approx(std::log(3)));
  CHECK(Reduced(OpKind::kReduceLogSumExp, x)[1] ==
        Approx(std::log(std::exp(0.5) + 1 + std::exp(-0.5))));
}

TEST_CASE("a sum of exponentials that overflow has a logarithm", "[graph][ops]") {
  CHECK(Reduced(OpKind::kReduceLogSumExp, F32({1, 2}, {1000, 1000}))[0] ==
        Approx(1000 + std::log(2)));
  CHECK(Reduced(OpKind::kReduceLogSumExp, F32({1, 2}, {-kInf, -kInf}))[0] == -kInf);
  CHECK(Reduced(OpKind::kReduceLogSumExp, F32({1, 2}, {kInf, 0}))[0] == kInf);
}

TEST_CASE("a reduction over nothing gives its identity", "[graph][ops]") {
  Tensor none = F32({2, 0}, {});
  CHECK(Reduced(OpKind::kReduceL1, none) == Doubles{0, 0});
  CHECK(Reduced(OpKind::kReduceLogSumExp, none) == Doubles{-kInf, -kInf});
  CHECK(Reduced(OpKind::kReduceProd, none) == Doubles{1, 1});
}

TEST_CASE("a reduction over no axes still applies its function", "[graph][ops]") {
  Attributes noop = {{"noop_with_empty_axes", int64_t{1}}};
  auto applied = [&](OpKind op) {
    return ValuesOf(ResultOf({.op = op, .inputs = {F32({2}, {-3, 2})}, .attributes = noop}));
  };
  CHECK(applied(OpKind::kReduceSumSquare) == Doubles{9, 4});
  CHECK(applied(OpKind::kReduceL2) == Doubles{3, 2});
  CHECK(applied(OpKind::kReduceSum) == Doubles{-3, 2});
}

TEST_CASE("roots of integer sums are cut to integers", "[graph][ops]") {
  Tensor x = Of(kInt32, {1, 2}, {2, 2});
  CHECK(Reduced(OpKind::kReduceL2, x) == Doubles{2});
}

TEST_CASE("of equal elements the first or the last is picked", "[graph][ops]") {
  Tensor x = F32({2, 4}, {1, 3, 3, 2, 5, 1, 5, 1});
  CHECK(Picked(OpKind::kArgMax, x) == Doubles{1, 0});
  CHECK(Picked(OpKind::kArgMax, x, 1) == Doubles{2, 2});
  CHECK(Picked(OpKind::kArgMin, x) == Doubles{0, 1});
  CHECK(Picked(OpKind::kArgMin, x, 1) == Doubles{0, 3});
}

TEST_CASE("a NaN is picked before any number", "[graph][ops]") {
  CHECK(Picked(OpKind::kArgMax, F32({1, 3}, {9, kNan, kNan})) == Doubles{1});
  CHECK(Picked(OpKind::kArgMin, F32({1, 3}, {-9, kNan, 0})) == Doubles{1});
}

TEST_CASE("the least of all numbers is picked too", "[graph][ops]") {
  CHECK(Picked(OpKind::kArgMax, F32({1, 2}, {-kInf, -kInf})) == Doubles{0});
  CHECK(Picked(OpKind::kArgMax, Of(DTypeCode::kUInt8, {1, 3}, {0, 0, 0}), 1) == Doubles{2});
}

TEST_CASE("nothing can be picked from an empty axis", "[graph][ops][error]") {
  CHECK(ErrorOf({.op = OpKind::kArgMax,
                 .inputs = {F32({2, 0}, {})},
                 .attributes = {{"axis", int64_t{1}}}}) ==
        "node 'node' (ArgMax): axis 1 has extent 0; there is nothing to pick");
}

TEST_CASE("that a free axis has something to pick is checked where it may be empty",
          "[graph][ops]") {
  Graph graph = ParsedGraph(R"(graph g {
    dim N in 0..8
    dim M in 1..8
    input x: f32[N, M]
    rows = ArgMax(x) {axis: 0} : i64[]
    columns = ArgMax(x) {axis: 1} : i64[]
    return rows, columns
  })");
  REQUIRE(InferShapes(graph) == OkStatus());
  REQUIRE(graph.agreements.size() == 1);
  CHECK(ShapeText({graph.agreements[0].b}) == "(max(N, 1))");
  CHECK(graph.agreements[0].where == "node 'rows' (ArgMax): the least extent and that of axis 0");
}

TEST_CASE("hardmax marks the first of the largest", "[graph][ops]") {
  Tensor x = F32({2, 3}, {1, 7, 7, 2, 1, 0});
  Tensor rows = ResultOf({.op = OpKind::kHardmax, .inputs = {x}});
  CHECK(ValuesOf(rows) == Doubles{0, 1, 0, 1, 0, 0});
  Tensor columns =
      ResultOf({.op = OpKind::kHardmax, .inputs = {x}, .attributes = {{"axis", int64_t{0}}}});
  CHECK(ValuesOf(columns) == Doubles{0, 1, 1, 1, 0, 0});
}

TEST_CASE("the largest of bools is whether any holds", "[graph][ops]") {
  Tensor x = Of(kBool, {2, 2}, {0, 1, 0, 0});
  CHECK(Reduced(OpKind::kReduceMax, x) == Doubles{1, 0});
  CHECK(Reduced(OpKind::kReduceMin, x) == Doubles{0, 0});
}

TEST_CASE("a loss ignores the targets that it is told to", "[graph][ops]") {
  // log-probabilities of two samples with three classes.
  Tensor x = F32({2, 3}, {-1, -2, -4, -8, -16, -32});
  auto loss = [&](const Tensor& target, const Tensor& weight, const char* reduction) {
    return ValuesOf(ResultOf(
        {.op = OpKind::kNegativeLogLikelihoodLoss,
         .inputs = {x, target, weight},
         .attributes = {{"reduction", std::string(reduction)}, {"ignore_index", int64_t{-100}}}}));
  };
  Tensor target = I64({2}, {2, 0});
  CHECK(loss(target, Tensor{}, "none") == Doubles{4, 8});
  CHECK(loss(target, Tensor{}, "sum") == Doubles{12});
  CHECK(loss(target, Tensor{}, "mean") == Doubles{6});
  CHECK(loss(target, F32({3}, {3, 1, 1}), "mean") == Doubles{(4 + 24) / 4.0});
  CHECK(loss(I64({2}, {2, -100}), F32({3}, {3, 1, 1}), "mean") == Doubles{4});
  CHECK(loss(I64({2}, {-100, 1}), Tensor{}, "none") == Doubles{0, 16});
}
