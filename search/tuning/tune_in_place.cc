#include <algorithm>
#include <deque>
#include <utility>

#include "search/tuning/in_place.h"
#include "search/tuning/tune_session.h"

namespace tcc {
namespace {

// A candidate that takes so many times the incumbent's time when it is checked does not join the
// network: one run of it would take longer than all others. The constant forgives what waking the
// threads up adds to kernels of microseconds.
constexpr double kStopBeyond = 2;
constexpr double kWakeSeconds = 50e-6;
// Generations that are built, checked and then timed in a row.
constexpr size_t kGenerations = 6;
// A task with less than that much of its even share of the network's time gets candidates in one
// round out of kSmallTaskRounds.
constexpr double kSmallShare = 0.25;
constexpr int64_t kSmallTaskRounds = 4;

// A candidate that was found right and waits to be timed.
struct Checked {
  Proposal proposal;
  Candidate candidate;
  BuiltCandidate built;
  Measurement measurement;
};

class InPlaceSearch {
 public:
  InPlaceSearch(TuneSession& session, NetworkMeasurer& network)
      : session_(session),
        contest_(network, session.tasks().size(), session.consumers(), session.options().stop),
        waiting_(session.tasks().size()),
        alike_(session.tasks().size()),
        incumbent_seconds_(session.tasks().size(), 0) {}

  Status Run() {
    TCC_RETURN_IF_ERROR(BeginNetwork());
    TCC_RETURN_IF_ERROR(RecordConstructed());
    for (int64_t round = 0; !session_.IsOver(); ++round) {
      bool any = false;
      for (size_t t = 0; t < waiting_.size() && !session_.IsOver(); ++t) {
        if (session_.tasks()[t].done || !IsDue(t, round)) continue;
        any = true;
        TCC_RETURN_IF_ERROR(CheckBatch(t));
      }
      while (!session_.IsOver() && Waits()) TCC_RETURN_IF_ERROR(RunGeneration());
      TCC_RETURN_IF_ERROR(FinishAlike());
      if (!any && std::ranges::all_of(session_.tasks(), &TaskState::done)) break;
    }
    return OkStatus();
  }

 private:
  // Every task runs with the best that is known of it.
  Status BeginNetwork() {
    std::vector<std::vector<uint8_t>> incumbents;
    for (size_t t = 0; t < waiting_.size(); ++t) {
      TaskState& task = session_.tasks()[t];
      incumbents.push_back(task.reference);
      const Trial* best = task.tuner->history().best();
      incumbent_seconds_[t] = task.result.constructed_seconds;
      if (task.reference.empty() || !best || best->seconds >= incumbent_seconds_[t]) continue;
      Candidate candidate = task.tuner->space().ToCandidate(best->point);
      BuiltCandidate built = session_.Build(task, {&candidate, 1})[0];
      if (!built.status.ok()) continue;
      incumbents.back() = std::move(built.artefact);
      incumbent_seconds_[t] = best->seconds;
    }
    Status begun = contest_.Begin(incumbents);
    if (!absl::IsAborted(begun)) return begun;
    return absl::FailedPreconditionError("the network cannot be run: " + Message(begun));
  }

  // New tasks run with their constructed candidates now. One that is in a branch or loop which the
  // network's inputs do not reach cannot be timed.
  Status RecordConstructed() {
    for (size_t t = 0; t < waiting_.size() && !session_.IsOver(); ++t) {
      TaskState& task = session_.tasks()[t];
      if (contest_.task_seconds(t) <= 0) {
        task.done = true;
        task.result.problem = "the network does not run it on the inputs that it is timed with";
        continue;
      }
      if (!task.unrecorded) continue;
      Measurement measurement = task.constructed.measurement;
      measurement.seconds = incumbent_seconds_[t] = CallSeconds(t);
      measurement.calls = contest_.runs();
      TCC_RETURN_IF_ERROR(session_.FinishConstructed(task, measurement));
    }
    return OkStatus();
  }

  bool IsDue(size_t task, int64_t round) const {
    double even = contest_.seconds() / static_cast<double>(waiting_.size());
    return contest_.task_seconds(task) >= kSmallShare * even || round % kSmallTaskRounds == 0;
  }

  bool Waits() const {
    return std::ranges::any_of(waiting_, [](const auto& queue) { return !queue.empty(); });
  }

  // Seconds of a call of the incumbent, as the clock has it now.
  double CallSeconds(size_t task) const {
    return contest_.task_seconds(task) / std::max(session_.tasks()[task].workload->runs, 1.0);
  }

  // Candidates that may be proposed of a task: those that wait are paid for.
  size_t Wanted() const {
    size_t waiting = 0;
    for (const auto& queue : waiting_) waiting += queue.size();
    size_t affordable = session_.Affordable(kGenerations + waiting);
    return std::min(kGenerations, affordable - std::min(affordable, waiting));
  }

