#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>

#include "runtime/opencl/opencl_device.h"
#include "runtime/opencl/opencl_memory.h"
#include "tests/runtime/opencl/fake/open_fake.h"
#include "tests/runtime/opencl/opencl_artefacts.h"

// Messages about drivers, devices and programs that do not fit, and the cache of built programs.
namespace tcc::test {
namespace {

namespace fs = std::filesystem;

constexpr char kDevice[] = "device 0 (fake, OpenCL 1.2)";

Status Loaded(Artefact artefact) {
  return MakeExecutor(std::move(artefact)).status();
}

Status Loaded(const std::function<void(GpuProgram&)>& change) {
  return Loaded(Changed(ScaleReverseArtefact(), change));
}

TEST_CASE("a driver that is not there is asked for by name", "[runtime][opencl]") {
  REQUIRE(setenv("TCC_OPENCL_DRIVER", "/nowhere/libOpenCL.so", 1) == 0);
  Status status = Loaded(DynamicArtefact());
  CHECK(status.code() == absl::StatusCode::kUnavailable);
  CHECK(Message(status).starts_with(
      "/nowhere/libOpenCL.so cannot be loaded; looked in TCC_OPENCL_DRIVER and the linker's path; "
      "install an OpenCL driver (on Debian, for a CPU: ocl-icd-libopencl1 and pocl-opencl-icd) or "
      "set TCC_OPENCL_DRIVER ("));
  REQUIRE(setenv("TCC_OPENCL_DRIVER", "libm.so.6", 1) == 0);
  CHECK(Message(Loaded(DynamicArtefact())) ==
        "libm.so.6 has no clGetPlatformIDs; expected an OpenCL driver, 1.2 or newer");
  unsetenv("TCC_OPENCL_DRIVER");
}

TEST_CASE("TCC_OPENCL_DEVICE chooses among the devices of all platforms", "[runtime][opencl]") {
  OpenedFake fake;
  fake->platforms = 2;
  fake->devices = 3;
  StatusOr<OpenClDriver> driver = OpenOpenClDriver();
  REQUIRE(driver.ok());
  CHECK(ListOpenClDevices(*driver)->size() == 6);
  CHECK(Describe(FindOpenClDevice(*driver, 5).value()) == "device 5 (fake, OpenCL 1.2)");
  auto load = [](const char* chosen) {
    REQUIRE(setenv("TCC_OPENCL_DEVICE", chosen, 1) == 0);
    const Status status = Loaded(DynamicArtefact());
    unsetenv("TCC_OPENCL_DEVICE");
    return status;
  };
  CHECK(load("").ok());
  CHECK(load("5").ok());
  CHECK(load("6").code() == absl::StatusCode::kUnavailable);
  CHECK(Message(load("6")) == "there is no OpenCL device 6; the driver has 6");
  CHECK(load("two").code() == absl::StatusCode::kFailedPrecondition);
  CHECK(Message(load("two")) == "TCC_OPENCL_DEVICE is 'two'; expected the number of a device");
  fake->devices = 0;
  CHECK(Message(load("0")) == "there is no OpenCL device 0; the driver has 0");
  fake->platforms = 0;
  CHECK(Message(load("0")) == "there is no OpenCL device 0; the driver has 0");
}

TEST_CASE("every error of OpenCL has a name", "[runtime][opencl]") {
  auto name = [](OpenClResult result) { return Message(OpenClStatus(result, "clX", "x")); };
  CHECK(OpenClStatus(kOpenClSuccess, "clX", "x").ok());
  CHECK(name(-1) == "x: clX failed with CL_DEVICE_NOT_FOUND (-1)");
  CHECK(name(-19) == "x: clX failed with CL_KERNEL_ARG_INFO_NOT_AVAILABLE (-19)");
  CHECK(name(-20) == "x: clX failed with unknown (-20)");
  CHECK(name(-29) == "x: clX failed with unknown (-29)");
  CHECK(name(-30) == "x: clX failed with CL_INVALID_VALUE (-30)");
  CHECK(name(-72) == "x: clX failed with CL_MAX_SIZE_RESTRICTION_EXCEEDED (-72)");
  CHECK(name(-73) == "x: clX failed with unknown (-73)");
  CHECK(name(-1001) == "x: clX failed with CL_PLATFORM_NOT_FOUND_KHR (-1001)");
  CHECK(name(7) == "x: clX failed with unknown (7)");
  CHECK(name(INT32_MIN) == "x: clX failed with unknown (-2147483648)");
}

TEST_CASE("a device that is too small for a kernel is named with both numbers",
          "[runtime][opencl]") {
  OpenedFake fake;
  auto refusal = [&] {
    const Status status = Loaded(ScaleReverseArtefact());
    CHECK(status.code() == absl::StatusCode::kUnavailable);
    CHECK(fake->objects == 0);
    fake.Reset();
    return Message(status);
  };
  const std::string device = kDevice;
  fake->max_threads = 127;
  CHECK(refusal() == "kernel 'scale_add': a block has 128 threads; " + device + " allows 127");
  fake->max_threads_along = 100;
  CHECK(refusal() == "kernel 'scale_add': a block has 128 x 1 x 1 threads; " + device +
                         " allows 100 x 100 x 100");
  fake->local_bytes = 63;
  CHECK(refusal() ==
        "kernel 'take': a block needs 64 bytes of local memory; " + device + " has 63");
  fake->argument_bytes = 55;
  CHECK(refusal() == "kernel 'scale_add': its arguments take 56 bytes; " + device + " allows 55");
  fake->kernel_max_threads = 64;
  CHECK(refusal() == "kernel 'scale_add': a block has 128 threads; " + device +
                         " runs this kernel with at most 64");
  fake->version = "OpenCL 1.1 fake";
  CHECK(refusal() == "device 0 (fake, OpenCL 1.1) is too old; expected OpenCL 1.2 or newer");
  fake->max_allocation_bytes = 15;
  const Status status = Loaded(ScaleReverseArtefact());
  CHECK(status.code() == absl::StatusCode::kResourceExhausted);
  CHECK(
      Message(status).starts_with("no memory on device 0 (fake, OpenCL 1.2) for the weights, "
                                  "which takes "));
}

TEST_CASE("a program that is not OpenCL C, or not whole, is refused", "[runtime][opencl]") {
  OpenedFake fake;
  CHECK(Message(Loaded([](GpuProgram& program) {
          program.code = GpuCode::kCudaText;
          program.sm = 86;
        })) == "kernels section has code of kind 1; expected OpenCL C, 2");
  CHECK(Message(Loaded([](GpuProgram& program) { program.sm = 86; })) ==
        "kernels in OpenCL C are for arch sm_86; expected none");
  Artefact artefact = ScaleReverseArtefact();
  const std::vector<uint8_t> bytes(artefact.kernels.bytes.begin(), artefact.kernels.bytes.end());
  for (size_t size = 0; size < bytes.size(); ++size) {
    artefact.kernels = OwnBytes({bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size)});
    CHECK(Loaded(artefact).code() == absl::StatusCode::kInvalidArgument);
  }
  // The text is the driver's to judge, so a few damages of it do.
  const size_t text = HandText().size();
  for (size_t at = 0; at < bytes.size(); at += at > 16 && at < text ? 97 : 1) {
    std::vector<uint8_t> damaged = bytes;
    damaged[at] ^= 0x81;
    artefact.kernels = OwnBytes(std::move(damaged));
    (void)Loaded(artefact);
    REQUIRE(fake->objects == 0);
  }
  const std::string bad = "#error no";
  const Status status =
      Loaded([&](GpuProgram& program) { program.images[0].code.assign(bad.begin(), bad.end()); });
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(Message(status) ==
        "building image 0 of the kernels: clBuildProgram failed with CL_BUILD_PROGRAM_FAILURE "
        "(-11): line 1: an error");
}

TEST_CASE("programs are built with numbers rounded as OpenCL has them at best, no fast ones",
          "[runtime][opencl]") {
  OpenedFake fake;
  REQUIRE(Loaded(DynamicArtefact()).ok());
  CHECK(fake->options == "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt");
}

TEST_CASE("what a driver made of a text is kept for that text, device and driver",
          "[runtime][opencl]") {
  OpenedFake fake;
  auto compilations = [&](const Artefact& artefact) {
    fake->compilations = 0;
    CHECK(Loaded(artefact).ok());
    return fake->compilations;
  };
  const Artefact artefact = DynamicArtefact();
  CHECK(compilations(artefact) == 1);
  CHECK(compilations(artefact) == 0);
  CHECK(compilations(PartsArtefact()) == 0);  // the same text
  CHECK(compilations(Changed(
            artefact, [](GpuProgram& program) { program.images[0].code.push_back('\n'); })) == 1);
  fake->driver_version = "8";
  CHECK(compilations(artefact) == 1);
  fake->driver_version = "7";
  fake->version = "OpenCL 3.0 fake";
  CHECK(compilations(artefact) == 1);
  CHECK(compilations(artefact) == 0);
  CHECK(std::distance(fs::directory_iterator(fake.cache()), {}) == 4);
  fake->refuses_binaries = true;
  CHECK(compilations(artefact) == 1);
}

TEST_CASE("a kept program that is damaged is built anew", "[runtime][opencl]") {
  OpenedFake fake;
  REQUIRE(Loaded(DynamicArtefact()).ok());
  const fs::path path = fs::directory_iterator(fake.cache())->path();
  std::ifstream file(path, std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(file)), {});
  auto write = [&](const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; };
  auto is_built = [&] {
    fake->compilations = 0;
    REQUIRE(Loaded(DynamicArtefact()).ok());
    return fake->compilations == 1;
  };
  for (size_t size : {size_t{0}, size_t{5}, size_t{45}, content.size() - 1}) {
    write(content.substr(0, size));
    CHECK(is_built());
    CHECK_FALSE(is_built());
  }
  for (size_t at = 0; at < content.size(); at += 7) {
    std::string damaged = content;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    write(damaged);
    CHECK(is_built());
  }
  // A folder that cannot be made is done without.
  fs::remove_all(fake.cache());
  std::ofstream(fake.cache()) << "a file";
  CHECK(is_built());
  CHECK(is_built());
}

