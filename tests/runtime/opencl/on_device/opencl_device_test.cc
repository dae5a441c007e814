#include "runtime/opencl/opencl_device.h"

#include <catch2/catch.hpp>
#include <thread>

#include "runtime/opencl/opencl_queue.h"
#include "tests/runtime/opencl/opencl_artefacts.h"

// Kernels written by hand on the OpenCL device of this machine.
namespace tcc::test {
namespace {

Executor Made(Artefact artefact) {
  StatusOr<Executor> executor = MakeExecutor(std::move(artefact));
  INFO(Message(executor.status()));
  REQUIRE(executor.ok());
  return *std::move(executor);
}

std::vector<double> Ran(Executor& executor, const std::vector<Tensor>& inputs) {
  StatusOr<std::vector<double>> values = RunOne(executor, inputs);
  INFO(Message(values.status()));
  REQUIRE(values.ok());
  return *values;
}

std::vector<double> Repeated(int64_t n, double value) {
  return std::vector<double>(static_cast<size_t>(n), value);
}

TEST_CASE("weights, workspaces, local memory and barriers serve kernels on an OpenCL device",
          "[runtime][opencl]") {
  Executor executor = Made(ScaleReverseArtefact());
  // The second run is of memory that the first one left; the executor records the third.
  for (int run = 0; run < 3; ++run) {
    CHECK(Ran(executor, {Floats({4}, {10, 20, 30, 40})}) == std::vector<double>{56, 42, 28, 14});
  }
  int calls = 0;
  executor.set_call_hook([&](const EndedCall& call) {
    CHECK(call.seconds >= 0);
    CHECK(call.seconds < 60);
    ++calls;
  });
  CHECK(Ran(executor, {Floats({4}, {0, 0, 0, 0})}) == std::vector<double>{16, 12, 8, 4});
  CHECK(calls == 3);
}

TEST_CASE("a grid follows free sizes on an OpenCL device, an empty one included",
          "[runtime][opencl]") {
  Executor executor = Made(DynamicArtefact());
  for (int64_t n : {2, 0, 300, 128, 2}) {
    std::vector<double> expected;
    for (int64_t i = 0; i < n; ++i) expected.push_back(1 + static_cast<double>(i));
    CHECK(Ran(executor, {Floats({n}, Repeated(n, 1))}) == expected);
  }
}

TEST_CASE("blocks that hand each other parts find their tickets at zero on an OpenCL device",
          "[runtime][opencl]") {
  Executor executor = Made(PartsArtefact());
  for (int64_t n : {5, 5, 1000, 1000, 300}) {
    CHECK(Ran(executor, {Floats({n}, Repeated(n, 2))}) == Repeated(n, 6));
  }
}

TEST_CASE("the host reads the conditions of a loop on an OpenCL device", "[runtime][opencl]") {
  Executor executor = Made(LoopArtefact());
  Tensor m = MakeZeroTensor(kInt64, {}), go = MakeZeroTensor(kBool, {});
  SetElementInt(m, 0, 2);
  SetElementInt(go, 0, 1);
  CHECK(Ran(executor, {Floats({1}, {5}), m, go}) == std::vector<double>{21});
  SetElementInt(m, 0, 100);
  CHECK(Ran(executor, {Floats({1}, {300}), m, go}) == std::vector<double>{1201});
}

TEST_CASE("parts of one buffer are copied onto each other on an OpenCL device",
          "[runtime][opencl]") {
  Executor executor = Made(ShiftArtefact());
  CHECK(Ran(executor, {Floats({8}, {1, 2, 3, 4, 5, 6, 7, 8})}) ==
        std::vector<double>{2, 3, 4, 5, 6, 7, 6, 7});
}

TEST_CASE("two queues of one program run at once on an OpenCL device", "[runtime][opencl]") {
  StatusOr<Module> module = Module::FromArtefact(DynamicArtefact(), {.pool = {}, .threads = 1});
  REQUIRE(module.ok());
  // Checks are left to this thread: Catch's are not for several.
  auto count_wrong = [&](int64_t n, int* wrong) {
    Executor executor(*module);
    for (int run = 0; run < 200; ++run) {
      std::vector<double> expected;
      for (int64_t i = 0; i < n; ++i) expected.push_back(static_cast<double>(run + i));
      StatusOr<std::vector<double>> got = RunOne(executor, {Floats({n}, Repeated(n, run))});
      if (!got.ok() || *got != expected) ++*wrong;
    }
  };
  int wrong[2] = {0, 0};
  std::thread other(count_wrong, 1000, &wrong[1]);
  count_wrong(300, &wrong[0]);
  other.join();
  CHECK(wrong[0] == 0);
  CHECK(wrong[1] == 0);
}

TEST_CASE("text that does not compile is refused with the log of the device's compiler",
          "[runtime][opencl]") {
  const std::string text = "__kernel void broken(long n) { unknown_function(n) }";
  Artefact artefact = Changed(DynamicArtefact(), [&](GpuProgram& program) {
    program.images[0].code.assign(text.begin(), text.end());
  });
  const Status status = MakeExecutor(std::move(artefact)).status();
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(
      Message(status).starts_with("building image 0 of the kernels: clBuildProgram failed with "
                                  "CL_BUILD_PROGRAM_FAILURE (-11): "));
  CHECK(Message(status).find("unknown_function") != std::string::npos);
}

TEST_CASE("a launch that does not fit its kernel's text is refused before it runs",
          "[runtime][opencl]") {
  auto refusal = [](const std::function<void(GpuLaunch&)>& change) {
    Artefact artefact = Changed(
        DynamicArtefact(), [&](GpuProgram& program) { change(program.kernels[0].launches[0]); });
    return Message(MakeExecutor(std::move(artefact)).status());
  };
  CHECK(refusal([](GpuLaunch& launch) { launch.symbol = "count_down"; }) ==
        "kernel 'count_down': clCreateKernel failed with CL_INVALID_KERNEL_NAME (-46)");
  CHECK(refusal([](GpuLaunch& launch) { launch.arguments.pop_back(); }) ==
        "kernel 'count_up': its text has 5 arguments; its launch passes 4");
  CHECK(refusal([](GpuLaunch& launch) { launch.block = {64, 2, 1}; }) ==
        "kernel 'count_up': its text is for blocks of 128 x 1 x 1 threads; its launch has 64 x 2 x "
        "1");
  CHECK(
      refusal([](GpuLaunch& launch) {
        launch.dynamic_shared_bytes = 1 << 29;
      }).starts_with("kernel 'count_up': a block needs 536870912 bytes of local memory; device "));
  CHECK(refusal([](GpuLaunch& launch) {
          launch.block = {1024, 64, 1};
        }).starts_with("kernel 'count_up': a block has 65536 threads; device "));
}

TEST_CASE("memory that a device does not have is refused by name", "[runtime][opencl]") {
  Artefact artefact = DynamicArtefact();
  artefact.plan.arena_bytes = int64_t{1} << 50;
  Executor executor = Made(std::move(artefact));
  const Status status = RunOne(executor, {Floats({2}, {1, 2})}).status();
  CHECK(status.code() == absl::StatusCode::kResourceExhausted);
  CHECK(Message(status).find("for the activations, which takes 1125899906842624 bytes; one buffer "
                             "may have ") != std::string::npos);
}

TEST_CASE("a caller's stream and memory are refused by an OpenCL device", "[runtime][opencl]") {
  Executor executor = Made(DynamicArtefact());
  const Tensor x = Floats({2}, {1, 2}), y = x;
  int stream = 0;
  const Status status = executor.Enqueue({&x, 1}, {&y, 1}, &stream);
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(Message(status).find("run in a queue of their own, not in a stream of the caller's") !=
        std::string::npos);
  CHECK(Ran(executor, {x}) == std::vector<double>{1, 3});
}

}  // namespace
}  // namespace tcc::test
