#include <catch2/catch.hpp>

#include "compiler/compile_graph.h"
#include "compiler/dump_stage.h"
#include "compiler/kernels.h"
#include "graph/passes/infer_shapes.h"
#include "graph/variants/interpret_graph.h"
#include "ir/graph/graph_bodies.h"
#include "runtime/executor/executor.h"
#include "tests/compiler/run_compiled.h"
#include "tests/ir/parsed_graph.h"

namespace tcc {
namespace {

Tensor Floats(std::vector<int64_t> shape, const std::vector<float>& values) {
  return MakeTensor(kFloat32, std::move(shape),
                    {reinterpret_cast<const uint8_t*>(values.data()), values.size() * 4});
}

Tensor Scalar(DType dtype, int64_t number) {
  Tensor tensor = MakeZeroTensor(dtype, {});
  SetElementInt(tensor, 0, number);
  return tensor;
}

std::vector<float> FloatsOf(const Tensor& tensor) {
  auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

using Numbers = std::vector<std::vector<float>>;  // of each output

Numbers NumbersOf(const StatusOr<std::vector<Tensor>>& outputs) {
  INFO(outputs.status());
  REQUIRE(outputs.ok());
  Numbers numbers;
  for (const Tensor& output : *outputs) numbers.push_back(FloatsOf(output));
  return numbers;
}

// What the interpreter, the reference target and machine code make of it; all must be `expected`.
void CheckRuns(const Graph& graph, const std::vector<Tensor>& inputs, const Numbers& expected) {
  Graph inferred = graph;
  Status status = InferShapes(inferred);
  INFO(status);
  REQUIRE(status.ok());
  CHECK(NumbersOf(InterpretGraph(inferred, inputs)) == expected);
  for (const char* target : {"reference", "native"}) {
    INFO(target);
    Module module = Loaded(Compiled(graph, target));
    INFO(ToString(module.artefact().plan));
    Executor executor(module);
    // A second run begins where the first has left buffers swapped.
    for (int run = 0; run < 2; ++run) CHECK(NumbersOf(executor.Run(inputs)) == expected);
  }
}

template <typename Op>
int CountInstructions(const std::vector<Instruction>& body) {
  int count = 0;
  ForEachInstruction(body, [&](const Instruction& instruction) {
    count += std::holds_alternative<Op>(instruction.op) ? 1 : 0;
  });
  return count;
}

// Doubles x and stacks what it was, `n` times.
constexpr const char* kDoubling = R"(graph doubling {
  input x: f32[2]
  constant n: i64[]
  last, all = Loop(n, _, x) {carried: 1, scan_output_axes: [0]} : f32[], f32[]
    body step {
      input i: i64[]
      input c: bool[]
      input x: f32[]
      constant yes: bool[]
      next = Add(x, x) : f32[]
      return yes, next, x
    }
  return last, all
}
)";

Graph Doubling(int64_t trips) {
  return ParsedGraph(kDoubling, {{"n", Scalar(kInt64, trips)}, {"yes", Scalar(kBool, 1)}});
}

TEST_CASE("a loop carries values and stacks slices", "[compiler][control_flow]") {
  CheckRuns(Doubling(3), {Floats({2}, {1, 5})}, {{8, 40}, {1, 5, 2, 10, 4, 20}});
  Artefact artefact = Compiled(Doubling(3), "native");
  CHECK(CountInstructions<PlanLoop>(artefact.plan.body) == 1);
}

TEST_CASE("a loop that never runs hands its initial values on and stacks nothing",
          "[compiler][control_flow]") {
  for (int64_t trips : {0, -4}) {
    CheckRuns(Doubling(trips), {Floats({2}, {1, 5})}, {{1, 5}, {}});
  }
}

TEST_CASE("a loop that runs once is its body", "[compiler][control_flow]") {
  CheckRuns(Doubling(1), {Floats({2}, {1, 5})}, {{2, 10}, {1, 5}});
  CHECK(CountInstructions<PlanLoop>(Compiled(Doubling(1), "native").plan.body) == 0);
}

TEST_CASE("a trip count may be an input", "[compiler][control_flow]") {
  std::string text = R"(graph counted {
  input n: i64[1]
  input x: f32[2]
  last = Loop(n, _, x) {carried: 1} : f32[]
    body step {
      input i: i64[]
      input c: bool[]
      input x: f32[]
      constant yes: bool[]
      i_float = Cast(i) {to: "f32"} : f32[]
      next = Add(x, i_float) : f32[]
      return yes, next
    }
  return last
}
)";
  Graph graph = ParsedGraph(text, {{"yes", Scalar(kBool, 1)}});
  for (int64_t n : {0, 1, 2, 5, -3}) {
    INFO(n);
    Tensor count = MakeZeroTensor(kInt64, {1});
    SetElementInt(count, 0, n);
    auto sum = static_cast<float>(n > 0 ? n * (n - 1) / 2 : 0);
    CheckRuns(graph, {count, Floats({2}, {1, 5})}, {{1 + sum, 5 + sum}});
  }
}

