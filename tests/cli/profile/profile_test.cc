#include "cli/profile.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "api/compile_graph.h"
#include "api/emulated_device.h"
#include "api/random_inputs.h"
#include "models/zoo.h"
#include "runtime/cuda_program.h"

namespace tcc {
namespace {

// A variable of the environment until the end of the scope.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

// A small network, ready to run.
struct Network {
  explicit Network(const char* target_name) {
    Target target = FindTarget(target_name).value();
    bool gpu = target.kind == TargetKind::kCuda;
    CompileOptions options{.target = target, .threads = 2};
    options.gpu_code = GpuCode::kCudaText;
    StatusOr<Artefact> artefact = CompileGraph(BuildZoo("dqn", {.small = true}).value(), options);
    REQUIRE(artefact.ok());
    StatusOr<LoadOptions> load =
        LoadOptionsFor(target, gpu ? Execution::kEmulator : Execution::kDevice);
    REQUIRE(load.ok());
    StatusOr<Module> module = Module::FromArtefact(*std::move(artefact), *load);
    INFO(Message(module.status()));
    REQUIRE(module.ok());
    executor = std::make_unique<Executor>(*module);
    inputs = RandomInputs(module->metadata(), 0).value();
  }

  StatusOr<Profile> Profiled(int runs) {
    return ProfileRuns(*executor, [&] { return executor->Run(inputs).status(); }, runs);
  }
  const Metadata& metadata() const { return executor->module().metadata(); }

  std::unique_ptr<Executor> executor;
  std::vector<Tensor> inputs;
};

// Names of the launches in the order of the plan, and how many there are of each call.
std::vector<std::string> SymbolsOf(const Network& network, std::vector<size_t>& launches) {
  const Module& module = network.executor->module();
  auto program = std::static_pointer_cast<const CudaProgram>(module.kernels().module);
  std::vector<std::string> symbols;
  for (const Instruction& instruction : module.artefact().plan.body) {
    const auto* call = std::get_if<PlanCall>(&instruction.op);
    if (call == nullptr) continue;
    const GpuKernel& kernel = program->kernels()[call->kernel];
    launches.push_back(kernel.launches.size());
    for (const GpuLaunch& launch : kernel.launches) symbols.push_back(launch.symbol);
  }
  return symbols;
}

TEST_CASE("CUPTI's records become the calls of a run", "[profile]") {
  Network network("sm_86");
  std::vector<size_t> launches;
  std::vector<std::string> symbols = SymbolsOf(network, launches);
  std::string names = "somebody_elses_kernel";
  for (const std::string& symbol : symbols) names += "," + symbol;
  Variable library("TCC_CUPTI", TCC_FAKE_CUPTI), kernels("TCC_FAKE_KERNELS", names);

  StatusOr<Profile> profile = network.Profiled(3);

  INFO(Message(profile.status()));
  REQUIRE(profile.ok());
  CHECK(profile->timer == "CUPTI");
  // Two multiprocessors of 128 lanes at 1 GHz.
  CHECK(profile->peak_gflops == Approx(512));
  REQUIRE(profile->runs.size() == 3);
  const std::vector<ProfiledCall>& calls = profile->runs[0];
  REQUIRE(calls.size() == launches.size());
  // Record 0 is not ours.
  size_t record = 1;
  for (size_t i = 0; i < calls.size(); ++i) {
    CHECK(calls[i].start_us == Approx(10.0 * static_cast<double>(record)));
    double expected = 0;
    for (size_t l = 0; l < launches[i]; ++l) expected += static_cast<double>(++record);
    CHECK(calls[i].microseconds == Approx(expected));
  }
}

TEST_CASE("where CUPTI is missing or refuses, kernels are timed by events and it is said why",
          "[profile]") {
  Network network("sm_86");
  {
    Variable library("TCC_CUPTI", "/nowhere/libcupti.so");
    StatusOr<Profile> profile = network.Profiled(2);
    REQUIRE(profile.ok());
    CHECK_THAT(profile->timer, Catch::StartsWith("events, kernel by kernel (TCC_CUPTI is "
                                                 "/nowhere/libcupti.so"));
    REQUIRE(profile->runs.size() == 2);
    std::vector<size_t> launches;
    SymbolsOf(network, launches);
    REQUIRE(profile->runs[1].size() == launches.size());
    CHECK(profile->runs[1][1].start_us == Approx(profile->runs[1][0].microseconds));
  }
  Variable library("TCC_CUPTI", TCC_FAKE_CUPTI), refuses("TCC_FAKE_CUPTI_REFUSES", "1");
  StatusOr<Profile> profile = network.Profiled(1);
  REQUIRE(profile.ok());
  CHECK(profile->timer ==
        "events, kernel by kernel (cuptiActivityEnable fails: NO_PERMISSION (15))");
}

TEST_CASE("on a CPU every call is timed, and the trace has them as they followed each other",
          "[profile]") {
  Network network("native");
  StatusOr<Profile> profile = network.Profiled(4);
  REQUIRE(profile.ok());
  CHECK(profile->timer == "the CPU's clock");
  CHECK(profile->peak_gflops > 0);
  REQUIRE(profile->runs.size() == 4);

  std::vector<KernelTime> times = FastestTimes(*profile, network.metadata().kernels.size());
  for (const KernelTime& time : times) {
    CHECK(time.calls >= 1);
    CHECK(time.seconds > 0);
  }
  auto trace = nlohmann::json::parse(ChromeTrace(*profile, network.metadata()));
  const auto& events = trace["traceEvents"];
  REQUIRE(events.size() == profile->runs[3].size());
  double end = 0;
  for (const auto& event : events) {
    CHECK(event["ph"] == "X");
    CHECK(event["ts"].get<double>() >= end - 0.01);
    end = event["ts"].get<double>() + event["dur"].get<double>();
    CHECK_FALSE(event["args"]["nodes"].empty());
  }
}

}  // namespace
}  // namespace tcc
