#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>

#include "codegen_cuda/emulator/driver.h"
#include "runtime/cuda/cuda_device.h"
#include "tests/codegen_cuda/emulator/cuda_artefacts.h"
#include "tests/codegen_cuda/kernels/kernels.h"

// Launches that begin while the one before them ends.
namespace tcc::test {
namespace {

using Calls = std::vector<std::string>;
using Values = std::vector<double>;

// The recorded calls that put work into a stream: launches and copies.
Calls Work() {
  Calls work;
  for (const std::string& call : emulator::RecordedDriverCalls()) {
    const bool is_work = call.starts_with("cuLaunch") || call.starts_with("cuMemcpy") ||
                         call == "cuGraphLaunch" || call == "cuEventRecord";
    if (is_work && call != "cuMemcpyHtoD_v2") work.push_back(call);
  }
  return work;
}

const Values kReversed = {56, 42, 28, 14};
const Calls kPlain = {"cuMemcpyHtoDAsync_v2", "cuLaunchKernel", "cuLaunchKernel",
                      "cuLaunchKernel",       "cuLaunchKernel", "cuMemcpyDtoDAsync_v2",
                      "cuMemcpyDtoHAsync_v2"};
const Calls kDependent = {"cuMemcpyHtoDAsync_v2", "cuLaunchKernel",   "cuLaunchKernelEx",
                          "cuLaunchKernelEx",     "cuLaunchKernelEx", "cuMemcpyDtoDAsync_v2",
                          "cuMemcpyDtoHAsync_v2"};

Calls WorkOfRun(Executor& executor) {
  emulator::RecordDriverCalls();
  CHECK(*RunOne(executor, {Floats({4}, {10, 20, 30, 40})}) == kReversed);
  return Work();
}

Executor MadeFor90(Artefact artefact) {
  StatusOr<Executor> executor = MakeExecutor(std::move(artefact), 90);
  INFO(Message(executor.status()));
  REQUIRE(executor.ok());
  return *std::move(executor);
}

// A driver whose cuLaunchKernelEx is missing, and one of CUDA 12.2.
std::shared_ptr<const Device> MakeWithoutEx(const DeviceOptions&) {
  CudaDriver driver = emulator::EmulatedDriver();
  driver.cuLaunchKernelEx = nullptr;
  return MakeCudaDevice(driver, emulator::EmulatedOrdinal(90));
}
std::shared_ptr<const Device> MakeOlder(const DeviceOptions&) {
  CudaDriver driver = emulator::EmulatedDriver();
  driver.cuDriverGetVersion = [](int* version) -> CudaResult {
    *version = 12020;
    return kCudaSuccess;
  };
  return MakeCudaDevice(driver, emulator::EmulatedOrdinal(90));
}

TEST_CASE("a launch may begin while the kernel before it ends, the first of a run may not",
          "[codegen_cuda][dependent_launch]") {
  Executor executor = MadeFor90(Waiting(ScaleReverseArtefact()));
  CHECK(WorkOfRun(executor) == kDependent);
  // The second run is recorded as it would be launched.
  Calls recorded = kDependent;
  recorded.insert(recorded.end() - 1, "cuGraphLaunch");
  CHECK(WorkOfRun(executor) == recorded);
  CHECK(WorkOfRun(executor) ==
        Calls{"cuMemcpyHtoDAsync_v2", "cuGraphLaunch", "cuMemcpyDtoHAsync_v2"});
  // Each call of a kernel is timed on its own; the second one has two launches.
  executor.set_call_hook([](const EndedCall&) {});
  CHECK(WorkOfRun(executor) ==
        Calls{"cuMemcpyHtoDAsync_v2", "cuEventRecord", "cuLaunchKernel", "cuEventRecord",
              "cuEventRecord", "cuLaunchKernel", "cuEventRecord", "cuEventRecord", "cuLaunchKernel",
              "cuLaunchKernelEx", "cuEventRecord", "cuMemcpyDtoDAsync_v2", "cuMemcpyDtoHAsync_v2"});
}

TEST_CASE("a launch after a copy waits for it", "[codegen_cuda][dependent_launch]") {
  Artefact artefact = Waiting(ScaleReverseArtefact());
  // The first result is copied, too.
  artefact.plan.buffers.push_back({.kind = BufferKind::kArena, .offset = 128, .bytes = 16});
  artefact.plan.body.insert(artefact.plan.body.begin() + 1, {PlanCopy{2, 5}});
  Executor executor = MadeFor90(std::move(artefact));
  Calls expected = kDependent;
  expected.insert(expected.begin() + 2, "cuMemcpyDtoDAsync_v2");
  expected[3] = "cuLaunchKernel";
  CHECK(WorkOfRun(executor) == expected);
}

TEST_CASE("kernels that do not wait themselves are launched when the one before has ended",
          "[codegen_cuda][dependent_launch]") {
  Executor older = Made(ScaleReverseArtefact());
  CHECK(WorkOfRun(older) == kPlain);
  Artefact artefact = Waiting(ScaleReverseArtefact());
  GpuProgram program = ParseGpuProgram(artefact.kernels.bytes).value();
  program.kernels[1].launches[0].waits = false;
  artefact.kernels = OwnBytes(GpuProgramBytes(program));
  Executor mixed = MadeFor90(std::move(artefact));
  Calls expected = kDependent;
  expected[3] = "cuLaunchKernel";
  CHECK(WorkOfRun(mixed) == expected);
}

TEST_CASE("with an older driver, or where it is switched off, launches do not overlap",
          "[codegen_cuda][dependent_launch]") {
  static constexpr DeviceRow kWithoutEx[] = {{"cuda", MakeWithoutEx}};
  static constexpr DeviceRow kOlder[] = {{"cuda", MakeOlder}};
  for (std::span<const DeviceRow> devices : {std::span(kWithoutEx), std::span(kOlder)}) {
    StatusOr<Module> module = Module::FromArtefact(Waiting(ScaleReverseArtefact()),
                                                   {.pool = {}, .threads = 1, .devices = devices});
    REQUIRE(module.ok());
    Executor executor(*module);
    CHECK(WorkOfRun(executor) == kPlain);
  }
  REQUIRE(setenv("TCC_CUDA_DEPENDENT_LAUNCH", "0", 1) == 0);
  Executor off = MadeFor90(Waiting(ScaleReverseArtefact()));
  CHECK(WorkOfRun(off) == kPlain);
  REQUIRE(setenv("TCC_CUDA_DEPENDENT_LAUNCH", "1", 1) == 0);
  Executor on = MadeFor90(Waiting(ScaleReverseArtefact()));
  CHECK(WorkOfRun(on) == kDependent);
  REQUIRE(setenv("TCC_CUDA_DEPENDENT_LAUNCH", "no", 1) == 0);
  CHECK(Message(MakeExecutor(Waiting(ScaleReverseArtefact()), 90).status()) ==
        "TCC_CUDA_DEPENDENT_LAUNCH is 'no'; expected 0 or 1");
  unsetenv("TCC_CUDA_DEPENDENT_LAUNCH");
}

// Adds a wait, in front of the kernel's statement or behind it.
Kernel Dependent(std::string_view statement) {
  Kernel kernel = VectorAdd();
  kernel.dependent = true;
  kernel.text =
      Replaced(kernel.text, "  if (i < count) {\n    z[i] = x[i] + y[i];\n  }\n", statement);
  return kernel;
}

TEST_CASE("a dependent launch that accesses a buffer before it has waited is named",
          "[codegen_cuda][dependent_launch]") {
  std::vector<float> output;
  const std::string add = "if (i < count) z[i] = x[i] + y[i];\n";
  const std::string wait = "tcc_wait_for_launch_before();\n";
  REQUIRE(Run(Dependent(wait + add), &output).ok());
  CHECK(output == VectorAdd().expected);
  auto refusal = [&](const std::string& statement) {
    return Message(Run(Dependent(statement), &output));
  };
  const std::string where = "kernel 'add': block (0, 0, 0), thread (0, 0, 0), ";
  const std::string early =
      " is accessed without waiting for the launch before, which may write it";
  CHECK(refusal("const float early = x[i];\n" + wait + "if (i < count) z[i] = early + y[i];\n") ==
        where + "line 6: x[0]" + early + "; the line is: const float early = x[i];");
  CHECK(refusal("if (i == 0) z[i] = 0.0f;\n" + wait + add).starts_with(where + "line 6: z[0]"));
  CHECK(refusal("TCC_SHARED(float, s, 256);\ntcc_async_copy<1>(s, i % 256, y, 0);\n" + wait + add)
            .starts_with(where + "line 7: y[0]" + early));
  // A thread that waits does not wait for the others.
  CHECK(refusal("if (i == 0) " + wait + add) ==
        "kernel 'add': block (0, 0, 0), thread (1, 0, 0), line 7: x[1]" + early +
            "; the line is: if (i < count) z[i] = x[i] + y[i];");
  CHECK(refusal("if (i < count) {\n" + wait + add + "}\n") ==
        "kernel 'add': block (3, 0, 0), thread (232, 0, 0) ends without waiting for the launch "
        "before");
}

}  // namespace
}  // namespace tcc::test
