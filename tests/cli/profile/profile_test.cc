#include "cli/bench/profile.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/bench/chrome_trace.h"
#include "compiler/check/random_inputs.h"
#include "compiler/compile_graph.h"
#include "compiler/devices/emulated_device.h"
#include "graph/passes/infer_shapes.h"
#include "ir/graph/graph_bodies.h"
#include "models/zoo/zoo.h"
#include "runtime/cuda/cuda_program.h"
#include "tests/codegen_cuda/emulator/cuda_artefacts.h"

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
  explicit Network(const char* target_name, Graph graph = BuildZoo("dqn", {.small = true}).value(),
                   int threads = 0) {
    Target target = FindTarget(target_name).value();
    bool gpu = target.kind == TargetKind::kGpu;
    CompileOptions options{.target = target, .threads = 2};
    options.gpu_code = GpuCode::kCudaText;
    StatusOr<Artefact> artefact = CompileGraph(std::move(graph), options);
    REQUIRE(artefact.ok());
    StatusOr<LoadOptions> load =
        LoadOptionsFor(target, gpu ? Execution::kEmulator : Execution::kDevice);
    REQUIRE(load.ok());
    load->threads = threads;
    StatusOr<Module> module = Module::FromArtefact(*std::move(artefact), *load);
    INFO(Message(module.status()));
    REQUIRE(module.ok());
    executor = std::make_unique<Executor>(*module);
    inputs = RandomInputs(module->metadata(), 0).value();
  }

  StatusOr<Profile> Profiled(int runs) {
    return ProfileRuns(*executor, [&] { return executor->Run(inputs).status(); }, runs);
  }
  Status Count(Profile& profile) {
    return CountKernels(*executor, [&] { return executor->Run(inputs).status(); }, profile);
  }
  TracedRun Traced(const Profile& profile) {
    return TraceRun(*executor, [&] { return executor->Run(inputs).status(); }, profile).value();
  }
  // Returns the events of a trace.
  std::vector<nlohmann::json> Trace(const Profile& profile) {
    std::string text = ChromeTrace(Traced(profile), profile, executor->module().artefact());
    return nlohmann::json::parse(text)["traceEvents"];
  }
  const Metadata& metadata() const { return executor->module().metadata(); }

  std::unique_ptr<Executor> executor;
  std::vector<Tensor> inputs;
};

std::vector<nlohmann::json> OfPhase(const char* phase, const std::vector<nlohmann::json>& events) {
  std::vector<nlohmann::json> found;
  for (const nlohmann::json& event : events) {
    if (event["ph"] == phase) found.push_back(event);
  }
  return found;
}

std::string NameOfTrack(const std::vector<nlohmann::json>& events, int thread) {
  for (const nlohmann::json& event : OfPhase("M", events)) {
    if (event["name"] == "thread_name" && event["tid"] == thread) return event["args"]["name"];
  }
  return "";
}

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

