#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <utility>

#include "codegen_cuda/emulator/driver.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_timing.h"
#include "support/cuda/cuda_api.h"
#include "tests/codegen_cuda/emulator/cuda_artefacts.h"

// Every call of the driver fails once with every kind of error, and every function of it with every
// error: what comes of it is a message, or nothing where something was given back, everything that
// was made is given back, and an executor goes on as if nothing had been if the driver does.
namespace tcc::test {
namespace {

using emulator::DriverFault;
using emulator::DriverObjects;

// A run and what it must give.
struct Step {
  std::vector<Tensor> inputs;
  std::vector<double> expected;
  bool timed = false;
};

Status RunSteps(Executor& executor, const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    executor.set_call_hook(step.timed ? [](const EndedCall&) {} : CallHook());
    TCC_ASSIGN_OR_RETURN(const std::vector<double> got, RunOne(executor, step.inputs));
    if (got != step.expected) return WrongResult("a wrong result without an error");
  }
  return OkStatus();
}

// How many calls a scenario made before it only gave back, and what became of the executor that
// failed in it when it was used on.
int64_t work_calls = 0;
Status used_on;
Status End() {
  work_calls = static_cast<int64_t>(emulator::RecordedDriverCalls().size());
  return OkStatus();
}

// After a failure the same executor does all steps, the second time from what the first one left.
Status RunAndUseOn(Executor executor, const std::vector<Step>& steps) {
  const Status status = RunSteps(executor, steps);
  if (status.ok()) return End();
  for (int round = 0; round < 2 && used_on.ok(); ++round) used_on = RunSteps(executor, steps);
  return status;
}

Status RunAndUseOn(Artefact artefact, const std::vector<Step>& steps, int sm = kSm) {
  TCC_ASSIGN_OR_RETURN(Executor executor, MakeExecutor(std::move(artefact), sm));
  return RunAndUseOn(std::move(executor), steps);
}

// All that the runtime does with a driver: loading, runs of which one is recorded and one replayed,
// memory that grows, timing, values that are read back.
Status RunStraight() {
  const Step step{{Floats({4}, {10, 20, 30, 40})}, {56, 42, 28, 14}};
  Step timed = step;
  timed.timed = true;
  return RunAndUseOn(ScaleReverseArtefact(), {step, step, step, timed});
}

// Launches that begin while those before them end.
Status RunDependent() {
  const Step step{{Floats({4}, {10, 20, 30, 40})}, {56, 42, 28, 14}};
  return RunAndUseOn(Waiting(ScaleReverseArtefact()), {step, step}, 90);
}

// Of DynamicArtefact.
Step CountStep(int64_t n) {
  Step step{{Floats({n}, {})}, {}};
  for (int64_t i = 0; i < n; ++i) step.expected.push_back(static_cast<double>(i));
  return step;
}

// Memory freed to make room for the third run lies where it lay in the first, if that failed.
Status RunDynamic() {
  return RunAndUseOn(DynamicArtefact(), {CountStep(2), CountStep(2), CountStep(300)});
}

// Tickets that are cleared, and again when there are more.
Status RunParts() {
  auto step = [](int64_t n) {
    const std::vector<double> ones(static_cast<size_t>(n), 1), threes(ones.size(), 3);
    return Step{{Floats({n}, ones)}, threes};
  };
  return RunAndUseOn(PartsArtefact(), {step(2), step(2), step(300)});
}

// Tensor maps that are encoded, kept by a recording, and encoded for other memory.
Status RunMaps() {
  auto step = [](int64_t n) {
    const std::vector<double> ones(static_cast<size_t>(n), 1), twos(ones.size(), 2);
    return Step{{Floats({n}, ones)}, twos};
  };
  return RunAndUseOn(MapArtefact(), {step(2), step(2), step(2), step(300)}, 90);
}

Status RunLoop() {
  Tensor m = MakeZeroTensor(kInt64, {}), go = MakeZeroTensor(kBool, {});
  SetElementInt(m, 0, 2);
  SetElementInt(go, 0, 1);
  return RunAndUseOn(LoopArtefact(), {{{Floats({1}, {5}), m, go}, {21}}});
}

// Whether the next request for memory of a pool finds that the pool keeps it all.
bool pool_keeps_all = false;

std::shared_ptr<const Device> MakeTight(const DeviceOptions&) {
  CudaDriver driver = emulator::EmulatedDriver();
  driver.cuMemAllocFromPoolAsync = [](CudaAddress* memory, size_t bytes, CudaPoolHandle pool,
                                      CudaStreamHandle stream) -> CudaResult {
    if (std::exchange(pool_keeps_all, false)) return kCudaOutOfMemory;
    return emulator::EmulatedDriver().cuMemAllocFromPoolAsync(memory, bytes, pool, stream);
  };
  return MakeCudaDevice(driver, emulator::EmulatedOrdinal(kSm));
}

// The first request is for the arena.
Status RunTight() {
  static constexpr DeviceRow kTight[] = {{"cuda", MakeTight}};
  TCC_ASSIGN_OR_RETURN(
      Module module,
      Module::FromArtefact(DynamicArtefact(), {.pool = {}, .threads = 1, .devices = kTight}));
  pool_keeps_all = true;
  return RunAndUseOn(Executor(std::move(module)), {CountStep(2), CountStep(300)});
}

// In a stream of a caller's and on its memory.
Status RunEnqueued() {
  TCC_ASSIGN_OR_RETURN(
      auto context, CudaContext::Open(emulator::EmulatedDriver(), emulator::EmulatedOrdinal(kSm)));
  CudaScope scope(*context);
  TCC_RETURN_IF_ERROR(scope.status());
  TCC_ASSIGN_OR_RETURN(CudaMemory memory, CudaMemory::Allocate(context, 64, "a test"));
  TCC_ASSIGN_OR_RETURN(CudaStream stream, MakeCudaStream(context));
  TCC_ASSIGN_OR_RETURN(Executor executor, MakeExecutor(ScaleReverseArtefact()));
  Tensor x = Floats({4}, {}), y = x;
  x.bytes = {memory.data(), 16};
  y.bytes = {memory.data() + 32, 16};
  for (int run = 0; run < 3; ++run) {
    TCC_RETURN_IF_ERROR(executor.Enqueue({&x, 1}, {&y, 1}, stream.get()));
  }
  return End();
}

// Two that are timed in turn, on two sets of operands.
Status RunTimer() {
  constexpr int64_t kBytes = 256;
  TCC_ASSIGN_OR_RETURN(
      auto context, CudaContext::Open(emulator::EmulatedDriver(), emulator::EmulatedOrdinal(kSm)));
  CudaScope scope(*context);
  TCC_RETURN_IF_ERROR(scope.status());
  TCC_ASSIGN_OR_RETURN(CudaMemory memory, CudaMemory::Allocate(context, 4 * kBytes, "a test"));
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<CudaTimer> timer, CudaTimer::Make(context));
  const CudaWork copy = [&](size_t set) {
    uint8_t* from = memory.data() + 2 * kBytes * static_cast<int64_t>(set);
    return TCC_CUDA_CALL(context->driver(), "copying", cuMemcpyDtoDAsync_v2,
                         AddressOf(from + kBytes), AddressOf(from), size_t{kBytes},
                         timer->stream());
  };
  const CudaTimingOptions few{.launches = 3, .graph_seconds = 0, .replays = 2, .blocks = 2};
  TCC_ASSIGN_OR_RETURN(std::vector<CudaTime> times, timer->Time({{copy, copy}}, 2, few));
  for (const CudaTime& time : times) {
    TCC_RETURN_IF_ERROR(time.graph);
    if (!(time.median_seconds > 0)) return WrongResult("no time without an error");
  }
  return End();
}

