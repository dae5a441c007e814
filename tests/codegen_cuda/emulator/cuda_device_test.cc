#include "runtime/cuda/cuda_device.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <thread>

#include "codegen_cuda/emulator/driver.h"
#include "runtime/cuda/cuda_program.h"
#include "tests/codegen_cuda/emulator/cuda_artefacts.h"
#include "tests/codegen_cuda/kernels/kernels.h"

namespace tcc::test {
namespace {

using Values = std::vector<double>;

// How often the driver was called since RecordDriverCalls.
int64_t Calls(const std::string& name) {
  return std::ranges::count(emulator::RecordedDriverCalls(), name);
}

TEST_CASE(
    "an artefact for a GPU runs through the driver and is launched as a graph from the third "
    "run on",
    "[codegen_cuda][cuda_device]") {
  {
    Executor executor = Made(ScaleReverseArtefact());
    for (int run = 0; run < 4; ++run) {
      emulator::RecordDriverCalls();
      const double shift = 100.0 * run;
      CHECK(*RunOne(executor, {Floats({4}, {10 + shift, 20, 30, 40})}) ==
            Values{56, 42, 28, 14 + shift});
      INFO("run " << run);
      CHECK(Calls("cuLaunchKernel") == (run < 2 ? 4 : 0));
      CHECK(Calls("cuStreamBeginCapture_v2") == (run == 1 ? 1 : 0));
      CHECK(Calls("cuGraphLaunch") == (run < 1 ? 0 : 1));
      CHECK(Calls("cuMemAllocFromPoolAsync") == (run < 1 ? 4 : 0));
      CHECK(Calls("cuMemcpyHtoD_v2") == 0);
    }
  }
  emulator::DriverObjects none;
  CHECK(emulator::LiveDriverObjects() == none);
}

TEST_CASE("a GPU model with a free dimension runs at every size, none included",
          "[codegen_cuda][cuda_device]") {
  Executor executor = Made(DynamicArtefact());
  for (int64_t n : {3, 4096, 4096, 4096, 0, 0, 129, 128, 3, 3, 3, 3}) {
    Values x(static_cast<size_t>(n)), y(x);
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<double>(7 * i % 31);
      y[i] = x[i] + static_cast<double>(i);
    }
    INFO("N = " << n);
    StatusOr<Values> got = RunOne(executor, {Floats({n}, x)});
    INFO(Message(got.status()));
    REQUIRE(got.ok());
    CHECK(*got == y);
  }
  // The recordings of 0 and 3 are left; 129 and 128 were never recorded, 4096 was forgotten.
  CHECK(emulator::LiveDriverObjects().graph_execs == 2);
}

TEST_CASE("tickets are cleared when their memory grows and stay zero from run to run",
          "[codegen_cuda][cuda_device]") {
  Executor executor = Made(PartsArtefact());
  struct Run {
    int64_t n, clears, replays;
  };
  for (auto [n, clears, replays] :
       {Run{3, 1, 0}, Run{3, 0, 1}, Run{3, 0, 1}, Run{300, 1, 0}, Run{300, 0, 1}, Run{300, 0, 1},
        Run{129, 0, 0}, Run{4096, 1, 0}, Run{0, 0, 0}, Run{4096, 0, 1}, Run{3, 0, 0}}) {
    emulator::RecordDriverCalls();
    StatusOr<Values> y = RunOne(executor, {Floats({n}, Values(static_cast<size_t>(n), 2))});
    INFO("N = " << n << ": " << y.status());
    REQUIRE(y.ok());
    CHECK(*y == Values(static_cast<size_t>(n), 6));
    CHECK(Calls("cuMemsetD8Async") == clears);
    CHECK(Calls("cuGraphLaunch") == replays);
  }
}

// The streams of launches, copies of inputs and memory that is given back, in order.
std::vector<std::pair<std::string, CudaStreamHandle>> used_streams;

std::shared_ptr<const Device> MakeWatched(const DeviceOptions&) {
  CudaDriver driver = emulator::EmulatedDriver();
  driver.cuMemcpyHtoDAsync_v2 = [](CudaAddress to, const void* from, size_t bytes,
                                   CudaStreamHandle stream) -> CudaResult {
    used_streams.emplace_back("upload", stream);
    return emulator::EmulatedDriver().cuMemcpyHtoDAsync_v2(to, from, bytes, stream);
  };
  driver.cuMemAllocFromPoolAsync = [](CudaAddress* memory, size_t bytes, CudaPoolHandle pool,
                                      CudaStreamHandle stream) -> CudaResult {
    used_streams.emplace_back("take", stream);
    return emulator::EmulatedDriver().cuMemAllocFromPoolAsync(memory, bytes, pool, stream);
  };
  driver.cuMemFreeAsync = [](CudaAddress memory, CudaStreamHandle stream) -> CudaResult {
    used_streams.emplace_back("give back", stream);
    return emulator::EmulatedDriver().cuMemFreeAsync(memory, stream);
  };
  return MakeCudaDevice(driver, emulator::EmulatedOrdinal(kSm));
}

TEST_CASE("memory that grows is taken from a pool in the order of the stream, without waiting",
          "[codegen_cuda][cuda_device]") {
  static constexpr DeviceRow kWatched[] = {{"cuda", MakeWatched}};
  used_streams.clear();
  {
    StatusOr<Module> module =
        Module::FromArtefact(DynamicArtefact(), {.pool = {}, .threads = 1, .devices = kWatched});
    REQUIRE(module.ok());
    Executor executor(*module);
    for (int64_t n : {2, 300, 300, 4096, 2}) {
      emulator::RecordDriverCalls();
      StatusOr<Values> y = RunOne(executor, {Floats({n}, Values(static_cast<size_t>(n), 1))});
      REQUIRE(y.ok());
      CHECK(y->back() == static_cast<double>(n));
      // For the results alone.
      CHECK(Calls("cuStreamSynchronize") == 1);
      CHECK(Calls("cuMemAlloc_v2") + Calls("cuMemFree_v2") == 0);
    }
    CHECK(emulator::LiveDriverObjects().pools == 1);
  }
  CHECK(emulator::LiveDriverObjects() == emulator::DriverObjects());
  auto count = [](const std::string& what) {
    return std::ranges::count_if(used_streams, [&](const auto& use) { return use.first == what; });
  };
  // Arena, input and output; two of the sizes are larger than those before.
  CHECK(count("take") == 9);
  CHECK(count("give back") == 6);
  for (const auto& [what, stream] : used_streams) CHECK(stream == used_streams[0].second);
}

TEST_CASE("the latest four shapes have a recording each, which memory that moves drops",
          "[codegen_cuda][cuda_device]") {
  Executor executor = Made(DynamicArtefact());
  // Returns whether the run was recorded or replayed, and whether it was recorded.
  auto run = [&](int64_t n) {
    emulator::RecordDriverCalls();
    StatusOr<Values> y = RunOne(executor, {Floats({n}, Values(static_cast<size_t>(n), 1))});
    INFO(y.status());
    REQUIRE(y.ok());
    CHECK(y->size() == static_cast<size_t>(n));
    CHECK(y->back() == static_cast<double>(n));
    return std::pair(Calls("cuGraphLaunch") == 1, Calls("cuStreamBeginCapture_v2") == 1);
  };
  constexpr std::pair kPlain(false, false), kRecorded(true, true), kReplayed(true, false);
  for (int64_t n : {300, 2, 3, 5}) CHECK(run(n) == kPlain);
  for (int64_t n : {5, 3, 2, 300}) CHECK(run(n) == kRecorded);
  for (int64_t n : {3, 2, 300, 3}) CHECK(run(n) == kReplayed);
  // The one of 5 goes.
  CHECK(run(7) == kPlain);
  CHECK(run(2) == kReplayed);
  CHECK(run(7) == kRecorded);
  CHECK(run(5) == kPlain);
  CHECK(run(7) == kReplayed);
  // Memory grows.
  CHECK(run(4096) == kPlain);
  CHECK(run(4096) == kRecorded);
  CHECK(run(7) != kReplayed);
}

// The emulated driver, but its devices have no memory pools.
std::shared_ptr<const Device> MakeWithoutPools(const DeviceOptions&) {
  CudaDriver driver = emulator::EmulatedDriver();
  driver.cuDeviceGetAttribute = [](int* value, int attribute,
                                   CudaDeviceHandle device) -> CudaResult {
    *value = 0;
    if (attribute == kCudaMemoryPools) return kCudaSuccess;
    return emulator::EmulatedDriver().cuDeviceGetAttribute(value, attribute, device);
  };
  return MakeCudaDevice(driver, emulator::EmulatedOrdinal(kSm));
}

TEST_CASE("on a device without memory pools runs go through the device's own memory",
          "[codegen_cuda][cuda_device]") {
  static constexpr DeviceRow kPlain[] = {{"cuda", MakeWithoutPools}};
  emulator::RecordDriverCalls();
  {
    StatusOr<Module> module =
        Module::FromArtefact(DynamicArtefact(), {.pool = {}, .threads = 1, .devices = kPlain});
    REQUIRE(module.ok());
    Executor executor(*module);
    for (int64_t n : {2, 300, 2}) {
      StatusOr<Values> y = RunOne(executor, {Floats({n}, Values(static_cast<size_t>(n), 1))});
      REQUIRE(y.ok());
      CHECK(y->back() == static_cast<double>(n));
    }
  }
  CHECK(emulator::LiveDriverObjects() == emulator::DriverObjects());
  const std::vector<std::string> calls = emulator::RecordedDriverCalls();
  CHECK(std::ranges::none_of(calls, [](const std::string& call) {
    return call.starts_with("cuMemPool") || call.ends_with("Async") && call.starts_with("cuMemA");
  }));
}

TEST_CASE("loops on a GPU read their trip count and condition back",
          "[codegen_cuda][cuda_device]") {
  Executor executor = Made(LoopArtefact());
  for (int64_t most : {-3, 0, 1, 3, 12, 100}) {
    for (double start : {0.0, 7.0, 900.0}) {
      for (bool goes_on : {true, false}) {
        Tensor m = MakeZeroTensor(kInt64, {}), go = MakeZeroTensor(kBool, {});
        SetElementInt(m, 0, most);
        SetElementInt(go, 0, goes_on);
        double state = start;
        bool on = goes_on;
        for (int64_t i = 0; i < std::min<int64_t>(12, most) && on; ++i) {
          state = 2 * state + static_cast<double>(i);
          on = state < 1000;
        }
        INFO("at most " << most << " from " << start << ", " << goes_on);
        CHECK(*RunOne(executor, {Floats({1}, {start}), m, go}) == Values{state});
      }
    }
  }
}

TEST_CASE("a copy onto an overlapping buffer goes through memory apart",
          "[codegen_cuda][cuda_device]") {
  Artefact artefact = DynamicArtefact();
  // y[i] = x[i - 1] for i >= 1: the arena's values move up by one before they are counted.
  SizeExpr n = SizeExpr::Variable(0), bytes = Combine(SizeOp::kMul, n, 4);
  artefact.plan.arena_bytes = Combine(SizeOp::kAdd, bytes, 4);
  artefact.plan.buffers.push_back({.kind = BufferKind::kArena, .offset = 4, .bytes = bytes});
  artefact.plan.body = {
      {PlanCopy{0, 1}}, {PlanCopy{1, 3}}, {PlanCopy{1, 1}}, {PlanCall{0, {1, 2}, {n}}}};
  Executor executor = Made(std::move(artefact));
  for (int run = 0; run < 3; ++run) {
    CHECK(*RunOne(executor, {Floats({5}, {10, 20, 30, 40, 50})}) == Values{10, 11, 22, 33, 44});
  }
}

TEST_CASE("the call hook gets a GPU's times and results for every kernel in order",
          "[codegen_cuda][cuda_device]") {
  Executor executor = Made(ScaleReverseArtefact());
  std::vector<size_t> kernels;
  std::vector<Values> written;
  double seconds = 0;
  executor.set_call_hook([&](const EndedCall& ended) {
    kernels.push_back(ended.call.kernel);
    seconds += ended.seconds;
    Tensor result = Floats({4}, {0, 0, 0, 0});
    CHECK(executor.Fetch(ended, ended.call.buffers.size() - 1, MutableBytes(result)).ok());
    written.emplace_back();
    for (int64_t i = 0; i < 4; ++i) written.back().push_back(ElementAsDouble(result, i));
  });
  for (int run = 0; run < 3; ++run) {
    REQUIRE(RunOne(executor, {Floats({4}, {10, 20, 30, 40})}).ok());
  }
  CHECK(kernels == std::vector<size_t>{0, 0, 1, 0, 0, 1, 0, 0, 1});
  const std::vector<Values> once = {{12, 24, 36, 48}, {14, 28, 42, 56}, {56, 42, 28, 14}};
  CHECK(std::equal(once.begin(), once.end(), written.begin() + 6));
  CHECK(seconds > 0);
}

// Memory and a stream of a user's of the driver.
struct DriverUser {
  CudaDriver driver = emulator::EmulatedDriver();
  int device;
  CudaStreamHandle stream = nullptr;
  CudaAddress memory = 0;
  explicit DriverUser(int sm = kSm) : device(emulator::EmulatedOrdinal(sm)) {
    CudaContextHandle context = nullptr;
    REQUIRE(driver.cuInit(0) == kCudaSuccess);
    REQUIRE(driver.cuDevicePrimaryCtxRetain(&context, device) == kCudaSuccess);
    REQUIRE(driver.cuCtxPushCurrent_v2(context) == kCudaSuccess);
    REQUIRE(driver.cuStreamCreate(&stream, 0) == kCudaSuccess);
    REQUIRE(driver.cuMemAlloc_v2(&memory, 64) == kCudaSuccess);
  }
  ~DriverUser() {
    CudaContextHandle context = nullptr;
    driver.cuMemFree_v2(memory);
    driver.cuStreamDestroy_v2(stream);
    driver.cuCtxPopCurrent_v2(&context);
    driver.cuDevicePrimaryCtxRelease_v2(device);
  }
  Tensor At(size_t offset) const {
    Tensor tensor = Floats({4}, {});
    tensor.bytes = {std::bit_cast<const uint8_t*>(memory) + offset, 16};
    return tensor;
  }
};

TEST_CASE("a model runs in a caller's stream on a caller's memory of the device",
          "[codegen_cuda][cuda_device]") {
  {
    DriverUser user;
    Executor executor = Made(ScaleReverseArtefact());
    for (int run = 0; run < 3; ++run) {
      const std::vector<float> x = {10, 20, 30, 40 + 100.0f * static_cast<float>(run)};
      REQUIRE(user.driver.cuMemcpyHtoD_v2(user.memory, x.data(), 16) == kCudaSuccess);
      emulator::RecordDriverCalls();
      const Tensor input = user.At(0), output = user.At(32);
      Status status = executor.Enqueue({&input, 1}, {&output, 1}, user.stream);
      INFO(Message(status));
      REQUIRE(status.ok());
      CHECK(Calls("cuMemcpyHtoDAsync_v2") == 0);
      CHECK(Calls("cuMemcpyDtoHAsync_v2") == 0);
      CHECK(Calls("cuStreamSynchronize") == 0);
      CHECK(Calls("cuGraphLaunch") == (run < 1 ? 0 : 1));
      std::vector<float> y(4);
      REQUIRE(user.driver.cuMemcpyDtoHAsync_v2(y.data(), user.memory + 32, 16, user.stream) ==
              kCudaSuccess);
      REQUIRE(user.driver.cuStreamSynchronize(user.stream) == kCudaSuccess);
      CHECK(y == std::vector<float>{x[3] + 16, 42, 28, 14});
      // Runs on host memory may come between.
      CHECK(*RunOne(executor, {Floats({4}, {10, 20, 30, 40})}) == Values{56, 42, 28, 14});
      CHECK(executor.Enqueue({&input, 1}, {&output, 1}, user.stream).ok());
    }
    const Tensor input = user.At(4), output = user.At(32);
    CHECK(Message(executor.Enqueue({&input, 1}, {&output, 1}, user.stream)) ==
          "'x' lies 4 above a multiple of 16");
  }
  CHECK(emulator::LiveDriverObjects() == emulator::DriverObjects());
}

TEST_CASE("a stream or memory of another device's, or of none, is refused with both named",
          "[codegen_cuda][cuda_device]") {
  DriverUser user;
  Executor executor = Made(ScaleReverseArtefact());
  const Tensor input = user.At(0), output = user.At(32);
  auto refusal = [&](const Tensor& x, const Tensor& y, void* stream) {
    emulator::RecordDriverCalls();
    Status status = executor.Enqueue({&x, 1}, {&y, 1}, stream);
    CHECK(status.code() == absl::StatusCode::kInvalidArgument);
    CHECK(Calls("cuLaunchKernel") == 0);
    return Message(status);
  };
  {
    DriverUser other(75);
    CHECK(refusal(other.At(0), output, user.stream) ==
          "'x': expected memory of device 2 (emulated sm_86, sm_86), got memory of device 0 "
          "(emulated sm_75, sm_75)");
    CHECK(refusal(input, other.At(0), user.stream) ==
          "'y': expected memory of device 2 (emulated sm_86, sm_86), got memory of device 0 "
          "(emulated sm_75, sm_75)");
    CHECK(refusal(input, output, other.stream) ==
          "the stream is of device 0 (emulated sm_75, sm_75); expected one of device 2 (emulated "
          "sm_86, sm_86)");
  }
  const Tensor host = Floats({4}, {1, 2, 3, 4});
  CHECK_THAT(refusal(host, output, user.stream),
             Catch::Matchers::StartsWith("'x': expected memory of device 2 (emulated sm_86, sm_86)"
                                         ", got 0x") &&
                 Catch::Matchers::Contains("cuPointerGetAttribute failed with "
                                           "CUDA_ERROR_INVALID_VALUE (1)"));
  int no_stream = 0;
  CHECK_THAT(refusal(input, output, &no_stream),
             Catch::Matchers::StartsWith("expected a stream of device 2 (emulated sm_86, sm_86): "
                                         "cuStreamGetCtx failed with CUDA_ERROR_INVALID_HANDLE"));
  CHECK(executor.Enqueue({&input, 1}, {&output, 1}, user.stream).ok());
}

// DynamicArtefact's y of n <= 8 elements, in the user's stream and memory.
Status EnqueueCounts(Executor& executor, const DriverUser& user, int64_t n) {
  Tensor x = Floats({n}, {}), y = x;
  x.bytes = {std::bit_cast<const uint8_t*>(user.memory), static_cast<size_t>(n) * 4};
  y.bytes = {x.bytes.data() + 32, x.bytes.size()};
  return executor.Enqueue({&x, 1}, {&y, 1}, user.stream);
}

TEST_CASE("memory that grows is given back after the work in the caller's stream",
          "[codegen_cuda][cuda_device]") {
  static constexpr DeviceRow kWatched[] = {{"cuda", MakeWatched}};
  DriverUser user;
  StatusOr<Module> module =
      Module::FromArtefact(DynamicArtefact(), {.pool = {}, .threads = 1, .devices = kWatched});
  REQUIRE(module.ok());
  Executor executor(*module);
  auto enqueue = [&](int64_t n) {
    emulator::RecordDriverCalls();
    used_streams.clear();
    REQUIRE(EnqueueCounts(executor, user, n).ok());
    CHECK(Calls("cuStreamSynchronize") == 0);
  };
  enqueue(2);
  enqueue(1);
  CHECK(used_streams.empty());
  enqueue(8);
  using Uses = std::vector<std::pair<std::string, CudaStreamHandle>>;
  CHECK(used_streams == Uses{{"give back", user.stream}, {"take", user.stream}});
  const std::vector<std::string> calls = emulator::RecordedDriverCalls();
  CHECK(std::ranges::find(calls, "cuMemFreeAsync") < std::ranges::find(calls, "cuLaunchKernel"));
}

TEST_CASE("on a device without memory pools memory grows after the work that uses it",
          "[codegen_cuda][cuda_device]") {
  static constexpr DeviceRow kPlain[] = {{"cuda", MakeWithoutPools}};
  DriverUser user;
  StatusOr<Module> module =
      Module::FromArtefact(DynamicArtefact(), {.pool = {}, .threads = 1, .devices = kPlain});
  REQUIRE(module.ok());
  Executor executor(*module);
  REQUIRE(EnqueueCounts(executor, user, 2).ok());
  emulator::RecordDriverCalls();
  REQUIRE(EnqueueCounts(executor, user, 8).ok());
  CHECK(Calls("cuStreamSynchronize") == 1);
  CHECK(Calls("cuMemFree_v2") == 1);
  const std::vector<std::string> calls = emulator::RecordedDriverCalls();
  CHECK(std::ranges::find(calls, "cuStreamSynchronize") < std::ranges::find(calls, "cuMemFree_v2"));
}

// Whether somebody waited after the last call of that name.
bool WaitedAfter(const std::string& name) {
  const std::vector<std::string> calls = emulator::RecordedDriverCalls();
  const auto last = std::find(calls.rbegin(), calls.rend(), name);
  return last != calls.rend() && std::find(calls.rbegin(), last, "cuStreamSynchronize") != last;
}

TEST_CASE("a run whose largest workspace finds no memory launches nothing and leaves nothing going",
          "[codegen_cuda][cuda_device]") {
  DriverUser user;
  Artefact artefact = ScaleReverseArtefact();
  StatusOr<GpuProgram> program = ParseGpuProgram(artefact.kernels.bytes);
  REQUIRE(program.ok());
  program->kernels[1].workspace_bytes = {int64_t{1} << 40};
  artefact.kernels = OwnBytes(GpuProgramBytes(*program));
  Executor executor = Made(std::move(artefact));
  const Tensor input = user.At(0), output = user.At(32);
  for (int run = 0; run < 2; ++run) {
    emulator::RecordDriverCalls();
    const Status status = executor.Enqueue({&input, 1}, {&output, 1}, user.stream);
    CHECK(status.code() == absl::StatusCode::kResourceExhausted);
    CHECK(Message(status).starts_with("reverse: no memory on device 2"));
    CHECK(Calls("cuLaunchKernel") == 0);
    CHECK(WaitedAfter("cuMemAllocFromPoolAsync"));
  }
}

TEST_CASE("a run that fails midway has ended when that is told", "[codegen_cuda][cuda_device]") {
  DriverUser user;
  Artefact artefact = ScaleReverseArtefact();
  artefact.plan.body[1] = {PlanCall{0, {0, 1}, {4}}};
  Executor executor = Made(std::move(artefact));
  const Tensor input = user.At(0), output = user.At(32);
  emulator::RecordDriverCalls();
  CHECK_FALSE(executor.Enqueue({&input, 1}, {&output, 1}, user.stream).ok());
  CHECK(Calls("cuLaunchKernel") == 1);
  CHECK(WaitedAfter("cuLaunchKernel"));
  emulator::RecordDriverCalls();
  CHECK_FALSE(RunOne(executor, {Floats({4}, {})}).ok());
  CHECK(Calls("cuLaunchKernel") == 1);
  CHECK(WaitedAfter("cuLaunchKernel"));
}

TEST_CASE("a stream that is being captured is refused, and its capture goes on",
          "[codegen_cuda][cuda_device]") {
  DriverUser user;
  Executor executor = Made(ScaleReverseArtefact());
  const Tensor input = user.At(0), output = user.At(32);
  for (int run = 0; run < 3; ++run) {
    REQUIRE(user.driver.cuStreamBeginCapture_v2(user.stream, kCudaCaptureThreadLocal) ==
            kCudaSuccess);
    emulator::RecordDriverCalls();
    const Status status = executor.Enqueue({&input, 1}, {&output, 1}, user.stream);
    CHECK(status.code() == absl::StatusCode::kInvalidArgument);
    CHECK(Message(status) ==
          "the stream is being captured; expected one that is not: a graph of the caller's would "
          "use memory that the executor may replace");
    CHECK(Calls("cuLaunchKernel") + Calls("cuGraphLaunch") + Calls("cuMemAllocFromPoolAsync") == 0);
    CudaGraphHandle graph = nullptr;
    CHECK(user.driver.cuStreamEndCapture(user.stream, &graph) == kCudaSuccess);
    CHECK(user.driver.cuGraphDestroy(graph) == kCudaSuccess);
    CHECK(executor.Enqueue({&input, 1}, {&output, 1}, user.stream).ok());
  }
}

TEST_CASE("what records nothing itself may be captured once its memory is there",
          "[codegen_cuda][cuda_device]") {
  DriverUser user;
  Executor executor = Made(ScaleReverseArtefact());
  executor.set_recording(false);
  const Tensor input = user.At(0), output = user.At(32);
  REQUIRE(executor.Enqueue({&input, 1}, {&output, 1}, user.stream).ok());
  REQUIRE(user.driver.cuStreamBeginCapture_v2(user.stream, kCudaCaptureThreadLocal) ==
          kCudaSuccess);
  CHECK(executor.Enqueue({&input, 1}, {&output, 1}, user.stream).ok());
  CudaGraphHandle graph = nullptr;
  CHECK(user.driver.cuStreamEndCapture(user.stream, &graph) == kCudaSuccess);
  CHECK(user.driver.cuGraphDestroy(graph) == kCudaSuccess);
}

TEST_CASE("memory does not grow inside a capture, which goes on", "[codegen_cuda][cuda_device]") {
  DriverUser user;
  Executor executor = Made(DynamicArtefact());
  executor.set_recording(false);
  REQUIRE(EnqueueCounts(executor, user, 2).ok());
  REQUIRE(user.driver.cuStreamBeginCapture_v2(user.stream, kCudaCaptureThreadLocal) ==
          kCudaSuccess);
  emulator::RecordDriverCalls();
  const Status status = EnqueueCounts(executor, user, 8);
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(Message(status).starts_with("the stream is being captured; "));
  CHECK(Calls("cuMemFreeAsync") + Calls("cuMemAllocFromPoolAsync") + Calls("cuLaunchKernel") == 0);
  CHECK(EnqueueCounts(executor, user, 2).ok());
  CudaGraphHandle graph = nullptr;
  CHECK(user.driver.cuStreamEndCapture(user.stream, &graph) == kCudaSuccess);
  CHECK(user.driver.cuGraphDestroy(graph) == kCudaSuccess);
  CHECK(EnqueueCounts(executor, user, 8).ok());
}

TEST_CASE("a caller's stream may be the default one", "[codegen_cuda][cuda_device]") {
  DriverUser user;
  const auto stream = std::bit_cast<CudaStreamHandle>(kCudaDefaultStream);
  Executor executor = Made(ScaleReverseArtefact());
  const Tensor input = user.At(0), output = user.At(32);
  const std::vector<float> x = {10, 20, 30, 40};
  REQUIRE(user.driver.cuMemcpyHtoD_v2(user.memory, x.data(), 16) == kCudaSuccess);
  for (int run = 0; run < 3; ++run) {
    REQUIRE(executor.Enqueue({&input, 1}, {&output, 1}, stream).ok());
    std::vector<float> y(4);
    REQUIRE(user.driver.cuMemcpyDtoHAsync_v2(y.data(), user.memory + 32, 16, stream) ==
            kCudaSuccess);
    CHECK(y == std::vector<float>{56, 42, 28, 14});
  }
}

TEST_CASE("the default stream is refused while a stream that it waits for is captured",
          "[codegen_cuda][cuda_device]") {
  DriverUser user;
  const auto stream = std::bit_cast<CudaStreamHandle>(kCudaDefaultStream);
  Executor executor = Made(ScaleReverseArtefact());
  const Tensor input = user.At(0), output = user.At(32);
  auto enqueue_beside = [&](CudaStreamHandle captured) {
    REQUIRE(user.driver.cuStreamBeginCapture_v2(captured, kCudaCaptureThreadLocal) == kCudaSuccess);
    Status status = executor.Enqueue({&input, 1}, {&output, 1}, stream);
    CudaGraphHandle graph = nullptr;
    CHECK(user.driver.cuStreamEndCapture(captured, &graph) == kCudaSuccess);
    CHECK(user.driver.cuGraphDestroy(graph) == kCudaSuccess);
    return status;
  };
  REQUIRE(executor.Enqueue({&input, 1}, {&output, 1}, stream).ok());
  const Status status = enqueue_beside(user.stream);
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(Message(status) ==
        "the stream is the default one, which waits for one that is being captured; expected one "
        "that does not");
  CHECK(executor.Enqueue({&input, 1}, {&output, 1}, stream).ok());
  CudaStreamHandle apart = nullptr;
  REQUIRE(user.driver.cuStreamCreate(&apart, kCudaStreamNonBlocking) == kCudaSuccess);
  CHECK(enqueue_beside(apart).ok());
  CHECK(user.driver.cuStreamDestroy_v2(apart) == kCudaSuccess);
}

TEST_CASE("inputs and outputs beyond the staging memory arrive whole",
          "[codegen_cuda][cuda_device]") {
  Artefact artefact = DynamicArtefact();
  artefact.metadata.shape_variables[0].high = 1 << 20;
  Executor executor = Made(std::move(artefact));
  for (int64_t n : {262144, 262145, 262000, 300000, 5}) {
    Values x(static_cast<size_t>(n)), y(x);
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<double>(i % 31);
      y[i] = x[i] + static_cast<double>(i);
    }
    StatusOr<Values> got = RunOne(executor, {Floats({n}, x)});
    REQUIRE(got.ok());
    CHECK(*got == y);
  }
}

