#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "tests/runtime/opencl/fake/open_fake.h"
#include "tests/runtime/opencl/opencl_artefacts.h"

// Every call of an OpenCL driver fails once: what comes of it is a message, or nothing where
// something was given back or the call was about what is kept in the cache; everything that was
// made is given back, and the executor goes on as if nothing had been.
namespace tcc::test {
namespace {

// A run and its expected values.
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

// The outcome of using an executor on that has failed in a scenario.
Status used_on;
// The number of calls that a scenario made before it only gave back.
size_t work_calls = 0;

// After a failure the same executor does all steps, the second time from what the first one left.
Status RunAndUseOn(const OpenedFake& fake, Artefact artefact, const std::vector<Step>& steps) {
  TCC_ASSIGN_OR_RETURN(Executor executor, MakeExecutor(std::move(artefact)));
  const Status status = RunSteps(executor, steps);
  work_calls = fake->calls.size();
  for (int round = 0; round < 2 && !status.ok() && used_on.ok(); ++round) {
    used_on = RunSteps(executor, steps);
  }
  return status;
}

// Loading, runs of which one is recorded, timing.
Status RunStraight(const OpenedFake& fake) {
  const Step step{{Floats({4}, {10, 20, 30, 40})}, {56, 42, 28, 14}};
  Step timed = step;
  timed.timed = true;
  return RunAndUseOn(fake, ScaleReverseArtefact(), {step, step, step, timed, step});
}

// Memory that grows.
Status RunDynamic(const OpenedFake& fake) {
  auto step = [](int64_t n) {
    Step step{{Floats({n}, {})}, {}};
    for (int64_t i = 0; i < n; ++i) step.expected.push_back(static_cast<double>(i));
    return step;
  };
  return RunAndUseOn(fake, DynamicArtefact(), {step(2), step(2), step(300)});
}

// Tickets that are cleared, and again when there are more.
Status RunParts(const OpenedFake& fake) {
  auto step = [](int64_t n) {
    const std::vector<double> ones(static_cast<size_t>(n), 1), threes(ones.size(), 3);
    return Step{{Floats({n}, ones)}, threes};
  };
  return RunAndUseOn(fake, PartsArtefact(), {step(2), step(2), step(300)});
}

// Values that are read back.
Status RunLoop(const OpenedFake& fake) {
  Tensor m = MakeZeroTensor(kInt64, {}), go = MakeZeroTensor(kBool, {});
  SetElementInt(m, 0, 2);
  SetElementInt(go, 0, 1);
  return RunAndUseOn(fake, LoopArtefact(), {{{Floats({1}, {5}), m, go}, {21}}});
}

// Copies that overlap.
Status RunShift(const OpenedFake& fake) {
  return RunAndUseOn(fake, ShiftArtefact(),
                     {{{Floats({8}, {1, 2, 3, 4, 5, 6, 7, 8})}, {2, 3, 4, 5, 6, 7, 6, 7}}});
}

constexpr Status (*kScenarios[])(const OpenedFake& fake) = {RunStraight, RunDynamic, RunParts,
                                                            RunLoop, RunShift};

// A scenario without faults.
struct Baseline {
  Status (*scenario)(const OpenedFake& fake);
  bool is_cached = false;  // built programs were kept before
  std::vector<std::string> calls;
  size_t work_calls = 0;
};

Baseline RunWithoutFaults(OpenedFake& fake, Status (*scenario)(const OpenedFake& fake),
                          bool is_cached) {
  fake.Reset();
  if (!is_cached) fake.ClearCache();
  REQUIRE(scenario(fake).ok());
  REQUIRE(fake->objects == 0);
  return {scenario, is_cached, fake->calls, work_calls};
}

// Returns whether nothing is said of a failure: the call gives back or is made by a destructor, or
// it asks for or loads a program for the cache, which is done without.
bool IsForgiven(const Baseline& baseline, size_t call) {
  const std::string& name = baseline.calls[call];
  if (call >= baseline.work_calls || name.starts_with("clRelease")) return true;
  if (name == "clGetProgramInfo" || name == "clCreateProgramWithBinary") return true;
  return name == "clBuildProgram" && baseline.calls[call - 1] == "clCreateProgramWithBinary";
}

// Runs a scenario with a fault; what is wrong about how it ends, or nothing.
std::string Complaint(OpenedFake& fake, const Baseline& baseline, size_t call, OpenClResult error) {
  const std::string& name = baseline.calls[call];
  const std::string where = fmt::format("call {} ({}) with {}: ", call, name, error);
  if (!baseline.is_cached) fake.ClearCache();
  fake.Reset();
  fake->failing_call = static_cast<int64_t>(call);
  fake->error = error;
  used_on = OkStatus();
  const Status status = baseline.scenario(fake);
  if (fake->objects != 0) return where + fmt::format("{} objects are left", fake->objects);
  if (!used_on.ok()) return where + "used on: " + Message(used_on);
  if (IsForgiven(baseline, call))
    return status.ok() ? "" : where + "unexpected: " + Message(status);
  if (status.ok()) return where + "no error came of it";
  const std::string message = Message(status);
  const bool is_named = message.find(name + " failed with CL_") != std::string::npos &&
                        message.find(fmt::format("({})", error)) != std::string::npos;
  return is_named ? "" : where + "not named: " + message;
}

TEST_CASE(
    "an error at any call of an OpenCL driver ends in a message, with everything given back and "
    "the executor fit for use",
    "[runtime][opencl]") {
  OpenedFake fake;
  // A bad value, no memory of either kind, a lost device.
  constexpr OpenClResult kErrors[] = {-30, kOpenClOutOfResources, kOpenClOutOfHostMemory,
                                      kOpenClDeviceNotAvailable};
  std::set<std::string> functions;
  size_t faults = 0;
  auto fail_all = [&](const Baseline& baseline, size_t calls) {
    for (size_t call = 0; call < calls; ++call) {
      functions.insert(baseline.calls[call]);
      for (OpenClResult error : kErrors) {
        REQUIRE(Complaint(fake, baseline, call, error) == "");
        ++faults;
      }
    }
  };
  // Only loading differs where nothing is kept.
  const Baseline anew = RunWithoutFaults(fake, RunStraight, false);
  const auto loaded = std::ranges::find(anew.calls, "clCreateCommandQueue");
  fail_all(anew, static_cast<size_t>(loaded - anew.calls.begin()));
  for (auto* scenario : kScenarios) {
    const Baseline baseline = RunWithoutFaults(fake, scenario, true);
    fail_all(baseline, baseline.calls.size());
  }
  CHECK(faults > 2000);
  // All but the question for a log.
#define TCC_COUNT_CALL(result, name, parameters) +1
  CHECK(functions.size() == TCC_OPENCL_CALLS(TCC_COUNT_CALL) - 1);
#undef TCC_COUNT_CALL
}

TEST_CASE("a kernel that fails while it runs is named, by its event alone", "[runtime][opencl]") {
  OpenedFake fake;
  for (int64_t launch = 0; launch < 20; ++launch) {
    INFO("launch " << launch);
    fake.Reset();
    fake->failing_launch = launch;
    fake->error = kOpenClOutOfResources;
    used_on = OkStatus();
    constexpr const char* kSymbols[] = {"scale_add", "scale_add", "put", "take"};
    const std::string symbol = kSymbols[launch % 4];
    const Status status = RunStraight(fake);
    CHECK(status.code() == absl::StatusCode::kResourceExhausted);
    CHECK(Message(status).ends_with("running " + symbol +
                                    ": the kernel failed with CL_OUT_OF_RESOURCES (-5)"));
    CHECK(used_on.ok());
    CHECK(fake->objects == 0);
  }
}

}  // namespace
}  // namespace tcc::test
