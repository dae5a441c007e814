#include <algorithm>
#include <utility>

#include "search/tuning/tune_session.h"

namespace tcc {
namespace {

constexpr double kStopBeyond = 2;  // a candidate is not timed beyond so many times the best
constexpr size_t kMinBatch = 4;
constexpr size_t kWindow = 3;        // rounds over which a task's gain is looked at
constexpr double kGainWeight = 0.2;  // of what a task gained, against what it might gain

// Seconds of the network that the next round promises to save, per second of tuning.
double PromiseOf(const TaskState& task) {
  const std::vector<double>& best = task.best_after;
  size_t before = best.size() > kWindow ? best.size() - 1 - kWindow : 0;
  double first = best.size() > kWindow ? best[before] : task.result.constructed_seconds;
  double rounds = static_cast<double>(std::min(best.size(), kWindow));
  double gained = std::max(0.0, first - best.back()) / rounds;
  double hoped = best.back() / static_cast<double>(best.size());
  double gain = kGainWeight * gained + (1 - kGainWeight) * hoped;
  double round_seconds = std::max(task.seconds / static_cast<double>(best.size()), 1e-3);
  return task.workload->runs * gain / round_seconds;
}

// First each task gets one round, those with most to save before others. `but` is left out.
TaskState* NextTask(std::vector<TaskState>& tasks, const TaskState* but = nullptr) {
  using Rank = std::pair<bool, double>;
  TaskState* best = nullptr;
  Rank most;
  for (TaskState& task : tasks) {
    if (task.done || &task == but) continue;
    bool is_new = task.best_after.empty();
    Rank rank{is_new,
              is_new ? task.workload->runs * task.result.constructed_seconds : PromiseOf(task)};
    if (best && rank <= most) continue;
    best = &task;
    most = rank;
  }
  return best;
}

double StopBeyond(const TaskState& task) {
  const Trial* best = task.tuner->history().best();
  return kStopBeyond * (best ? best->seconds : task.result.constructed_seconds);
}

// Measures a batch. `begin` is when the time that it took began.
Status MeasureBatch(TuneSession& session, TaskState& task, BuiltBatch batch, double begin) {
  TCC_ASSIGN_OR_RETURN(bool opened, session.Open(task));
  if (!opened) return OkStatus();
  for (size_t i = 0; i < batch.proposals.size(); ++i) {
    BuiltCandidate& built = batch.built[i];
    if (absl::IsCancelled(built.status) || session.IsStopped() || task.done) return OkStatus();
    std::optional<Measurement> known = session.Known(task, built);
    bool copied = known.has_value() && built.status.ok();
    if (!known) {
      TCC_ASSIGN_OR_RETURN(known,
                           session.Measure(task, std::move(built.artefact), StopBeyond(task)));
      if (!known) return OkStatus();
    }
    TCC_RETURN_IF_ERROR(
        session.Finish(task, batch.proposals[i], batch.candidates[i], built, *known, copied));
  }
  const Trial* best = task.tuner->history().best();
  task.best_after.push_back(best ? best->seconds : task.result.constructed_seconds);
  task.seconds += session.Elapsed() - begin;
  return OkStatus();
}

Status RunBatch(TuneSession& session, TaskState& task, size_t count) {
  double begin = session.Elapsed();
  TCC_ASSIGN_OR_RETURN(BuiltBatch batch, session.Build(task, count));
  if (batch.proposals.empty()) return OkStatus();
  return MeasureBatch(session, task, std::move(batch), begin);
}

// Smaller where the budget has few trials for a task.
size_t BatchOf(TuneSession& session) {
  const TuneOptions& options = session.options();
  if (options.trials == 0) return options.batch;
  size_t each = static_cast<size_t>(options.trials) / std::max<size_t>(session.tasks().size(), 1);
  return std::clamp(each, std::min(kMinBatch, options.batch), options.batch);
}

// While a task's batch is measured, that of another is built: no proposal lacks an observation of
// its own task.
Status TuneWithOverlap(TuneSession& session, size_t count) {
  TaskState* task = nullptr;  // whose batch is built
  BuiltBatch batch;
  while (task != nullptr || !session.IsOver()) {
    // Time is up: what is built is not measured any more.
    if (session.IsStopped() || session.IsSpent()) break;
    TaskState* next = nullptr;
    const size_t built = batch.proposals.size();
    if (!session.IsOver() && session.Affordable(1, built) > 0) {
      next = NextTask(session.tasks(), task);
      // With one task left its batches take turns.
      if (next != nullptr) {
        TCC_ASSIGN_OR_RETURN(bool begun, session.BeginBuild(*next, count, built));
        if (!begun) continue;
      } else if (task == nullptr) {
        break;
      }
    }
    Status measured = task != nullptr
                          ? MeasureBatch(session, *task, std::move(batch), session.Elapsed())
                          : OkStatus();
    task = next;
    batch = {};
    if (next != nullptr) {
      TCC_ASSIGN_OR_RETURN(batch, session.FinishBuild());
    }
    TCC_RETURN_IF_ERROR(measured);
    if (next == nullptr && session.Affordable(1) == 0) break;
  }
  return OkStatus();
}

}  // namespace

Status TuneByTurns(TuneSession& session) {
  size_t batch = BatchOf(session);
  if (session.options().overlap) return TuneWithOverlap(session, batch);
  while (!session.IsOver()) {
    TaskState* task = NextTask(session.tasks());
    if (!task) break;
    TCC_RETURN_IF_ERROR(RunBatch(session, *task, batch));
  }
  return OkStatus();
}

}  // namespace tcc