TEST_CASE("a loop ends early where its body says so", "[compiler][control_flow]") {
  std::string text = R"(graph until {
  input go: bool[]
  input x: f32[1]
  constant limit: f32[1]
  constant n: i64[]
  last = Loop(n, go, x, limit) {carried: 1} : f32[]
    body step {
      input i: i64[]
      input c: bool[]
      input x: f32[]
      input limit: f32[]
      next = Add(x, x) : f32[]
      below = Less(next, limit) : bool[]
      return below, next
    }
  return last
}
)";
  Graph graph = ParsedGraph(text, {{"limit", Floats({1}, {50})}, {"n", Scalar(kInt64, 9)}});
  CheckRuns(graph, {Scalar(kBool, 1), Floats({1}, {1})}, {{64}});
  CheckRuns(graph, {Scalar(kBool, 1), Floats({1}, {60})}, {{120}});
  CheckRuns(graph, {Scalar(kBool, 0), Floats({1}, {1})}, {{1}});
  CheckRuns(graph, {Scalar(kBool, 1), Floats({1}, {0})}, {{0}});
}

// A pass asked for the first operand of whatever it met; here there is none.
TEST_CASE("a loop without a trip count runs until its body says no", "[compiler][control_flow]") {
  std::string text = R"(graph doubled {
  input go: bool[]
  input x: f32[1]
  constant limit: f32[1]
  last = Loop(_, go, x, limit) {carried: 1} : f32[]
    body step {
      input i: i64[]
      input c: bool[]
      input x: f32[]
      input limit: f32[]
      next = Add(x, x) : f32[]
      below = Less(next, limit) : bool[]
      return below, next
    }
  return last
}
)";
  Graph graph = ParsedGraph(text, {{"limit", Floats({1}, {50})}});
  CheckRuns(graph, {Scalar(kBool, 1), Floats({1}, {1})}, {{64}});
  CheckRuns(graph, {Scalar(kBool, 0), Floats({1}, {1})}, {{1}});
}

TEST_CASE("carried values that change places do not overwrite each other",
          "[compiler][control_flow]") {
  std::string text = R"(graph exchange {
  input a: f32[1]
  input b: f32[1]
  constant n: i64[]
  p, q, r = Loop(n, _, a, b, a) {carried: 3} : f32[], f32[], f32[]
    body step {
      input i: i64[]
      input c: bool[]
      input a: f32[]
      input b: f32[]
      input sum: f32[]
      constant yes: bool[]
      next = Add(a, sum) : f32[]
      return yes, b, a, next
    }
  return p, q, r
}
)";
  for (int64_t n : {2, 3}) {
    Graph graph = ParsedGraph(text, {{"n", Scalar(kInt64, n)}, {"yes", Scalar(kBool, 1)}});
    Numbers expected = n == 2 ? Numbers{{1}, {10}, {12}} : Numbers{{10}, {1}, {13}};
    CheckRuns(graph, {Floats({1}, {1}), Floats({1}, {10})}, expected);
  }
}

