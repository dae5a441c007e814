#include "compiler/tune_graph.h"
#include "compiler/make_backend.h"

#include <algorithm>

#include "codegen_llvm/toolchain.h"
#include "compiler/tunable_network.h"
#include "runtime/cpu/cpu_features.h"
#include "runtime/executor/available_memory.h"
#include "search/measure/local_measurer.h"
#include "search/measure/local_network.h"
#include "search/measure/measuring_lock.h"
#include "support/check.h"
#include "support/stop.h"
#include "support/stopwatch.h"
#include "support/temporary_folder.h"
#include "support/version.h"

namespace tcc {
namespace {

// Describes the properties of this CPU that determine which kernel is fastest.
std::string DescribeHost() {
  StatusOr<Target> native = FindTarget("native");
  TCC_CHECK(native.ok());
  std::string features;
  for (const std::string& feature : RequiredCpuFeatures(*native)) features += feature + " ";
  return fmt::format("{}, {} KiB of L1, {} KiB of L2, features {}", HostCpuName(),
                     native->l1_bytes / 1024, native->l2_bytes / 1024,
                     ToHex(Sha256(features)).substr(0, 8));
}

Status ExpectRunsHere(const Target& target) {
  if (target.kind != TargetKind::kCpu) {
    return Missing("kernels for '{}' cannot be measured: this version measures on CPUs",
                   target.name);
  }
  return CheckCpuFeatures(RequiredCpuFeatures(target));
}

// The address space that a worker reserves without using it: libraries, stacks, allocator pools.
constexpr uint64_t kWorkerBytes = uint64_t{1} << 30;

constexpr double kMinSeconds = 1e-3;  // the least budget; 0 would mean no limit

// Returns the worker's memory limit, so that a candidate that takes all memory does not kill this
// process.
uint64_t MemoryForWorker() {
  int64_t available = AvailableMemory();
  return static_cast<uint64_t>(std::max<int64_t>(available, 0)) + kWorkerBytes;
}

// Starts the network in its own worker, which reads it from a file in the folder. Returns null,
// with a warning, where it does not run there and is not needed.
StatusOr<std::unique_ptr<NetworkMeasurer>> MakeNetwork(TunableNetwork& network,
                                                       const TuneGraphOptions& options,
                                                       const StatusOr<TemporaryFolder>& folder) {
  std::string file = folder.ok() ? *folder / "network.tcc" : "";
  Status written = folder.ok() ? WriteArtefact(network.skeleton, file) : folder.status();
  network.skeleton = {};
  StatusOr<std::unique_ptr<NetworkMeasurer>> made =
      written.ok() ? MakeLocalNetwork({file, network.task_of_kernel}, network.workloads,
                                      {.threads = options.threads,
                                       .log = options.worker_log,
                                       .address_space_bytes = MemoryForWorker()})
                   : written;
  if (made.ok() || options.policy == MeasurePolicy::kInPlace) return made;
  if (options.compile.warn) {
    options.compile.warn("the winners are not compared inside the network: " +
                         Message(made.status()));
  }
  return nullptr;
}

// Reports the database's warnings except the first `told`; returns the number of all warnings.
size_t TellWarnings(const Database& database, size_t told,
                    const std::function<void(const std::string& message)>& warn) {
  const std::vector<std::string>& warnings = database.warnings();
  for (size_t i = told; warn && i < warnings.size(); ++i) warn(warnings[i]);
  return warnings.size();
}

// Returns a function that builds candidates with the options.
BuildFunction BuildWith(const BuildOptions& options) {
  return [options](const Workload& workload, std::span<const Candidate> candidates,
                   const BuildFilter& filter) {
    BuildOptions with_filter = options;
    with_filter.filter = filter;
    return BuildCandidates(workload, candidates, with_filter);
  };
}

}  // namespace

StatusOr<TuneResult> TuneGraph(Graph graph, const TuneGraphOptions& options, Database& database) {
  const CompileOptions& compile = options.compile;
  TCC_RETURN_IF_ERROR(ExpectRunsHere(compile.target));
  TCC_ASSIGN_OR_RETURN(TunableNetwork network, TunableNetworkOf(std::move(graph), compile));
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<Backend> backend, MakeBackend(compile.target));
  TCC_ASSIGN_OR_RETURN(MeasuringLock lock,
                       MeasuringLock::Acquire({.say = compile.warn, .stop = compile.stop}));
  StatusOr<TemporaryFolder> folder = TemporaryFolder::Make("the network that is tuned");
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<NetworkMeasurer> in_place,
                       MakeNetwork(network, options, folder));
  BuildFunction build = BuildWith({.target = compile.target,
                                   .backend = backend.get(),
                                   .threads = compile.threads,
                                   .stop = compile.stop});
  TuneOptions tune = options.tune;
  tune.target = compile.target;
  tune.warn = compile.warn;
  tune.stop = compile.stop;
  int64_t trials = 0, earlier = 0;  // events of a second search count on
  if (options.tune.event) {
    tune.event = [&](TuneEvent event) {
      event.trials += earlier;
      trials = event.trials;
      options.tune.event(event);
    };
  }
  auto tune_by = [&](MeasurePolicy policy) -> StatusOr<TuneResult> {
    TCC_ASSIGN_OR_RETURN(std::unique_ptr<Measurer> measurer,
                         MakeLocalMeasurer({.threads = options.threads,
                                            .policy = policy,
                                            .log = options.worker_log,
                                            .address_space_bytes = MemoryForWorker(),
                                            .warn = compile.warn}));
    tune.in_place = policy == MeasurePolicy::kInPlace;
    TuneTools tools{.measurer = *measurer,
                    .network = in_place.get(),
                    .build = build,
                    .consumers = network.consumers};
    return Tune(network.workloads, tune, LocalEnvironment(compile.target, options.threads, policy),
                tools, database);
  };
  Stopwatch stopwatch;
  StatusOr<TuneResult> result = tune_by(options.policy);
  // A network with a kernel that cannot run cannot run either; then kernels are timed by
  // themselves.
  if (options.policy != MeasurePolicy::kInPlace || !absl::IsFailedPrecondition(result.status())) {
    return result;
  }
  if (compile.warn) {
    compile.warn("candidates are timed by themselves: " + Message(result.status()));
  }
  double taken = stopwatch.Seconds();
  if (tune.seconds > 0) tune.seconds = std::max(tune.seconds - taken, kMinSeconds);
  earlier = trials;
  return tune_by(MeasurePolicy::kRotate64M);
}