  // Whether a candidate that waits lowers alike.
  bool IsWaiting(size_t t, const std::string& lowered_key) const {
    return std::ranges::any_of(waiting_[t], [&](const Checked& checked) {
      return checked.built.lowered_key == lowered_key;
    });
  }

  // Proposes, builds and checks candidates of a task; right ones wait.
  Status CheckBatch(size_t t) {
    TaskState& task = session_.tasks()[t];
    size_t wanted = Wanted();
    if (wanted == 0) return OkStatus();
    TCC_ASSIGN_OR_RETURN(TaskBatch batch, session_.Build(task, wanted));
    if (batch.proposals.empty()) return OkStatus();
    TCC_ASSIGN_OR_RETURN(bool opened, session_.Open(task));
    if (!opened) return OkStatus();
    double stop_beyond = kStopBeyond * CallSeconds(t) + kWakeSeconds;
    for (size_t i = 0; i < batch.proposals.size(); ++i) {
      BuiltCandidate built = batch.built[i].get();
      if (absl::IsCancelled(built.status) || session_.IsStopped() || task.done) return OkStatus();
      std::optional<Measurement> known = session_.Known(task, built);
      bool copied = known.has_value() && built.status.ok();
      if (!known) {
        // It gets the other's measurement, which is not there yet.
        if (IsWaiting(t, built.lowered_key)) {
          alike_[t].push_back({std::move(batch.proposals[i]),
                               std::move(batch.candidates[i]),
                               std::move(built),
                               {}});
          continue;
        }
        TCC_ASSIGN_OR_RETURN(known, session_.Measure(task, built.artefact, stop_beyond));
        if (!known) return OkStatus();
        if (known->status == MeasureStatus::kOk) {
          waiting_[t].push_back({std::move(batch.proposals[i]), std::move(batch.candidates[i]),
                                 std::move(built), *std::move(known)});
          continue;
        }
      }
      TCC_RETURN_IF_ERROR(
          session_.Finish(task, batch.proposals[i], batch.candidates[i], built, *known, copied));
    }
    return OkStatus();
  }

  // Times one candidate of each task that has one.
  Status RunGeneration() {
    PhaseClock clock(session_.result().phases.network);
    std::vector<std::vector<uint8_t>> challengers(waiting_.size());
    for (size_t t = 0; t < waiting_.size(); ++t) {
      if (!waiting_[t].empty()) challengers[t] = waiting_[t].front().built.artefact;
    }
    TCC_ASSIGN_OR_RETURN(std::vector<std::optional<InPlaceOutcome>> outcomes,
                         contest_.Challenge(challengers, {}));
    for (size_t t = 0; t < waiting_.size(); ++t) {
      if (waiting_[t].empty()) continue;
      TCC_RETURN_IF_ERROR(FinishFirst(t, outcomes[t]));
    }
    return OkStatus();
  }

  // A record's seconds are the constructed candidate's times the ratios along the chain of
  // incumbents: all of a run are comparable although the machine's speed wanders.
  Status FinishFirst(size_t t, const std::optional<InPlaceOutcome>& outcome) {
    Checked checked = std::move(waiting_[t].front());
    waiting_[t].pop_front();
    Measurement& measurement = checked.measurement;
    if (outcome) {
      measurement.seconds = incumbent_seconds_[t] * outcome->ratio;
      measurement.calls = outcome->runs;
      if (outcome->won) incumbent_seconds_[t] = measurement.seconds;
    } else {
      measurement.status = MeasureStatus::kFault;
      measurement.seconds = 0;
      measurement.message = "it ended the worker that runs the network";
    }
    return session_.Finish(session_.tasks()[t], checked.proposal, checked.candidate, checked.built,
                           measurement, false);
  }

  // Records candidates that lower like one that was timed meanwhile.
  Status FinishAlike() {
    for (size_t t = 0; t < alike_.size(); ++t) {
      TaskState& task = session_.tasks()[t];
      for (Checked& checked : std::exchange(alike_[t], {})) {
        std::optional<Measurement> known = session_.Known(task, checked.built);
        if (!known) continue;
        TCC_RETURN_IF_ERROR(session_.Finish(task, checked.proposal, checked.candidate,
                                            checked.built, *known, true));
      }
    }
    return OkStatus();
  }

  TuneSession& session_;
  InPlaceContest contest_;
  std::vector<std::deque<Checked>> waiting_;  // by task
  std::vector<std::vector<Checked>> alike_;   // they lower like one that waited
  std::vector<double> incumbent_seconds_;     // per call, as records have them
};

}  // namespace

Status TuneInPlace(TuneSession& session, NetworkMeasurer& network) {
  Status status = InPlaceSearch(session, network).Run();
  return absl::IsCancelled(status) ? OkStatus() : status;
}

}  // namespace tcc
