#include <algorithm>
#include <catch2/catch.hpp>

#include "runtime/executor/executor.h"
#include "support/random.h"
#include "tests/compiler/run_compiled.h"
#include "tests/ir/parsed_graph.h"

// Loop over free dimensions, compiled once and run at several numbers.
namespace tcc {
namespace {

using Constants = std::vector<std::pair<std::string, Tensor>>;

Tensor Number(int64_t number) {
  Tensor tensor = MakeZeroTensor(kInt64, {});
  SetElementInt(tensor, 0, number);
  return tensor;
}

Tensor True() {
  Tensor tensor = MakeZeroTensor(kBool, {});
  SetElementInt(tensor, 0, 1);
  return tensor;
}

// The graph with these numbers for its free dimensions.
Graph Bound(Graph graph, const std::vector<int64_t>& numbers) {
  for (ValueId id : graph.inputs) {
    for (Expr& extent : graph.values[id].shape) {
      for (size_t i = 0; i < numbers.size(); ++i) {
        if (extent.same_as(graph.shape_vars[i])) extent = numbers[i];
      }
    }
  }
  graph.shape_vars.clear();
  return graph;
}

std::vector<Tensor> DrawInputs(const Graph& graph) {
  Random random(5);
  std::vector<Tensor> inputs;
  for (ValueId id : graph.inputs) {
    const Value& value = graph.value(id);
    Tensor tensor = MakeZeroTensor(value.dtype, *StaticShape(value));
    for (int64_t i = 0; i < *ElementCount(tensor.shape); ++i) {
      SetElement(tensor, i, static_cast<double>(random.Between(-20, 20)));
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

const PlanLoop& OneLoop(const Plan& plan) {
  const PlanLoop* loop = nullptr;
  ForEachInstruction(plan.body, [&](const Instruction& instruction) {
    const auto* found = std::get_if<PlanLoop>(&instruction.op);
    if (found == nullptr) return;
    CHECK(loop == nullptr);
    loop = found;
  });
  REQUIRE(loop != nullptr);
  return *loop;
}

// Compiles the graph, runs it at each of these numbers and compares with the bound graph,
// interpreted. The numbers are small integers, whose sums are exact. Returns the plan.
Plan CheckAtSizes(const Graph& graph, const std::vector<std::vector<int64_t>>& all,
                  const std::string& target) {
  INFO(target);
  Artefact artefact = Compiled(graph, target);
  Plan plan = artefact.plan;
  Executor executor(Loaded(std::move(artefact)));
  for (const std::vector<int64_t>& numbers : all) {
    INFO("at " << Catch::StringMaker<std::vector<int64_t>>::convert(numbers));
    Graph bound = Bound(graph, numbers);
    std::vector<Tensor> inputs = DrawInputs(bound);
    std::vector<Tensor> expected = Expected(bound, inputs);
    StatusOr<std::vector<Tensor>> got = executor.Run(inputs);
    INFO(got.status());
    REQUIRE(got.ok());
    for (size_t i = 0; i < expected.size(); ++i) {
      CHECK((*got)[i].shape == expected[i].shape);
      CHECK(std::ranges::equal((*got)[i].bytes, expected[i].bytes));
    }
  }
  return plan;
}

TEST_CASE("a loop runs as often as a formula over dimensions says", "[compiler][control_flow]") {
  Graph graph = ParsedGraph(R"(graph counted {
    dim T in 1..16 usual 6
    dim N in 1..8 usual 4
    input x: f32[T, N]
    input start: f32[N]
    constant one: i64[]
    constant first: i64[]
    dims = Shape(x) {end: 1, start: 0} : i64[1]
    all = Gather(dims, first) {axis: 0} : i64[]
    trips = Sub(all, one) : i64[]
    last, sums = Loop(trips, _, start, x, all) {carried: 1, scan_output_axes: [1]} : f32[], f32[]
      body step {
        input i: i64[]
        input c: bool[]
        input sum: f32[]
        input x: f32[]
        input all: i64[]
        constant yes: bool[]
        constant one: i64[]
        next = Add(i, one) : i64[]
        row = Gather(x, next) {axis: 0} : f32[]
        more = Add(sum, row) : f32[]
        return yes, more, more
      }
    return sums, last
  })",
                            {{"one", Number(1)}, {"first", Number(0)}, {"yes", True()}});
  for (const char* target : {"reference", "native"}) {
    Plan plan = CheckAtSizes(graph, {{6, 4}, {2, 1}, {1, 3}, {16, 8}}, target);
    INFO(ToString(plan));
    const PlanLoop& loop = OneLoop(plan);
    CHECK_FALSE(loop.trip_count);
    CHECK_FALSE(loop.extent.AsConstant());
  }
}

TEST_CASE("a scan of no slices leaves what it carries and stacks nothing",
          "[compiler][control_flow]") {
  Graph graph = ParsedGraph(R"(graph scanned {
    dim T in 0..16 usual 6
    dim N in 1..8 usual 4
    input x: f32[N, T]
    input y: f32[T, N]
    input start: f32[N]
    last, sums = Loop(_, _, start, x, y) {carried: 1, scan_input_axes: [1, 0], scan_input_directions: [0, 1], scan_output_axes: [0]} : f32[], f32[]
      body step {
        input i: i64[]
        input c: bool[]
        input sum: f32[]
        input column: f32[]
        input row: f32[]
        constant yes: bool[]
        both = Mul(column, row) : f32[]
        more = Add(sum, both) : f32[]
        return yes, more, both
      }
    return sums, last
  })",
                            {{"yes", True()}});
  for (const char* target : {"reference", "native"}) {
    Plan plan = CheckAtSizes(graph, {{6, 4}, {0, 4}, {1, 1}, {16, 8}}, target);
    CHECK(OneLoop(plan).extent == SizeExpr::Variable(1));
  }
}

}  // namespace
}  // namespace tcc
