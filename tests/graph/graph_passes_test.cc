#include <algorithm>
#include <catch2/catch.hpp>

#include "graph/passes/edit.h"
#include "graph/passes/graph_pipeline.h"
#include "graph/passes/infer_shapes.h"
#include "graph/passes/passes.h"
#include "graph/variants/interpret_graph.h"
#include "tests/graph/graph_check.h"
#include "tests/graph/one_node.h"
#include "tests/ir/parsed_graph.h"

using namespace tcc;

TEST_CASE("shape arithmetic is evaluated while shapes are inferred", "[graph][graph]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {2, 3, 4});
  ValueId shape = builder.Add("shape", OpKind::kShape, {x});
  ValueId batch =
      builder.Add("batch", OpKind::kGather, {shape, builder.Constant("zero", I64({1}, {0}))},
                  {{"axis", int64_t{0}}});
  ValueId target =
      builder.Add("target", OpKind::kConcat, {batch, builder.Constant("rest", I64({1}, {-1}))},
                  {{"axis", int64_t{0}}});
  builder.Output(
      builder.Add("reshape", OpKind::kReshape, {x, target}, {{"allowzero", int64_t{0}}}));
  Graph graph = builder.Build();
  REQUIRE(InferShapes(graph).ok());
  CHECK(graph.nodes.size() == 1);
  CHECK(StaticShape(graph.value(graph.outputs[0])) == Ints{2, 12});
}

TEST_CASE("an added value whose name is taken gets the first number that is free",
          "[graph][graph]") {
  Graph graph;
  for (const char* name : {"c", "c_1", "c_3", "cc", "c_02"}) {
    Value value;
    value.name = name;
    graph.AddValue(std::move(value));
  }
  std::vector<std::string> names;
  for (const char* hint : {"c", "c", "c", "d", "d", "c_1"}) {
    names.push_back(graph.value(AddConstant(graph, hint, I64({1}, {0}))).name);
  }
  CHECK(names == std::vector<std::string>{"c_2", "c_4", "c_5", "d", "d_1", "c_1_1"});
}

TEST_CASE("the first of several Relus in a row stays, and those that the graph gives out",
          "[graph][graph]") {
  TestGraph builder;
  ValueId value = builder.Input("x", kFloat32, {2, 3});
  for (int i = 0; i < 9; ++i) {
    value = builder.Add("relu" + std::to_string(i), OpKind::kRelu, {value});
    if (i == 5) builder.Output(value);
  }
  builder.Output(builder.Add("last", OpKind::kNeg, {value}));
  Graph graph = builder.Build();
  REQUIRE(InferShapes(graph).ok());
  REQUIRE(SimplifyActivations(graph).ok());
  REQUIRE(graph.nodes.size() == 3);
  CHECK(graph.nodes[0].name == "relu0");
  CHECK(graph.nodes[1].name == "relu5");
  CHECK(graph.nodes[2].inputs == graph.nodes[1].outputs);
  CHECK(graph.nodes[1].inputs == graph.nodes[0].outputs);
}

TEST_CASE("a declared output that the nodes contradict is told and given up", "[graph][graph]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {2, 3});
  ValueId y = builder.Add("relu", OpKind::kRelu, {x});
  builder.Output(y);
  Graph graph = builder.Build();
  graph.values[y].shape = ToExprs({2, 4});
  std::vector<std::vector<Expr>> declared = DeclaredShapes(graph);
  REQUIRE(InferShapes(graph).ok());
  CHECK(StaticShape(graph.value(y)) == Ints{2, 3});
  CHECK(ContradictedShapes(graph, {"y"}, declared) ==
        std::vector<std::string>{"output 'y' is declared as 2x4; its node gives 2x3"});
  CHECK(ContradictedShapes(graph, {"y"}, DeclaredShapes(graph)).empty());
}

TEST_CASE("identities go, but never an output of the graph", "[graph][graph]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {4});
  ValueId same = builder.Add("same", OpKind::kIdentity, {x});
  ValueId dropped = builder.Add("drop", OpKind::kDropout, {same});
  ValueId negated = builder.Add("negate", OpKind::kNeg, {dropped});
  ValueId out = builder.Add("out", OpKind::kIdentity, {negated});
  builder.Output(out);
  ValueId direct = builder.Add("direct", OpKind::kIdentity, {x});
  builder.Output(direct);
  Graph graph = builder.Build();
  REQUIRE(RunGraphPasses(graph).ok());
  CHECK(CountOf(graph, OpKind::kIdentity) == 1);
  CHECK(graph.nodes.size() == 2);
  CHECK(graph.value(graph.outputs[0]).name == "out.out");
  StatusOr<std::vector<Tensor>> results = InterpretGraph(graph, {F32({4}, {1, 2, 3, 4})});
  REQUIRE(results.ok());
  CHECK(ValuesOf((*results)[0]) == std::vector<double>{-1, -2, -3, -4});
  CHECK(ValuesOf((*results)[1]) == std::vector<double>{1, 2, 3, 4});
}

