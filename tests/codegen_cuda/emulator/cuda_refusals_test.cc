#include "runtime/cuda/cuda_device.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <functional>
#include <vector>

#include "codegen_cuda/emulator/driver.h"
#include "runtime/cuda/cuda_program.h"
#include "tests/codegen_cuda/emulator/cuda_artefacts.h"
#include "tests/codegen_cuda/kernels/kernels.h"

namespace tcc::test {
namespace {

using Values = std::vector<double>;

// Why an artefact with another program is not loaded.
Status Refusal(const std::function<void(Artefact&, GpuProgram&)>& change, int sm = kSm) {
  Artefact artefact = ScaleReverseArtefact();
  StatusOr<GpuProgram> program = ParseGpuProgram(artefact.kernels.bytes);
  REQUIRE(program.ok());
  change(artefact, *program);
  artefact.kernels = OwnBytes(GpuProgramBytes(*program));
  return MakeExecutor(std::move(artefact), sm).status();
}

TEST_CASE("kernels for another arch are refused with both named", "[codegen_cuda][cuda_device]") {
  Status status = Refusal([](Artefact&, GpuProgram&) {}, 75);
  CHECK(status.code() == absl::StatusCode::kUnavailable);
  CHECK(Message(status) ==
        "the kernels are for sm_86; device 0 (emulated sm_75, sm_75) does not run them; compile "
        "for target sm_75");
  // sm_86 runs what is for sm_80, but nothing that is for one arch alone.
  CHECK(Refusal([](Artefact& a, GpuProgram& p) { p.sm = 80, a.target = "sm_80"; }).ok());
  CHECK(Message(Refusal([](Artefact& a, GpuProgram& p) {
          p.sm = 80, a.target = "sm_80a";
        })).starts_with("the kernels are for sm_80a; device 2 (emulated sm_86, sm_86)"));
}

TEST_CASE("a target is named that exists and whose code the device runs",
          "[codegen_cuda][cuda_device]") {
  auto target_of = [](int sm) {
    CudaDeviceInfo device;
    device.sm = sm;
    StatusOr<Target> target = TargetOf(device);
    return target.ok() ? target->name : "none";
  };
  const std::vector<std::pair<int, std::string>> expected = {
      {70, "none"},  {72, "none"},   {75, "sm_75"},  {80, "sm_80"},  {86, "sm_86"}, {87, "sm_86"},
      {89, "sm_89"}, {90, "sm_90a"}, {100, "sm_89"}, {103, "sm_89"}, {120, "sm_89"}};
  for (const auto& [sm, name] : expected) {
    INFO("sm_" << sm);
    CHECK(target_of(sm) == name);
  }
}

// The emulated driver, but its devices say that they are of another arch.
template <int kArch>
std::shared_ptr<const Device> MakeOfArch(const DeviceOptions&) {
  CudaDriver driver = emulator::EmulatedDriver();
  driver.cuDeviceGetAttribute = [](int* value, int attribute,
                                   CudaDeviceHandle device) -> CudaResult {
    if (attribute == kCudaArchMajor || attribute == kCudaArchMinor) {
      *value = attribute == kCudaArchMajor ? kArch / 10 : kArch % 10;
      return kCudaSuccess;
    }
    return emulator::EmulatedDriver().cuDeviceGetAttribute(value, attribute, device);
  };
  return MakeCudaDevice(driver, 0);
}

TEST_CASE("a device that no target is named after is told which one to compile for",
          "[codegen_cuda][cuda_device]") {
  static constexpr DeviceRow kNewer[] = {{"cuda", MakeOfArch<120>}};
  static constexpr DeviceRow kBetween[] = {{"cuda", MakeOfArch<87>}};
  static constexpr DeviceRow kOlder[] = {{"cuda", MakeOfArch<70>}};
  auto refusal = [](std::span<const DeviceRow> devices) {
    Artefact artefact = ScaleReverseArtefact();
    StatusOr<GpuProgram> program = ParseGpuProgram(artefact.kernels.bytes);
    REQUIRE(program.ok());
    program->sm = 90;
    artefact.target = "sm_90a";
    artefact.kernels = OwnBytes(GpuProgramBytes(*program));
    LoadOptions options{.pool = {}, .threads = 1, .devices = devices};
    return Message(Module::FromArtefact(std::move(artefact), options).status());
  };
  CHECK_THAT(refusal(kNewer), Catch::EndsWith("sm_120) does not run them; compile for target "
                                              "sm_89"));
  CHECK_THAT(refusal(kBetween), Catch::EndsWith("sm_87) does not run them; compile for target "
                                                "sm_86"));
  CHECK_THAT(refusal(kOlder), Catch::EndsWith("sm_70) does not run them; no target has code for "
                                              "it"));
}

TEST_CASE("an image is chosen by generation, suffix and PTX", "[codegen_cuda][cuda_device]") {
  using enum CudaImageChoice;
  CHECK(ChooseImage(86, 86, false, false) == kCode);
  CHECK(ChooseImage(89, 86, false, true) == kCode);
  CHECK(ChooseImage(80, 86, false, true) == kNone);
  CHECK(ChooseImage(90, 86, false, true) == kPtx);
  CHECK(ChooseImage(90, 86, false, false) == kNone);
  CHECK(ChooseImage(90, 90, true, false) == kCode);
  CHECK(ChooseImage(100, 90, true, false) == kNone);
  CHECK(ChooseImage(103, 100, false, false) == kCode);
  CHECK(ChooseImage(120, 100, false, false) == kNone);
}

TEST_CASE("bad GPU kernels are refused by name", "[codegen_cuda][cuda_device]") {
  auto refusal = [](const std::function<void(GpuProgram&)>& change) {
    return Message(Refusal([&](Artefact&, GpuProgram& program) { change(program); }));
  };
  CHECK(refusal([](GpuProgram& p) { p.kernels[1].launches[0].symbol = "nothing"; }) ==
        "kernel 'nothing': cuModuleGetFunction failed with CUDA_ERROR_NOT_FOUND (500): the image "
        "has no such kernel");
  CHECK(refusal([](GpuProgram& p) { p.images[0].code = {'i', 'n', 't', ' ', '1', ';'}; })
            .starts_with("loading image 0 of the kernels: cuModuleLoadDataEx failed with "
                         "CUDA_ERROR_INVALID_IMAGE (200): "));
  CHECK(refusal([](GpuProgram& p) { p.images[0].code = {0x7f, 'E', 'L', 'F', 2}; })
            .starts_with("loading image 0 of the kernels: cuModuleLoadDataEx failed with "
                         "CUDA_ERROR_NO_BINARY_FOR_GPU (209)"));
  CHECK(refusal([](GpuProgram& p) { p.kernels[1].launches[1].dynamic_shared_bytes = 102400; }) ==
        "kernel 'take': a block needs 102400 bytes of shared memory; device 2 (emulated sm_86, "
        "sm_86) has 101376");
  CHECK(refusal([](GpuProgram& p) { p.kernels.pop_back(); }) ==
        "kernels section has 1 kernels; the metadata has 2");
}

TEST_CASE("a plan that calls a GPU kernel with too little is refused",
          "[codegen_cuda][cuda_device]") {
  Artefact artefact = ScaleReverseArtefact();
  artefact.plan.body = {{PlanCall{0, {0, 1}, {4}}}};
  Executor executor = Made(std::move(artefact));
  CHECK(Message(RunOne(executor, {Floats({4}, {})}).status()) ==
        "scale_add: the plan passes 2 buffers and 1 shapes; the kernel takes 3 and 1");
}

TEST_CASE("activations that a GPU has no room for say how much is free",
          "[codegen_cuda][cuda_device]") {
  Artefact artefact = ScaleReverseArtefact();
  artefact.plan.arena_bytes = int64_t{1} << 40;
  Executor executor = Made(std::move(artefact));
  Status status = RunOne(executor, {Floats({4}, {})}).status();
  CHECK(status.code() == absl::StatusCode::kResourceExhausted);
  CHECK(Message(status) ==
        "no memory on device 2 (emulated sm_86, sm_86) for the activations, which takes "
        "1099511627776 bytes; 4294967280 of its 4294967296 bytes are free: cuMemAllocFromPoolAsync "
        "failed with "
        "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
}

TEST_CASE("a kernel that fails on a GPU breaks its module, not the next one",
          "[codegen_cuda][cuda_device]") {
  const emulator::DriverObjects before = emulator::LiveDriverObjects();
  {
    Artefact artefact = ScaleReverseArtefact();
    artefact.plan.body = {{PlanCall{0, {0, 1, 2}, {1000}}}};
    Executor executor = Made(std::move(artefact));
    Status status = RunOne(executor, {Floats({4}, {})}).status();
    CHECK(status.code() == absl::StatusCode::kInternal);
    const std::string message = Message(status);
    INFO(message);
    CHECK(
        message.starts_with("scale_add: launching scale_add: cuLaunchKernel failed with "
                            "CUDA_ERROR_LAUNCH_FAILED (719): kernel 'scale_add': block (7, 0, 0)"));
    CHECK(message.find("x[896] is outside of its 4 elements") != std::string::npos);
    CHECK_FALSE(RunOne(executor, {Floats({4}, {})}).ok());
  }
  CHECK(emulator::LiveDriverObjects() == before);
  Executor executor = Made(ScaleReverseArtefact());
  CHECK(*RunOne(executor, {Floats({4}, {10, 20, 30, 40})}) == Values{56, 42, 28, 14});
}

TEST_CASE("a machine without a driver says where it was sought", "[codegen_cuda][cuda_device]") {
  REQUIRE(setenv("TCC_CUDA_DRIVER", "/nowhere/libcuda.so", 1) == 0);
  Status status = Module::FromArtefact(ScaleReverseArtefact(), {.pool = {}, .threads = 1}).status();
  CHECK(status.code() == absl::StatusCode::kUnavailable);
  CHECK(Message(status).starts_with(
      "/nowhere/libcuda.so cannot be loaded; looked in TCC_CUDA_DRIVER and the linker's path; "
      "install NVIDIA's driver or set TCC_CUDA_DRIVER ("));
  REQUIRE(setenv("TCC_CUDA_DRIVER", "libm.so.6", 1) == 0);
  status = Module::FromArtefact(ScaleReverseArtefact(), {.pool = {}, .threads = 1}).status();
  CHECK(Message(status) == "libm.so.6 has no cuInit; expected the CUDA driver, 11.4 or newer");
  unsetenv("TCC_CUDA_DRIVER");
}

TEST_CASE("the emulated driver is opened by its path, and TCC_CUDA_DEVICE chooses a device",
          "[codegen_cuda][cuda_device]") {
  REQUIRE(setenv("TCC_CUDA_DRIVER", TCC_EMULATED_CUDA, 1) == 0);
  CHECK(OpenCudaDriver()->takes_notes);
  auto load = [](int ordinal) {
    LoadOptions options{.pool = {}, .threads = 1};
    options.ordinal = ordinal;
    return Module::FromArtefact(ScaleReverseArtefact(), options);
  };
  StatusOr<Module> module = load(emulator::EmulatedOrdinal(kSm));
  INFO(Message(module.status()));
  REQUIRE(module.ok());
  Executor executor(*module);
  CHECK(*RunOne(executor, {Floats({4}, {10, 20, 30, 40})}) == Values{56, 42, 28, 14});
  CHECK(Message(load(77).status()) == "there is no CUDA device 77; the driver has 5");
  CHECK(Message(load(-1).status()).starts_with("the kernels are for sm_86; device 0 ("));
  REQUIRE(setenv("TCC_CUDA_DEVICE", "2", 1) == 0);
  CHECK(load(-1).ok());
  REQUIRE(setenv("TCC_CUDA_DEVICE", "two", 1) == 0);
  CHECK(Message(load(-1).status()) == "TCC_CUDA_DEVICE is 'two'; expected the number of a device");
  unsetenv("TCC_CUDA_DEVICE");
  unsetenv("TCC_CUDA_DRIVER");
}

}  // namespace
}  // namespace tcc::test
