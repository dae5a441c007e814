#include "runtime/measure/gpu_task.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>

#include "codegen_cuda/emulator/driver.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/measure/serve_measurements.h"
#include "support/check.h"
#include "tests/codegen_cuda/emulator/cuda_artefacts.h"
#include "tests/runtime/socket_pair.h"

namespace tcc::test {
namespace {

// Kernels of an input x, a constant w and a result y, 64 elements each; y is to be x + 2 w.
constexpr char kText[] = R"(#include "tcc_emulator.h"
#define TCC_TEST_KERNEL(name, x, w, body)               \
  TCC_KERNEL(name, 64)(x, w, TCC_OUTPUT(float, y)) {    \
    const int i = tcc_thread_x();                       \
    body                                                \
  }                                                     \
  TCC_END_KERNEL(name)
#define TCC_TEST_READER(name, body) \
  TCC_TEST_KERNEL(name, TCC_INPUT(float, x), TCC_INPUT(float, w), body)

TCC_TEST_READER(right, y[i] = x[i] + 2 * w[i];)
TCC_TEST_READER(wrong_by_one_element, y[i] = i == 17 ? 5 : x[i] + 2 * w[i];)
TCC_TEST_READER(forgets_the_last, if (i < 63) y[i] = x[i] + 2 * w[i];)
TCC_TEST_READER(wrong_for_large_values, y[i] = x[i] > 3 || x[i] < -3 ? 0 : x[i] + 2 * w[i];)
TCC_TEST_READER(writes_after_its_end, y[i] = x[i] + 2 * w[i]; if (i == 0) y[64] = 1;)
TCC_TEST_READER(writes_before_its_start, y[i] = x[i] + 2 * w[i]; if (i == 0) y.data[-1] = 1;)
TCC_TEST_READER(reads_far_beyond, y[i] = x[i + (1 << 28)];)
TCC_TEST_READER(add_prepared, y[i] = x[i] + w[i];)
TCC_TEST_KERNEL(writes_its_input, TCC_OUTPUT(float, x), TCC_INPUT(float, w),
                y[i] = x[i] + 2 * w[i]; x[i] = 1;)
TCC_TEST_KERNEL(writes_its_constant, TCC_INPUT(float, x), TCC_OUTPUT(float, w),
                y[i] = x[i] + 2 * w[i]; w[i] = 1;)

TCC_KERNEL(prepare_double, 64)(TCC_INPUT(float, w), TCC_OUTPUT(float, packed)) {
  packed[tcc_thread_x()] = 2 * w[tcc_thread_x()];
}
TCC_END_KERNEL(prepare_double)
)";

constexpr int64_t kBytes = 64 * 4;
using Kind = GpuArgument::Kind;
using Catch::Matchers::Contains;

GpuKernel KernelOf(const std::string& name, uint32_t buffers) {
  GpuLaunch launch{.symbol = name, .block = {64, 1, 1}};
  for (uint32_t i = 0; i < buffers; ++i) launch.arguments.push_back({Kind::kBuffer, i});
  return {.buffers = buffers, .launches = {launch}};
}

// An artefact of kernels, as a search builds them.
Artefact ArtefactOf(std::vector<std::pair<std::string, GpuKernel>> kernels) {
  const std::string text = kText;
  GpuProgram program{.sm = kSm, .code = GpuCode::kCudaText, .images = {}, .kernels = {}};
  program.images = {{.code = {text.begin(), text.end()}}};
  Artefact artefact;
  artefact.target = "sm_86";
  artefact.device = "cuda";
  for (auto& [name, kernel] : kernels) {
    artefact.metadata.kernels.push_back({name, {}, 0});
    program.kernels.push_back(std::move(kernel));
  }
  artefact.kernels = OwnBytes(GpuProgramBytes(program));
  artefact.metadata.inputs = {StaticTensor("p0", kFloat32, {64}),
                              StaticTensor("p1", kFloat32, {64})};
  artefact.metadata.outputs = {StaticTensor("p2", kFloat32, {64})};
  artefact.plan.buffers = {{.kind = BufferKind::kInput, .index = 0, .offset = 0, .bytes = kBytes},
                           {.kind = BufferKind::kInput, .index = 1, .offset = 0, .bytes = kBytes},
                           {.kind = BufferKind::kOutput, .index = 0, .offset = 0, .bytes = kBytes}};
  return artefact;
}

Artefact Candidate(const std::string& name) {
  Artefact artefact = ArtefactOf({{name, KernelOf(name, 3)}});
  artefact.plan.body = {{PlanCall{0, {0, 1, 2}, {}}}};
  return artefact;
}

Artefact WithSharedBytes(int64_t bytes) {
  GpuKernel kernel = KernelOf("right", 3);
  kernel.launches[0].dynamic_shared_bytes = bytes;
  Artefact artefact = ArtefactOf({{"right", kernel}});
  artefact.plan.body = {{PlanCall{0, {0, 1, 2}, {}}}};
  return artefact;
}

Artefact WithWorkspace(int64_t bytes) {
  GpuKernel kernel = KernelOf("right", 3);
  kernel.workspace_bytes = {bytes};
  Artefact artefact = ArtefactOf({{"right", kernel}});
  artefact.plan.body = {{PlanCall{0, {0, 1, 2}, {}}}};
  return artefact;
}

Artefact Prepared() {
  Artefact artefact = ArtefactOf({{"prepare_double", KernelOf("prepare_double", 2)},
                                  {"add_prepared", KernelOf("add_prepared", 3)}});
  artefact.plan.arena_bytes = kBytes;
  artefact.plan.buffers.push_back(
      {.kind = BufferKind::kArena, .index = 0, .offset = 0, .bytes = kBytes});
  artefact.plan.body = {{PlanCall{0, {1, 3}, {}}}, {PlanCall{1, {0, 3, 2}, {}}}};
  return artefact;
}

// Limits with which an emulated device times a kernel: its times mean nothing.
constexpr GpuTimingLimits kFew{.graph_seconds = 0,
                               .replays = 1,
                               .blocks = 2,
                               .max_runs = 2,
                               .max_sets = 3,
                               .max_seconds = 0.05};

TaskMessage TaskOf(const Artefact& reference, MeasurePolicy policy = MeasurePolicy::kWarm) {
  return {.roles = {OperandRole::kInput, OperandRole::kConstant, OperandRole::kOutput},
          .seed = 1,
          .terms = 2,
          .epsilon = 0x1p-23,
          .policy = policy,
          .gpu = kFew,
          .artefact = ArtefactBytes(reference)};
}

// The emulated driver that is not told where each buffer ends, as a real one is not.
std::shared_ptr<const Device> MakeUntold(const DeviceOptions& options) {
  CudaDriver driver = emulator::EmulatedDriver();
  driver.takes_notes = false;
  return MakeCudaDevice(driver, options.ordinal);
}
std::shared_ptr<const Device> MakeTold(const DeviceOptions& options) {
  return MakeCudaDevice(emulator::EmulatedDriver(), options.ordinal);
}
constexpr DeviceRow kUntold[] = {{"cuda", MakeUntold}};
constexpr DeviceRow kTold[] = {{"cuda", MakeTold}};

GpuTaskOptions OptionsFor(std::span<const DeviceRow> devices) {
  auto context = CudaContext::Open(emulator::EmulatedDriver(), emulator::EmulatedOrdinal(kSm));
  TCC_CHECK(context.ok()) << Message(context.status());
  return {.context = *std::move(context),
          .pool = std::make_shared<ThreadPool>(ThreadPoolOptions{.threads = 1}),
          .devices = devices};
}

Measurement MeasureIn(GpuTask& task, const Artefact& artefact, double stop_beyond = 0) {
  return task.Measure({.id = 7, .stop_beyond = stop_beyond, .artefact = ArtefactBytes(artefact)});
}

constexpr MeasurePolicy kGpuPolicies[] = {MeasurePolicy::kWarm, MeasurePolicy::kRotateWeightsL2,
                                          MeasurePolicy::kRotateL2};

}  // namespace

