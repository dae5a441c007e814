#include <catch2/catch.hpp>

#include "tests/graph/graph_check.h"
#include "tests/graph/one_node.h"

using namespace tcc;

namespace {

// Both halves of each row alike, as a table of angles is.
Tensor Doubled(int64_t rows, int64_t half, uint64_t seed) {
  Tensor single = RandomF32({rows, half}, seed);
  Tensor table = MakeZeroTensor(kFloat32, {1, 1, rows, 2 * half});
  for (int64_t i = 0; i < rows * 2 * half; ++i) {
    int64_t row = i / (2 * half);
    SetElement(table, i, ElementAsDouble(single, row * half + i % half));
  }
  return table;
}

ValueId Half(TestGraph& builder, const std::string& name, ValueId x, int64_t from, int64_t to) {
  auto ints = [&](const char* what, int64_t number) {
    return builder.Constant(name + what, I64({1}, {number}));
  };
  return builder.Add(name, OpKind::kSlice,
                     {x, ints(".from", from), ints(".to", to), ints(".axis", 3)});
}

// x: f32[batch, 2, 3, 8]
Graph Rotary(int64_t batch, const Tensor& cos, const Tensor& sin) {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {batch, 2, 3, 8});
  ValueId low = Half(builder, "low", x, 0, 4);
  ValueId high = Half(builder, "high", x, 4, INT64_MAX);
  ValueId minus = builder.Add("minus", OpKind::kNeg, {high});
  ValueId turned = builder.Add("turned", OpKind::kConcat, {minus, low}, {{"axis", int64_t{-1}}});
  ValueId straight = builder.Add("straight", OpKind::kMul, {x, builder.Constant("cos", cos)});
  ValueId across = builder.Add("across", OpKind::kMul, {turned, builder.Constant("sin", sin)});
  builder.Output(builder.Add("rotated", OpKind::kAdd, {straight, across}));
  return builder.Build();
}

}  // namespace

TEST_CASE("a rotary embedding is found in its parts", "[graph][rewrite]") {
  for (int64_t batch : {1, 2}) {
    Graph graph = CheckSameAfterPasses(Rotary(batch, Doubled(3, 4, 1), Doubled(3, 4, 2)));
    INFO(Print(graph));
    CHECK(graph.nodes.size() == 1);
    CHECK(CountOf(graph, OpKind::kRotaryEmbedding) == 1);
  }
}

TEST_CASE("tables whose halves differ make no rotary embedding", "[graph][rewrite]") {
  Graph graph = CheckSameAfterPasses(Rotary(1, Doubled(3, 4, 1), RandomF32({1, 1, 3, 8}, 2)));
  CHECK(CountOf(graph, OpKind::kRotaryEmbedding) == 0);
}

TEST_CASE("a table computed from angles written twice is halved", "[graph][rewrite]") {
  TestGraph builder;
  ValueId angles = builder.Input("angles", kFloat32, {1, 3, 4});
  ValueId twice = builder.Add("twice", OpKind::kConcat, {angles, angles}, {{"axis", int64_t{2}}});
  auto table = [&](const std::string& name, OpKind op) {
    ValueId axis = builder.Constant(name + ".axis", I64({1}, {1}));
    return builder.Add(name + ".wide", OpKind::kUnsqueeze, {builder.Add(name, op, {twice}), axis});
  };
  ValueId x = builder.Constant("x", RandomF32({1, 2, 3, 8}, 5));
  ValueId data = builder.Add("data", OpKind::kAdd, {x, table("bias", OpKind::kTanh)});
  ValueId turned =
      builder.Add("turned", OpKind::kConcat,
                  {builder.Add("minus", OpKind::kNeg, {Half(builder, "high", data, 4, 8)}),
                   Half(builder, "low", data, 0, 4)},
                  {{"axis", int64_t{3}}});
  ValueId straight = builder.Add("straight", OpKind::kMul, {data, table("cos", OpKind::kCos)});
  ValueId across = builder.Add("across", OpKind::kMul, {turned, table("sin", OpKind::kSin)});
  builder.Output(builder.Add("rotated", OpKind::kAdd, {straight, across}));
  Graph graph = CheckSameAfterPasses(builder.Build());
  INFO(Print(graph));
  CHECK(CountOf(graph, OpKind::kRotaryEmbedding) == 1);
}
