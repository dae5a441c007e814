#include "compiler/emit_candidates.h"

#include <vector>

#include "compiler/make_backend.h"
#include "compiler/measured_device.h"
#include "compiler/tunable_network.h"
#include "search/tuning/emit_batch.h"
#include "support/device_profile.h"
#include "support/target_api.h"
#include "support/version.h"

namespace tcc {
namespace {

// The target's typical device, as a worker there would tell of it.
ReadyMessage TypicalDevice(const Target& target, GpuCode code) {
  const GpuProfile& profile = GpuProfileOf(target);
  return {.device = target.name,
          .gpu = GpuFacts{.sm = static_cast<uint32_t>(target.sm),
                          .multiprocessors = static_cast<uint32_t>(profile.multiprocessors),
                          .l2_bytes = static_cast<uint64_t>(profile.l2_bytes),
                          .takes_text = code == GpuCode::kCudaText}};
}

// Reads what is known of the workloads in the environment, but on the device that has records.
StatusOr<std::vector<std::vector<StoredTrial>>> KnownOf(const std::vector<Workload>& workloads,
                                                        const EmitCandidatesOptions& options,
                                                        Environment environment,
                                                        Database& database) {
  const CompileOptions& compile = options.compile;
  TCC_ASSIGN_OR_RETURN(
      const Environment recorded,
      RecordedEnvironment(database, compile.target, 1, options.device, compile.warn));
  std::vector<std::vector<StoredTrial>> known(workloads.size());
  if (recorded.device.empty()) return known;
  environment.device = recorded.device;
  TCC_ASSIGN_OR_RETURN(const int64_t row, database.EnvironmentId(environment));
  for (size_t w = 0; w < workloads.size(); ++w) {
    TCC_ASSIGN_OR_RETURN(const int64_t workload, database.WorkloadId(workloads[w]));
    TCC_ASSIGN_OR_RETURN(known[w], database.TrialsOf(workload, row));
  }
  return known;
}

}  // namespace

StatusOr<EmittedCounts> EmitCandidates(Graph graph, const EmitCandidatesOptions& options,
                                       Database* database, const std::string& path) {
  const CompileOptions& compile = options.compile;
  if (!IsCuda(compile.target)) {
    return UsageError(
        "target '{}' is no GPU of CUDA's; expected one whose candidates a batch holds",
        compile.target.name);
  }
  TCC_RETURN_IF_ERROR(CheckWritable(path));
  TCC_ASSIGN_OR_RETURN(TunableNetwork network, TunableNetworkOf(std::move(graph), compile));
  TCC_ASSIGN_OR_RETURN(const MeasuredDevice device,
                       DeviceFor(compile.target, TypicalDevice(compile.target, compile.gpu_code), 1,
                                 options.policy, BytesOf(network.skeleton)));
  network.skeleton = {};
  std::vector<std::vector<StoredTrial>> known;
  if (database) {
    TCC_ASSIGN_OR_RETURN(known, KnownOf(network.workloads, options, device.environment, *database));
  }
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<Backend> backend,
                       MakeBackend(compile.target, {.gpu_code = device.code, .candidates = true}));
  BatchWriter batch({.tcc = std::string(kVersion),
                     .target = compile.target.name,
                     .compilers = device.environment.compilers});
  TCC_RETURN_IF_ERROR(EmitBatch(network.workloads,
                                {.target = compile.target,
                                 .measuring = {.policy = device.policy, .gpu = device.timing},
                                 .candidates = options.candidates,
                                 .random_share = options.random_share,
                                 .seed = options.seed,
                                 .warn = compile.warn,
                                 .progress =
                                     [&](int64_t done, int64_t all) {
                                       if (compile.progress)
                                         compile.progress("candidates", done, all);
                                     }},
                                BuildWith({.target = compile.target,
                                           .backend = backend.get(),
                                           .threads = compile.threads,
                                           .stop = compile.stop}),
                                known, batch));
  TCC_RETURN_IF_ERROR(batch.Write(path));
  EmittedCounts counts{.tasks = batch.tasks().size()};
  for (const BatchTask& task : batch.tasks()) counts.candidates += task.candidates.size();
  return counts;
}

}  // namespace tcc