TEST_CASE("right kernels of a GPU are timed, whatever the policy",
          "[codegen_cuda][measure][gpu_task]") {
  for (MeasurePolicy policy : kGpuPolicies) {
    GpuTask task(TaskOf(Candidate("right"), policy), OptionsFor(kTold));
    Measurement opened = task.Open();
    INFO(opened.message);
    REQUIRE(opened.status == MeasureStatus::kOk);
    CHECK(opened.seconds > 0);
    for (const Artefact& artefact : {Candidate("right"), Prepared()}) {
      Measurement measured = MeasureIn(task, artefact);
      INFO(measured.message);
      CHECK(measured.status == MeasureStatus::kOk);
      CHECK(measured.seconds > 0);
      CHECK(measured.calls >= 2);
      CHECK(measured.error <= 1);
    }
  }
}

TEST_CASE("wrong kernels of a GPU are told from right ones, and the next one is measured",
          "[codegen_cuda][measure][gpu_task]") {
  struct Row {
    Artefact artefact;
    MeasureStatus status;
    const char* message;
  };
  const Row rows[] = {
      {Candidate("wrong_by_one_element"), MeasureStatus::kWrong, "p2[17] is "},
      {Candidate("forgets_the_last"), MeasureStatus::kWrong, "p2[63] is nan"},
      {Candidate("wrong_for_large_values"), MeasureStatus::kWrong, "on the second values"},
      {Candidate("writes_its_input"), MeasureStatus::kWrong, "wrote its input p0"},
      {Candidate("writes_its_constant"), MeasureStatus::kWrong, "wrote its input p1"},
      {Candidate("writes_after_its_end"), MeasureStatus::kWrong, "wrote right after operand p2"},
      {Candidate("writes_before_its_start"), MeasureStatus::kWrong,
       "wrote right before operand p2"},
      {WithSharedBytes(300 * 1024), MeasureStatus::kLaunchFailed, "shared"},
      {WithWorkspace(int64_t{1} << 50), MeasureStatus::kOutOfMemory, "memory"},
      {Candidate("is_missing"), MeasureStatus::kLaunchFailed, "is_missing"},
  };
  GpuTask task(TaskOf(Candidate("right")), OptionsFor(kUntold));
  REQUIRE(task.Open().status == MeasureStatus::kOk);
  for (const Row& row : rows) {
    INFO(row.message);
    Measurement measured = MeasureIn(task, row.artefact);
    CHECK(NameOf(measured.status) == NameOf(row.status));
    CHECK_THAT(measured.message, Contains(row.message));
    CHECK(measured.seconds == 0);
    CHECK(task.end() == MeasureStatus::kOk);
    Measurement next = MeasureIn(task, Candidate("right"));
    INFO(next.message);
    CHECK(next.status == MeasureStatus::kOk);
    CHECK(next.error == 0);
  }
}