TEST_CASE("what is known is folded and what nobody reads goes", "[graph][graph]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {2});
  ValueId a = builder.Constant("a", F32({2}, {1, 2}));
  ValueId sum = builder.Add("sum", OpKind::kAdd, {a, a});
  builder.Add("unread", OpKind::kExp, {x});
  builder.Output(builder.Add("product", OpKind::kMul, {x, sum}));
  Graph graph = builder.Build();
  REQUIRE(RunGraphPasses(graph).ok());
  CHECK(graph.nodes.size() == 1);
  CHECK(graph.values.size() == 3);
  CHECK(ValuesOf(RunGraph(graph, F32({2}, {3, 5}))) == std::vector<double>{6, 20});
}

TEST_CASE("a constant beyond the budget is left to run time", "[graph][graph]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {1});
  ValueId shape = builder.Constant("shape", I64({3}, {1024, 1024, 1024}));
  ValueId bomb = builder.Add("bomb", OpKind::kConstantOfShape, {shape});
  builder.Output(builder.Add("sum", OpKind::kAdd, {x, bomb}));
  Graph graph = builder.Build();
  REQUIRE(RunGraphPasses(graph).ok());
  CHECK(CountOf(graph, OpKind::kConstantOfShape) == 1);
}

TEST_CASE("a batch normalization disappears into the convolution before it", "[graph][graph]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {1, 3, 5, 5});
  ValueId w = builder.Constant("w", RandomF32({4, 3, 3, 3}, 1));
  ValueId conv = builder.Add("conv", OpKind::kConv, {x, w}, {{"pads", Ints{1, 1, 1, 1}}});
  auto channels = [&](const char* name, uint64_t seed) {
    return builder.Constant(name, RandomF32({4}, seed));
  };
  ValueId variance = builder.Constant("variance", F32({4}, {0.5, 1, 2, 4}));
  ValueId bn =
      builder.Add("bn", OpKind::kBatchNormalization,
                  {conv, channels("gamma", 2), channels("beta", 3), channels("mean", 4), variance},
                  {{"epsilon", 1e-3}});
  builder.Output(builder.Add("relu", OpKind::kRelu, {bn}));
  Graph optimized = CheckSameAfterPasses(builder.Build());
  CHECK(CountOf(optimized, OpKind::kBatchNormalization) == 0);
  CHECK(CountOf(optimized, OpKind::kAdd) == 0);
}

TEST_CASE("a batch normalization of plain numbers becomes a scale and a shift too",
          "[graph][graph]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {5});
  ValueId gamma = builder.Constant("gamma", F32({1}, {2}));
  ValueId beta = builder.Constant("beta", F32({1}, {3}));
  ValueId mean = builder.Constant("mean", F32({1}, {-1}));
  ValueId variance = builder.Constant("variance", F32({1}, {4}));
  builder.Output(builder.Add("bn", OpKind::kBatchNormalization, {x, gamma, beta, mean, variance}));
  Graph optimized = CheckSameAfterPasses(builder.Build());
  CHECK(CountOf(optimized, OpKind::kBatchNormalization) == 0);
}

TEST_CASE("a batch normalization on its own becomes a scale and a shift", "[graph][graph]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {2, 2, 3});
  ValueId bn = builder.Add(
      "bn", OpKind::kBatchNormalization,
      {x, builder.Constant("gamma", F32({2}, {2, 3})), builder.Constant("beta", F32({2}, {1, 0})),
       builder.Constant("mean", F32({2}, {0.5, -1})),
       builder.Constant("variance", F32({2}, {1, 4}))},
      {{"epsilon", 1e-5}});
  builder.Output(bn);
  Graph optimized = CheckSameAfterPasses(builder.Build());
  CHECK(CountOf(optimized, OpKind::kMul) == 1);
  CHECK(CountOf(optimized, OpKind::kBatchNormalization) == 0);
}

TEST_CASE("a clip from zero up is a relu", "[graph][graph]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {3});
  ValueId zero = builder.Constant("zero", F32({}, {0}));
  ValueId six = builder.Constant("six", F32({}, {6}));
  ValueId up = builder.Add("up", OpKind::kClip, {x, zero});
  builder.Output(builder.Add("six", OpKind::kClip, {up, zero, six}));
  Graph graph = builder.Build();
  REQUIRE(RunGraphPasses(graph).ok());
  CHECK(CountOf(graph, OpKind::kRelu) == 1);
  CHECK(CountOf(graph, OpKind::kClip) == 1);
  CHECK(ValuesOf(RunGraph(graph, F32({3}, {-1, 3, 9}))) == std::vector<double>{0, 3, 6});
}

TEST_CASE("a split into hundreds is several, each of some of the parts", "[graph][graph]") {
  std::string names = "y299", types = "f32[]";
  for (int i = 298; i >= 0; --i) {
    names = fmt::format("y{}, {}", i, names);
    types += ", f32[]";
  }
  // 299 parts of 3 and one of 2.
  Graph graph =
      ParsedGraph("graph pieces {\n  input x: f32[2x899]\n  " + names +
                      " = Split(x) {axis: -1, num_outputs: 300} : " + types +
                      "\n  z = Concat(y299, " + names + ") {axis: 1} : f32[]\n  return z\n}",
                  {});
  CHECK(CountOf(CheckSameAfterPasses(graph), OpKind::kSplit) == 3);
}
