#include <catch2/catch.hpp>

#include "graph/ops/node_lowering.h"
#include "graph/passes/agreements.h"
#include "graph/passes/control_flow.h"
#include "graph/passes/infer_shapes.h"
#include "graph/passes/passes.h"
#include "ir/graph/graph_bodies.h"
#include "tests/graph/one_node.h"
#include "tests/ir/parsed_graph.h"

// LSTM, GRU, RNN and Loop over free dimensions.
namespace tcc {
namespace {

using Constants = std::vector<std::pair<std::string, Tensor>>;

Tensor True() {
  return Of(kBool, {}, {1});
}

Graph Inferred(const std::string& text, const Constants& constants) {
  Graph graph = ParsedGraph(text, constants);
  Status status = InferShapes(graph);
  INFO(status);
  REQUIRE(status.ok());
  REQUIRE(VerifyGraph(graph) == OkStatus());
  return graph;
}

Status Refused(const std::string& text, const Constants& constants) {
  Graph graph = ParsedGraph(text, constants);
  return InferShapes(graph);
}

std::string ResultShape(const Graph& graph, size_t output = 0) {
  return ShapeText(graph.value(graph.outputs[output]).shape);
}

// Makes constants of elements that are numbers.
void FoldElements(Graph& graph) {
  for (Value& value : graph.values) {
    if (value.elements.empty()) continue;
    value.constant = MakeZeroTensor(value.dtype, *StaticShape(value));
    for (size_t i = 0; i < value.elements.size(); ++i) {
      SetElementInt(*value.constant, static_cast<int64_t>(i),
                    AsConstant(value.elements[i]).value());
    }
    value.elements.clear();
  }
}

// Gives the graph's dimensions these numbers, in order.
Graph Bound(Graph graph, const std::vector<int64_t>& numbers) {
  REQUIRE(graph.shape_vars.size() == numbers.size());
  Substitution values;
  for (size_t i = 0; i < numbers.size(); ++i) values[graph.shape_vars[i]] = Expr(numbers[i]);
  SubstituteDims(graph, values);
  FoldElements(graph);
  return graph;
}

// An LSTM, GRU or RNN with all operands but lengths.
std::string Recurrence(const std::string& op, const std::string& dims, const std::string& x,
                       const std::string& state, const std::string& direction) {
  bool is_lstm = op == "LSTM";
  return fmt::format(
      "graph g {{\n{}\n  input x: f32[{}]\n  input h: f32[{}]\n  input c: f32[{}]\n"
      "  constant w: f32[2x{}x3]\n  constant r: f32[2x{}x4]\n  constant b: f32[2x{}]\n"
      "  y, last = {}(x, w, r, b, _, h{}) {{hidden_size: 4, direction: \"{}\"}} : f32[], f32[]\n"
      "  return y, last\n}}",
      dims, x, state, state, is_lstm ? 16 : 12, is_lstm ? 16 : 12, is_lstm ? 32 : 24, op,
      is_lstm ? ", c" : "", direction);
}

Constants Weights(const std::string& op) {
  int64_t rows = op == "LSTM" ? 16 : 12;
  return {{"w", RandomF32({2, rows, 3}, 1)},
          {"r", RandomF32({2, rows, 4}, 2)},
          {"b", RandomF32({2, 2 * rows}, 3)}};
}

TEST_CASE("a recurrence over free steps and a free batch is the bound one at any numbers",
          "[graph][recurrence]") {
  for (const char* op : {"LSTM", "GRU"}) {
    INFO(op);
    Graph free = Inferred(Recurrence(op, "  dim T in 1..64 usual 8\n  dim B in 1..8 usual 2",
                                     "T, B, 3", "2, B, 4", "bidirectional"),
                          Weights(op));
    CHECK(ResultShape(free, 0) == "Tx2xBx4");
    CHECK(ResultShape(free, 1) == "2xBx4");
    Graph bound = Inferred(Recurrence(op, "", "5x7x3", "2x7x4", "bidirectional"), Weights(op));
    CHECK(Print(Bound(free, {5, 7})) == Print(bound));
  }
}

TEST_CASE("the batch of a recurrence's operands is that of its sequence", "[graph][recurrence]") {
  Constants constants = Weights("LSTM");
  std::string dims = "  dim T in 1..64 usual 8\n  dim B in 1..8 usual 2\n  dim C in 1..16 usual 2";
  Graph graph =
      Inferred(Recurrence("LSTM", dims, "T, B, 3", "2, C, 4", "bidirectional"), constants);
  CHECK(graph.shape_vars.size() == 2);
  CHECK(ShapeText(graph.value(graph.inputs[1]).shape) == "2xBx4");

  Status status = Refused(Recurrence("LSTM", dims, "T, B, 3", "2x9x4", "bidirectional"), constants);
  CHECK(Message(status) == "node 'y' (LSTM): input 'h' has shape 2x9x4; expected 2xBx4");
}

TEST_CASE("a recurrence of a free hidden size is refused", "[graph][recurrence][error]") {
  Status status = Refused(R"(graph g {
    dim H in 1..64 usual 8
    input x: f32[5x2x3]
    input w: f32[1x4x3]
    input r: f32[1, 4, H]
    y = RNN(x, w, r) {hidden_size: 4} : f32[]
    return y
  })",
                          {});
  CHECK(status.code() == absl::StatusCode::kUnimplemented);
  CHECK(Message(status) ==
        "node 'y' (RNN): input 'r' has shape 1x4xH; expected a number as its dimension 2");
}

