#include <catch2/catch.hpp>

#include "runtime/executor/executor.h"
#include "tests/runtime/kernel_artefact.h"

// A loop whose trip count and slices are formulas over the inputs' dimensions.
namespace tcc {
namespace {

using Values = std::vector<double>;

// An odd number of steps leaves the state in the second of its two buffers.
constexpr int64_t kMostSteps = 7, kMostWidth = 8;

// Inputs, outputs and plan of
//
//   state = h; for t in 0..T: { state = state + 2 * x[t]; stack[T - 1 - t] = state }; last = state
//
// over h[N] and x[T, N].
Artefact SumArtefact() {
  Artefact artefact = KernelArtefact({"scale_add"});
  SizeExpr steps = SizeExpr::Variable(0), width = SizeExpr::Variable(1);
  SizeExpr row = SizeExpr::Variable(2), counter = SizeExpr::Variable(3);
  Metadata& metadata = artefact.metadata;
  metadata.shape_variables = {{"T", 0, kMostSteps, 4}, {"N", 1, kMostWidth, 4}};
  metadata.inputs = {{"h", kFloat32, {width}}, {"x", kFloat32, {steps, width}}};
  metadata.outputs = {{"stack", kFloat32, {steps, width}}, {"last", kFloat32, {width}}};
  metadata.kernels[0].shape_args = {{1, kMostWidth}};
  Plan& plan = artefact.plan;
  plan.shape_variables = 2;
  plan.lets = {Combine(SizeOp::kMul, width, 4)};
  plan.counters = 1;
  plan.arena_bytes = Combine(SizeOp::kMul, row, 2);
  SizeExpr all = Combine(SizeOp::kMul, steps, row);
  SizeExpr from_last = Combine(SizeOp::kSub, Combine(SizeOp::kSub, steps, 1), counter);
  plan.buffers = {
      {.kind = BufferKind::kInput, .index = 0, .offset = 0, .bytes = row},
      {.kind = BufferKind::kInput, .index = 1, .offset = 0, .bytes = all},
      {.kind = BufferKind::kOutput, .index = 0, .offset = 0, .bytes = all},
      {.kind = BufferKind::kOutput, .index = 1, .offset = 0, .bytes = row},
      {.kind = BufferKind::kArena, .offset = 0, .bytes = row},
      {.kind = BufferKind::kArena, .offset = row, .bytes = row},
      {.kind = BufferKind::kInput,
       .index = 1,
       .offset = Combine(SizeOp::kMul, counter, row),
       .bytes = row},
      {.kind = BufferKind::kOutput,
       .index = 0,
       .offset = Combine(SizeOp::kMul, from_last, row),
       .bytes = row},
  };
  PlanLoop loop{.counter = 0,
                .extent = steps,
                .trip_count = {},
                .condition = {},
                .swaps = {{4, 5}},
                .body = {{PlanCall{0, {4, 6, 5}, {width}}}, {PlanCopy{5, 7}}}};
  plan.body = {{PlanCopy{0, 4}}, {loop}, {PlanCopy{4, 3}}};
  return artefact;
}

Executor Loaded(Artefact artefact) {
  StatusOr<Module> module = Module::FromArtefact(std::move(artefact), {.pool = {}, .threads = 1});
  INFO(Message(module.status()));
  REQUIRE(module.ok());
  return Executor(*std::move(module));
}

// Runs the artefact and compares with the sums taken here.
void CheckSums(Executor& executor, int64_t steps, int64_t width) {
  INFO(steps << " steps of " << width);
  Tensor h = MakeZeroTensor(kFloat32, {width}), x = MakeZeroTensor(kFloat32, {steps, width});
  Values state, stack(static_cast<size_t>(steps * width));
  for (int64_t j = 0; j < width; ++j) {
    SetElement(h, j, static_cast<double>(j));
    state.push_back(static_cast<double>(j));
  }
  for (int64_t i = 0; i < steps * width; ++i) {
    SetElement(x, i, static_cast<double>(i * i));
    double& sum = state[static_cast<size_t>(i % width)];
    sum += 2 * static_cast<double>(i * i);
    stack[static_cast<size_t>((steps - 1 - i / width) * width + i % width)] = sum;
  }
  StatusOr<std::vector<Tensor>> outputs = executor.Run(std::vector{h, x});
  INFO(Message(outputs.status()));
  REQUIRE(outputs.ok());
  CHECK((*outputs)[0].shape == std::vector<int64_t>{steps, width});
  CHECK(ValuesOf((*outputs)[0]) == stack);
  CHECK(ValuesOf((*outputs)[1]) == state);
}

TEST_CASE("a loop runs as often as a dimension says, none included", "[runtime][executor]") {
  Executor executor = Loaded(SumArtefact());
  for (int64_t steps : {7, 0, 1, 7, 2}) {
    for (int64_t width : {1, 3, 8}) CheckSums(executor, steps, width);
  }
}

TEST_CASE("a loop's formulas keep through the bytes of a plan and read as text",
          "[runtime][plan]") {
  Artefact artefact = SumArtefact();
  REQUIRE(VerifyPlan(artefact.plan, artefact.metadata, 0) == OkStatus());
  StatusOr<Plan> plan = ParsePlan(PlanBytes(artefact.plan));
  REQUIRE(plan.ok());
  std::string text = ToString(*plan);
  CHECK(text == ToString(artefact.plan));
  CHECK_THAT(text, Catch::Matchers::Contains("loop c0 in 0..v0 swap b4 b5\n"));
  CHECK_THAT(text, Catch::Matchers::Contains("b7 = output 0 at ((v0 - 1) - v3) * v2, v2 bytes\n"));
  artefact.plan = *std::move(plan);
  Executor executor = Loaded(std::move(artefact));
  CheckSums(executor, 5, 4);
}

TEST_CASE("slices that a loop's formulas put outside their tensor are refused",
          "[runtime][executor][error]") {
  Artefact artefact = SumArtefact();
  std::get<PlanLoop>(artefact.plan.body[1].op).extent =
      Combine(SizeOp::kAdd, SizeExpr::Variable(0), 1);
  Executor executor = Loaded(std::move(artefact));
  Tensor h = MakeZeroTensor(kFloat32, {2}), x = MakeZeroTensor(kFloat32, {3, 2});
  CHECK(Message(executor.Run(std::vector{h, x}).status()) ==
        "plan: buffer 6: 8 bytes at 24 do not lie within 24 bytes");
}

}  // namespace
}  // namespace tcc
