#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/compile_options.h"
#include "ir/graph/graph.h"
#include "runtime/measure/measure_protocol.h"
#include "search/fleet/fleet.h"
#include "search/tuning/tuner.h"

namespace tcc {

struct TuneGraphOptions {
  CompileOptions compile;  // target, numeric mode, threads that build, warnings
  // The tuner's options, except target, stop, warnings and measuring, which the other fields set.
  TuneOptions tune;
  std::optional<MeasurePolicy> policy = {};  // none: `auto` (DeviceFor)
  int threads = 1;                           // that kernels run on, on a CPU
  std::optional<int> ordinal = {};           // of the GPU; none: TCC_CUDA_DEVICE's, else 0
  // A command of the shell that runs `tcc-worker --stdio` on the machine to measure on; "": that of
  // TCC_WORKER_COMMAND, else a worker of this machine.
  std::string worker_command = {};
  std::optional<FleetDevice> fleet = {};  // measures in place of one worker
  // Called before candidates are measured in an environment.
  std::function<void(const Environment& environment)> begin = {};
  std::string worker_log;  // file for the worker's standard error; "": none
};

// Measures candidates for the kernels of an imported graph, on this machine unless a command runs
// the worker, and records them. Error:
// Unavailable if the target's kernels do not run here or there is no worker; DeviceFor's; Tune's.
StatusOr<TuneResult> TuneGraph(Graph graph, const TuneGraphOptions& options, Database& database);

// Returns the address space that a worker for CPUs may take, so that a candidate that takes all
// memory does not kill its parent.
uint64_t MemoryForWorker();

// Fails where no kernel of the result was measured, by this run or one before: with Cancelled after
// a stop, else with DeadlineExceeded, whose message names a kernel and says why.
Status ExpectSomeKernel(const TuneResult& result, const std::stop_token& stop);

// Does the same as TuneGraph with the database at the path, which is created if missing; its
// warnings go to the options' hook. Error: Cancelled or DeadlineExceeded where a stop or the budget
// came before any kernel was measured; Database::Open's and TuneGraph's.
StatusOr<TuneResult> TuneIntoDatabase(Graph graph, const TuneGraphOptions& options,
                                      const std::string& path);

// Reads the best schedules of the database at the path for kernels of the target on the device
// (RecordedEnvironment); schedules measured on about as many threads come first. Errors:
// Database::Open's, RecordedEnvironment's and Database::Best's.
StatusOr<TunedSchedules> ReadTunedSchedules(
    const std::string& path, const Target& target, int threads, const std::string& device,
    const std::function<void(const std::string& message)>& warn);

// Fails with FailedPrecondition and all names if `name` is neither kAutoSearcher nor one of
// Searchers().
Status ExpectSearcher(std::string_view name);

// Returns "auto" and the names of all policies.
std::vector<std::string_view> Policies();
// Returns the policy of that name, nullopt for "auto". Error: FailedPrecondition with all names.
StatusOr<std::optional<MeasurePolicy>> FindPolicy(std::string_view name);

// Reads a cost model for candidates of the target. Error: the file's; InvalidArgument, naming the
// option and the file, where it is for another kind of target.
StatusOr<std::shared_ptr<const LearnedModel>> ReadCostModel(const std::string& path,
                                                            const Target& target,
                                                            const std::string& option);

}  // namespace tcc