TEST_CASE("a kernel that takes longer than is asked for is right and not timed on a GPU",
          "[codegen_cuda][measure][gpu_task]") {
  GpuTask task(TaskOf(Candidate("right")), OptionsFor(kTold));
  REQUIRE(task.Open().status == MeasureStatus::kOk);
  // The emulator's clock is the host's: no kernel there ends within the slack.
  Measurement slow = MeasureIn(task, Candidate("right"), 1e-12);
  if (slow.status == MeasureStatus::kOk) WARN("the emulator ran 64 threads in 10 us");
  CHECK(HasTime(slow.status));
  CHECK(slow.seconds > 0);
}

TEST_CASE("a kernel that reads far beyond its operands breaks the context, which the task tells",
          "[codegen_cuda][measure][gpu_task]") {
  GpuTask task(TaskOf(Candidate("right")), OptionsFor(kTold));
  REQUIRE(task.Open().status == MeasureStatus::kOk);
  CHECK(task.end() == MeasureStatus::kOk);
  Measurement fault = MeasureIn(task, Candidate("reads_far_beyond"));
  CHECK(fault.status == MeasureStatus::kFault);
  CHECK_THAT(fault.message, Contains("failed with CUDA_ERROR"));
  CHECK(task.end() == MeasureStatus::kFault);
  CHECK(MeasureIn(task, Candidate("right")).status == MeasureStatus::kFault);
}

TEST_CASE("a policy decides which operands of a GPU's kernel are copied",
          "[codegen_cuda][measure][gpu_task]") {
  struct Row {
    MeasurePolicy policy;
    int64_t copies;  // of one candidate: two sets beside the checked operands
  };
  const Row rows[] = {{MeasurePolicy::kWarm, 0},
                      {MeasurePolicy::kRotateWeightsL2, 2},
                      {MeasurePolicy::kRotateL2, 6}};
  for (const Row& row : rows) {
    GpuTask task(TaskOf(Candidate("right"), row.policy), OptionsFor(kTold));
    REQUIRE(task.Open().status == MeasureStatus::kOk);
    emulator::RecordDriverCalls();
    REQUIRE(MeasureIn(task, Candidate("right")).status == MeasureStatus::kOk);
    INFO(NameOf(row.policy));
    CHECK(std::ranges::count(emulator::RecordedDriverCalls(), "cuMemcpyDtoDAsync_v2") ==
          row.copies);
  }
  GpuTask host(TaskOf(Candidate("right"), MeasurePolicy::kInPlace), OptionsFor(kTold));
  CHECK_THAT(host.Open().message, Contains("'in-place'"));
}

