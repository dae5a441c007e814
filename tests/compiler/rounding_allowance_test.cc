#include "compiler/check/rounding_allowance.h"

#include <catch2/catch.hpp>

#include "graph/passes/infer_shapes.h"
#include "models/zoo/graph_builder.h"

namespace tcc {
namespace {

constexpr int64_t kCount = 100;

// y = a + b.
Graph SumGraph(DType dtype) {
  Graph graph;
  auto add = [&](const char* name) {
    Value value;
    value.name = name;
    value.dtype = dtype;
    value.shape = {Expr(kCount)};
    graph.values.push_back(value);
    return static_cast<ValueId>(graph.values.size() - 1);
  };
  ValueId a = add("a"), b = add("b"), y = add("y");
  graph.inputs = {a, b};
  graph.outputs = {y};
  Node node;
  node.name = "node";
  node.op = OpKind::kAdd;
  node.inputs = {a, b};
  node.outputs = {y};
  graph.nodes.push_back(node);
  REQUIRE(InferShapes(graph).ok());
  return graph;
}

// first + step i, and ones.
std::vector<Tensor> Inputs(DType dtype, double first, double step) {
  Tensor a = MakeZeroTensor(dtype, {kCount});
  Tensor b = MakeZeroTensor(dtype, {kCount});
  for (int64_t i = 0; i < kCount; ++i) {
    SetElement(a, i, first + step * static_cast<double>(i));
    SetElement(b, i, 1);
  }
  return {a, b};
}

Allowance AllowanceFor(DType dtype, double first, double step) {
  Graph graph = SumGraph(dtype);
  std::vector<Tensor> inputs = Inputs(dtype, first, step);
  std::vector<Tensor> expected = InterpretGraph(graph, inputs).value();
  return RoundingAllowances(graph, inputs, expected, {}).value()[0];
}

TEST_CASE("results that their type holds get no allowance", "[compiler]") {
  CHECK(AllowanceFor(kFloat16, 0, 0.25) == Allowance(kCount));
  CHECK(AllowanceFor(kFloat32, 2048, 2) == Allowance(kCount));
}

TEST_CASE("results between two values of f16 may be off by some of its steps", "[compiler]") {
  // Each is a tie of neighbours that are 2 apart, and goes either way in four runs.
  for (double allowed : AllowanceFor(kFloat16, 2048, 2)) {
    CHECK(allowed > 2);
    CHECK(allowed <= 2 * kSpreadsAllowed);
  }
}

TEST_CASE("small results gain nothing by what large ones may be off", "[compiler]") {
  Graph graph = SumGraph(kFloat16);
  std::vector<Tensor> inputs = Inputs(kFloat16, 0, 0.25);
  for (int64_t i = 0; i < 10; ++i) SetElement(inputs[0], i, 2048.0 + 2 * static_cast<double>(i));
  std::vector<Tensor> expected = InterpretGraph(graph, inputs).value();
  Allowance allowance = RoundingAllowances(graph, inputs, expected, {}).value()[0];
  CHECK(allowance[0] > 2);
  CHECK(allowance[kCount - 1] == 0);
}

TEST_CASE("what Relu cuts off may be let through by as much as its neighbours are off",
          "[compiler]") {
  // x + 1 in f16, a tie of neighbours 2 apart, less 1: three of four are negative, and cut off.
  Graph graph = SumGraph(kFloat16);
  const Value sum = graph.value(graph.outputs[0]);
  for (OpKind op : {OpKind::kSub, OpKind::kRelu}) {
    Value value = sum;
    value.name = op == OpKind::kSub ? "less" : "cut";
    graph.values.push_back(value);
    Node node;
    node.name = value.name;
    node.op = op;
    node.inputs = {graph.outputs[0]};
    if (op == OpKind::kSub) node.inputs.push_back(graph.inputs[1]);
    node.outputs = {static_cast<ValueId>(graph.values.size() - 1)};
    graph.outputs = node.outputs;
    graph.nodes.push_back(node);
  }
  REQUIRE(InferShapes(graph).ok());
  std::vector<Tensor> inputs = Inputs(kFloat16, -4096, 2);
  for (int64_t i = 0; i < kCount; i += 4) {
    SetElement(inputs[0], i, 2048 + 2 * static_cast<double>(i));
  }
  std::vector<Tensor> expected = InterpretGraph(graph, inputs).value();
  Allowance allowance = RoundingAllowances(graph, inputs, expected, {}).value()[0];
  REQUIRE(ElementAsDouble(expected[0], 1) == 0);
  CHECK(allowance[1] > 2);
  CHECK(allowance[1] <= 4 * kSpreadsAllowed);
}

TEST_CASE("types that nodes compute are looked at, in bodies too", "[compiler]") {
  CHECK(HasNarrowFloats(SumGraph(kFloat16)));
  CHECK_FALSE(HasNarrowFloats(SumGraph(kFloat32)));
  Graph outer = SumGraph(kFloat32);
  outer.nodes[0].bodies.push_back(SumGraph(DType(DTypeCode::kBFloat16)));
  CHECK(HasNarrowFloats(outer));
}

}  // namespace
}  // namespace tcc