Status ExpectSomeKernel(const TuneResult& result) {
  auto ran = [](const TaskResult& task) { return task.best_seconds > 0; };
  if (result.tasks.empty() || std::ranges::any_of(result.tasks, ran)) return OkStatus();
  auto told = std::ranges::find_if_not(result.tasks, &std::string::empty, &TaskResult::problem);
  const TaskResult& task = told == result.tasks.end() ? result.tasks[0] : *told;
  return absl::DeadlineExceededError(
      fmt::format("the budget ended without a valid kernel; {}: {}", task.name, task.problem));
}

StatusOr<TuneResult> TuneIntoDatabase(Graph graph, const TuneGraphOptions& options,
                                      const std::string& path) {
  TCC_ASSIGN_OR_RETURN(Database database, Database::Open(path, Database::Access::kReadWrite));
  size_t told = TellWarnings(database, 0, options.compile.warn);
  StatusOr<TuneResult> result = TuneGraph(std::move(graph), options, database);
  TellWarnings(database, told, options.compile.warn);
  if (!result.ok()) return result;
  Status some = ExpectSomeKernel(*result);
  if (some.ok()) return result;
  TCC_RETURN_IF_ERROR(StopIfRequested(options.compile.stop));
  return some;
}

StatusOr<TunedSchedules> ReadTunedSchedules(
    const std::string& path, const Target& target, int threads,
    const std::function<void(const std::string& message)>& warn) {
  TCC_ASSIGN_OR_RETURN(Database database, Database::Open(path, Database::Access::kRead));
  StatusOr<TunedSchedules> best = database.Best(LocalEnvironment(target, threads));
  TellWarnings(database, 0, warn);
  return best;
}

Status ExpectSearcher(std::string_view name) {
  if (!SearchersNamed(name).empty()) return OkStatus();
  std::string known(kAutoSearcher);
  for (const SearcherRow& row : Searchers()) known += fmt::format(", {}", row.name);
  return UsageError("there is no searcher '{}'; this version has {}", name, known);
}

Environment LocalEnvironment(const Target& target, int threads, MeasurePolicy policy) {
  return {.tcc = std::string(kVersion),
          .target = target.name,
          .device = DescribeHost(),
          .measurer = "local",
          .policy = std::string(NameOf(policy)),
          .compilers = "LLVM " + LlvmVersion(),
          .threads = threads};
}

}  // namespace tcc
