#include <catch2/catch.hpp>

#include "graph/passes/fuse_graph.h"
#include "graph/passes/infer_shapes.h"
#include "graph/variants/interpret_graph.h"
#include "tests/graph/one_node.h"

using namespace tcc;

namespace {

using Doubles = std::vector<double>;

OneNode ScatterNd(const char* reduction, const Ints& indices, const Doubles& updates) {
  auto count = static_cast<int64_t>(indices.size());
  return {.op = OpKind::kScatterND,
          .inputs = {F32({4}, {1, 2, 3, 4}), I64({count, 1}, indices), F32({count}, updates)},
          .attributes = {{"reduction", std::string(reduction)}}};
}

}  // namespace

TEST_CASE("of several updates of one cell the last stays, or all are merged", "[lower][scatter]") {
  CHECK(ValuesOf(ResultOf(ScatterNd("none", {1, 1, -1}, {10, 20, 30}))) == Doubles{1, 20, 3, 30});
  CHECK(ValuesOf(ResultOf(ScatterNd("add", {1, 1, 0}, {10, 20, 30}))) == Doubles{31, 32, 3, 4});
  CHECK(ValuesOf(ResultOf(ScatterNd("mul", {2, 2, 2}, {2, 3, 4}))) == Doubles{1, 2, 72, 4});
  CHECK(ValuesOf(ResultOf(ScatterNd("max", {0, 0}, {-5, 3}))) == Doubles{3, 2, 3, 4});
  CHECK(ValuesOf(ResultOf(ScatterNd("min", {3, 3}, {7, -7}))) == Doubles{1, 2, 3, -7});
}

TEST_CASE("a computed index outside is clamped, a constant one refused", "[lower][scatter]") {
  CHECK(ValuesOf(ResultOf(ScatterNd("none", {9, -9}, {10, 20}))) == Doubles{20, 2, 3, 10});
  OneNode constant = ScatterNd("none", {4}, {10});
  constant.constants = {1};
  CHECK(ErrorOf(constant) == "node 'node' (ScatterND): index 4 is outside an axis of 4");
  OneNode gather = {.op = OpKind::kGatherElements,
                    .inputs = {F32({3}, {1, 2, 3}), I64({3}, {7, -7, -1})},
                    .attributes = {{"axis", int64_t{0}}}};
  CHECK(ValuesOf(ResultOf(gather)) == Doubles{3, 1, 3});
}

TEST_CASE("ScatterND writes slices and rows of scattered elements stay apart", "[lower][scatter]") {
  OneNode slices = {.op = OpKind::kScatterND,
                    .inputs = {F32({3, 2}, {1, 2, 3, 4, 5, 6}), I64({2, 1}, {2, 0}),
                               F32({2, 2}, {10, 20, 30, 40})}};
  CHECK(ValuesOf(ResultOf(slices)) == Doubles{30, 40, 3, 4, 10, 20});
  OneNode elements = {.op = OpKind::kScatterElements,
                      .inputs = {F32({2, 3}, {1, 2, 3, 4, 5, 6}), I64({2, 2}, {2, 0, 1, 1}),
                                 F32({2, 2}, {10, 20, 30, 40})},
                      .attributes = {{"axis", int64_t{1}}, {"reduction", std::string("add")}}};
  CHECK(ValuesOf(ResultOf(elements)) == Doubles{21, 2, 13, 4, 75, 6});
}

// The copy of the data is a map into a buffer that the scatter changes afterwards.
TEST_CASE("what follows a scatter in its kernel sees the updates", "[lower][scatter]") {
  TestGraph builder;
  ValueId data = builder.Input("data", kFloat32, {4});
  ValueId indices = builder.Constant("indices", I64({2, 1}, {1, 3}));
  ValueId updates = builder.Input("updates", kFloat32, {2});
  ValueId scattered = builder.Add("scatter", OpKind::kScatterND, {data, indices, updates});
  builder.Output(builder.Add("neg", OpKind::kNeg, {scattered}));
  Graph graph = builder.Build();
  REQUIRE(InferShapes(graph).ok());
  REQUIRE(FuseGraph(graph).size() == 1);
  StatusOr<std::vector<Tensor>> results =
      InterpretGraph(graph, {F32({4}, {1, 2, 3, 4}), F32({2}, {20, 40})});
  REQUIRE(results.ok());
  CHECK(ValuesOf((*results)[0]) == Doubles{-1, -20, -3, -40});
}

TEST_CASE("running sums go either way and may leave out their own element", "[lower][scan]") {
  auto sums = [](int64_t axis, int64_t exclusive, int64_t reverse) {
    return ValuesOf(ResultOf({.op = OpKind::kCumSum,
                              .inputs = {F32({2, 3}, {1, 2, 3, 4, 5, 6}), I64({}, {axis})},
                              .attributes = {{"exclusive", exclusive}, {"reverse", reverse}},
                              .constants = {1}}));
  };
  CHECK(sums(1, 0, 0) == Doubles{1, 3, 6, 4, 9, 15});
  CHECK(sums(-1, 1, 0) == Doubles{0, 1, 3, 0, 4, 9});
  CHECK(sums(1, 0, 1) == Doubles{6, 5, 3, 15, 11, 6});
  CHECK(sums(1, 1, 1) == Doubles{5, 3, 0, 11, 6, 0});
  CHECK(sums(0, 0, 0) == Doubles{1, 2, 3, 5, 7, 9});
}

TEST_CASE("running products go either way and may leave out their own element", "[lower][scan]") {
  auto products = [](DType dtype, int64_t axis, int64_t exclusive, int64_t reverse) {
    return ValuesOf(ResultOf({.op = OpKind::kCumProd,
                              .inputs = {Of(dtype, {2, 3}, {1, 2, 3, 4, 5, 6}), I64({}, {axis})},
                              .attributes = {{"exclusive", exclusive}, {"reverse", reverse}},
                              .constants = {1}}));
  };
  CHECK(products(kFloat32, 1, 0, 0) == Doubles{1, 2, 6, 4, 20, 120});
  CHECK(products(kFloat32, -1, 1, 0) == Doubles{1, 1, 2, 1, 4, 20});
  CHECK(products(kInt32, 1, 0, 1) == Doubles{6, 6, 3, 120, 30, 6});
  CHECK(products(kFloat64, 1, 1, 1) == Doubles{6, 3, 1, 30, 6, 1});
  CHECK(products(kFloat32, 0, 0, 0) == Doubles{1, 2, 3, 4, 10, 18});
  // In f16 itself the product 2049 would have become 2048 before the last factor.
  CHECK(ValuesOf(ResultOf({.op = OpKind::kCumProd,
                           .inputs = {Of(kFloat16, {3}, {683, 3, 0.75}), I64({}, {0})},
                           .attributes = {{"exclusive", int64_t{0}}, {"reverse", int64_t{0}}},
                           .constants = {1}})) == Doubles{683, 2048, 1537});
}

TEST_CASE("unpooled values go to the places of the smaller tensor", "[lower][scatter]") {
  OneNode node = {.op = OpKind::kMaxUnpool,
                  .inputs = {F32({1, 1, 2, 2}, {1, 2, 3, 4}), I64({1, 1, 2, 2}, {5, 7, 13, 15})},
                  .attributes = {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}};
  CHECK(ValuesOf(ResultOf(node)) == Doubles{0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4});
  node.inputs.push_back(I64({4}, {1, 1, 4, 5}));
  node.constants = {2};
  CHECK(ValuesOf(ResultOf(node)) ==
        Doubles{0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 4, 0});
}
