#include "search/tuning/tune_session.h"

#include <algorithm>
#include <utility>

#include "autodiff_features/measured_tasks.h"
#include "support/check.h"
#include "support/threads.h"

namespace tcc {
namespace {

constexpr int64_t kMaxImported = 8;  // records of others, that are tried first
constexpr const char* kStopped = "the budget ended before it was looked at";
constexpr const char* kUntimed = "the budget ended before it was timed in the network";
// The search leaves that part of a budget of time to the comparison in the network.
constexpr double kComparisonShare = 0.08;

}  // namespace

TuneSession::TuneSession(const TuneOptions& options, const TuneTools& tools, Database& database)
    : options_(options), tools_(tools), database_(database), builder_(options.threads) {}

TuneSession::~TuneSession() {
  builder_.Stop();
  for (int64_t row : noted_) database_.EndBuild(row).IgnoreError();
}

double TuneSession::Elapsed() const {
  return stopwatch_.Seconds();
}

bool TuneSession::IsOver() const {
  if (IsStopped()) return true;
  if (options_.trials > 0 && result_.trials >= options_.trials) return true;
  double share = tools_.network ? 1 - kComparisonShare : 1;
  return options_.seconds > 0 && Elapsed() >= share * options_.seconds;
}

size_t TuneSession::Affordable(size_t count, size_t under_way) const {
  if (options_.trials == 0) return count;
  int64_t left = options_.trials - result_.trials - static_cast<int64_t>(under_way);
  return std::min(count, static_cast<size_t>(std::max<int64_t>(left, 0)));
}

Status TuneSession::Begin(std::span<const Workload> workloads, const Environment& environment) {
  PhaseClock clock(result_.phases.begin);
  TaskTunerOptions options{.searchers = SearchersNamed(options_.searcher, options_.more_searchers),
                           .seed = options_.seed,
                           .settings = SettingsOf(environment.policy, environment.threads),
                           .model = options_.model};
  if (options.searchers.empty()) return UsageError("there is no searcher '{}'", options_.searcher);
  TCC_ASSIGN_OR_RETURN(environment_, database_.EnvironmentId(environment));
  tasks_ = std::vector<TaskState>(workloads.size());  // open_ points at one of them
  for (size_t i = 0; i < workloads.size(); ++i) tasks_[i].workload = &workloads[i];
  if (options_.overlap) TCC_RETURN_IF_ERROR(PrepareTasks(options));
  size_t begun = 0;
  for (; begun < tasks_.size() && !IsOver(); ++begun) {
    TCC_RETURN_IF_ERROR(BeginTask(tasks_[begun], options));
  }
  tasks_.erase(tasks_.begin() + static_cast<ptrdiff_t>(begun), tasks_.end());
  return OkStatus();
}

// Does on all threads what takes time before the tasks can be begun. Without overlap each is made
// when it begins, so that a stop finds the tasks before it begun.
Status TuneSession::PrepareTasks(const TaskTunerOptions& options) {
  for (TaskState& task : tasks_) TCC_RETURN_IF_ERROR(ReadRecords(task));
  return ForEachIndex(tasks_.size(), options_.threads, [&](size_t i) {
    if (IsOver()) return OkStatus();
    MakeTuner(tasks_[i], options);
    BuildStarts(tasks_[i]);
    return OkStatus();
  });
}

Status TuneSession::ReadRecords(TaskState& task) {
  TCC_ASSIGN_OR_RETURN(task.row, database_.WorkloadId(*task.workload));
  TCC_ASSIGN_OR_RETURN(task.known, database_.TrialsOf(task.row, environment_));
  result_.known += static_cast<int64_t>(task.known.size());
  TCC_ASSIGN_OR_RETURN(task.imported,
                       database_.ImportedTrialsOf(task.row, options_.target.name, kMaxImported));
  return OkStatus();
}

// Makes the tuner of a task whose records were read.
void TuneSession::MakeTuner(TaskState& task, const TaskTunerOptions& options) {
  task.tuner = std::make_unique<TaskTuner>(*task.workload, options_.target, options);
  task.tuner->Resume(task.known);
  task.tuner->Suggest(task.imported);
  for (const StoredTrial& trial : task.known) {
    if (!trial.lowered_key.empty()) task.lowered.emplace(trial.lowered_key, trial.measurement);
  }
  task.known.clear();
  task.imported.clear();
}

// Builds starts up to the first one without a fault.
void TuneSession::BuildStarts(TaskState& task) {
  TaskSpace& space = task.tuner->space();
  for (size_t s : space.ByDefault()) {
    if (task.starts.size() == kMaxStartsTried) return;
    std::optional<SearchPoint> point = space.Start(s);
    if (!point) continue;
    task.starts.push_back(StartOf(task, s, *point));
    const BuiltCandidate& built = task.starts.back().built;
    if (absl::IsCancelled(built.status) || (built.status.ok() && built.fault.empty())) return;
  }
}

// Measures what a workload gets without a search.
Status TuneSession::BeginTask(TaskState& task, const TaskTunerOptions& options) {
  task.result.name = task.workload->name;
  task.result.key = task.workload->key;
  task.result.runs = task.workload->runs;
  if (!task.tuner) {
    TCC_RETURN_IF_ERROR(ReadRecords(task));
    MakeTuner(task, options);
  }
  TCC_RETURN_IF_ERROR(TakeSuspects(task));
  TCC_RETURN_IF_ERROR(MeasureConstructed(task));
  task.starts.clear();
  return OkStatus();
}

// A candidate whose building ended the process is not built again where it was alone; of several,
// each is built alone.
Status TuneSession::TakeSuspects(TaskState& task) {
  TCC_ASSIGN_OR_RETURN(std::vector<Suspect> suspects, database_.TakeSuspects(task.row));
  for (Suspect& suspect : suspects) {
    std::optional<SearchPoint> point =
        task.tuner->space().Find(suspect.candidate.variant_key, suspect.candidate.schedule);
    if (!point || task.tuner->history().Knows(*point)) continue;
    if (suspect.batch > 1) {
      task.suspects.push_back(*std::move(point));
      continue;
    }
    suspect.candidate.measurement = {.status = MeasureStatus::kBuildFailed,
                                     .message = "building it ended the process"};
    suspect.candidate.searcher = "suspect";
    TCC_RETURN_IF_ERROR(Record(task, *point, suspect.candidate, false));
  }
  return OkStatus();
}

Start TuneSession::StartOf(TaskState& task, size_t sketch, const SearchPoint& point) {
  auto built = std::ranges::find(task.starts, sketch, &Start::sketch);
  if (built != task.starts.end()) return std::move(*built);
  Start start{
      .sketch = sketch, .point = point, .candidate = task.tuner->space().ToCandidate(point)};
  start.built = Build(task, {&start.candidate, 1})[0];
  return start;
}

// Takes the first start that can be built and run as the reference, as a compilation does: one
// whose code has a fault only where there is no other.
Status TuneSession::MeasureConstructed(TaskState& task) {
  Status first;
  std::vector<Start> faulty;
  size_t tried = 0;
  for (size_t s : task.tuner->space().ByDefault()) {
    if (tried == kMaxStartsTried) break;
    std::optional<SearchPoint> point = task.tuner->space().Start(s);
    if (!point) continue;
    ++tried;
    Start start = StartOf(task, s, *point);
    if (absl::IsCancelled(start.built.status)) {
      task.done = true;
      task.result.problem = kStopped;
      return OkStatus();
    }
    if (start.built.status.ok() && !start.built.fault.empty()) {
      faulty.push_back(std::move(start));
      continue;
    }
    TCC_ASSIGN_OR_RETURN(bool taken, Take(task, start, first));
    if (taken) return OkStatus();
  }
  for (const Start& start : faulty) {
    TCC_ASSIGN_OR_RETURN(bool taken, Take(task, start, first));
    if (taken) return OkStatus();
  }
  task.done = true;
  task.result.problem = first.ok() ? "it has no schedule to search from" : Message(first);
  return OkStatus();
}

// Makes a start the reference if it was built and runs; `problem` becomes the first reason why one
// does not.
StatusOr<bool> TuneSession::Take(TaskState& task, const Start& start, Status& problem) {
  const BuiltCandidate& built = start.built;
  Status status = built.status;
  if (status.ok()) {
    open_ = nullptr;
    StatusOr<Measurement> measured = tools_.measurer.Open(*task.workload, built.artefact);
    if (absl::IsUnavailable(measured.status())) return measured.status();
    if (measured.ok()) {
      TCC_RETURN_IF_ERROR(SetReference(task, start, *measured));
      return true;
    }
    status = measured.status();
  }
  if (problem.ok()) problem = status;
  return false;
}

Status TuneSession::SetReference(TaskState& task, const Start& start, const Measurement& measured) {
  const auto& [sketch, point, candidate, built] = start;
  open_ = &task;
  task.reference = built.artefact;
  task.code_size = built.code_size;
  task.constructed = {.variant_key = task.workload->variant_keys[candidate.schedule.variant],
                      .rules = candidate.rules,
                      .schedule = candidate.schedule,
                      .lowered_key = built.lowered_key,
                      .measurement = measured,
                      .build_seconds = built.build_seconds,
                      .searcher = "constructed"};
  auto known = task.lowered.find(built.lowered_key);
  if (known != task.lowered.end() && known->second.status == MeasureStatus::kOk) {
    task.result.constructed_seconds = known->second.seconds;
    return OkStatus();
  }
  task.unrecorded = point;
  // In the network it takes another time.
  return options_.in_place ? OkStatus() : FinishConstructed(task, measured);
}

bool TuneSession::Settle(TaskState& task) {
  task.result.settled = task.suspects.empty() && task.tuner->IsSettled();
  task.done |= task.result.settled;
  return task.result.settled;
}

std::vector<Proposal> TuneSession::Propose(TaskState& task, size_t most) {
  if (task.suspects.empty()) return task.tuner->Propose(most);
  std::vector<Proposal> suspect = {{std::move(task.suspects.back()), "suspect"}};
  task.suspects.pop_back();
  return suspect;
}

void TuneSession::SetProposals(TaskBatch& batch, std::vector<Proposal> proposals) {
  batch.proposals = std::move(proposals);
  batch.task->done = batch.proposals.empty();
  for (const Proposal& proposal : batch.proposals) {
    batch.candidates.push_back(batch.task->tuner->space().ToCandidate(proposal.point));
  }
}

Status TuneSession::Note(const TaskBatch& batch) {
  std::vector<StoredTrial> in_flight;
  for (const Candidate& candidate : batch.candidates) {
    in_flight.push_back(TrialOf(*batch.task, candidate));
  }
  return database_.BeginBuild(batch.task->row, in_flight);
}

// Returns a filter with its own copy of the task's keys, which change beside the building.
BuildFilter TuneSession::FilterOf(const TaskState& task) const {
  std::set<std::string> keys;
  for (const auto& [key, measurement] : task.lowered) keys.insert(key);
  return {.known = [keys = std::move(keys)](const std::string& key) { return keys.contains(key); },
          .most_code = MostCodeBeside(task.code_size, options_.target)};
}

StatusOr<TaskBatch> TuneSession::Build(TaskState& task, size_t count) {
  TaskBatch batch;
  batch.task = &task;
  {
    PhaseClock clock(result_.phases.propose);
    if (Settle(task)) return batch;
    SetProposals(batch, Propose(task, Affordable(count)));
    if (batch.proposals.empty()) return batch;
  }
  TCC_RETURN_IF_ERROR(Note(batch));
  PhaseClock clock(result_.phases.build);
  for (BuiltCandidate& built : tools_.build(*task.workload, batch.candidates, FilterOf(task))) {
    std::promise<BuiltCandidate> ready;
    ready.set_value(std::move(built));
    batch.built.push_back(ready.get_future());
  }
  TCC_RETURN_IF_ERROR(database_.EndBuild(task.row));
  return batch;
}

TaskBatch TuneSession::BeginPropose(TaskState& task, size_t count, size_t under_way) {
  TCC_CHECK(!task.under_way) << task.result.name;
  TaskBatch batch;
  batch.task = &task;
  batch.most = Affordable(count, under_way);
  if (Settle(task)) return batch;
  task.under_way = true;
  batch.proposing = builder_.Add<std::vector<Proposal>>(
      [&task, most = batch.most] { return Propose(task, most); }, BuildAhead::Place::kFirst);
  return batch;
}

Status TuneSession::BeginBuild(TaskBatch& batch) {
  TaskState& task = *batch.task;
  {
    PhaseClock clock(result_.phases.propose);
    SetProposals(batch, batch.proposing.get());
    if (batch.proposals.empty()) return OkStatus();
  }
  TCC_RETURN_IF_ERROR(Note(batch));
  noted_.insert(task.row);
  auto filter = std::make_shared<const BuildFilter>(FilterOf(task));
  for (const Candidate& candidate : batch.candidates) {
    batch.built.push_back(builder_.Add<BuiltCandidate>(
        [&build = tools_.build, workload = task.workload, candidate, filter] {
          return std::move(build(*workload, {&candidate, 1}, *filter)[0]);
        },
        BuildAhead::Place::kLast));
  }
  return OkStatus();
}

bool TuneSession::AwaitBuilt(const TaskBatch& batch, size_t candidate) {
  constexpr std::chrono::milliseconds kLittle(10);
  PhaseClock clock(result_.phases.build);
  return batch.built[candidate].wait_for(kLittle) != std::future_status::timeout;
}

StatusOr<BuiltCandidate> TuneSession::TakeBuilt(TaskBatch& batch, size_t candidate) {
  PhaseClock clock(result_.phases.build);
  BuiltCandidate built = batch.built[candidate].get();
  if (candidate + 1 == batch.built.size() && noted_.erase(batch.task->row) > 0) {
    TCC_RETURN_IF_ERROR(database_.EndBuild(batch.task->row));
  }
  return built;
}

// A candidate as the database has it, without its measurement.
StoredTrial TuneSession::TrialOf(const TaskState& task, const Candidate& candidate) const {
  return {.variant_key = task.workload->variant_keys[candidate.schedule.variant],
          .rules = candidate.rules,
          .schedule = candidate.schedule};
}

std::vector<BuiltCandidate> TuneSession::Build(const TaskState& task,
                                               std::span<const Candidate> candidates) {
  return tools_.build(*task.workload, candidates, {});
}

StatusOr<bool> TuneSession::Open(TaskState& task) {
  if (open_ == &task) return true;
  PhaseClock clock(result_.phases.check);
  open_ = nullptr;
  Status status = tools_.measurer.Open(*task.workload, task.reference).status();
  if (absl::IsUnavailable(status)) return status;
  if (status.ok()) {
    open_ = &task;
  } else {
    task.done = true;
    task.result.problem =
        "what it is compared with ran before and no longer does: " + Message(status);
  }
  return status.ok();
}

std::optional<Measurement> TuneSession::Known(const TaskState& task,
                                              const BuiltCandidate& built) const {
  if (!built.status.ok()) {
    return Measurement{
        .status = built.refused ? MeasureStatus::kRefused : MeasureStatus::kBuildFailed,
        .message = Message(built.status)};
  }
  auto known = task.lowered.find(built.lowered_key);
  if (known == task.lowered.end()) return std::nullopt;
  return known->second;
}

StatusOr<std::optional<Measurement>> TuneSession::Measure(TaskState& task,
                                                          std::vector<uint8_t> artefact,
                                                          double stop_beyond) {
  TCC_CHECK(open_ == &task) << task.result.name;
  PhaseClock clock(result_.phases.check);
  tools_.measurer.Submit({.id = 0, .artefact = std::move(artefact), .stop_beyond = stop_beyond});
  StatusOr<std::optional<MeasureReport>> report = tools_.measurer.Take();
  if (absl::IsUnavailable(report.status())) return report.status();
  if (report.ok() && *report) return (*report)->measurement;
  open_ = nullptr;
  task.done = true;
  task.result.problem = report.ok() ? "the measurer lost a candidate" : Message(report.status());
  return std::nullopt;
}

// A candidate that lowers like one before it in the batch takes the measurement of that one.
StatusOr<bool> TuneSession::Submit(TaskBatch& batch, double stop_beyond) {
  TaskState& task = *batch.task;
  TCC_ASSIGN_OR_RETURN(bool opened, Open(task));
  if (!opened) return false;
  std::set<std::string> keys;
  for (size_t i = 0; i < batch.built.size(); ++i) {
    TCC_ASSIGN_OR_RETURN(BuiltCandidate built, TakeBuilt(batch, i));
    if (absl::IsCancelled(built.status)) return false;
    std::optional<size_t> request;
    if (!Known(task, built) && keys.insert(built.lowered_key).second) {
      request = requests_++;
      tools_.measurer.Submit({.id = *request,
                              .artefact = std::exchange(built.artefact, {}),
                              .stop_beyond = stop_beyond});
    }
    batch.submitted.emplace_back(std::move(built), request);
  }
  return true;
}

StatusOr<Measurement> TuneSession::Await(const TaskBatch& batch, size_t candidate) {
  const auto& [built, request] = batch.submitted[candidate];
  if (!request) return *Known(*batch.task, built);
  PhaseClock clock(result_.phases.check);
  while (!reports_.contains(*request)) {
    TCC_ASSIGN_OR_RETURN(std::optional<MeasureReport> report, tools_.measurer.Take());
    TCC_CHECK(report.has_value()) << "the measurer lost a candidate";
    reports_.emplace(report->id, std::move(report->measurement));
  }
  return std::move(reports_.extract(*request).mapped());
}

Status TuneSession::FinishConstructed(TaskState& task, const Measurement& measurement) {
  if (!task.unrecorded) return OkStatus();
  task.result.constructed_seconds = measurement.seconds;
  task.constructed.measurement = measurement;
  return Record(task, *std::exchange(task.unrecorded, std::nullopt), task.constructed, false);
}

Status TuneSession::Finish(TaskState& task, const Proposal& proposal, const Candidate& candidate,
                           const BuiltCandidate& built, const Measurement& measurement,
                           bool copied) {
  StoredTrial trial = TrialOf(task, candidate);
  trial.lowered_key = built.lowered_key;
  trial.measurement = measurement;
  trial.build_seconds = built.build_seconds;
  trial.searcher = proposal.searcher;
  return Record(task, proposal.point, trial, copied);
}

Status TuneSession::Record(TaskState& task, const SearchPoint& point, const StoredTrial& trial,
                           bool copied) {
  TCC_RETURN_IF_ERROR(database_.Record(task.row, environment_, trial));
  task.tuner->Observe({point, trial.searcher}, trial.measurement);
  if (copied) {
    ++result_.copied;
    return OkStatus();
  }
  if (!trial.lowered_key.empty()) task.lowered.emplace(trial.lowered_key, trial.measurement);
  ++task.result.trials;
  ++result_.trials;
  ++result_.statuses[trial.measurement.status];
  if (!options_.event) return OkStatus();
  const Trial* best = task.tuner->history().best();
  options_.event({.seconds = Elapsed(),
                  .task = task.workload->name,
                  .searcher = trial.searcher,
                  .measurement = trial.measurement,
                  .best_seconds = best ? best->seconds : 0,
                  .constructed_seconds = task.result.constructed_seconds,
                  .trials = result_.trials});
  return OkStatus();
}

Status TuneSession::RecordComparison(const TaskState& task, std::span<const StoredTrial> trials) {
  return database_.RecordComparison(task.row, environment_, trials);
}

TuneResult TuneSession::Take(std::span<const Workload> workloads) {
  for (TaskState& task : tasks_) {
    if (task.unrecorded) {
      // It ran and is right, but the budget ended before the network did.
      task.result.constructed_seconds = task.constructed.measurement.seconds;
      task.result.best_seconds = task.result.constructed_seconds;
      task.result.best_searcher = task.constructed.searcher;
      if (task.result.problem.empty()) task.result.problem = kUntimed;
    }
    if (!task.reference.empty()) {
      task.result.constructed_schedule = Print(task.constructed.schedule);
    }
    if (const Trial* best = task.tuner->history().best()) {
      task.result.recorded = true;
      task.result.best_seconds = best->seconds;
      task.result.best_searcher = best->searcher;
      task.result.best_schedule = Print(task.tuner->space().ToCandidate(best->point).schedule);
    }
    task.result.flops = task.workload->flops;
    task.result.moved_bytes = task.workload->moved_bytes;
    result_.tasks.push_back(task.result);
  }
  for (size_t i = tasks_.size(); i < workloads.size(); ++i) {
    TaskResult& result = result_.tasks.emplace_back();
    result.name = workloads[i].name;
    result.key = workloads[i].key;
    result.runs = workloads[i].runs;
    result.problem = kStopped;
  }
  return std::move(result_);
}

}  // namespace tcc