constexpr Status (*kScenarios[])() = {RunStraight, RunDependent, RunDynamic,  RunParts, RunMaps,
                                      RunLoop,     RunTight,     RunEnqueued, RunTimer};

bool GivesBack(const std::string& call) {
  static const std::set<std::string> kCalls = {"cuDevicePrimaryCtxRelease_v2",
                                               "cuCtxPopCurrent_v2",
                                               "cuModuleUnload",
                                               "cuMemFree_v2",
                                               "cuStreamDestroy_v2",
                                               "cuGraphExecDestroy",
                                               "cuEventDestroy_v2",
                                               "cuGraphDestroy",
                                               "cuMemFreeAsync",
                                               "cuMemPoolDestroy"};
  return kCalls.contains(call);
}

// The name that messages have for a call.
std::string PublicName(const std::string& call) {
  return call.substr(0, call.rfind("_v"));
}

// A scenario without faults.
struct Baseline {
  Status (*scenario)();
  std::vector<std::string> calls;
  int64_t work_calls = 0;
};

Baseline RunWithoutFaults(Status (*scenario)()) {
  emulator::RecordDriverCalls();
  REQUIRE(scenario().ok());
  return {scenario, emulator::RecordedDriverCalls(), work_calls};
}

// So does the choice of the context for it, but not where other memory takes the place next.
bool GivesBack(const std::vector<std::string>& calls, int64_t call) {
  const auto at = static_cast<size_t>(call);
  if (calls[at] == "cuCtxPushCurrent_v2") {
    return GivesBack(calls[at + 1]) && calls[at + 1] != "cuMemFreeAsync";
  }
  return GivesBack(calls[at]);
}

