#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <utility>

#include "search/tuning/tune_session.h"

namespace tcc {
namespace {

constexpr double kStopBeyond = 2;  // a candidate is not timed beyond so many times the best
constexpr size_t kMinBatch = 4;
// The batches that are under way together: one is measured, and two keep the build threads busy
// where a candidate takes many times the others' time.
constexpr size_t kBatches = 3;
// The batches that a parallel measurer has at most, so that some dozens of workers are busy.
constexpr size_t kParallelBatches = 8;
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

// First each task gets one round, those with most to save before others. A task with a batch under
// way is left out.
TaskState* NextTask(std::vector<TaskState>& tasks) {
  using Rank = std::pair<bool, double>;
  TaskState* best = nullptr;
  Rank most;
  for (TaskState& task : tasks) {
    if (task.done || task.under_way) continue;
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

// Notes what the next rounds are promised by.
void EndRound(TuneSession& session, TaskState& task, double begin) {
  const Trial* best = task.tuner->history().best();
  task.best_after.push_back(best ? best->seconds : task.result.constructed_seconds);
  task.seconds += session.Elapsed() - begin;
}

// Measures a batch, with overlap each candidate as soon as it and those before it are built.
// `begin` is when the time that the batch took began; `between` is called again and again until
// each candidate is built.
Status MeasureBatch(TuneSession& session, TaskBatch batch, double begin,
                    const std::function<Status()>& between) {
  TaskState& task = *batch.task;
  const bool overlap = session.options().overlap;
  TCC_ASSIGN_OR_RETURN(bool opened, session.Open(task));
  if (!opened) return OkStatus();
  for (size_t i = 0; i < batch.proposals.size(); ++i) {
    // A batch that is built is measured even if that takes longer than there is time.
    if (task.done || (overlap ? session.IsOver() : session.IsStopped())) return OkStatus();
    // Proposals of other tasks may come while it is built.
    do {
      TCC_RETURN_IF_ERROR(between());
    } while (!session.AwaitBuilt(batch, i));
    TCC_ASSIGN_OR_RETURN(BuiltCandidate built, session.TakeBuilt(batch, i));
    if (absl::IsCancelled(built.status)) return OkStatus();
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
  EndRound(session, task, begin);
  return OkStatus();
}

// Records a submitted batch, in the order of its candidates. A stop ends the waiting.
Status RecordBatch(TuneSession& session, const TaskBatch& batch, double begin) {
  TaskState& task = *batch.task;
  for (size_t i = 0; i < batch.submitted.size() && !session.IsOver(); ++i) {
    const auto& [built, request] = batch.submitted[i];
    StatusOr<Measurement> measured = session.Await(batch, i);
    if (absl::IsCancelled(measured.status())) return OkStatus();
    TCC_RETURN_IF_ERROR(measured.status());
    const bool copied = !request && built.status.ok();
    TCC_RETURN_IF_ERROR(
        session.Finish(task, batch.proposals[i], batch.candidates[i], built, *measured, copied));
  }
  EndRound(session, task, begin);
  return OkStatus();
}

Status RunBatch(TuneSession& session, TaskState& task, size_t count) {
  double begin = session.Elapsed();
  TCC_ASSIGN_OR_RETURN(TaskBatch batch, session.Build(task, count));
  if (batch.proposals.empty()) return OkStatus();
  return MeasureBatch(session, std::move(batch), begin, OkStatus);
}

// Smaller where the budget has few trials for a task.
size_t BatchOf(TuneSession& session) {
  const TuneOptions& options = session.options();
  if (options.trials == 0) return options.batch;
  size_t each = static_cast<size_t>(options.trials) / std::max<size_t>(session.tasks().size(), 1);
  return std::clamp(each, std::min(kMinBatch, options.batch), options.batch);
}

// The batches of different tasks, in the order in which they were begun, the first of which is
// measured next.
class Batches {
 public:
  Batches(TuneSession& session, size_t count) : session_(session), count_(count) {}
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;
  // Waits for proposals that are being made: their tasks are used further.
  ~Batches() {
    session_.Drop();
    for (TaskBatch& batch : batches_) {
      if (batch.proposing.valid()) batch.proposing.wait();
    }
  }

  // Begins batches until enough are under way, or no other task or trial is left. How many
  // proposals there will be is not asked, so that the choice does not depend on when they are
  // there.
  void Fill() {
    const size_t most = session_.IsParallel() ? kParallelBatches : kBatches;
    while (batches_.size() < most && session_.Affordable(1, under_way_) > 0) {
      TaskState* task = NextTask(session_.tasks());
      if (!task) break;
      TaskBatch batch = session_.BeginPropose(*task, count_, under_way_);
      if (!batch.proposing.valid()) continue;
      under_way_ += batch.most;
      batches_.push_back(std::move(batch));
    }
  }

  bool empty() const { return batches_.empty(); }

  Status MeasureFirst() {
    const double begin = session_.Elapsed();
    if (session_.IsParallel()) TCC_RETURN_IF_ERROR(SubmitAll());
    TaskBatch batch = std::move(batches_.front());
    batches_.pop_front();
    under_way_ -= batch.most;
    TaskState& task = *batch.task;
    if (batch.proposing.valid()) TCC_RETURN_IF_ERROR(session_.BeginBuild(batch));
    if (session_.IsParallel()) {
      TCC_RETURN_IF_ERROR(RecordBatch(session_, batch, begin));
    } else if (!batch.proposals.empty()) {
      TCC_RETURN_IF_ERROR(MeasureBatch(session_, std::move(batch), session_.Elapsed(),
                                       [this] { return BuildProposed(); }));
    }
    task.under_way = false;
    return OkStatus();
  }

 private:
  // Waits until all batches are built, and submits those that are not. One that cannot be is left
  // without candidates.
  Status SubmitAll() {
    TCC_RETURN_IF_ERROR(BuildProposed());
    for (TaskBatch& batch : batches_) {
      if (batch.proposing.valid()) TCC_RETURN_IF_ERROR(session_.BeginBuild(batch));
    }
    for (TaskBatch& batch : batches_) {
      if (batch.proposals.empty() || !batch.submitted.empty() || session_.IsOver()) continue;
      TCC_RETURN_IF_ERROR(session_.Submit(batch, StopBeyond(*batch.task)).status());
    }
    return OkStatus();
  }

  // Begins to build the batches whose proposals are there.
  Status BuildProposed() {
    for (TaskBatch& batch : batches_) {
      if (!batch.proposing.valid()) continue;
      if (batch.proposing.wait_for(std::chrono::seconds(0)) != std::future_status::ready) continue;
      TCC_RETURN_IF_ERROR(session_.BeginBuild(batch));
    }
    return OkStatus();
  }

  TuneSession& session_;
  const size_t count_;  // the candidates of a batch
  std::deque<TaskBatch> batches_;
  size_t under_way_ = 0;  // the candidates that all of them may have
};

// While a task's batch is measured, batches of others are proposed and built: no proposal lacks an
// observation of its own task.
Status TuneWithOverlap(TuneSession& session, size_t count) {
  Batches batches(session, count);
  while (!session.IsOver()) {
    batches.Fill();
    if (batches.empty()) break;
    TCC_RETURN_IF_ERROR(batches.MeasureFirst());
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
