#include "runtime/cuda/cuda_timing.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "codegen_cuda/emulator/driver.h"
#include "tests/codegen_cuda/emulator/cuda_artefacts.h"

namespace tcc::test {
namespace {

TEST_CASE("a kernel is timed as a graph of launches over rotated buffers",
          "[codegen_cuda][cuda_timing]") {
  LoadOptions options{.pool = {}, .threads = 1, .devices = EmulatedDevices()};
  StatusOr<Module> module = Module::FromArtefact(ScaleReverseArtefact(), options);
  REQUIRE(module.ok());
  // The emulated L2 cache has 4 MiB: three sets of 3 MiB are more than twice that.
  const std::vector<uint8_t> bytes(1 << 20);
  const std::vector<std::span<const uint8_t>> contents = {bytes, bytes, bytes};
  const int64_t shapes[] = {512};
  const CudaTimingOptions few{.launches = 7, .graph_seconds = 0, .replays = 2, .blocks = 3};
  for (CudaCache cache : {CudaCache::kCold, CudaCache::kWarm}) {
    const int sets = cache == CudaCache::kCold ? 3 : 1;
    emulator::RecordDriverCalls();
    StatusOr<CudaTime> time = TimeCudaKernel(*module, 0, contents, shapes, cache, few);
    INFO(Message(time.status()));
    REQUIRE(time.ok());
    CHECK(time->launches == 7);
    CHECK(time->min_seconds > 0);
    CHECK(time->median_seconds >= time->min_seconds);
    const std::vector<std::string> calls = emulator::RecordedDriverCalls();
    CHECK(std::ranges::count(calls, "cuMemAllocFromPoolAsync") == 3 * sets);
    // Four to see how long it takes, one on each other set, those of the graph.
    CHECK(std::ranges::count(calls, "cuLaunchKernel") == 4 + (sets - 1) + 7);
    CHECK(std::ranges::count(calls, "cuGraphLaunch") == (1 + 2) * 3);
  }
  CHECK(Message(TimeCudaKernel(*module, 0, {}, shapes, CudaCache::kWarm, few).status()) ==
        "the plan passes 0 buffers and 1 shapes; the kernel takes 3 and 1");
}

TEST_CASE("work that cannot be captured is timed launch by launch, and the reason is told",
          "[codegen_cuda][cuda_timing]") {
  StatusOr<std::shared_ptr<const CudaContext>> context =
      CudaContext::Open(emulator::EmulatedDriver(), emulator::EmulatedOrdinal(kSm));
  REQUIRE(context.ok());
  const CudaScope scope(**context);
  StatusOr<std::unique_ptr<CudaTimer>> timer = CudaTimer::Make(*context);
  REQUIRE(timer.ok());
  // A stream that is captured cannot be waited for.
  std::vector<size_t> sets;
  const CudaWork waits = [&](size_t set) {
    sets.push_back(set);
    return (*timer)->Finish();
  };
  const CudaTimingOptions few{.launches = 3, .graph_seconds = 0, .replays = 1, .blocks = 1};
  StatusOr<std::vector<CudaTime>> times = (*timer)->Time({&waits, 1}, 2, few);
  INFO(Message(times.status()));
  REQUIRE(times.ok());
  CHECK(times->front().graph.message().find("cuStreamSynchronize") != std::string::npos);
  CHECK(times->front().median_seconds > 0);
  // The last are those of the block: one round before, one between the events.
  REQUIRE(sets.size() > 6);
  CHECK(std::vector<size_t>(sets.end() - 6, sets.end()) == std::vector<size_t>{0, 1, 0, 0, 1, 0});
}

}  // namespace
}  // namespace tcc::test