TEST_CASE("CUPTI's records become the calls of a run", "[cli][profile]") {
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
  CHECK(profile->peaks.fma_gflops == Approx(512));
  // 512 multiply-adds a cycle on tensor cores; 8 bytes twice a cycle from memory.
  REQUIRE(profile->peaks.mma_gflops.size() == 4);
  CHECK(profile->peaks.mma_gflops[0] == std::pair<std::string, double>("f16", 2048));
  CHECK(profile->peaks.memory_gbytes == Approx(16));
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
          "[cli][profile]") {
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

TEST_CASE("a run under counters says of each kernel what its launches read, wrote and used",
          "[cli][profile]") {
  Network network("sm_86");
  std::vector<size_t> launches;
  std::vector<std::string> symbols = SymbolsOf(network, launches);
  Variable library("TCC_CUPTI", TCC_FAKE_CUPTI);
  Variable counted("TCC_FAKE_LAUNCHES", std::to_string(symbols.size()));
  Profile profile = network.Profiled(1).value();
  profile.runs.resize(1);

  REQUIRE(network.Count(profile).ok());

  CHECK(profile.counters_missing.empty());
  REQUIRE(profile.counters.size() == network.metadata().kernels.size());
  // Metric m of launch i is 10 i + m: time, bytes read and written, then percentages.
  size_t launch = 0;
  const std::vector<ProfiledCall>& calls = profile.runs[0];
  REQUIRE(calls.size() == launches.size());
  std::vector<double> read(profile.counters.size()), time(read), weighted(read);
  for (size_t i = 0; i < calls.size(); ++i) {
    for (size_t l = 0; l < launches[i]; ++l, ++launch) {
      double first = 10 * static_cast<double>(launch);
      read[calls[i].kernel] += first + 1;
      time[calls[i].kernel] += first;
      weighted[calls[i].kernel] += first * (first + 5);
    }
  }
  for (size_t k = 0; k < profile.counters.size(); ++k) {
    REQUIRE(profile.counters[k].has_value());
    CHECK(profile.counters[k]->read_bytes == Approx(read[k]));
    if (time[k] > 0) CHECK(profile.counters[k]->tensor_percent == Approx(weighted[k] / time[k]));
  }
  std::vector<nlohmann::json> slices = OfPhase("X", network.Trace(profile));
  REQUIRE(slices.size() == calls.size());
  CHECK(slices[0]["args"]["dram_read_bytes"] == Approx(read[calls[0].kernel]));
  CHECK(slices[0]["args"].contains("occupancy_percent"));
}

TEST_CASE("where counters are not allowed it is said what it takes, and times stay",
          "[cli][profile]") {
  Network network("sm_86");
  Variable library("TCC_CUPTI", TCC_FAKE_CUPTI);
  Profile profile = network.Profiled(1).value();
  const char* kCalls[] = {
      "cuptiProfilerInitialize",
      "cuptiDeviceGetChipName",
      "cuptiProfilerHostInitialize",
      "cuptiProfilerHostConfigAddMetrics",
      "cuptiProfilerHostGetConfigImageSize",
      "cuptiProfilerHostGetConfigImage",
      "cuptiRangeProfilerEnable",
      "cuptiRangeProfilerGetCounterDataSize",
      "cuptiRangeProfilerCounterDataImageInitialize",
      "cuptiRangeProfilerSetConfig",
      "cuptiRangeProfilerStart",
      "cuptiRangeProfilerStop",
      "cuptiRangeProfilerDecodeData",
      "cuptiRangeProfilerGetCounterDataInfo",
      "cuptiProfilerHostEvaluateToGpuValues",
  };
  std::vector<size_t> launches;
  std::string count = std::to_string(SymbolsOf(network, launches).size());
  Variable counted("TCC_FAKE_LAUNCHES", count);
  for (const char* call : kCalls) {
    INFO(call);
    profile.counters_missing.clear();
    {
      Variable fails("TCC_FAKE_CUPTI_FAILS", std::string(call) + " 35");
      REQUIRE(network.Count(profile).ok());
    }
    CHECK_THAT(profile.counters_missing,
               Catch::StartsWith(std::string(call) + " fails: the user may not read GPU counters "
                                                     "(ERR_NVGPUCTRPERM); it takes root"));
    CHECK(profile.counters.empty());
    CHECK(profile.runs.size() == 1);
    // All was given back.
    profile.counters_missing.clear();
    REQUIRE(network.Count(profile).ok());
    CHECK(profile.counters_missing.empty());
    profile.counters.clear();
  }
  Variable fails("TCC_FAKE_CUPTI_FAILS", "cuptiDeviceGetChipName 15");
  REQUIRE(network.Count(profile).ok());
  CHECK(profile.counters_missing == "cuptiDeviceGetChipName fails: NO_PERMISSION (15)");
}

TEST_CASE("counters of another number of launches than were made are not taken", "[cli][profile]") {
  Network network("sm_86");
  Variable library("TCC_CUPTI", TCC_FAKE_CUPTI), counted("TCC_FAKE_LAUNCHES", "1");
  Profile profile = network.Profiled(1).value();
  REQUIRE(network.Count(profile).ok());
  CHECK_THAT(profile.counters_missing,
             Catch::StartsWith("CUPTI counted 1 launches of kernels; expected "));
  CHECK(profile.counters.empty());
}

TEST_CASE("a share of nothing in one launch leaves the mean to the others", "[cli][profile]") {
  Network network("sm_86");
  std::vector<size_t> launches;
  std::vector<std::string> symbols = SymbolsOf(network, launches);
  Variable library("TCC_CUPTI", TCC_FAKE_CUPTI);
  Variable counted("TCC_FAKE_LAUNCHES", std::to_string(symbols.size()));
  // Metric 3 is the share of sectors that were found in the L2 cache.
  Variable nothing("TCC_FAKE_NOTHING", "3");
  Profile profile = network.Profiled(1).value();
  profile.runs.resize(1);
  REQUIRE(network.Count(profile).ok());
  const std::vector<ProfiledCall>& calls = profile.runs[0];
  size_t launch = 0;
  std::vector<double> time(profile.counters.size()), weighted(time);
  for (size_t i = 0; i < calls.size(); ++i) {
    for (size_t l = 0; l < launches[i]; ++l, ++launch) {
      if (launch % 2 == 1) continue;  // of these the fake says nothing
      double first = 10 * static_cast<double>(launch);
      time[calls[i].kernel] += first;
      weighted[calls[i].kernel] += first * (first + 3);
    }
  }
  for (size_t k = 0; k < profile.counters.size(); ++k) {
    double share = profile.counters[k]->l2_hit_percent;
    if (time[k] > 0) CHECK(share == Approx(weighted[k] / time[k]));
    if (time[k] == 0) CHECK(CountersJson(*profile.counters[k])["l2_hit_percent"].dump() == "null");
  }
}

TEST_CASE("a kernel of an empty grid is no launch that counters are expected of",
          "[cli][profile]") {
  StatusOr<Graph> graph = ParseGraph(R"(graph partly_empty {
  input nothing: f32[0x5]
  input x: f32[6x5]
  a = Relu(nothing) : f32[]
  b = Exp(x) : f32[]
  return a, b
})",
                                     {});
  REQUIRE(graph.ok());
  REQUIRE(InferShapes(*graph).ok());
  Network network("sm_86", *std::move(graph));
  std::vector<size_t> launches;
  SymbolsOf(network, launches);
  REQUIRE(launches == std::vector<size_t>{0, 1});
  Variable library("TCC_CUPTI", TCC_FAKE_CUPTI), counted("TCC_FAKE_LAUNCHES", "1");
  Profile profile = network.Profiled(1).value();
  REQUIRE(network.Count(profile).ok());
  CHECK(profile.counters_missing.empty());
  REQUIRE(profile.counters.size() == 2);
  CHECK(profile.counters[0].has_value() != profile.counters[1].has_value());
}

