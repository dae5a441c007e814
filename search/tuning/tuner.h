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
#include "search/searchers/searcher.h"

namespace tcc {

struct TuneEvent {
  double seconds = 0;    // since the run began
  std::string task;      // Workload::name
  std::string searcher;  // "constructed" for the candidate that is compiled without a search
  Measurement measurement;
  double best_seconds = 0;         // the task's best including this trial; 0: none yet
  double constructed_seconds = 0;  // the task's; 0: not known yet
  int64_t trials = 0;              // the trials of this run, including this one
};

struct TuneOptions {
  Target target;
  int64_t trials = 0;  // new measurements over all tasks, refusals among them; 0: no limit
  double seconds = 0;  // 0: no limit. One of the two is set
  std::string searcher = std::string(kAutoSearcher);
  std::vector<SearcherRow> more_searchers = {};    // beside Searchers(); `searcher` may name one
  std::shared_ptr<const LearnedModel> model = {};  // of the estimator; null: its prior alone
  uint64_t seed = 0;
  size_t batch = 16;      // the candidates of one task that are built and measured in a row
  bool in_place = false;  // candidates are timed inside of the network, which has to be there
  // Whether batches of some tasks are proposed and built while another's is measured, where
  // candidates do not run on the CPUs that build them. Not with in_place.
  bool overlap = false;
  int threads = 1;  // that make search spaces, propose and build with overlap
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
  bool recorded = false;  // the database has the time of a candidate, from this run or one before
  bool settled = false;   // ended early: no more gain was expected (TaskTuner::IsSettled)
  // From the comparison in place: the ratio of the winner's seconds to the constructed candidate's,
  // and the winner's searcher; 0 and "": there was none. Where the network is timed as a whole,
  // only a task that falls back to its constructed candidate has them.
  double in_place_ratio = 0;
  std::string winner;
  double flops = 0;                    // per call
  std::optional<int64_t> moved_bytes;  // per call
  // The schedules as text; "": there is none.
  std::string constructed_schedule;
  std::string best_schedule;  // the fastest measured, which need not be the winner in place
};

// The seconds of a run by phase.
struct TunePhases {
  double begin = 0;  // tasks, their spaces and constructed candidates
  // With overlap these two are waits alone.
  double propose = 0;
  double build = 0;    // replay, lowering and machine code
  double check = 0;    // candidates by themselves; all policies but in-place also time them here
  double network = 0;  // generations inside of the network
  double compare = 0;  // the comparison in place
};

struct TuneResult {
  std::vector<TaskResult> tasks;  // in the order of the workloads
  int64_t trials = 0;
  int64_t known = 0;   // trials of the tasks that the database had at the beginning
  int64_t copied = 0;  // candidates that lower like a measured one, not counted as trials
  std::map<MeasureStatus, int64_t> statuses;  // of this run's trials
  TunePhases phases;
  std::string policy;  // the environment's policy of timing candidates
  std::string device;  // the environment's
  // From the comparison in the network: the seconds of a run with all constructed candidates, and
  // with the winners; 0: there was none.
  double network_constructed_seconds = 0;
  double network_best_seconds = 0;
};

// Builds candidates of a workload, in their order.
using BuildFunction = std::function<std::vector<BuiltCandidate>(
    const Workload& workload, std::span<const Candidate> candidates, const BuildFilter& filter)>;

// Returns a function that builds candidates with the options and its own filter.
BuildFunction BuildWith(const BuildOptions& options);

struct TuneTools {
  Measurer& measurer;
  // The network that the workloads are tasks of; null: the winners are not compared in place.
  NetworkMeasurer* network = nullptr;
  BuildFunction build;
  // By workload: the workloads that read its result in the network. Empty: not known.
  std::vector<std::set<size_t>> consumers = {};
};

// Measures candidates of all workloads until a budget ends or a stop is requested, and records each
// before the next batch of its task is proposed; a stop drops the current batch. Candidates that
// the database knows in the environment are not measured again. At the end the winners are compared
// in the network, unless a stop was requested. Error: the database's; the measurer's if it cannot
// go on; an unknown searcher.
StatusOr<TuneResult> Tune(std::span<const Workload> workloads, const TuneOptions& options,
                          const Environment& environment, const TuneTools& tools,
                          Database& database);

}  // namespace tcc
