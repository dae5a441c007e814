#include "graph/passes/pattern.h"

#include <catch2/catch.hpp>

#include "graph/passes/edit.h"
#include "graph/passes/infer_shapes.h"
#include "graph/passes/passes.h"
#include "tests/graph/graph_check.h"
#include "tests/graph/one_node.h"

using namespace tcc;

namespace {

Graph Inferred(const TestGraph& builder) {
  Graph graph = builder.Build();
  REQUIRE(InferShapes(graph).ok());
  return graph;
}

Pattern SigmoidGate() {
  Pattern x = AnyValue("x");
  return NodePattern(OpKind::kMul, {x, NodePattern(OpKind::kSigmoid, {x}, "gate")});
}

}  // namespace

TEST_CASE("a pattern matches a commutative node in either order", "[graph][pattern]") {
  for (bool flipped : {false, true}) {
    TestGraph builder;
    ValueId x = builder.Input("x", kFloat32, {2});
    ValueId gate = builder.Add("gate", OpKind::kSigmoid, {x});
    std::vector<ValueId> operands = flipped ? std::vector{gate, x} : std::vector{x, gate};
    builder.Output(builder.Add("out", OpKind::kMul, operands));
    Graph graph = Inferred(builder);
    std::vector<PatternMatch> matches = PatternMatcher(graph).Match(1, SigmoidGate());
    REQUIRE(matches.size() == 1);
    CHECK(matches[0].values.at("x") == x);
    CHECK(matches[0].NodeAt(graph, "gate").name == "gate");
    CHECK(matches[0].nodes == std::set<int>{0, 1});
  }
}

TEST_CASE("a name that occurs twice is one value", "[graph][pattern]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {2});
  ValueId y = builder.Input("y", kFloat32, {2});
  builder.Output(builder.Add("out", OpKind::kMul, {y, builder.Add("gate", OpKind::kSigmoid, {x})}));
  CHECK(PatternMatcher(Inferred(builder)).Match(1, SigmoidGate()).empty());
}

TEST_CASE("what others read, or the graph gives out, is not matched away", "[graph][pattern]") {
  for (bool is_output : {false, true}) {
    TestGraph builder;
    ValueId x = builder.Input("x", kFloat32, {2});
    ValueId gate = builder.Add("gate", OpKind::kSigmoid, {x});
    builder.Output(builder.Add("out", OpKind::kMul, {x, gate}));
    builder.Output(is_output ? gate : builder.Add("reader", OpKind::kNeg, {gate}));
    Graph graph = Inferred(builder);
    CHECK(PatternMatcher(graph).Match(1, SigmoidGate()).empty());
  }
}

TEST_CASE("a number matches a constant all of whose elements are it", "[graph][pattern]") {
  auto matches = [](const Tensor& tensor) {
    TestGraph builder;
    ValueId x = builder.Input("x", kFloat32, {3});
    builder.Output(builder.Add("out", OpKind::kDiv, {x, builder.Constant("c", tensor)}));
    Graph graph = Inferred(builder);
    return !PatternMatcher(graph).Match(0, Quotient(AnyValue("x"), 3)).empty();
  };
  CHECK(matches(F32({}, {3})));
  CHECK(matches(F32({3}, {3, 3, 3})));
  CHECK_FALSE(matches(F32({3}, {3, 3, 4})));
  CHECK_FALSE(matches(F32({}, {3.001})));
}

namespace {

// A planted rule that forgets what broadcasting does: x * 1 becomes x.
Pattern TimesOne() {
  return NodePattern(OpKind::kMul, {AnyValue("x"), Number(1)});
}

std::optional<Node> JustX(Rewrite& rewrite) {
  Node node;
  node.inputs = {rewrite.Bound("x")};
  return node;
}

// Returns the operator of the only node that is left of x * constant.
OpKind OnlyOpAfterPlantedRule(const Tensor& constant) {
  constexpr RewriteRule kRules[] = {
      {"times_one", OpKind::kMul, OpKind::kIdentity, TimesOne, JustX}};
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {1, 4});
  builder.Output(builder.Add("out", OpKind::kMul, {x, builder.Constant("c", constant)}));
  Graph graph = Inferred(builder);
  REQUIRE(ApplyRules(graph, kRules).ok());
  REQUIRE(graph.nodes.size() == 1);
  return graph.nodes[0].op;
}

}  // namespace

