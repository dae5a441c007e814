#include "runtime/cuda_timing.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "codegen_cuda/emulator/driver.h"
#include "tests/codegen_cuda/emulator/cuda_artefacts.h"

namespace tcc::test {
namespace {

TEST_CASE("a kernel is timed as a graph of launches over rotated buffers", "[cuda_timing]") {
  LoadOptions options{.pool = {}, .threads = 1, .devices = EmulatedDevices()};
  StatusOr<Module> module = Module::FromArtefact(ScaleReverseArtefact(), options);
  REQUIRE(module.ok());
  // The emulated L2 cache has 4 MiB: three sets of 3 MiB are more than twice that.
  const std::vector<uint8_t> bytes(1 << 20);
  const std::vector<std::span<const uint8_t>> contents = {bytes, bytes, bytes};
  const int64_t shapes[] = {512};
  CudaTimingOptions few{.launches = 7, .graph_seconds = 0, .replays = 2, .blocks = 3};
  for (bool cold : {true, false}) {
    few.cold = cold;
    emulator::RecordDriverCalls();
    StatusOr<CudaTiming> timing = TimeCudaKernel(*module, 0, contents, shapes, few);
    INFO(Message(timing.status()));
    REQUIRE(timing.ok());
    CHECK(timing->buffer_sets == (cold ? 3 : 1));
    CHECK(timing->launches == 7);
    CHECK(timing->min_seconds > 0);
    CHECK(timing->median_seconds >= timing->min_seconds);
    const std::vector<std::string> calls = emulator::RecordedDriverCalls();
    CHECK(std::ranges::count(calls, "cuLaunchKernel") == 2 + 7);
    CHECK(std::ranges::count(calls, "cuGraphLaunch") == 1 + 2 * 3);
  }
  CHECK(Message(TimeCudaKernel(*module, 0, {}, shapes, few).status()) ==
        "the plan passes 0 buffers and 1 shapes; the kernel takes 3 and 1");
}

}  // namespace
}  // namespace tcc::test
