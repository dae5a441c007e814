#include "tests/graph/one_task.h"

#include <catch2/catch.hpp>

#include "graph/passes/infer_shapes.h"

namespace tcc {

Task OneTask(const TestGraph& test, NumericMode numeric) {
  Graph graph = test.Build();
  REQUIRE(InferShapes(graph).ok());
  std::vector<Subgraph> subgraphs = FuseGraph(graph);
  REQUIRE(subgraphs.size() == 1);
  return BuildTask(graph, subgraphs[0], {}, {.mode = numeric}).value();
}

std::vector<int64_t> ShapeOf(const Buffer& buffer) {
  std::vector<int64_t> shape;
  for (const Expr& extent : buffer.shape) shape.push_back(AsConstant(extent).value());
  return shape;
}

}  // namespace tcc
