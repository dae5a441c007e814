#include "runtime/measure/gpu_task.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "codegen_cuda/emulator/driver.h"
#include "tests/codegen_cuda/emulator/gpu_candidates.h"
#include "tests/codegen_cuda/emulator/gpu_worker.h"

namespace tcc::test {
namespace {

using Catch::Matchers::Contains;

// Limits with which an emulated device times a kernel: its times mean nothing.
constexpr GpuTimingLimits kFew{.graph_seconds = 0,
                               .replays = 1,
                               .blocks = 2,
                               .max_runs = 2,
                               .max_sets = 3,
                               .max_seconds = 0.05};

MakeMeasuringQueue QueuesOf(std::span<const DeviceRow> devices) {
  return CudaMeasuringQueues(OptionsFor(devices));
}

TaskMessage TaskOf(const Artefact& reference, MeasurePolicy policy = MeasurePolicy::kWarm) {
  return {.roles = {OperandRole::kInput, OperandRole::kConstant, OperandRole::kOutput},
          .seed = 1,
          .terms = 2,
          .epsilon = 0x1p-23,
          .policy = policy,
          .gpu = kFew,
          .artefact = ArtefactBytes(reference)};
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
    GpuTask task(TaskOf(Candidate("right"), policy), QueuesOf(ToldDevices()));
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
  GpuTask task(TaskOf(Candidate("right")), QueuesOf(UntoldDevices()));
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

TEST_CASE(
    "a sum of products under tanh that rounds differently is not called wrong, a shorter one is",
    "[codegen_cuda][measure][gpu_task]") {
  TaskMessage message = TaskOf(Candidate("tanh_of_sum"));
  message.terms = kCandidateCount;
  GpuTask task(message, QueuesOf(ToldDevices()));
  REQUIRE(task.Open().status == MeasureStatus::kOk);
  Measurement rounded = MeasureIn(task, Candidate("tanh_rounded_otherwise"));
  INFO(rounded.message);
  CHECK(rounded.status == MeasureStatus::kOk);
  CHECK(rounded.error > 0);
  Measurement lacking = MeasureIn(task, Candidate("tanh_without_a_term"));
  CHECK(lacking.status == MeasureStatus::kWrong);
  CHECK_THAT(lacking.message, Contains("on the first values"));
  // The inputs that were perturbed are what they were.
  CHECK(MeasureIn(task, Candidate("tanh_of_sum")).error == 0);
}

TEST_CASE("a kernel that takes longer than is asked for is right and not timed on a GPU",
          "[codegen_cuda][measure][gpu_task]") {
  // By the clock of this driver everything takes 2 ms.
  CudaDriver driver = emulator::EmulatedDriver();
  driver.cuEventElapsedTime = [](float* milliseconds, CudaEventHandle,
                                 CudaEventHandle) -> CudaResult {
    *milliseconds = 2;
    return kCudaSuccess;
  };
  CudaMeasuringOptions options = OptionsFor(ToldDevices());
  options.context = CudaContext::Open(driver, emulator::EmulatedOrdinal(kSm)).value();
  GpuTask task(TaskOf(Candidate("right")), CudaMeasuringQueues(options));
  REQUIRE(task.Open().status == MeasureStatus::kOk);
  Measurement slow = MeasureIn(task, Candidate("right"), 1e-3);
  CHECK(NameOf(slow.status) == "slow");
  CHECK(slow.seconds == Approx(2e-3));
  CHECK_THAT(slow.message, Contains("took 0.002 s; not timed beyond 0.001 s"));
  CHECK(MeasureIn(task, Candidate("right"), 1).status == MeasureStatus::kOk);
}

TEST_CASE("a kernel that reads far beyond its operands breaks the context, which the task tells",
          "[codegen_cuda][measure][gpu_task]") {
  GpuTask task(TaskOf(Candidate("right")), QueuesOf(ToldDevices()));
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
    GpuTask task(TaskOf(Candidate("right"), row.policy), QueuesOf(ToldDevices()));
    REQUIRE(task.Open().status == MeasureStatus::kOk);
    emulator::RecordDriverCalls();
    REQUIRE(MeasureIn(task, Candidate("right")).status == MeasureStatus::kOk);
    INFO(NameOf(row.policy));
    CHECK(std::ranges::count(emulator::RecordedDriverCalls(), "cuMemcpyDtoDAsync_v2") ==
          row.copies);
  }
  GpuTask host(TaskOf(Candidate("right"), MeasurePolicy::kInPlace), QueuesOf(ToldDevices()));
  CHECK_THAT(host.Open().message, Contains("'in-place'"));
}

TEST_CASE("every driver call of a measurement may fail with every error, and sticky ones end it",
          "[codegen_cuda][measure][gpu_task]") {
  emulator::RecordDriverCalls();
  {
    GpuTask task(TaskOf(Candidate("right"), MeasurePolicy::kRotateL2), QueuesOf(ToldDevices()));
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
                     CudaMeasuringQueues(
                         {.context = *std::move(context),
                          .pool = std::make_shared<ThreadPool>(ThreadPoolOptions{.threads = 1}),
                          .devices = ToldDevices()}));
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
    GpuTask task(TaskOf(Candidate("right")), QueuesOf(ToldDevices()));
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
      GpuTask task(TaskOf(Candidate("right")), QueuesOf(ToldDevices()));
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