TEST_CASE("a grid that a size of 0 makes empty is no launch that counters are expected of",
          "[cli][profile]") {
  Executor executor = test::Made(test::DynamicArtefact());
  Variable library("TCC_CUPTI", TCC_FAKE_CUPTI);
  for (int64_t size : {0, 3}) {
    INFO("N = " << size);
    std::vector<Tensor> inputs = {MakeZeroTensor(kFloat32, {size})};
    auto run = [&] { return executor.Run(inputs).status(); };
    Variable counted("TCC_FAKE_LAUNCHES", size == 0 ? "0" : "1");
    Profile profile = ProfileRuns(executor, run, 1).value();
    REQUIRE(CountKernels(executor, run, profile).ok());
    CHECK(profile.counters_missing == "");
    REQUIRE(profile.counters.size() == 1);
    CHECK(profile.counters[0].has_value() == (size > 0));
  }
}

TEST_CASE("a model without launches has no counters, and it is said so", "[cli][profile]") {
  Network network("sm_86");
  Profile profile = network.Profiled(1).value();
  profile.runs = {{}};
  REQUIRE(network.Count(profile).ok());
  CHECK(profile.counters_missing == "the model launches no kernel");
}

TEST_CASE("a CPU has no counters, and a CUPTI without them is named", "[cli][profile]") {
  Network cpu("native");
  Profile profile = cpu.Profiled(1).value();
  REQUIRE(cpu.Count(profile).ok());
  CHECK(profile.counters_missing == "they are read of NVIDIA's GPUs alone");
  Network gpu("sm_86");
  Variable library("TCC_CUPTI", "/nowhere/libcupti.so");
  profile = gpu.Profiled(1).value();
  REQUIRE(gpu.Count(profile).ok());
  CHECK_THAT(profile.counters_missing, Catch::StartsWith("TCC_CUPTI is /nowhere/libcupti.so"));
}