// For each row of x: for each element, running sums; the rows' sums are carried on.
constexpr const char* kNestedLoops = R"(graph nested {
  input x: f32[3x4]
  input w: f32[]
  total, rows = Loop(_, _, w, x, w) {carried: 1, scan_input_axes: [0], scan_input_directions: [1], scan_output_axes: [0], scan_output_directions: [1]} : f32[], f32[]
    body outer {
      input i: i64[]
      input c: bool[]
      input total: f32[]
      input row: f32[]
      input w: f32[]
      constant yes: bool[]
      sum, sums = Loop(_, _, total, row, w) {carried: 1, scan_input_axes: [0], scan_output_axes: [0]} : f32[], f32[]
        body inner {
          input i: i64[]
          input c: bool[]
          input total: f32[]
          input element: f32[]
          input w: f32[]
          constant yes: bool[]
          scaled = Mul(element, w) : f32[]
          next = Add(total, scaled) : f32[]
          return yes, next, next
        }
      return yes, sum, sums
    }
  return total, rows
}
)";

TEST_CASE("loops nest, and slices of slices are written in place", "[compiler][control_flow]") {
  Graph graph = ParsedGraph(kNestedLoops, {{"yes", Scalar(kBool, 1)}});
  Tensor x = Floats({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  // Rows from the last to the first, w = 2.
  CheckRuns(graph, {x, Floats({}, {2})},
            {{158}, {140, 144, 150, 158, 96, 108, 122, 138, 20, 40, 62, 86}});
  CHECK(CountInstructions<PlanLoop>(Compiled(graph, "native").plan.body) == 2);
}

// Two branches with different producers, one of them a loop, one an operand as it is.
constexpr const char* kBranches = R"(graph branches {
  input x: f32[3]
  input y: f32[3]
  constant n: i64[]
  constant zero: f32[]
  sum = ReduceSum(x) {keepdims: 0, noop_with_empty_axes: 0} : f32[]
  positive = Greater(sum, zero) : bool[]
  a, b = If(positive, x, y, n) : f32[], f32[]
    body then {
      input x: f32[]
      input y: f32[]
      input n: i64[]
      last = Loop(n, _, x, y) {carried: 1} : f32[]
        body step {
          input i: i64[]
          input c: bool[]
          input x: f32[]
          input y: f32[]
          constant yes: bool[]
          even = Cast(i) {to: "bool"} : bool[]
          next = If(even, x, y) : f32[]
            body odd {
              input x: f32[]
              input y: f32[]
              z = Add(x, y) : f32[]
              return z
            }
            body even {
              input x: f32[]
              input y: f32[]
              z = Sub(x, y) : f32[]
              return z
            }
          return yes, next
        }
      return last, y
    }
    body else {
      input x: f32[]
      input y: f32[]
      input n: i64[]
      product = Mul(x, y) : f32[]
      return product, product
    }
  both = Add(a, b) : f32[]
  return a, both
}
)";

Graph Branches() {
  return ParsedGraph(
      kBranches, {{"n", Scalar(kInt64, 4)}, {"zero", Floats({}, {0})}, {"yes", Scalar(kBool, 1)}});
}

TEST_CASE("branches give their results, with loops and branches inside",
          "[compiler][control_flow]") {
  // x - y + y + y + y, then x * y.
  CheckRuns(Branches(), {Floats({3}, {1, 2, 3}), Floats({3}, {10, 20, 30})},
            {{21, 42, 63}, {31, 62, 93}});
  CheckRuns(Branches(), {Floats({3}, {-1, -2, -3}), Floats({3}, {10, 20, 30})},
            {{-10, -40, -90}, {-20, -80, -180}});
}

TEST_CASE("a branch on what is known is put in place of its node", "[compiler][control_flow]") {
  std::string text = R"(graph known {
  input x: f32[1x3]
  constant yes: bool[]
  constant axes: i64[1]
  y = If(yes, x) : f32[]
    body then {
      input x: f32[]
      constant axes: i64[1]
      flat = Squeeze(x, axes) : f32[]
      return flat
    }
    body else {
      input x: f32[]
      return x
    }
  return y
}
)";
  Tensor axes = MakeZeroTensor(kInt64, {1});
  Graph graph = ParsedGraph(text, {{"yes", Scalar(kBool, 1)}, {"axes", axes}});
  CheckRuns(graph, {Floats({1, 3}, {1, 2, 3})}, {{1, 2, 3}});
  CHECK(CountInstructions<PlanIf>(Compiled(graph, "native").plan.body) == 0);
}

