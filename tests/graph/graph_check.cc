#include "tests/graph/graph_check.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "graph/passes/graph_pipeline.h"
#include "graph/passes/infer_shapes.h"
#include "graph/variants/interpret_graph.h"
#include "tests/graph/one_node.h"

namespace tcc {

int CountOf(const Graph& graph, OpKind op) {
  return static_cast<int>(
      std::ranges::count_if(graph.nodes, [&](const Node& node) { return node.op == op; }));
}

Tensor RunGraph(const Graph& graph, const Tensor& input) {
  StatusOr<std::vector<Tensor>> results = InterpretGraph(graph, {input});
  INFO(Message(results.status()));
  REQUIRE(results.ok());
  return (*results)[0];
}

Graph CheckSameAfterPasses(const Graph& original) {
  Graph plain = original;
  REQUIRE(InferShapes(plain).ok());
  Graph optimized = original;
  Status status = RunGraphPasses(optimized);
  INFO(Message(status));
  REQUIRE(status.ok());
  REQUIRE(VerifyGraph(optimized).ok());
  Tensor input = RandomF32(*StaticShape(plain.value(plain.inputs[0])), 42);
  Tensor expected = RunGraph(plain, input);
  Tensor got = RunGraph(optimized, input);
  CHECK(got.shape == expected.shape);
  std::vector<double> a = ValuesOf(expected);
  std::vector<double> b = ValuesOf(got);
  double largest = 0;
  for (double value : a) largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < a.size(); ++i) {
    CHECK(b[i] == Approx(a[i]).margin(1e-5 * std::max(1.0, largest)));
  }
  return optimized;
}

int CheckSameWithWideNumbers(const Graph& original) {
  int checked = 0;
  std::vector<int64_t> shape = *StaticShape(original.value(original.inputs[0]));
  shape.insert(shape.begin(), 3);
  for (size_t id = 0; id < original.values.size(); ++id) {
    const std::optional<Tensor>& number = original.values[id].constant;
    if (!number || !number->dtype.is_float() || !number->shape.empty()) continue;
    Graph wide = original;
    Tensor constant = MakeZeroTensor(number->dtype, shape);
    for (int64_t i = 0; i < *ElementCount(shape); ++i) {
      SetElement(constant, i, ElementAsDouble(*number, 0));
    }
    wide.values[id].shape = ToExprs(shape);
    wide.values[id].constant = constant;
    if (Graph inferred = wide; !InferShapes(inferred).ok()) continue;
    INFO("constant '" << original.values[id].name << "' is widened");
    CheckSameAfterPasses(wide);
    ++checked;
  }
  return checked;
}

}  // namespace tcc