TEST_CASE("on a CPU every call is timed", "[cli][profile]") {
  Network network("native");
  StatusOr<Profile> profile = network.Profiled(4);
  REQUIRE(profile.ok());
  CHECK(profile->timer == "the CPU's clock");
  CHECK(profile->peaks.fma_gflops > 0);
  CHECK(profile->peaks.memory_gbytes > 0);
  REQUIRE(profile->runs.size() == 4);

  std::vector<KernelTime> times = FastestTimes(*profile, network.metadata().kernels.size());
  for (const KernelTime& time : times) {
    CHECK(time.calls >= 1);
    CHECK(time.seconds > 0);
  }
}

TEST_CASE("a trace of a GPU has one track, which has the calls of the profile's last run",
          "[cli][profile]") {
  Network network("sm_86");
  Variable library("TCC_CUPTI", "/nowhere/libcupti.so");
  Profile profile = network.Profiled(2).value();
  std::vector<nlohmann::json> events = network.Trace(profile);
  std::vector<nlohmann::json> slices = OfPhase("X", events);
  REQUIRE(slices.size() == profile.runs[1].size());
  for (const nlohmann::json& slice : slices) CHECK(slice["tid"] == 0);
  CHECK(OfPhase("s", events).empty());
  CHECK(NameOfTrack(events, 0) == "cuda");
}

// Checks that of two slices on a track one holds the other or they do not overlap, up to a
// nanosecond, the unit of Perfetto's clock.
void CheckNesting(std::vector<nlohmann::json> slices) {
  constexpr double kNanosecond = 1e-3;
  auto start = [](const nlohmann::json& slice) { return slice["ts"].get<double>(); };
  auto end = [&](const nlohmann::json& slice) { return start(slice) + slice["dur"].get<double>(); };
  std::ranges::stable_sort(slices, [&](const auto& a, const auto& b) {
    return std::pair(start(a), -end(a)) < std::pair(start(b), -end(b));
  });
  std::vector<double> open;  // ends of the slices that enclose the next one
  for (const nlohmann::json& slice : slices) {
    while (!open.empty() && open.back() <= start(slice) + kNanosecond) open.pop_back();
    if (!open.empty()) CHECK(end(slice) <= open.back() + kNanosecond);
    open.push_back(end(slice));
  }
}

