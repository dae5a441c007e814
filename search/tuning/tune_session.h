#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "search/tuning/task_tuner.h"
#include "search/tuning/tuner.h"

namespace tcc {

// Adds the seconds that it lives to a phase.
class PhaseClock {
 public:
  explicit PhaseClock(double& seconds) : seconds_(seconds) {}
  PhaseClock(const PhaseClock&) = delete;
  PhaseClock& operator=(const PhaseClock&) = delete;
  ~PhaseClock() {
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// A task of a run, and what is known of it.
struct TaskState {
  const Workload* workload = nullptr;
  std::unique_ptr<TaskTuner> tuner;
  int64_t row = 0;                    // of the database
  std::vector<uint8_t> reference;     // artefact of the candidate that others are compared with
  int64_t code_size = 0;              // its CodeSizeOf
  StoredTrial constructed;            // its record, there or to be
  std::vector<SearchPoint> suspects;  // to be built one by one
  // The point of the constructed candidate while it is still to be recorded.
  std::optional<SearchPoint> unrecorded;
  std::map<std::string, Measurement> lowered;  // by lowered key, what was measured
  TaskResult result;
  std::vector<double> best_after;  // each round
  double seconds = 0;              // spent on it
  bool done = false;
};

// Candidates of one task, built.
struct BuiltBatch {
  std::vector<Proposal> proposals;
  std::vector<Candidate> candidates;
  std::vector<BuiltCandidate> built;
};

// The steps that all ways of spending a budget have in common: tasks begin, candidates are
// proposed, built, measured by themselves and recorded.
class TuneSession {
 public:
  TuneSession(const TuneOptions& options, const TuneTools& tools, Database& database);

  // Reads what the database knows of the workloads and runs what each gets without a search, until
  // the budget ends. A task where that fails is done, with its problem told.
  Status Begin(std::span<const Workload> workloads, const Environment& environment);

  std::vector<TaskState>& tasks() { return tasks_; }
  const std::vector<TaskState>& tasks() const { return tasks_; }
  const TuneOptions& options() const { return options_; }
  const std::vector<std::set<size_t>>& consumers() const { return tools_.consumers; }
  TuneResult& result() { return result_; }
  double Elapsed() const;
  // Whether the budget for the search is spent, or a stop was asked for.
  bool IsOver() const;
  bool IsStopped() const { return options_.stop.stop_requested(); }
  // Up to `count`, and no more than the budget still has.
  size_t Affordable(size_t count) const;

  // Proposes and builds; an exhausted or settled task is done, and the batch empty. The database
  // knows what is being built: should that end the process, the next one builds them one by one.
  StatusOr<BuiltBatch> Build(TaskState& task, size_t count);
  std::vector<BuiltCandidate> Build(const TaskState& task, std::span<const Candidate> candidates);
  // Makes the task the measurer's. Returns false where its reference no longer runs; then the task
  // is done, with its problem told.
  StatusOr<bool> Open(TaskState& task);
  // The measurement of a candidate that need not run: it was refused, or lowers like another one.
  std::optional<Measurement> Known(const TaskState& task, const BuiltCandidate& built) const;
  // Runs a candidate of the task, which is open. nullopt: the measurer cannot go on with the task,
  // which is done, and nothing is known of the candidate.
  StatusOr<std::optional<Measurement>> Measure(TaskState& task, std::vector<uint8_t> artefact,
                                               double stop_beyond);
  // Records the constructed candidate of a task, unless it was recorded by an earlier run.
  Status FinishConstructed(TaskState& task, const Measurement& measurement);
  // Records a trial before anything else is proposed. `copied`: its measurement is another one's.
  Status Finish(TaskState& task, const Proposal& proposal, const Candidate& candidate,
                const BuiltCandidate& built, const Measurement& measurement, bool copied);
  // Replaces the comparison in place of a task.
  Status RecordComparison(const TaskState& task, std::span<const StoredTrial> trials);

  // The result, with tasks that the budget did not reach.
  TuneResult Take(std::span<const Workload> workloads);

 private:
  Status Record(TaskState& task, const SearchPoint& point, const StoredTrial& trial, bool copied);
  Status TakeSuspects(TaskState& task);
  BuiltBatch Propose(TaskState& task, size_t count);
  StoredTrial TrialOf(const TaskState& task, const Candidate& candidate) const;
  Status BeginTask(const Workload& workload, const TaskTunerOptions& options);
  Status MeasureConstructed(TaskState& task);

  const TuneOptions& options_;
  const TuneTools& tools_;
  Database& database_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  int64_t environment_ = 0;
  std::vector<TaskState> tasks_;
  const TaskState* open_ = nullptr;
  TuneResult result_;
};

// Spends the budget batch by batch, on the task where the next one promises most (Ansor's
// scheduler: Zheng et al. 2020, section 6). Candidates are timed by themselves.
Status TuneByTurns(TuneSession& session);

// Spends the budget on all tasks at once: a generation is a candidate for each, timed inside of the
// network. Candidates are checked by themselves before.
Status TuneInPlace(TuneSession& session, NetworkMeasurer& network);

// Ends a search: in the network each task keeps what is fastest there of its constructed candidate
// and the best that are known; all keep the constructed ones if the whole is no faster. Records it.
Status CompareInPlace(TuneSession& session, NetworkMeasurer& network);

}  // namespace tcc
