#include <catch2/catch.hpp>

#include "graph/passes/infer_shapes.h"
#include "support/status.h"
#include "tests/graph/one_node.h"

using namespace tcc;

namespace {

// Additions of constants, one behind the other, of 8 elements each.
Graph Additions(int count) {
  TestGraph builder;
  ValueId sum = builder.Constant("start", I64({8}, Ints(8, 1)));
  for (int i = 0; i < count; ++i) {
    sum = builder.Add("add" + std::to_string(i), OpKind::kAdd, {sum, sum});
  }
  builder.Output(sum);
  return builder.Build();
}

}  // namespace

TEST_CASE("shapes that take too much arithmetic are refused by the node", "[graph][error]") {
  Graph graph = Additions(4);
  InferenceBudget budget{.instances = 31};
  Status status = InferShapes(graph, budget);
  CHECK(status.code() == absl::StatusCode::kResourceExhausted);
  CHECK(Message(status) ==
        "node 'add3' (Add): inferring the model's shapes takes more block instances than the "
        "budget holds");
}

TEST_CASE("what shape inference spends is taken off its budget", "[graph]") {
  Graph graph = Additions(4);
  InferenceBudget budget{.instances = 100};
  REQUIRE(InferShapes(graph, budget).ok());
  CHECK(graph.nodes.empty());
  CHECK(budget.instances == 100 - 4 * 8);
}

TEST_CASE("an operator that is written out as too many nodes is refused", "[graph][error]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {4, 1, 2});
  ValueId weights = builder.Constant("w", RandomF32({1, 3, 2}, 1));
  ValueId recurrence = builder.Constant("r", RandomF32({1, 3, 3}, 2));
  builder.Output(
      builder.Add("layer", OpKind::kRNN, {x, weights, recurrence}, {{"hidden_size", int64_t{3}}}));
  Graph graph = builder.Build();
  InferenceBudget budget{.nodes = 3};
  Status status = InferShapes(graph, budget);
  CHECK(status.code() == absl::StatusCode::kResourceExhausted);
  CHECK(Message(status) ==
        "node 'layer' (RNN): inferring the model's shapes takes more nodes than the budget holds");
}