// A sum of rows, stacked; `count` is the trip count, `rows` what is scanned.
std::string SumOfRows(const std::string& items, const std::string& loop_operands,
                      const std::string& attributes, const std::string& body_inputs = "") {
  return fmt::format(R"(graph g {{
{}
  constant zeros: f32[2]
  constant none: f32[0x2]
  sum, sums = Loop({}) {{{}}} : f32[], f32[]
    body step {{
      input i: i64[]
      input c: bool[]
      input before: f32[]
      input row: f32[]
{}
      constant yes: bool[]
      after = Add(row, before) : f32[]
      return yes, after, after
    }}
  return sums, sum
}})",
                     items, loop_operands, attributes, body_inputs);
}

const Constants kRows = {{"zeros", F32({2}, {0, 0})}, {"none", F32({0, 2}, {})}, {"yes", True()}};

TEST_CASE("a scan stacks as many slices as its operands have", "[graph][bodies]") {
  Graph graph = Inferred(
      SumOfRows("dim T in 1..64 usual 8\n dim S in 1..64 usual 8\n input x: f32[T, 2]\n"
                " input y: f32[S, 2]",
                "_, _, zeros, x, y", "carried: 1, scan_input_axes: [0, 0], scan_output_axes: [1]",
                "input other: f32[]"),
      kRows);
  CHECK(ResultShape(graph) == "2xT");
  CHECK(graph.shape_vars.size() == 1);
  CHECK(ShapeText(graph.value(graph.inputs[1]).shape) == "Tx2");

  Status status = Refused(
      SumOfRows("dim T in 1..64 usual 8\n input x: f32[T, 2]\n input y: f32[65x2]",
                "_, _, zeros, x, y", "carried: 1, scan_input_axes: [0, 0], scan_output_axes: [0]",
                "input other: f32[]"),
      kRows);
  CHECK(Message(status) == "node 'sum' (Loop): 'y' has 65 slices; another operand has T");
}

TEST_CASE("a trip count is a formula over dimensions, and not below 0", "[graph][bodies]") {
  auto stack = [](int64_t less) {
    Constants constants = kRows;
    constants.emplace_back("first", I64({}, {0}));
    constants.emplace_back("less", I64({}, {less}));
    return ResultShape(
        Inferred(SumOfRows("dim T in 2..64 usual 8\n input x: f32[T, 2]\n input row: f32[2]\n"
                           " constant less: i64[]\n constant first: i64[]\n"
                           " dims = Shape(x) {end: 1, start: 0} : i64[1]\n"
                           " all = Gather(dims, first) {axis: 0} : i64[]\n"
                           " m = Sub(all, less) : i64[]",
                           "m, _, zeros, row", "carried: 1, scan_output_axes: [0]"),
                 constants));
  };
  CHECK(stack(0) == "Tx2");
  CHECK(stack(2) == "(T - 2)x2");
  CHECK(stack(9) == "(max(T - 9, 0))x2");
}