TEST_CASE("every driver call of a measurement may fail with every error, and sticky ones end it",
          "[codegen_cuda][measure][gpu_task]") {
  emulator::RecordDriverCalls();
  {
    GpuTask task(TaskOf(Candidate("right"), MeasurePolicy::kRotateL2), OptionsFor(kTold));
    REQUIRE(task.Open().status == MeasureStatus::kOk);
  }
  const auto calls = static_cast<int64_t>(emulator::RecordedDriverCalls().size());
  REQUIRE(calls > 50);
  const emulator::DriverObjects before = emulator::LiveDriverObjects();
  for (int64_t call = 8; call < calls; ++call) {
    for (bool sticky : {false, true}) {
      INFO("call " << call << (sticky ? ", sticky" : ""));
      emulator::RecordDriverCalls({.call = call, .error = 700, .sticky = sticky});
      {
        auto context =
            CudaContext::Open(emulator::EmulatedDriver(), emulator::EmulatedOrdinal(kSm));
        if (!context.ok()) continue;
        GpuTask task(TaskOf(Candidate("right"), MeasurePolicy::kRotateL2),
                     {.context = *std::move(context),
                      .pool = std::make_shared<ThreadPool>(ThreadPoolOptions{.threads = 1}),
                      .devices = kTold});
        Measurement opened = task.Open();
        if (opened.status == MeasureStatus::kOk) opened = MeasureIn(task, Candidate("right"));
        if (sticky && opened.status != MeasureStatus::kOk) {
          CHECK(MeasureIn(task, Candidate("right")).status != MeasureStatus::kOk);
        }
        INFO(opened.message);
        if (!sticky) CHECK(task.end() == MeasureStatus::kOk);
      }
      emulator::RecordDriverCalls();
      emulator::DriverObjects after = emulator::LiveDriverObjects();
      after.lost = before.lost;
      CHECK(after == before);
    }
  }
}

namespace {

// A worker in a forked child, over the emulated driver as a library.
class GpuWorker {
 public:
  explicit GpuWorker(const HelloMessage& hello, const char* driver = TCC_EMULATED_CUDA,
                     const std::string& fault = "") {
    child_ = fork();
    TCC_CHECK(child_ >= 0);
    if (child_ == 0) {
      sockets_.CloseEnd(0);
      for (int number : {SIGSEGV, SIGABRT, SIGTERM}) std::signal(number, SIG_DFL);
      TCC_CHECK(freopen("/dev/null", "w", stderr) != nullptr);
      alarm(60);
      setenv("TCC_CUDA_DRIVER", driver, 1);
      setenv("TCC_EMULATED_FAULT", fault.c_str(), 1);
      unsetenv("TCC_EMULATED_SM");
      _exit(ServeMeasurements(sockets_.end(1)));
    }
    sockets_.CloseEnd(1);
    Send(FrameKind::kHello, Encode(hello));
  }
  GpuWorker(const GpuWorker&) = delete;
  GpuWorker& operator=(const GpuWorker&) = delete;
  ~GpuWorker() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    ExitCode();
  }