TEST_CASE("an artefact with loops has the same bytes for any number of compiler threads",
          "[compiler][control_flow]") {
  for (const Graph& graph : {Branches(), ParsedGraph(kNestedLoops, {{"yes", Scalar(kBool, 1)}})}) {
    CHECK(ArtefactBytes(Compiled(graph, "native", 1)) ==
          ArtefactBytes(Compiled(graph, "native", 4)));
  }
}

TEST_CASE("every stage of a network with loops has a text that comes back",
          "[compiler][control_flow]") {
  for (const StageRow& row : Stages()) {
    if (row.stage == Stage::kPtx) continue;  // of GPUs
    INFO(row.name);
    DumpOptions options;
    options.target = *FindTarget("native");
    options.stage = row.stage;
    options.verify = true;
    StatusOr<std::string> text = DumpStage(Branches(), options);
    INFO(text.status());
    REQUIRE(text.ok());
    CHECK(!text->empty());
  }
  DumpOptions fused;
  fused.target = *FindTarget("native");
  fused.stage = Stage::kFused;
  StatusOr<std::string> text = DumpStage(Branches(), fused);
  REQUIRE(text.ok());
  CHECK_THAT(*text, Catch::Matchers::Contains("last: loop (n, x, last.iterations, y) -> (last)"));
}

TEST_CASE("a loop whose values grow is written out where its trip count is known",
          "[compiler][control_flow]") {
  std::string text = R"(graph growing {
  input x: f32[2]
  constant n: i64[]
  y, s = Loop(n, _, x) {carried: 1, scan_output_axes: [0]} : f32[], f32[]
    body step {
      input i: i64[]
      input c: bool[]
      input x: f32[]
      constant yes: bool[]
      constant axis: i64[1]
      constant one: i64[]
      from = Unsqueeze(i, axis) : i64[]
      i2 = Add(i, one) : i64[]
      to = Unsqueeze(i2, axis) : i64[]
      part = Slice(x, from, to) : f32[]
      next = Concat(x, part) {axis: 0} : f32[]
      return yes, next, part
    }
  return y, s
}
)";
  Graph graph = ParsedGraph(text, {{"n", Scalar(kInt64, 3)},
                                   {"yes", Scalar(kBool, 1)},
                                   {"one", Scalar(kInt64, 1)},
                                   {"axis", MakeZeroTensor(kInt64, {1})}});
  CheckRuns(graph, {Floats({2}, {1, 5})}, {{1, 5, 1, 5, 1}, {1, 5, 1}});
}

std::string InferenceError(const Graph& graph) {
  Graph copy = graph;
  Status status = InferShapes(copy);
  return status.ok() ? "no error" : Message(status);
}

TEST_CASE("what a plan cannot hold is refused with the values' names", "[compiler][control_flow]") {
  using Catch::Matchers::Contains;
  std::string growing = R"(graph growing {
  input n: i64[]
  input x: f32[2]
  y = Loop(n, _, x) {carried: 1} : f32[]
    body step {
      input i: i64[]
      input c: bool[]
      input x: f32[]
      constant yes: bool[]
      next = Concat(x, x) {axis: 0} : f32[]
      return yes, next
    }
  return y
}
)";
  std::vector<std::pair<std::string, Tensor>> constants = {{"yes", Scalar(kBool, 1)}};
  CHECK_THAT(InferenceError(ParsedGraph(growing, constants)),
             Contains("'x' begins as f32[2] and becomes f32[4]"));
  std::string unknown = growing;
  unknown.replace(unknown.find("{carried: 1}"), 12, "{carried: 0, scan_output_axes: [0]}");
  CHECK_THAT(InferenceError(ParsedGraph(unknown, constants)),
             Contains("'y' stacks a slice for each iteration, and the trip count is computed from "
                      "'n' at run time; expected a constant"));
  std::string endless = growing;
  endless.replace(endless.find("Loop(n, _, x)"), 13, "Loop(_, _, x)");
  endless.replace(endless.find("Concat(x, x) {axis: 0}"), 22, "Add(x, x)");
  CHECK_THAT(InferenceError(ParsedGraph(endless, constants)), Contains("never ends"));
}

}  // namespace
}  // namespace tcc
