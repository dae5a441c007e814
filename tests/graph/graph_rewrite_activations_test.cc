#include <catch2/catch.hpp>
#include <cmath>

#include "graph/passes/graph_pipeline.h"
#include "graph/passes/infer_shapes.h"
#include "graph/passes/passes.h"
#include "graph/variants/interpret_graph.h"
#include "tests/graph/graph_check.h"
#include "tests/graph/one_node.h"

using namespace tcc;

namespace {

// A function of x, written in operators.
class Formula {
 public:
  Formula() : x_(builder_.Input("x", kFloat32, {9})) {}

  ValueId x() const { return x_; }
  ValueId Number(double number) {
    return builder_.Constant("c" + std::to_string(next_++), F32({}, {number}));
  }
  ValueId Call(OpKind op, std::vector<ValueId> operands) {
    return builder_.Add("n" + std::to_string(next_++), op, std::move(operands));
  }
  Graph Build(ValueId result) {
    builder_.Output(result);
    return Build();
  }
  Graph Build() const { return builder_.Build(); }

 private:
  TestGraph builder_;
  ValueId x_;
  int next_ = 0;
};

// Runs all passes, expects one node, and that its results are those of the formula.
void CheckBecomes(OpKind op, Formula& formula, ValueId result, double (*expected)(double)) {
  Graph graph = formula.Build(result);
  Status status = RunGraphPasses(graph);
  INFO(Message(status));
  REQUIRE(status.ok());
  INFO(Print(graph));
  REQUIRE(graph.nodes.size() == 1);
  CHECK(graph.nodes[0].op == op);
  std::vector<double> points = {-7, -3, -2.5, -1, 0, 0.5, 1, 3, 9};
  StatusOr<std::vector<Tensor>> results = InterpretGraph(graph, {F32({9}, points)});
  REQUIRE(results.ok());
  std::vector<double> got = ValuesOf((*results)[0]);
  for (size_t i = 0; i < points.size(); ++i) {
    CHECK(got[i] == Approx(expected(points[i])).margin(1e-6));
  }
  CheckSameWithWideNumbers(formula.Build());
}

double HardSwish(double x) {
  return x * std::fmin(std::fmax(x + 3, 0), 6) / 6;
}
double HardSigmoid(double x) {
  return std::fmin(std::fmax(x + 3, 0), 6) / 6;
}

ValueId ClippedRamp(Formula& f) {
  return f.Call(OpKind::kClip,
                {f.Call(OpKind::kAdd, {f.Number(3), f.x()}), f.Number(0), f.Number(6)});
}

}  // namespace

TEST_CASE("a hard sigmoid is found in its spellings", "[graph][rewrite]") {
  Formula divided;
  CheckBecomes(OpKind::kHardSigmoid, divided,
               divided.Call(OpKind::kDiv, {ClippedRamp(divided), divided.Number(6)}), HardSigmoid);
  Formula scaled;
  CheckBecomes(OpKind::kHardSigmoid, scaled,
               scaled.Call(OpKind::kMul, {scaled.Number(1.0 / 6), ClippedRamp(scaled)}),
               HardSigmoid);
  Formula bounded;
  ValueId moved = bounded.Call(OpKind::kAdd, {bounded.x(), bounded.Number(3)});
  ValueId ramp = bounded.Call(
      OpKind::kMin, {bounded.Call(OpKind::kMax, {moved, bounded.Number(0)}), bounded.Number(6)});
  CheckBecomes(OpKind::kHardSigmoid, bounded, bounded.Call(OpKind::kDiv, {ramp, bounded.Number(6)}),
               HardSigmoid);
}

TEST_CASE("a hard swish is found in its spellings", "[graph][rewrite]") {
  Formula divided;
  ValueId product = divided.Call(OpKind::kMul, {divided.x(), ClippedRamp(divided)});
  CheckBecomes(OpKind::kHardSwish, divided,
               divided.Call(OpKind::kDiv, {product, divided.Number(6)}), HardSwish);
  Formula gated;
  ValueId gate = gated.Call(OpKind::kDiv, {ClippedRamp(gated), gated.Number(6)});
  CheckBecomes(OpKind::kHardSwish, gated, gated.Call(OpKind::kMul, {gate, gated.x()}), HardSwish);
}

TEST_CASE("a ramp that ends elsewhere is no hard swish", "[graph][rewrite]") {
  Formula f;
  ValueId moved = f.Call(OpKind::kAdd, {f.Number(3), f.x()});
  ValueId ramp = f.Call(OpKind::kClip, {moved, f.Number(0), f.Number(5)});
  ValueId product = f.Call(OpKind::kMul, {f.x(), ramp});
  Graph graph = f.Build(f.Call(OpKind::kDiv, {product, f.Number(6)}));
  REQUIRE(RunGraphPasses(graph).ok());
  CHECK(graph.nodes.size() == 4);
}