TEST_CASE("executors in several threads share a GPU program", "[codegen_cuda][cuda_device]") {
  LoadOptions options{.pool = {}, .threads = 1, .devices = EmulatedDevices()};
  StatusOr<Module> module = Module::FromArtefact(ScaleReverseArtefact(), options);
  REQUIRE(module.ok());
  std::atomic<int> wrong{0};
  std::vector<std::thread> users;
  for (int user = 0; user < 3; ++user) {
    users.emplace_back([&, user] {
      Executor executor(*module);
      for (int run = 0; run < 20; ++run) {
        StatusOr<Values> y = RunOne(executor, {Floats({4}, {1.0 * user, 0, 0, 0})});
        if (!y.ok() || *y != Values{16, 12, 8, 4.0 + user}) ++wrong;
      }
    });
  }
  for (std::thread& user : users) user.join();
  CHECK(wrong == 0);
}

TEST_CASE("a write into a red zone by nobody known is found when work is waited for",
          "[codegen_cuda][cuda_device]") {
  DriverUser user;
  auto* behind = std::bit_cast<uint8_t*>(user.memory) + 64;
  CHECK(user.driver.cuStreamSynchronize(user.stream) == kCudaSuccess);
  const uint8_t before = std::exchange(*behind, uint8_t{0});
  CHECK(user.driver.cuStreamSynchronize(user.stream) == kCudaIllegalAddress);
  CHECK(user.driver.cuStreamSynchronize(user.stream) == kCudaIllegalAddress);
  *behind = before;
}

}  // namespace
}  // namespace tcc::test