TEST_CASE("a rule replaces no node by one of another shape or type", "[graph][pattern]") {
  CHECK(OnlyOpAfterPlantedRule(F32({}, {1})) == OpKind::kIdentity);
  CHECK(OnlyOpAfterPlantedRule(F32({4}, {1, 1, 1, 1})) == OpKind::kIdentity);
  CHECK(OnlyOpAfterPlantedRule(F32({2, 1}, {1, 1})) == OpKind::kMul);
  CHECK(OnlyOpAfterPlantedRule(F32({1, 1, 1}, {1})) == OpKind::kMul);
}

TEST_CASE("a matcher that has followed a replacement matches as a new one does",
          "[graph][pattern]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {2});
  std::vector<ValueId> chain = {x};
  for (int i = 0; i < 6; ++i) chain.push_back(builder.Add("", OpKind::kNeg, {chain.back()}));
  builder.Output(builder.Add("sum", OpKind::kAdd, {chain[2], chain[6]}));
  Graph graph = Inferred(builder);
  Pattern twice = NodePattern(OpKind::kNeg, {NodePattern(OpKind::kNeg, {AnyValue("x")})});

  // Nodes 4 and 5 become a sum of chain[2] and a new constant at the place of 5.
  PatternMatcher follower(graph);
  REQUIRE(follower.Match(5, twice).size() == 1);
  for (int n : {4, 5}) {
    follower.Forget(n);
    graph.nodes[n].inputs.clear();
  }
  graph.nodes[5].op = OpKind::kAdd;
  graph.nodes[5].inputs = {chain[2], AddConstant(graph, "c", F32({2}, {1, 2}))};
  follower.Learn(5);

  Pattern added = NodePattern(OpKind::kAdd, {AnyValue("a"), AnyValue("b")});
  PatternMatcher anew(graph);
  for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n) {
    for (const Pattern& pattern : {twice, added}) {
      std::vector<PatternMatch> got = follower.Match(n, pattern);
      std::vector<PatternMatch> expected = anew.Match(n, pattern);
      REQUIRE(got.size() == expected.size());
      for (size_t m = 0; m < got.size(); ++m) {
        CHECK(got[m].nodes == expected[m].nodes);
        CHECK(got[m].values == expected[m].values);
      }
    }
  }
}

TEST_CASE("each of a hundred movements in a row joins the one before", "[graph][pattern]") {
  TestGraph builder;
  Tensor data = RandomF32({2, 3, 4, 5}, 1);
  ValueId value = builder.Input("x", kFloat32, data.shape);
  const Ints perms[] = {{1, 2, 3, 0}, {1, 0, 2, 3}, {0, 3, 1, 2}};
  for (int i = 0; i < 100; ++i) {
    value = builder.Add("", OpKind::kTranspose, {value}, {{"perm", perms[i % 3]}});
    // Another reader keeps the ninetieth.
    if (i == 90) builder.Output(builder.Add("", OpKind::kNeg, {value}));
  }
  builder.Output(value);
  Graph graph = Inferred(builder);
  Graph rewritten = graph;
  REQUIRE(RewriteMovements(rewritten).ok());
  CHECK(rewritten.nodes.size() == 3);
  for (int output : {0, 1}) {
    CAPTURE(output);
    CHECK(ValuesOf(RunGraph(rewritten, data)) == ValuesOf(RunGraph(graph, data)));
    std::swap(rewritten.outputs[0], rewritten.outputs[1]);
    std::swap(graph.outputs[0], graph.outputs[1]);
  }
}
