#include "graph/variants/variants.h"

#include <catch2/catch.hpp>

#include "graph/passes/infer_shapes.h"
#include "ir/interpret/interpreter.h"
#include "ir/text/printer.h"
#include "tests/graph/one_task.h"
#include "tests/ir/parsed_graph.h"

namespace tcc {
namespace {

struct Case {
  const char* name;
  OpKind op;
  std::vector<int64_t> x, w;
  Attributes attributes;
  std::vector<int64_t> merged;  // shape of the result's parameter; empty: nothing merges
};

Task TaskOf(const Case& c) {
  TestGraph test;
  ValueId x = test.Input("x", kFloat32, c.x);
  ValueId y = test.Add("y", c.op, {x, test.Input("w", kFloat32, c.w)}, c.attributes);
  test.Output(test.Add("relu", OpKind::kRelu, {y}));
  return OneTask(test);
}

std::vector<double> ResultOf(const Function& fn) {
  std::vector<Tensor> arguments;
  for (size_t i = 0; i + 1 < fn.params.size(); ++i) {
    arguments.push_back(RandomF32(ShapeOf(fn.params[i]), i + 1));
  }
  arguments.push_back(MakeZeroTensor(fn.params.back().dtype(), ShapeOf(fn.params.back())));
  REQUIRE(Interpret(fn, arguments).ok());
  return ValuesOf(arguments.back());
}

}  // namespace

TEST_CASE("dimensions that a product goes over together become one", "[graph][variants]") {
  const Case cases[] = {
      {"one tap", OpKind::kConv, {1, 6, 7, 5}, {4, 6, 1, 1}, {}, {1, 4, 35}},
      {"three dimensions", OpKind::kConv, {1, 3, 2, 5, 4}, {4, 3, 1, 1, 1}, {}, {1, 4, 40}},
      {"batch and rows", OpKind::kMatMul, {3, 5, 6}, {6, 4}, {}, {15, 4}},
      {"two batches", OpKind::kMatMul, {2, 3, 5, 6}, {6, 4}, {}, {30, 4}},
      {"both have the batch", OpKind::kMatMul, {3, 5, 6}, {3, 6, 4}, {}, {}},
      {"several taps", OpKind::kConv, {1, 6, 7, 5}, {4, 6, 3, 3}, {}, {}},
      {"padded", OpKind::kConv, {1, 6, 7, 5}, {4, 6, 1, 1}, {{"pads", Ints{1, 0, 0, 0}}}, {}},
      {"strided", OpKind::kConv, {1, 6, 7, 5}, {4, 6, 1, 1}, {{"strides", Ints{2, 1}}}, {}},
      {"a row", OpKind::kConv, {1, 6, 1, 5}, {4, 6, 1, 1}, {}, {}},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    Task task = TaskOf(c);
    const Variant* merged = FindVariant(task, "merged_axes");
    CHECK((merged != nullptr) == !c.merged.empty());
    if (!merged) continue;
    INFO(Print(merged->fn));
    CHECK(ShapeOf(merged->fn.params.back()) == c.merged);
    CHECK(ResultOf(merged->fn) == ResultOf(task.variants[0].fn));
  }
}

TEST_CASE("batch and rows that are free become one axis of as many points as their product",
          "[graph][variants][free]") {
  Graph graph = ParsedGraph(R"(graph rows {
    dim B in 1..64 usual 8
    dim S in 1..64 usual 13
    input x: f32[B, S, 6]
    input w: f32[6, 4]
    y = MatMul(x, w) : f32[]
    return y })");
  REQUIRE(InferShapes(graph).ok());
  Task task = BuildTask(graph, FuseGraph(graph)[0]).value();
  const Variant* merged = FindVariant(task, "merged_axes");
  REQUIRE(merged);
  CHECK(merged->fn.vars == task.variants[0].fn.vars);
  CHECK(Print(merged->fn.params.back().shape[0]) == "n0 * n1");
}

}  // namespace tcc