// The first call that has to report the fault: not one that gives back; -1 if none has to.
int64_t Reporter(const Baseline& baseline, const DriverFault& fault) {
  for (int64_t call = fault.call; call < baseline.work_calls; ++call) {
    if (!GivesBack(baseline.calls, call)) return call;
    if (!fault.sticky) return -1;
  }
  return -1;
}

constexpr char kAllocation[] = "cuMemAllocFromPoolAsync";
constexpr char kTrimming[] = "cuMemPoolTrimTo";

// Memory is asked for again once a pool has given back what it kept.
bool IsTriedAgain(const std::vector<std::string>& calls, const DriverFault& fault) {
  const auto at = static_cast<size_t>(fault.call);
  return calls[at] == kAllocation && calls[at - 1] != kTrimming &&
         fault.error == kCudaOutOfMemory && !fault.sticky;
}

// Of the wait and the trimming before memory is asked for again. If one fails it is not, and what
// is said is that there was none.
bool IsBetweenTries(const std::vector<std::string>& calls, int64_t call) {
  const auto at = static_cast<size_t>(call);
  return calls[at] == kTrimming || (at + 1 < calls.size() && calls[at + 1] == kTrimming);
}

bool Names(const Status& status, const std::string& call, CudaResult error) {
  const std::string message = Message(status);
  return message.find(PublicName(call) + " failed with CUDA_ERROR_") != std::string::npos &&
         message.find(fmt::format("({})", static_cast<int>(error))) != std::string::npos;
}

// The one error that has words of its own: a caller's stream is the default one, and not to be
// used.
bool IsOfCaller(const std::string& call, CudaResult error) {
  return call == "cuStreamIsCapturing" && error == kCudaCaptureImplicit;
}

// Runs a scenario with a fault; what is wrong about how it ends, or nothing.
std::string Complaint(const Baseline& baseline, const DriverFault& fault) {
  const std::string& call = baseline.calls[static_cast<size_t>(fault.call)];
  const std::string where = fmt::format("call {} ({}) with {}{}: ", fault.call, call, fault.error,
                                        fault.sticky ? ", sticky" : "");
  const int64_t lost_before = emulator::LiveDriverObjects().lost;
  used_on = OkStatus();
  emulator::RecordDriverCalls(fault);
  const Status status = baseline.scenario();
  emulator::RecordDriverCalls();

  DriverObjects live = emulator::LiveDriverObjects();
  // What a context holds that cannot be made current any more goes with it.
  if (fault.sticky || call == "cuCtxPushCurrent_v2") live.lost = lost_before;
  if (live != DriverObjects{.lost = lost_before}) return where + "something was not given back";
  if (!fault.sticky && !used_on.ok()) return where + "used on: " + Message(used_on);

  if (IsTriedAgain(baseline.calls, fault)) return status.ok() ? "" : where + Message(status);
  const int64_t reporter = Reporter(baseline, fault);
  if (reporter < 0) return status.ok() ? "" : where + "unexpected: " + Message(status);
  if (status.ok()) return where + "no error came of it";
  if (IsBetweenTries(baseline.calls, reporter)) {
    return Names(status, kAllocation, kCudaOutOfMemory) ? "" : where + Message(status);
  }
  const std::string& failed = baseline.calls[static_cast<size_t>(reporter)];
  if (IsOfCaller(failed, fault.error)) {
    return Message(status).find("is being captured") != std::string::npos ? "" : where + "unsaid";
  }
  return Names(status, failed, fault.error) ? "" : where + "not named: " + Message(status);
}