  void Send(FrameKind kind, const std::vector<uint8_t>& payload) {
    WriteFrame(sockets_.end(0), kind, payload).IgnoreError();
  }
  StatusOr<MeasureFrame> Read() { return ReadFrame(sockets_.end(0), In(std::chrono::seconds(60))); }
  // Waits for the worker's end; -1: it was killed.
  int ExitCode() {
    int status = 0;
    waitpid(std::exchange(child_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  Measurement Measure(const Artefact& artefact) {
    Send(FrameKind::kMeasure, Encode(MeasureMessage{.id = 1, .artefact = ArtefactBytes(artefact)}));
    StatusOr<MeasureFrame> frame = Read();
    TCC_CHECK(frame.ok()) << Message(frame.status());
    return DecodeMeasured(frame->payload).value().measurement;
  }

 private:
  SocketPair sockets_;
  pid_t child_ = 0;
};

HelloMessage CudaHello() {
  return {.threads = 1,
          .device = "cuda",
          .ordinal = static_cast<uint32_t>(emulator::EmulatedOrdinal(kSm))};
}

}  // namespace

TEST_CASE("a worker on a GPU describes it, measures, tells of a fault and ends",
          "[codegen_cuda][measure][gpu_task]") {
  GpuWorker worker(CudaHello());
  StatusOr<MeasureFrame> frame = worker.Read();
  REQUIRE(frame.ok());
  REQUIRE(frame->kind == FrameKind::kReady);
  ReadyMessage ready = DecodeReady(frame->payload).value();
  REQUIRE(ready.gpu);
  CHECK(ready.gpu->sm == kSm);
  CHECK(ready.gpu->takes_text);
  CHECK(ready.gpu->multiprocessors > 0);
  CHECK(ready.gpu->l2_bytes > 0);
  CHECK_FALSE(ready.device.empty());

  worker.Send(FrameKind::kTask, Encode(TaskOf(Candidate("right"))));
  REQUIRE(worker.Read()->kind == FrameKind::kMeasured);
  CHECK(worker.Measure(Candidate("right")).status == MeasureStatus::kOk);
  CHECK(worker.Measure(Candidate("wrong_by_one_element")).status == MeasureStatus::kWrong);
  Measurement fault = worker.Measure(Candidate("reads_far_beyond"));
  CHECK(fault.status == MeasureStatus::kFault);
  CHECK_FALSE(fault.message.empty());
  CHECK(worker.ExitCode() == 3);
}

TEST_CASE("a worker tells of a kernel that does not end, and ends without waiting for it",
          "[codegen_cuda][measure][gpu_task]") {
  emulator::RecordDriverCalls();
  {
    GpuTask task(TaskOf(Candidate("right")), OptionsFor(kTold));
    REQUIRE(task.Open().status == MeasureStatus::kOk);
  }
  const auto queries = std::ranges::count(emulator::RecordedDriverCalls(), "cuEventQuery");
  REQUIRE(queries > 0);
  // The first wait for the candidate never sees its event.
  GpuWorker worker(CudaHello(), TCC_EMULATED_CUDA,
                   fmt::format("cuEventQuery:{}+:600", queries + 1));
  REQUIRE(worker.Read()->kind == FrameKind::kReady);
  TaskMessage message = TaskOf(Candidate("right"));
  message.gpu.hang_seconds = 0.05;
  worker.Send(FrameKind::kTask, Encode(message));
  REQUIRE(worker.Read()->kind == FrameKind::kMeasured);
  Measurement hang = worker.Measure(Candidate("right"));
  CHECK(NameOf(hang.status) == "hang");
  CHECK_THAT(hang.message, Contains("not done after"));
  CHECK(worker.ExitCode() == 4);
}

TEST_CASE("a sticky error at any call of a candidate's measurement ends the worker with an answer",
          "[codegen_cuda][measure][gpu_task]") {
  for (const char* call : {"cuModuleLoadDataEx", "cuModuleGetFunction", "cuMemPoolCreate",
                           "cuStreamCreate", "cuMemAlloc_v2", "cuLaunchKernel", "cuGraphLaunch",
                           "cuMemcpyDtoHAsync_v2", "cuEventRecord"}) {
    emulator::RecordDriverCalls();
    {
      GpuTask task(TaskOf(Candidate("right")), OptionsFor(kTold));
      REQUIRE(task.Open().status == MeasureStatus::kOk);
    }
    const auto before = std::ranges::count(emulator::RecordedDriverCalls(), call);
    INFO(call);
    GpuWorker worker(CudaHello(), TCC_EMULATED_CUDA,
                     fmt::format("{}:{}:700:sticky", call, before + 1));
    REQUIRE(worker.Read()->kind == FrameKind::kReady);
    worker.Send(FrameKind::kTask, Encode(TaskOf(Candidate("right"))));
    REQUIRE(worker.Read()->kind == FrameKind::kMeasured);
    Measurement fault = worker.Measure(Candidate("right"));
    CHECK(NameOf(fault.status) == "fault");
    CHECK_THAT(fault.message, Contains("(700)"));
    CHECK(worker.ExitCode() == 3);
  }
}

TEST_CASE("a worker without the driver that it is asked for says so",
          "[codegen_cuda][measure][gpu_task]") {
  auto refusal = [](const HelloMessage& hello, const char* driver) -> std::string {
    GpuWorker worker(hello, driver);
    StatusOr<MeasureFrame> frame = worker.Read();
    if (!frame.ok() || frame->kind != FrameKind::kFailed) return "no refusal";
    return DecodeFailed(frame->payload)->message;
  };
  CHECK_THAT(refusal(CudaHello(), "/nowhere/libcuda.so"), Contains("/nowhere/libcuda.so"));
  HelloMessage far = CudaHello();
  far.ordinal = 99;
  CHECK_THAT(refusal(far, TCC_EMULATED_CUDA), Contains("no CUDA device 99"));
  HelloMessage strange = CudaHello();
  strange.device = "abacus";
  CHECK_THAT(refusal(strange, TCC_EMULATED_CUDA), Contains("no device 'abacus'"));
}

}  // namespace tcc::test
