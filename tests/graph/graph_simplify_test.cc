#include <catch2/catch.hpp>

#include "graph/passes/graph_pipeline.h"
#include "graph/passes/infer_shapes.h"
#include "graph/passes/passes.h"
#include "graph/variants/interpret_graph.h"
#include "tests/graph/one_node.h"

using namespace tcc;

namespace {

// Shapes inferred, then simplified until nothing changes.
Graph Simplified(const TestGraph& builder) {
  Graph graph = builder.Build();
  graph.name = "g";
  Status status = InferShapes(graph);
  INFO(Message(status));
  REQUIRE(status.ok());
  REQUIRE(SimplifyToFixedPoint(graph).ok());
  REQUIRE(VerifyGraph(graph).ok());
  return graph;
}

// The nodes alone, a line each without what they are named and typed as.
std::vector<std::string> NodeLines(const Graph& graph) {
  std::vector<std::string> lines;
  for (const Node& node : graph.nodes) {
    std::string line = graph.value(node.outputs[0]).name + " = " + std::string(ToString(node.op));
    for (ValueId id : node.inputs) line += " " + (id == kNoValue ? "_" : graph.value(id).name);
    lines.push_back(line);
  }
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("equal nodes are computed once, in whichever order a sum is written", "[graph]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {4});
  ValueId y = builder.Input("y", kFloat32, {4});
  ValueId a = builder.Add("a", OpKind::kAdd, {x, y});
  ValueId b = builder.Add("b", OpKind::kAdd, {y, x});
  ValueId left = builder.Add("left", OpKind::kExp, {a});
  ValueId right = builder.Add("right", OpKind::kExp, {b});
  builder.Output(builder.Add("out", OpKind::kMul, {left, right}));
  CHECK(NodeLines(Simplified(builder)) ==
        Lines{"a.out = Add x y", "left.out = Exp a.out", "out.out = Mul left.out left.out"});
}

TEST_CASE("nodes that differ in an attribute or in the order of a quotient stay", "[graph]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {4});
  ValueId y = builder.Input("y", kFloat32, {4});
  ValueId a = builder.Add("a", OpKind::kDiv, {x, y});
  ValueId b = builder.Add("b", OpKind::kDiv, {y, x});
  ValueId c = builder.Add("c", OpKind::kLeakyRelu, {x}, {{"alpha", 0.1}});
  ValueId d = builder.Add("d", OpKind::kLeakyRelu, {x}, {{"alpha", 0.2}});
  for (ValueId id : {a, b, c, d})
    builder.Output(builder.Add("n" + std::to_string(id), OpKind::kNeg, {id}));
  CHECK(Simplified(builder).nodes.size() == 8);
}

TEST_CASE("constants of the same bytes become one, and with them their readers", "[graph]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {2});
  ValueId one = builder.Constant("one", F32({2}, {1, 2}));
  ValueId same = builder.Constant("same", F32({2}, {1, 2}));
  ValueId other = builder.Constant("other", F32({2}, {1, 3}));
  ValueId a = builder.Add("a", OpKind::kMul, {x, one});
  ValueId b = builder.Add("b", OpKind::kMul, {x, same});
  ValueId c = builder.Add("c", OpKind::kMul, {x, other});
  builder.Output(builder.Add("out", OpKind::kMax, {a, b, c}));
  Graph graph = Simplified(builder);
  CHECK(NodeLines(graph) ==
        Lines{"a.out = Mul x one", "c.out = Mul x other", "out.out = Max a.out a.out c.out"});
  CHECK(graph.values.size() == 6);
}

TEST_CASE("equal outputs of the graph stay two values", "[graph]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {2});
  builder.Output(builder.Add("a", OpKind::kExp, {x}));
  builder.Output(builder.Add("b", OpKind::kExp, {x}));
  CHECK(Simplified(builder).nodes.size() == 2);
}

TEST_CASE("operations with a neutral operand go unless they widen the other", "[graph]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {2, 3});
  ValueId zeros = builder.Constant("zeros", F32({3}, {0, 0, 0}));
  ValueId one = builder.Constant("one", F32({}, {1}));
  ValueId wide = builder.Constant("wide", F32({4, 2, 3}, std::vector<double>(24, 0)));
  ValueId v = builder.Add("add", OpKind::kAdd, {x, zeros});
  v = builder.Add("flipped", OpKind::kAdd, {zeros, v});
  v = builder.Add("mul", OpKind::kMul, {one, v});
  v = builder.Add("div", OpKind::kDiv, {v, one});
  v = builder.Add("sub", OpKind::kSub, {v, zeros});
  v = builder.Add("reversed", OpKind::kSub, {zeros, v});
  builder.Output(builder.Add("widened", OpKind::kAdd, {v, wide}));
  CHECK(NodeLines(Simplified(builder)) ==
        Lines{"reversed.out = Sub zeros x", "widened.out = Add reversed.out wide"});
}

TEST_CASE("a choice under a known condition is its operand, and folding goes on", "[graph]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {2});
  ValueId never = builder.Constant("never", Of(kBool, {2}, {0, 0}));
  ValueId a = builder.Constant("a", F32({2}, {1, 2}));
  ValueId chosen = builder.Add("chosen", OpKind::kWhere, {never, x, a});
  ValueId doubled = builder.Add("doubled", OpKind::kAdd, {chosen, chosen});
  builder.Output(builder.Add("out", OpKind::kMul, {x, doubled}));
  Graph graph = Simplified(builder);
  CHECK(NodeLines(graph) == Lines{"out.out = Mul x doubled.out"});
  CHECK(ValuesOf(*graph.ConstantOf(graph.nodes[0].inputs[1])) == std::vector<double>{2, 4});
}

TEST_CASE("slices and pads that take everything go, a reversal stays", "[graph]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {3});
  auto ints = [&](const char* name, int64_t number) {
    return builder.Constant(name, I64({1}, {number}));
  };
  ValueId axis = ints("axis", 0);
  ValueId all =
      builder.Add("all", OpKind::kSlice, {x, ints("from", 0), ints("to", INT64_MAX), axis});
  ValueId padded =
      builder.Add("padded", OpKind::kPad, {all, builder.Constant("none", I64({2}, {0, 0}))},
                  {{"mode", std::string("constant")}});
  builder.Output(
      builder.Add("reversed", OpKind::kSlice,
                  {padded, ints("last", -1), ints("before", INT64_MIN), axis, ints("step", -1)}));
  Graph graph = Simplified(builder);
  REQUIRE(graph.nodes.size() == 1);
  CHECK(graph.nodes[0].name == "reversed");
  CHECK(graph.value(graph.nodes[0].inputs[0]).name == "x");
}

TEST_CASE("folding stops at 64 MiB in total", "[graph]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {1});
  ValueId sum = x;
  // 24 MiB each: two fit.
  for (int i = 0; i < 4; ++i) {
    std::string name = "fill" + std::to_string(i);
    ValueId shape = builder.Constant(name + ".shape", I64({3}, {6, 1024, 1024}));
    ValueId fill = builder.Add(name, OpKind::kConstantOfShape, {shape},
                               {{"value", F32({1}, {static_cast<double>(i + 1)})}});
    sum = builder.Add(name + ".sum", OpKind::kAdd, {sum, fill});
  }
  builder.Output(sum);
  Graph graph = Simplified(builder);
  int64_t bytes = 0;
  for (const Value& value : graph.values) {
    if (value.constant) bytes += static_cast<int64_t>(value.constant->bytes.size());
  }
  CHECK(bytes <= kFoldedBytes + 1024);
  CHECK(graph.nodes.size() >= 6);
}

TEST_CASE("a constant that replaces another of its size costs no budget", "[graph]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {1, 1});
  Tensor large = MakeZeroTensor(kFloat32, {3072, 2048});  // 24 MiB
  SetElement(large, 1, 5);
  ValueId w = builder.Constant("w", large);
  for (int i = 0; i < 8; ++i) {
    w = builder.Add("t" + std::to_string(i), OpKind::kTranspose, {w}, {{"perm", Ints{1, 0}}});
  }
  builder.Output(builder.Add("sum", OpKind::kAdd, {x, w}));
  Graph graph = Simplified(builder);
  CHECK(graph.nodes.size() == 1);
  CHECK(ElementAsDouble(*graph.ConstantOf(graph.nodes[0].inputs[1]), 1) == 5);
}