TEST_CASE("a trace of a CPU has a track a thread, whose slices nest", "[cli][profile]") {
  for (int threads : {1, 2, 3}) {
    INFO(threads << " threads");
    Network network("native", BuildZoo("resnet18", {.small = true}).value(), threads);
    Profile profile = network.Profiled(1).value();
    std::vector<nlohmann::json> events = network.Trace(profile);
    std::vector<nlohmann::json> slices = OfPhase("X", events);
    for (int thread = 0; thread < threads; ++thread) {
      CHECK(NameOfTrack(events, thread).starts_with(fmt::format("thread {}", thread)));
      std::vector<nlohmann::json> track;
      for (const nlohmann::json& slice : slices) {
        if (slice["tid"] == thread) track.push_back(slice);
      }
      CheckNesting(track);
    }
    size_t calls = 0, parts = 0;
    for (const nlohmann::json& slice : slices) {
      bool is_call = slice["cat"] == "kernel";
      ++(is_call ? calls : parts);
      CHECK((is_call ? slice["tid"] == 0 : slice["tid"] < threads));
      if (!is_call) CHECK(slice["args"]["begin"] < slice["args"]["end"]);
      if (is_call) CHECK_FALSE(slice["args"]["nodes"].empty());
      if (is_call) CHECK(slice["args"]["percent_of_peak"].get<double>() >= 0);
    }
    CHECK(calls == profile.runs[0].size());
    CHECK((parts > 0) == (threads > 1));  // a thread by itself shares no loop
  }
}

TEST_CASE("parts of a call cover each of its loops once, and flows lead to other threads' parts",
          "[cli][profile]") {
  Network network("native", BuildZoo("resnet18", {.small = true}).value(), 2);
  Profile profile = network.Profiled(1).value();
  TracedRun run = network.Traced(profile);
  std::map<size_t, std::vector<std::pair<int64_t, int64_t>>> ranges;
  for (const ProfiledPart& part : run.parts) {
    ranges[part.call].emplace_back(part.begin, part.end);
    const ProfiledCall& call = run.calls[part.call];
    CHECK(part.start_us >= call.start_us);
    CHECK(part.start_us + part.microseconds <= call.start_us + call.microseconds + 1e-3);
  }
  REQUIRE_FALSE(ranges.empty());
  for (auto& [call, parts] : ranges) {
    // A call may have several loops: for each that begins at 0, one more ends where the next
    // begins.
    std::ranges::sort(parts);
    std::map<int64_t, int> open;  // loops by where they have been run to
    for (auto [begin, end] : parts) {
      if (begin > 0) CHECK(open[begin]-- > 0);
      ++open[end];
    }
  }
  std::vector<nlohmann::json> events = network.Trace(profile);
  std::vector<nlohmann::json> tails = OfPhase("s", events), heads = OfPhase("f", events);
  CHECK(tails.size() == heads.size());
  auto is_in_a_slice = [&](const nlohmann::json& end) {
    return std::ranges::any_of(OfPhase("X", events), [&](const nlohmann::json& slice) {
      return slice["tid"] == end["tid"] && slice["ts"] == end["ts"];
    });
  };
  std::set<int> ids;
  for (size_t i = 0; i < tails.size(); ++i) {
    CHECK(tails[i]["id"] == heads[i]["id"]);
    CHECK(ids.insert(tails[i]["id"].get<int>()).second);
    CHECK(tails[i]["tid"] == 0);
    CHECK(heads[i]["tid"] == 1);
    CHECK(heads[i]["bp"] == "e");
    CHECK(is_in_a_slice(tails[i]));
    CHECK(is_in_a_slice(heads[i]));
  }
}

TEST_CASE("a trace counts the bytes of the arena that calls work on", "[cli][profile]") {
  Network network("native");
  Profile profile = network.Profiled(1).value();
  std::vector<nlohmann::json> counts = OfPhase("C", network.Trace(profile));
  REQUIRE(counts.size() == profile.runs[0].size() + 1);
  int64_t arena = network.executor->module().artefact().plan.arena_bytes.AsConstant().value();
  int64_t most = 0;
  for (const nlohmann::json& count : counts) {
    int64_t bytes = count["args"]["bytes"];
    CHECK(bytes <= arena);
    most = std::max(most, bytes);
  }
  CHECK(most > arena / 2);
  CHECK(counts.back()["args"]["bytes"] == 0);
}

}  // namespace
}  // namespace tcc
