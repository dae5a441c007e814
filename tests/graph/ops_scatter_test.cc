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

// A cache of 2 samples, 2 heads, 5 rows of 3, and what the loops of ONNX's specification make of
// it.
struct CacheCase {
  int64_t axis = -2;
  const char* mode = "linear";
  Ints starts = {};  // none: all 0
  Ints update_shape = {2, 2, 2, 3};
};

OneNode WriteCache(const CacheCase& c) {
  OneNode node = {.op = OpKind::kTensorScatter,
                  .inputs = {RandomF32({2, 2, 5, 3}, 1), RandomF32(c.update_shape, 2)},
                  .attributes = {{"axis", c.axis}, {"mode", std::string(c.mode)}}};
  if (!c.starts.empty()) node.inputs.push_back(I64({2}, c.starts));
  return node;
}

Doubles Written(const CacheCase& c) {
  const OneNode node = WriteCache(c);
  Doubles cache = ValuesOf(node.inputs[0]), update = ValuesOf(node.inputs[1]);
  const Ints shape = {2, 2, 5, 3};
  const int64_t axis = c.axis < 0 ? c.axis + 4 : c.axis;
  for (size_t i = 0; i < update.size(); ++i) {
    Ints at(4);
    auto rest = static_cast<int64_t>(i);
    for (int64_t d = 3; d >= 0; --d) {
      at[d] = rest % c.update_shape[d];
      rest /= c.update_shape[d];
    }
    at[axis] += c.starts.empty() ? 0 : c.starts[at[0]];
    if (c.mode == std::string("circular"))
      at[axis] = (at[axis] % shape[axis] + shape[axis]) % shape[axis];
    if (at[axis] < 0 || at[axis] >= shape[axis]) continue;
    int64_t place = 0;
    for (int64_t d = 0; d < 4; ++d) place = place * shape[d] + at[d];
    cache[place] = update[i];
  }
  return cache;
}

}  // namespace

TEST_CASE("of several updates of one cell the last stays, or all are merged", "[graph][scatter]") {
  CHECK(ValuesOf(ResultOf(ScatterNd("none", {1, 1, -1}, {10, 20, 30}))) == Doubles{1, 20, 3, 30});
  CHECK(ValuesOf(ResultOf(ScatterNd("add", {1, 1, 0}, {10, 20, 30}))) == Doubles{31, 32, 3, 4});
  CHECK(ValuesOf(ResultOf(ScatterNd("mul", {2, 2, 2}, {2, 3, 4}))) == Doubles{1, 2, 72, 4});
  CHECK(ValuesOf(ResultOf(ScatterNd("max", {0, 0}, {-5, 3}))) == Doubles{3, 2, 3, 4});
  CHECK(ValuesOf(ResultOf(ScatterNd("min", {3, 3}, {7, -7}))) == Doubles{1, 2, 3, -7});
}

TEST_CASE("a computed index outside is clamped, a constant one refused", "[graph][scatter]") {
  CHECK(ValuesOf(ResultOf(ScatterNd("none", {9, -9}, {10, 20}))) == Doubles{20, 2, 3, 10});
  OneNode constant = ScatterNd("none", {4}, {10});
  constant.constants = {1};
  CHECK(ErrorOf(constant) == "node 'node' (ScatterND): index 4 is outside an axis of 4");
  OneNode gather = {.op = OpKind::kGatherElements,
                    .inputs = {F32({3}, {1, 2, 3}), I64({3}, {7, -7, -1})},
                    .attributes = {{"axis", int64_t{0}}}};
  CHECK(ValuesOf(ResultOf(gather)) == Doubles{3, 1, 3});
}

TEST_CASE("ScatterND writes slices and rows of scattered elements stay apart", "[graph][scatter]") {
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
TEST_CASE("what follows a scatter in its kernel sees the updates", "[graph][scatter]") {
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

TEST_CASE("rows of an update go into a cache from a row of each sample on", "[graph][scatter]") {
  const Ints column = {2, 2, 5, 1};
  const int64_t lowest = INT64_MIN, highest = INT64_MAX - 4;
  const CacheCase cases[] = {
      {},
      {.starts = {1, 3}},
      {.axis = 2, .mode = "circular", .starts = {4, 3}},
      {.mode = "circular", .starts = {12, -1}},
      {.axis = -1, .starts = {2, 0}, .update_shape = column},
      {.axis = 1, .mode = "circular", .starts = {1, 0}, .update_shape = {2, 1, 5, 3}},
      {.mode = "circular", .starts = {2, 3}, .update_shape = {2, 2, 5, 3}},
      {.update_shape = {2, 2, 0, 3}},
      // Computed rows outside the cache are not written.
      {.starts = {4, -1}},
      {.starts = {5, -2}},
      {.starts = {lowest, highest}},
  };
  for (const CacheCase& c : cases) {
    INFO(c.mode << " from " << (c.starts.empty() ? 0 : c.starts[0]));
    CHECK(ValuesOf(ResultOf(WriteCache(c))) == Written(c));
  }
  OneNode constant = WriteCache(cases[1]);
  constant.constants = {2};
  CHECK(ValuesOf(ResultOf(constant)) == Written(cases[1]));
}

TEST_CASE("a cache says which update it does not take", "[graph][scatter][error]") {
  CHECK(ErrorOf(WriteCache({.axis = 0})) ==
        "node 'node' (TensorScatter): axis is 0, the batch; expected another");
  CHECK(ErrorOf(WriteCache({.mode = "odd"})) ==
        "node 'node' (TensorScatter): mode is 'odd'; expected linear or circular");
  CHECK(ErrorOf(WriteCache({.update_shape = {2, 2, 6, 3}})) ==
        "node 'node' (TensorScatter): update has 6 rows; the cache has 5");
  CHECK(
      ErrorOf(WriteCache({.update_shape = {2, 1, 2, 3}})) ==
      "node 'node' (TensorScatter): update is f32 2x1x2x3 and the cache f32 2x2x5x3; expected the "
      "same but for axis 2");
  OneNode node = WriteCache({.starts = {0, 4}});
  CHECK(ErrorOf(node).empty());
  node.constants = {2};
  CHECK(ErrorOf(node) ==
        "node 'node' (TensorScatter): 2 rows from 4 on are not all in a cache of 5");
  node.inputs[2] = I64({1}, {0});
  CHECK(ErrorOf(node) ==
        "node 'node' (TensorScatter): write_indices is i64 1; expected an integer for each of 2 "
        "samples");
}

TEST_CASE("running sums go either way and may leave out their own element", "[graph][scan]") {
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

TEST_CASE("running products go either way and may leave out their own element", "[graph][scan]") {
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

TEST_CASE("unpooled values go to the places of the smaller tensor", "[graph][scatter]") {
  OneNode node = {.op = OpKind::kMaxUnpool,
                  .inputs = {F32({1, 1, 2, 2}, {1, 2, 3, 4}), I64({1, 1, 2, 2}, {5, 7, 13, 15})},
                  .attributes = {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}};
  CHECK(ValuesOf(ResultOf(node)) == Doubles{0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4});
  node.inputs.push_back(I64({4}, {1, 1, 4, 5}));
  node.constants = {2};
  CHECK(ValuesOf(ResultOf(node)) ==
        Doubles{0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 4, 0});
}
