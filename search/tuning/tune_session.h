#pragma once

#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "search/tuning/build_ahead.h"
#include "search/tuning/task_tuner.h"
#include "search/tuning/tuner.h"
#include "support/stopwatch.h"

namespace tcc {

// A timer that adds its lifetime to the seconds of a phase.
class PhaseClock {
 public:
  explicit PhaseClock(double& seconds) : seconds_(seconds) {}
  PhaseClock(const PhaseClock&) = delete;
  PhaseClock& operator=(const PhaseClock&) = delete;
  ~PhaseClock() { seconds_ += stopwatch_.Seconds(); }

 private:
  double& seconds_;
  Stopwatch stopwatch_;
};

// A candidate that a search may start from.
struct Start {
  size_t sketch = 0;
  SearchPoint point;
  Candidate candidate = {};
  BuiltCandidate built = {};
};

// The state of a task during a run.
struct TaskState {
  const Workload* workload = nullptr;
  std::unique_ptr<TaskTuner> tuner;
  int64_t row = 0;                    // its row in the database
  std::vector<uint8_t> reference;     // the artefact of the candidate that others are compared with
  int64_t code_size = 0;              // the reference's CodeSizeOf
  StoredTrial constructed;            // the reference's record, which may still have to be stored
  std::vector<StoredTrial> known;     // earlier trials, until the tuner is made
  std::vector<StoredTrial> imported;  // of others, as well
  std::vector<Start> starts;          // the first ones, where they were built before it began
  std::vector<SearchPoint> suspects;  // candidates to build one by one
  // The point of the constructed candidate while it is still to be recorded.
  std::optional<SearchPoint> unrecorded;
  std::map<std::string, Measurement> lowered;  // measurements by lowered key
  TaskResult result;
  std::vector<double> best_after;  // the best seconds after each round
  double seconds = 0;              // the time spent on the task
  bool under_way = false;          // a batch of it is proposed and not yet measured
  bool done = false;
};

// The candidates of one task that are proposed and built.
struct TaskBatch {
  TaskState* task = nullptr;
  size_t most = 0;                               // of its proposals
  std::future<std::vector<Proposal>> proposing;  // until they are built
  std::vector<Proposal> proposals;
  std::vector<Candidate> candidates;
  std::vector<std::future<BuiltCandidate>> built;  // by candidate
  // By candidate: what was built of it, and the id of its request if it was submitted.
  std::vector<std::pair<BuiltCandidate, std::optional<size_t>>> submitted;
};

// The steps shared by all strategies of spending a budget: beginning tasks, and proposing,
// building, measuring and recording candidates.
class TuneSession {
 public:
  TuneSession(const TuneOptions& options, const TuneTools& tools, Database& database);
  TuneSession(const TuneSession&) = delete;
  TuneSession& operator=(const TuneSession&) = delete;
  // Waits for what is being built.
  ~TuneSession();

  // Reads the records of the workloads and measures the candidate that each gets without a search,
  // until the budget ends. A task where that fails is done, and its problem is reported.
  Status Begin(std::span<const Workload> workloads, const Environment& environment);

  // Returns whether batches are submitted and awaited, in place of Measure.
  bool IsParallel() const { return options_.overlap && tools_.measurer.IsParallel(); }
  std::vector<TaskState>& tasks() { return tasks_; }
  const std::vector<TaskState>& tasks() const { return tasks_; }
  const TuneOptions& options() const { return options_; }
  const std::vector<std::set<size_t>>& consumers() const { return tools_.consumers; }
  TuneResult& result() { return result_; }
  double Elapsed() const;
  // Returns whether the budget for the search is spent or a stop was requested.
  bool IsOver() const;
  // Returns whether all of a budget of time is spent, with the part that the search leaves to the
  // comparison in place.
  bool IsSpent() const { return options_.seconds > 0 && Elapsed() >= options_.seconds; }
  bool IsStopped() const { return options_.stop.stop_requested(); }
  // Returns `count`, limited by the rest of the budget without `under_way` candidates that are
  // still to be measured.
  size_t Affordable(size_t count, size_t under_way = 0) const;