TEST_CASE("sizes that decide a trip count or shapes in a body need no node", "[graph][bodies]") {
  Graph graph = Inferred(R"(graph g {
  dim T in 2..64 usual 8
  input x: f32[T, 2]
  constant first: i64[]
  constant minus: i64[1]
  size = Shape(x) {end: 1, start: 0} : i64[1]
  trips = Gather(size, first) {axis: 0} : i64[]
  list = Concat(size, minus) {axis: 0} : i64[2]
  both = Shape(x) {start: 0} : i64[2]
  last = Loop(trips, _, x, list, size, both) {carried: 1} : f32[]
    body step {
      input i: i64[]
      input c: bool[]
      input before: f32[]
      input list: i64[]
      input size: i64[]
      input both: i64[]
      constant yes: bool[]
      as = Reshape(before, list) {allowzero: 0} : f32[]
      number = Cast(size) {to: "f32"} : f32[]
      sum = Add(as, number) : f32[]
      numbers = Cast(both) {to: "f32"} : f32[]
      after = Add(sum, numbers) : f32[]
      return yes, after
    }
  return last
})",
                         {{"first", I64({}, {0})}, {"minus", I64({1}, {-1})}, {"yes", True()}});
  REQUIRE(RemoveDead(graph) == OkStatus());
  REQUIRE(VerifyGraph(graph) == OkStatus());
  // One size is a formula in the body, two are data for it.
  REQUIRE(graph.nodes.size() == 2);
  CHECK(graph.nodes[0].op == OpKind::kShape);
  const Node& loop = graph.nodes[1];
  CHECK(loop.inputs.size() == FirstCaptured(loop) + 1);
  CHECK(loop.inputs.back() == graph.nodes[0].outputs[0]);
}

TEST_CASE("free extents of a carried value stay", "[graph][bodies]") {
  auto loop = [](const std::string& state, const std::string& row) {
    return "graph g {\n  dim B in 1..8 usual 2\n  dim C in 1..8 usual 2\n  dim P in 0..8\n  dim T "
           "in 2..8\n"
           "  input h: f32[" +
           state + "]\n  input x: f32[T, " + row + R"(]
  last = Loop(_, _, h, x) {carried: 1, scan_input_axes: [0]} : f32[]
    body step {
      input i: i64[]
      input c: bool[]
      input before: f32[]
      input row: f32[]
      constant yes: bool[]
      after = Identity(row) : f32[]
      return yes, after
    }
  return last
})";
  };
  Graph graph = Inferred(loop("B, 4", "C, 4"), kRows);
  CHECK(ResultShape(graph) == "Bx4");
  CHECK(ShapeText(graph.value(graph.inputs[1]).shape) == "TxBx4");

  for (auto [state, row] : {std::pair{"1, 4", "B, 4"}, {"P, 4", "P + B, 4"}, {"0x4", "P, 4"}}) {
    Status status = Refused(loop(state, row), kRows);
    INFO(Message(status));
    CHECK_THAT(Message(status), Catch::Matchers::Contains("carried value 'h' begins as"));
  }
}

TEST_CASE("a body that reads its iteration scans as many numbers as there are slices",
          "[graph][bodies]") {
  Graph graph = Inferred(R"(graph g {
  dim T in 0..64 usual 8
  input x: i64[T, 2]
  constant zeros: i64[2]
  last = Loop(_, _, zeros, x) {carried: 1, scan_input_axes: [0]} : i64[]
    body step {
      input i: i64[]
      input c: bool[]
      input before: i64[]
      input row: i64[]
      constant yes: bool[]
      scaled = Mul(row, i) : i64[]
      after = Add(before, scaled) : i64[]
      return yes, after
    }
  return last
})",
                         {{"zeros", I64({2}, {0, 0})}, {"yes", True()}});
  REQUIRE(CountIterations(graph) == OkStatus());
  REQUIRE(VerifyGraph(graph) == OkStatus());
  REQUIRE(graph.nodes.size() == 2);
  CHECK(graph.nodes[0].op == OpKind::kRange);
  CHECK(ShapeText(graph.value(graph.nodes[0].outputs[0]).shape) == "T");
  CHECK(GivesItsResults(graph, graph.nodes[0]));
  CHECK(graph.nodes[1].inputs[4] == graph.nodes[0].outputs[0]);
}

}  // namespace
}  // namespace tcc
