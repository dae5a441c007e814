#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "search/candidate/build_candidates.h"
#include "search/database/database.h"
#include "search/measure/measurer.h"
#include "search/measure/network_measurer.h"
#include "search/searchers/searcher.h"

namespace tcc {

struct TuneEvent {
  double seconds = 0;    // since the run began
  std::string task;      // Workload::name
  std::string searcher;  // "constructed" for what is compiled without a search
  Measurement measurement;
  double best_seconds = 0;         // of the task, with this trial; 0: none yet
  double constructed_seconds = 0;  // of the task; 0: not known yet
  int64_t trials = 0;              // measured in this run, with this one
};

struct TuneOptions {
  Target target;
  int64_t trials = 0;  // new measurements over all tasks, refusals among them; 0: no limit
  double seconds = 0;  // 0: no limit. One of the two is set
  std::string searcher = std::string(kAutoSearcher);
  std::vector<SearcherRow> more_searchers = {};    // beside Searchers(); `searcher` may name one
  std::shared_ptr<const LearnedModel> model = {};  // of the estimator; null: its prior alone
  uint64_t seed = 0;
  size_t batch = 16;      // candidates of one task that are built and measured in a row
  bool in_place = false;  // candidates are timed inside of the network, which has to be there
  std::function<void(const TuneEvent&)> event = {};
  std::function<void(const std::string& message)> warn = {};
  std::stop_token stop = {};
};

struct TaskResult {
  std::string name;
  std::string key;
  double runs = 1;
  double constructed_seconds = 0;  // 0: it could not be measured, `problem` says why
  double best_seconds = 0;
  std::string best_searcher;
  int64_t trials = 0;  // of this run
  std::string problem;
  bool settled = false;  // it ended before the budget: no more was expected (TaskTuner::IsSettled)
  // From the comparison in place: seconds of the winner to the constructed candidate's, and who
  // proposed it; 0 and "": there was none.
  double in_place_ratio = 0;
  std::string winner;
  double flops = 0;                    // per call
  std::optional<int64_t> moved_bytes;  // per call
  // Printed; "": there is none.
  std::string constructed_schedule;
  std::string best_schedule;  // the fastest measured, which need not be the winner in place
};

// Where the seconds of a run went.
struct TunePhases {
  double begin = 0;  // tasks, their spaces and constructed candidates
  double propose = 0;
  double build = 0;    // replay, lowering and machine code
  double check = 0;    // candidates by themselves, which policies but in-place also time there
  double network = 0;  // generations inside of the network
  double compare = 0;  // the comparison in place
};

struct TuneResult {
  std::vector<TaskResult> tasks;  // in the order of the workloads
  int64_t trials = 0;
  int64_t copied = 0;  // candidates that lower like one that was measured, beside the trials
  std::map<MeasureStatus, int64_t> statuses;  // of this run's trials
  TunePhases phases;
  std::string policy;  // that candidates were timed by, of the environment
  // From the comparison in place: seconds of a run of the network with all constructed candidates
  // and with the winners; 0: there was none.
  double network_constructed_seconds = 0;
  double network_best_seconds = 0;
};

// Builds candidates of a workload, in their order.
using BuildFunction = std::function<std::vector<BuiltCandidate>(
    const Workload& workload, std::span<const Candidate> candidates, const BuildFilter& filter)>;

struct TuneTools {
  Measurer& measurer;
  // The network that the workloads are tasks of; null: the winners are not compared in place.
  NetworkMeasurer* network = nullptr;
  BuildFunction build;
  // By workload: those that read what it makes in the network. Empty: not known.
  std::vector<std::set<size_t>> consumers = {};
};

// Measures candidates of all workloads until a budget ends or a stop is asked for, and records each
// before the next batch of its task is proposed; a stop drops the batch under way. Nothing that the
// database knows of the environment is measured again. At the end the winners are compared in
// place, unless a stop was asked for. Error: the database's; the measurer's where it cannot go on;
// a searcher that is not known.
StatusOr<TuneResult> Tune(std::span<const Workload> workloads, const TuneOptions& options,
                          const Environment& environment, const TuneTools& tools,
                          Database& database);

}  // namespace tcc