  // Proposes and builds candidates. An exhausted or settled task is done, and its batch empty. The
  // database notes what is being built: if that ends the process, the next one builds them one by
  // one.
  StatusOr<TaskBatch> Build(TaskState& task, size_t count);
  // Does the same in steps, beside the caller. A task has one such batch at a time, and must not be
  // touched while it is proposed. `under_way` is as for Affordable. A settled task is done, and its
  // batch is not being proposed.
  TaskBatch BeginPropose(TaskState& task, size_t count, size_t under_way);
  // Waits for the proposals and begins to build them, behind earlier batches. An exhausted
  // task has none and is done.
  Status BeginBuild(TaskBatch& batch);
  // Waits a little for a candidate; returns whether it is built.
  bool AwaitBuilt(const TaskBatch& batch, size_t candidate);
  // Waits for a candidate, in their order.
  StatusOr<BuiltCandidate> TakeBuilt(TaskBatch& batch, size_t candidate);
  // Drops what is still to be proposed or built, and must not be asked for any more.
  void Drop() { builder_.Drop(); }
  std::vector<BuiltCandidate> Build(const TaskState& task, std::span<const Candidate> candidates);
  // Opens the task in the measurer. Returns false if its reference no longer runs; then the task is
  // done, and its problem is reported.
  StatusOr<bool> Open(TaskState& task);
  // Returns the measurement of a candidate that need not run: it was refused, or lowers to the same
  // code as another one.
  std::optional<Measurement> Known(const TaskState& task, const BuiltCandidate& built) const;
  // Runs a candidate of the open task. nullopt: the measurer cannot go on with the task, which is
  // done, and nothing is known about the candidate.
  StatusOr<std::optional<Measurement>> Measure(TaskState& task, std::vector<uint8_t> artefact,
                                               double stop_beyond);
  // Waits until the batch is built and hands to a parallel measurer what has to run. False: its
  // task cannot be opened, or building was cancelled.
  StatusOr<bool> Submit(TaskBatch& batch, double stop_beyond);
  // Waits for the measurement of a candidate of a submitted batch. Error: the measurer cannot go
  // on.
  StatusOr<Measurement> Await(const TaskBatch& batch, size_t candidate);
  // Records the constructed candidate of a task, unless it was recorded by an earlier run.
  Status FinishConstructed(TaskState& task, const Measurement& measurement);
  // Records a trial before anything else is proposed. `copied`: its measurement is that of another
  // candidate.
  Status Finish(TaskState& task, const Proposal& proposal, const Candidate& candidate,
                const BuiltCandidate& built, const Measurement& measurement, bool copied);
  // Replaces the comparison in place of a task.
  Status RecordComparison(const TaskState& task, std::span<const StoredTrial> trials);

  // The result, with tasks that the budget did not reach.
  TuneResult Take(std::span<const Workload> workloads);

 private:
  Status Record(TaskState& task, const SearchPoint& point, const StoredTrial& trial, bool copied);
  Status TakeSuspects(TaskState& task);
  // Returns whether the task is settled, which is done then.
  bool Settle(TaskState& task);
  // Returns what TaskTuner::Propose does, but suspects one by one before. Reads and changes nothing
  // but the task's tuner and suspects.
  static std::vector<Proposal> Propose(TaskState& task, size_t most);
  static void SetProposals(TaskBatch& batch, std::vector<Proposal> proposals);
  // Notes in the database that the batch is built.
  Status Note(const TaskBatch& batch);
  BuildFilter FilterOf(const TaskState& task) const;
  StoredTrial TrialOf(const TaskState& task, const Candidate& candidate) const;
  Status PrepareTasks(const TaskTunerOptions& options);
  Status ReadRecords(TaskState& task);
  void MakeTuner(TaskState& task, const TaskTunerOptions& options);
  void BuildStarts(TaskState& task);
  Status BeginTask(TaskState& task, const TaskTunerOptions& options);
  Start StartOf(TaskState& task, size_t sketch, const SearchPoint& point);
  Status MeasureConstructed(TaskState& task);
  StatusOr<bool> Take(TaskState& task, const Start& start, Status& problem);
  Status SetReference(TaskState& task, const Start& start, const Measurement& measured);

  const TuneOptions& options_;
  const TuneTools& tools_;
  Database& database_;
  Stopwatch stopwatch_;
  int64_t environment_ = 0;
  std::vector<TaskState> tasks_;
  const TaskState* open_ = nullptr;
  size_t requests_ = 0;                    // submitted to a parallel measurer
  std::map<size_t, Measurement> reports_;  // not awaited yet, by request
  std::set<int64_t> noted_;                // rows of tasks with a batch that is being built
  BuildAhead builder_;
  TuneResult result_;
};

// Spends the budget batch by batch, each on the task with the most promising next batch (Ansor's
// scheduler: Zheng et al. 2020, section 6). Candidates are timed by themselves. With
// TuneOptions::overlap the next tasks' batches are proposed and built meanwhile.
Status TuneByTurns(TuneSession& session);

// Spends the budget on all tasks at once: a generation has one candidate per task, timed inside the
// network after a check by itself.
Status TuneInPlace(TuneSession& session, NetworkMeasurer& network);

// Ends a search: each task keeps the candidate that is fastest in the network, of its constructed
// one and the best known ones. Once a budget of time is spent, only the best known one is compared.
// If the whole network is no faster, all tasks keep the constructed ones. Records the result.
Status CompareInPlace(TuneSession& session, NetworkMeasurer& network);

// Ends a search whose network is only timed as a whole: the network with the best known candidate
// of each task beside the one with all constructed candidates. If it is not faster by 1 %, halves
// of them are tried, until the budget of time is spent; tasks without a gain keep the constructed
// ones. Records the result.
Status CompareWhole(TuneSession& session, NetworkMeasurer& network);

}  // namespace tcc
