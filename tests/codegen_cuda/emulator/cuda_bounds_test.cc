#include <catch2/catch.hpp>
#include <cmath>

#include "tests/codegen_cuda/emulator/cuda_artefacts.h"
#include "tests/codegen_cuda/kernels/kernels.h"

// What the emulated driver finds of accesses beyond a launch's buffers, and of elements that no
// kernel wrote.
namespace tcc::test {
namespace {

using Values = std::vector<double>;

TEST_CASE("an access beyond its tensor, into the arena's next one, is found",
          "[codegen_cuda][cuda_bounds]") {
  Artefact artefact = DynamicArtefact();
  const SizeExpr n = SizeExpr::Variable(0), one_more = Combine(SizeOp::kAdd, n, 1);
  Plan& plan = artefact.plan;
  plan.arena_bytes = 4096;
  plan.buffers.push_back({.kind = BufferKind::kArena, .offset = 1024, .bytes = 16});
  plan.buffers.push_back({.kind = BufferKind::kArena, .offset = 1040, .bytes = 16});
  plan.body = {{PlanCall{0, {0, 3}, {n}}}, {PlanCall{0, {3, 4}, {n}}}, {PlanCopy{4, 2}}};
  {
    Executor right = Made(artefact);
    for (int i = 0; i < 3; ++i) CHECK(*RunOne(right, {Floats({4}, {})}) == Values{0, 2, 4, 6});
  }
  // Of the module's own: it breaks.
  auto failure = [&] {
    Executor executor = Made(artefact);
    return Message(RunOne(executor, {Floats({4}, {})}).status());
  };
  const std::string in_count_up =
      "count_up: launching count_up: cuLaunchKernel failed with CUDA_ERROR_LAUNCH_FAILED (719): "
      "kernel 'count_up': block (0, 0, 0), thread (4, 0, 0), line 27: ";
  plan.body[1] = {PlanCall{0, {3, 4}, {one_more}}};
  CHECK(failure().starts_with(in_count_up + "x[4] is outside of its 4 elements"));
  // Both lie within the arena.
  plan.buffers[1].bytes = 1024;
  plan.body[1] = {PlanCall{0, {1, 3}, {one_more}}};
  CHECK(failure().starts_with(in_count_up + "y[4] is outside of its 4 elements"));
}

TEST_CASE("an element that the second run leaves unwritten does not keep the first run's value",
          "[codegen_cuda][cuda_bounds]") {
  // All 5 of 5, but only 3 of 4.
  SizeExpr count = Combine(SizeOp::kFloorDiv, SizeExpr::Variable(0), 5);
  count = Combine(SizeOp::kAdd, Combine(SizeOp::kMul, count, 2), 3);
  Artefact artefact = DynamicArtefact();
  artefact.plan.body = {{PlanCopy{0, 1}}, {PlanCall{0, {1, 2}, {count}}}};
  Executor executor = Made(std::move(artefact));
  CHECK(*RunOne(executor, {Floats({5}, {})}) == Values{0, 1, 2, 3, 4});
  for (int run = 0; run < 3; ++run) {
    StatusOr<Values> y = RunOne(executor, {Floats({4}, {})});
    REQUIRE(y.ok());
    CHECK((*y)[2] == 2);
    CHECK(std::isnan((*y)[3]));
  }
}

TEST_CASE("a part that another kernel wrote survives the kernel that writes the rest",
          "[codegen_cuda][cuda_bounds]") {
  Artefact artefact = DynamicArtefact();
  Plan& plan = artefact.plan;
  plan.arena_bytes = 16;
  plan.buffers[1].bytes = 16;
  plan.buffers.push_back({.kind = BufferKind::kArena, .offset = 8, .bytes = 8});
  plan.body = {{PlanCall{0, {0, 3}, {2}}}, {PlanCall{0, {0, 1}, {2}}}, {PlanCopy{1, 2}}};
  Executor executor = Made(std::move(artefact));
  for (double x : {10.0, 20.0, 30.0}) {
    CHECK(*RunOne(executor, {Floats({4}, {x, x, 0, 0})}) == Values{x, x + 1, x, x + 1});
  }
}

TEST_CASE("a write into a red zone that no check saw fails its launch",
          "[codegen_cuda][cuda_bounds]") {
  Artefact artefact = DynamicArtefact();
  StatusOr<GpuProgram> program = ParseGpuProgram(artefact.kernels.bytes);
  REQUIRE(program.ok());
  std::vector<uint8_t>& code = program->images[0].code;
  const std::string text = Replaced({code.begin(), code.end()}, "y[i] = x[i] + i;",
                                    "y.data[i == 3 ? 4 : i] = x[i] + i;");
  code = {text.begin(), text.end()};
  artefact.kernels = OwnBytes(GpuProgramBytes(*program));
  Executor executor = Made(std::move(artefact));
  CHECK(Message(RunOne(executor, {Floats({4}, {})}).status()) ==
        "count_up: launching count_up: cuLaunchKernel failed with CUDA_ERROR_LAUNCH_FAILED (719): "
        "kernel 'count_up': argument 'y': memory behind a buffer of 16 bytes was written to");
}

}  // namespace
}  // namespace tcc::test