TEST_CASE("addresses lead to the buffers that they were made for, and no others",
          "[runtime][opencl]") {
  OpenedFake fake;
  StatusOr<OpenClDriver> driver = OpenOpenClDriver();
  REQUIRE(driver.ok());
  auto memory = std::make_shared<OpenClMemory>(OpenClContext::Open(*driver, 0).value());
  std::vector<OpenClBlock> blocks;
  for (int64_t bytes : {0, 1, 4095, 4096, 100000}) {
    blocks.push_back(OpenClBlock::Allocate(memory, bytes, "a test").value());
  }
  std::vector<OpenClBuffer> buffers;
  for (const OpenClBlock& block : blocks) {
    const int64_t bytes = block.bytes();
    CHECK(reinterpret_cast<uintptr_t>(block.data()) % 4096 == 0);
    const OpenClMemory::Place begin = memory->Find(block.data(), bytes).value();
    CHECK(begin.offset == 0);
    buffers.push_back(begin.buffer);
    // An empty tensor may lie at the end.
    const OpenClMemory::Place end = memory->Find(block.data() + bytes, 0).value();
    CHECK(end.buffer == begin.buffer);
    CHECK(end.offset == bytes);
    CHECK_FALSE(memory->Find(block.data(), bytes + 1).ok());
    CHECK_FALSE(memory->Find(block.data() + bytes, 1).ok());
    const StatusOr<OpenClMemory::Place> behind = memory->Find(block.data() + bytes + 1, 0);
    CHECK((!behind.ok() || behind->buffer != begin.buffer));
    CHECK_FALSE(memory->Find(block.data(), -1).ok());
  }
  CHECK(std::set<OpenClBuffer>(buffers.begin(), buffers.end()).size() == buffers.size());
  const int on_host = 0;
  CHECK(memory->Find(&on_host, 4).status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(Message(memory->Find(nullptr, 4).status()) ==
        "4 bytes at 0x0 are not in a buffer of device 0 (fake, OpenCL 1.2)");
  uint8_t* gone = blocks.back().data();
  blocks.pop_back();
  CHECK_FALSE(memory->Find(gone, 1).ok());
  blocks.clear();
  memory.reset();
  CHECK(fake->objects == 0);
}

}  // namespace
}  // namespace tcc::test
