#include "tests/api/planted_database.h"

#include "compiler/measured_device.h"
#include "compiler/tunable_network.h"
#include "compiler/tune_graph.h"
#include "models/onnx/import_onnx.h"
#include "runtime/executor/usable_cpus.h"
#include "search/space/task_space.h"
#include "support/check.h"
#include "tests/compiler/onnx_models.h"

namespace {

using namespace tcc;

template <typename T>
T Expect(StatusOr<T> value) {
  TCC_CHECK(value.ok()) << value.status();
  return *std::move(value);
}

StoredTrial TrialOf(const Workload& workload, TaskSpace& space, const SearchPoint& point,
                    double seconds, const std::string& searcher) {
  Candidate candidate = space.ToCandidate(point);
  return StoredTrial{.variant_key = workload.variant_keys[candidate.schedule.variant],
                     .rules = candidate.rules,
                     .schedule = candidate.schedule,
                     .measurement = {.seconds = seconds},
                     .searcher = searcher};
}

// Returns the constructed schedule and a faster one a step away from it; none where there is no
// other.
std::vector<StoredTrial> PlantedTrials(const Workload& workload, const Target& target) {
  TaskSpace space(workload, target);
  std::optional<SearchPoint> start = space.Start(0);
  if (!start) return {};
  std::vector<Point> around = space.Points(0)->Neighbours(start->point);
  if (around.empty()) return {};
  return {TrialOf(workload, space, *start, 1, "constructed"),
          TrialOf(workload, space, {0, around[0]}, 1e-9, "planted")};
}

}  // namespace

int PlantFasterSchedules(const std::string& network, const std::string& path) {
  CompileOptions options{.target = Expect(FindTarget("native"))};
  TunableNetwork tunable =
      Expect(TunableNetworkOf(Expect(ImportOnnxBytes(SmallNetwork(network))), options));
  Database database = Expect(Database::Open(path, Database::Access::kReadWrite));
  int64_t environment =
      Expect(database.EnvironmentId(LocalEnvironment(options.target, UsableCpus())));
  int planted = 0;
  for (const Workload& workload : tunable.workloads) {
    std::vector<StoredTrial> trials = PlantedTrials(workload, options.target);
    for (const StoredTrial& trial : trials) {
      Status recorded = database.Record(Expect(database.WorkloadId(workload)), environment, trial);
      TCC_CHECK(recorded.ok()) << recorded;
    }
    planted += !trials.empty();
  }
  return planted;
}