TEST_CASE(
    "an error at any call of the driver ends in a message, with everything given back and the "
    "executor fit for use",
    "[codegen_cuda][cuda_fault]") {
  // A failed copy, a broken context, no memory, a lost device.
  const CudaResult kKinds[] = {kCudaInvalidValue, kCudaOutOfMemory, kCudaIllegalAddress,
                               kCudaDeviceUnavailable};
  int64_t faults = 0, trimmings = 0;
  for (auto* scenario : kScenarios) {
    const Baseline baseline = RunWithoutFaults(scenario);
    REQUIRE(baseline.calls.size() > 50);
    trimmings += std::ranges::count(baseline.calls, kTrimming);
    for (int64_t call = 0; call < static_cast<int64_t>(baseline.calls.size()); ++call) {
      for (CudaResult error : kKinds) {
        for (bool sticky : {false, true}) {
          REQUIRE(Complaint(baseline, {call, error, sticky}) == "");
          ++faults;
        }
      }
    }
  }
  CHECK(faults > 1500);
  CHECK(trimmings == 1);
}

// All errors at all calls would take minutes. Each function's calls, of all scenarios, share the
// errors evenly; every other error is sticky, for every function the other ones.
TEST_CASE("every error of every function of the driver ends so, at one of the function's calls",
          "[codegen_cuda][cuda_fault]") {
  std::vector<Baseline> baselines;
  for (auto* scenario : kScenarios) baselines.push_back(RunWithoutFaults(scenario));
  struct Call {
    const Baseline* baseline;
    int64_t number;
  };
  std::map<std::string, std::vector<Call>> calls_of;
  for (const Baseline& baseline : baselines) {
    for (size_t call = 0; call < baseline.calls.size(); ++call) {
      calls_of[baseline.calls[call]].push_back({&baseline, static_cast<int64_t>(call)});
    }
  }
  const std::vector<CudaResult> errors = emulator::DriverErrors();
  size_t functions = 0;
  for (const auto& [function, calls] : calls_of) {
    ++functions;
    for (size_t i = 0; i < errors.size(); ++i) {
      const Call& call = calls[i * calls.size() / errors.size()];
      const bool sticky = (i + functions) % 2 == 0;
      REQUIRE(Complaint(*call.baseline, {call.number, errors[i], sticky}) == "");
    }
  }
  CHECK(functions > 35);
  CHECK(errors.size() > 80);
}

TEST_CASE("a run after one that found no memory does not replay what was forgotten",
          "[codegen_cuda][cuda_fault]") {
  Artefact artefact = DynamicArtefact();
  // Of 300 on a tebibyte more.
  const SizeExpr hundreds = Combine(SizeOp::kFloorDiv, SizeExpr::Variable(0), 300);
  artefact.plan.arena_bytes = Combine(SizeOp::kAdd, artefact.plan.arena_bytes,
                                      Combine(SizeOp::kMul, hundreds, int64_t{1} << 40));
  StatusOr<Executor> executor = MakeExecutor(std::move(artefact));
  REQUIRE(executor.ok());
  for (int64_t n : {2, 2, 2, 300, 2, 2, 2}) {
    INFO("N = " << n);
    const Status status = RunSteps(*executor, {CountStep(n)});
    CHECK(status.code() == (n == 2 ? absl::StatusCode::kOk : absl::StatusCode::kResourceExhausted));
  }
}

TEST_CASE("every error of the driver has a name, and a code by what it means",
          "[codegen_cuda][cuda_fault]") {
  std::set<std::string> messages;
  for (CudaResult error : emulator::DriverErrors()) {
    emulator::RecordDriverCalls({.call = 0, .error = error});
    const Status status = RunStraight();
    emulator::RecordDriverCalls();
    REQUIRE_FALSE(status.ok());
    const std::string message = Message(status);
    CHECK(message.starts_with("starting the CUDA driver: cuInit failed with CUDA_ERROR_"));
    CHECK(messages.insert(message).second);
  }
  CHECK(messages.size() > 80);
}

}  // namespace
}  // namespace tcc::test
