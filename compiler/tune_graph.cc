#include "compiler/tune_graph.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "autodiff_features/learned/model_file.h"
#include "compiler/make_backend.h"
#include "compiler/measured_device.h"
#include "compiler/tunable_network.h"
#include "runtime/artefact/artefact_device.h"
#include "runtime/cpu/cpu_features.h"
#include "runtime/executor/available_memory.h"
#include "runtime/executor/device.h"
#include "runtime/executor/run_sizes.h"
#include "runtime/measure/worker_device.h"
#include "runtime/supervise/measuring_lock.h"
#include "search/measure/local_measurer.h"
#include "search/measure/local_network.h"
#include "support/check.h"
#include "support/stopwatch.h"
#include "support/temporary_folder.h"

namespace tcc {
namespace {

constexpr std::string_view kAutoPolicy = "auto";

// Returns the command that runs the worker; "": it is a program of this machine.
std::string WorkerCommand(const TuneGraphOptions& options) {
  if (!options.worker_command.empty()) return options.worker_command;
  const char* given = std::getenv("TCC_WORKER_COMMAND");
  return given != nullptr ? given : "";
}

bool IsElsewhere(const TuneGraphOptions& options) {
  return options.fleet || !WorkerCommand(options).empty();
}

// A worker elsewhere checks the features of its CPU when it loads a kernel.
Status ExpectMeasurable(const Target& target, bool elsewhere) {
  switch (target.kind) {
    case TargetKind::kCpu:
      return elsewhere ? OkStatus() : CheckCpuFeatures(RequiredCpuFeatures(target));
    case TargetKind::kGpu:
      return OkStatus();  // the worker names its device
    case TargetKind::kReference:
      return Missing("kernels for '{}' cannot be measured: nothing is compiled for it",
                     target.name);
  }
  TCC_UNREACHABLE();
}

// The address space that a worker reserves without using it: libraries, stacks, allocator pools.
constexpr uint64_t kWorkerBytes = uint64_t{1} << 30;

constexpr double kMinSeconds = 1e-3;  // the least budget; 0 would mean no limit

// Starts the network in its own worker, which reads it from a file in the folder. Returns null,
// with a warning, where it does not run there and is not needed, or the worker is elsewhere.
StatusOr<std::unique_ptr<NetworkMeasurer>> MakeNetwork(TunableNetwork& network,
                                                       const TuneGraphOptions& options,
                                                       const TaskRunnerOptions& runner,
                                                       MeasurePolicy policy,
                                                       const StatusOr<TemporaryFolder>& folder) {
  if (options.compile.target.accelerator != Accelerator::kNone) {
    network.skeleton = {};
    return nullptr;  // the clock does not tell what a simulated kernel takes in it
  }
  if (IsElsewhere(options)) {
    network.skeleton = {};
    if (options.compile.warn) {
      options.compile.warn(
          "the winners are not compared inside the network, which a worker elsewhere does not run");
    }
    return nullptr;
  }
  std::string file = folder.ok() ? *folder / "network.tcc" : "";
  Status written = folder.ok() ? WriteArtefact(network.skeleton, file) : folder.status();
  const bool may_be_recorded = MayBeRecorded(network.skeleton);
  network.skeleton = {};
  StatusOr<std::unique_ptr<NetworkMeasurer>> made =
      written.ok() ? MakeLocalNetwork({file, network.task_of_kernel}, network.workloads,
                                      {.hello = runner.hello, .log = options.worker_log})
                   : written;
  if (made.ok() && !(*made)->TimesTasks() && !may_be_recorded && options.compile.warn) {
    options.compile.warn(
        "values decide the steps of the network, or they are too many to record: at the end it is "
        "timed run by run, waits of the host included");
  }
  if (made.ok() || policy == MeasurePolicy::kInPlace) return made;
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

// Returns the options of the workers that measure for the target.
StatusOr<TaskRunnerOptions> RunnerFor(const TuneGraphOptions& options) {
  const bool is_gpu = options.compile.target.kind == TargetKind::kGpu;
  TaskRunnerOptions runner;
  runner.command = WorkerCommand(options);
  runner.log = options.worker_log;
  runner.warn = options.compile.warn;
  runner.spare = is_gpu;
  runner.hello.device = ArtefactDevice(options.compile.target);
  runner.hello.threads = static_cast<uint32_t>(options.threads);
  if (is_gpu) {
    TCC_ASSIGN_OR_RETURN(int ordinal,
                         options.ordinal ? *options.ordinal : ChosenOrdinal(runner.hello.device));
    runner.hello.ordinal = static_cast<uint32_t>(ordinal);
  }
  // A GPU's driver reserves addresses for all of its memory; another machine has memory of its own.
  const bool is_limited = !is_gpu && runner.command.empty();
  runner.hello.address_space_bytes = is_limited ? MemoryForWorker() : 0;
  return runner;
}

// The search through one network's kernels by one policy after another.
class NetworkTuning {
 public:
  NetworkTuning(const TuneGraphOptions& options, TunableNetwork& network, Database& database)
      : options_(options), network_(network), database_(database) {
    tune_ = options.tune;
    tune_.target = options.compile.target;
    tune_.warn = options.compile.warn;
    tune_.stop = options.compile.stop;
    if (!options.tune.event) return;
    tune_.event = [this](TuneEvent event) {
      event.trials += earlier_;  // events of a second search count on
      trials_ = event.trials;
      options_.tune.event(event);
    };
  }

  StatusOr<TuneResult> Run() {
    TCC_ASSIGN_OR_RETURN(measurer_.runner, RunnerFor(options_));
    StatusOr<std::unique_ptr<TaskRunner>> runner = nullptr;
    if (!options_.fleet) runner = TaskRunner::Start(measurer_.runner);
    if (!runner.ok()) {
      return Annotate(runner.status(), fmt::format("kernels for '{}' cannot be measured",
                                                   options_.compile.target.name));
    }
    const ReadyMessage ready = options_.fleet ? options_.fleet->ready : (*runner)->device();
    std::optional<MeasuringLock> lock;  // of this machine's device
    if (!IsElsewhere(options_)) {
      TCC_ASSIGN_OR_RETURN(MeasuringLock taken,
                           MeasuringLock::Acquire({.device = LockedDevice(ready),
                                                   .say = options_.compile.warn,
                                                   .stop = options_.compile.stop}));
      lock.emplace(std::move(taken));
    }
    TCC_ASSIGN_OR_RETURN(MeasuredDevice device, Device(ready, options_.policy));
    StatusOr<TemporaryFolder> folder = TemporaryFolder::Make("the network that is tuned");
    TCC_ASSIGN_OR_RETURN(in_place_,
                         MakeNetwork(network_, options_, measurer_.runner, device.policy, folder));
    Stopwatch stopwatch;
    StatusOr<TuneResult> result = RunBy(device, *std::move(runner));
    // A network with a kernel that cannot run cannot run either; then kernels are timed by
    // themselves.
    if (device.policy != MeasurePolicy::kInPlace || !absl::IsFailedPrecondition(result.status())) {
      return result;
    }
    if (tune_.warn) {
      tune_.warn("candidates are timed by themselves: " + Message(result.status()));
    }
    if (tune_.seconds > 0) {
      tune_.seconds = std::max(tune_.seconds - stopwatch.Seconds(), kMinSeconds);
    }
    earlier_ = trials_;
    TCC_ASSIGN_OR_RETURN(device, Device(ready, MeasurePolicy::kRotate64M));
    return RunBy(device, nullptr);
  }

 private:
  StatusOr<MeasuredDevice> Device(const ReadyMessage& ready, std::optional<MeasurePolicy> policy) {
    return DeviceFor(options_.compile.target, ready, options_.threads, policy,
                     BytesOf(network_.skeleton), IsElsewhere(options_));
  }

  StatusOr<TuneResult> RunBy(const MeasuredDevice& device, std::unique_ptr<TaskRunner> runner) {
    const CompileOptions& compile = options_.compile;
    TCC_ASSIGN_OR_RETURN(
        std::unique_ptr<Backend> backend,
        MakeBackend(compile.target, {.gpu_code = device.code, .candidates = true}));
    measurer_.policy = device.policy;
    measurer_.gpu = device.timing;
    TCC_ASSIGN_OR_RETURN(std::unique_ptr<Measurer> measurer,
                         options_.fleet ? options_.fleet->measurer(measurer_, compile.stop)
                                        : MakeLocalMeasurer(measurer_, std::move(runner)));
    if (options_.begin) options_.begin(device.environment);
    tune_.in_place = device.policy == MeasurePolicy::kInPlace;
    tune_.overlap = device.is_apart || options_.fleet;
    tune_.threads = compile.threads;
    TuneTools tools{.measurer = *measurer,
                    .network = in_place_.get(),
                    .build = BuildWith({.target = compile.target,
                                        .backend = backend.get(),
                                        .threads = compile.threads,
                                        .stop = compile.stop}),
                    .consumers = network_.consumers};
    TCC_ASSIGN_OR_RETURN(TuneResult result,
                         Tune(network_.workloads, tune_, device.environment, tools, database_));
    result.device = device.environment.device;
    return result;
  }

  const TuneGraphOptions& options_;
  TunableNetwork& network_;
  Database& database_;
  LocalMeasurerOptions measurer_;
  TuneOptions tune_;
  std::unique_ptr<NetworkMeasurer> in_place_;  // null: it does not run
  int64_t trials_ = 0, earlier_ = 0;
};

}  // namespace

uint64_t MemoryForWorker() {
  int64_t available = AvailableMemory();
  return static_cast<uint64_t>(std::max<int64_t>(available, 0)) + kWorkerBytes;
}

StatusOr<TuneResult> TuneGraph(Graph graph, const TuneGraphOptions& options, Database& database) {
  const CompileOptions& compile = options.compile;
  TCC_RETURN_IF_ERROR(ExpectMeasurable(compile.target, IsElsewhere(options)));
  TCC_ASSIGN_OR_RETURN(TunableNetwork network, TunableNetworkOf(std::move(graph), compile));
  return NetworkTuning(options, network, database).Run();
}

Status ExpectSomeKernel(const TuneResult& result, const std::stop_token& stop) {
  if (result.tasks.empty()) return OkStatus();
  if (std::ranges::any_of(result.tasks, &TaskResult::recorded)) return OkStatus();
  if (stop.stop_requested()) {
    return absl::CancelledError("interrupted before any kernel was measured");
  }
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
  if (result.ok()) TCC_RETURN_IF_ERROR(ExpectSomeKernel(*result, options.compile.stop));
  return result;
}

StatusOr<TunedSchedules> ReadTunedSchedules(
    const std::string& path, const Target& target, int threads, const std::string& device,
    const std::function<void(const std::string& message)>& warn) {
  TCC_ASSIGN_OR_RETURN(Database database, Database::Open(path, Database::Access::kRead));
  TCC_ASSIGN_OR_RETURN(Environment wanted,
                       RecordedEnvironment(database, target, threads, device, warn));
  StatusOr<TunedSchedules> best = database.Best(wanted);
  TellWarnings(database, 0, warn);
  return best;
}

Status ExpectSearcher(std::string_view name) {
  if (!SearchersNamed(name).empty()) return OkStatus();
  std::string known(kAutoSearcher);
  for (const SearcherRow& row : Searchers()) known += fmt::format(", {}", row.name);
  return UsageError("there is no searcher '{}'; this version has {}", name, known);
}

std::vector<std::string_view> Policies() {
  std::vector<std::string_view> names = PolicyNames();
  names.insert(names.begin(), kAutoPolicy);
  return names;
}

StatusOr<std::optional<MeasurePolicy>> FindPolicy(std::string_view name) {
  if (name == kAutoPolicy) return std::nullopt;
  std::optional<MeasurePolicy> policy = FindMeasurePolicy(name);
  if (policy) return policy;
  return UsageError("there is no policy '{}'; this version has {}", name,
                    fmt::join(Policies(), ", "));
}

StatusOr<std::shared_ptr<const LearnedModel>> ReadCostModel(const std::string& path,
                                                            const Target& target,
                                                            const std::string& option) {
  TCC_ASSIGN_OR_RETURN(LearnedModel model, ReadModel(path));
  TCC_RETURN_IF_ERROR(ExpectModelFor(target, model, option + " " + path));
  return std::make_shared<const LearnedModel>(std::move(model));
}

}  // namespace tcc
