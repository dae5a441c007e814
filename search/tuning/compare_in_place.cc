#include <algorithm>

#include "search/tuning/in_place.h"
#include "search/tuning/tune_session.h"

namespace tcc {
namespace {

constexpr Demand kDemand = {.margin = 0.01, .seconds = 1.2};
constexpr size_t kFinalists = 3;        // of a task
constexpr double kFinalistRatio = 1.1;  // that may take so many times the constructed's seconds

struct Finalist {
  StoredTrial trial;
  std::vector<uint8_t> artefact;
};

// What a task ran with at the end, and how it compares with the constructed candidate.
struct Winner {
  const Finalist* finalist = nullptr;  // null: the constructed one
  double ratio = 1;
};

// The best known candidates of a task that are worth a comparison, fastest first.
std::vector<const Trial*> BestTrials(const TaskState& task) {
  std::vector<const Trial*> best;
  for (const Trial& trial : task.tuner->history().trials()) {
    if (trial.status != MeasureStatus::kOk || trial.searcher == "constructed") continue;
    if (trial.seconds > kFinalistRatio * task.result.constructed_seconds) continue;
    best.push_back(&trial);
  }
  std::ranges::stable_sort(best, {}, &Trial::seconds);
  return best;
}

std::vector<Finalist> FinalistsOf(TuneSession& session, TaskState& task) {
  std::vector<Finalist> finalists;
  if (task.reference.empty()) return finalists;
  std::vector<std::string> lowered = {task.constructed.lowered_key};
  for (const Trial* trial : BestTrials(task)) {
    if (finalists.size() == kFinalists || session.IsStopped()) break;
    Candidate candidate = task.tuner->space().ToCandidate(trial->point);
    BuiltCandidate built = session.Build(task, {&candidate, 1})[0];
    if (!built.status.ok() || std::ranges::find(lowered, built.lowered_key) != lowered.end()) {
      continue;
    }
    lowered.push_back(built.lowered_key);
    Finalist& finalist = finalists.emplace_back();
    finalist.artefact = std::move(built.artefact);
    finalist.trial = {.variant_key = task.workload->variant_keys[candidate.schedule.variant],
                      .rules = std::move(candidate.rules),
                      .schedule = std::move(candidate.schedule),
                      .lowered_key = built.lowered_key,
                      .measurement = {.seconds = trial->seconds},
                      .build_seconds = built.build_seconds,
                      .searcher = trial->searcher};
  }
  return finalists;
}

class Comparison {
 public:
  Comparison(TuneSession& session, NetworkMeasurer& network)
      : session_(session),
        contest_(network, session.tasks().size(), session.consumers()),
        winners_(session.tasks().size()) {}

  Status Run() {
    std::vector<std::vector<uint8_t>> constructed;
    for (TaskState& task : session_.tasks()) {
      constructed.push_back(task.reference);
      finalists_.push_back(FinalistsOf(session_, task));
    }
    if (std::ranges::all_of(finalists_, [](const auto& list) { return list.empty(); })) {
      return OkStatus();
    }
    TCC_RETURN_IF_ERROR(contest_.Begin(constructed));
    for (size_t place = 0; place < kFinalists && !session_.IsStopped(); ++place) {
      TCC_RETURN_IF_ERROR(Round(place));
    }
    if (session_.IsStopped()) return OkStatus();
    TCC_ASSIGN_OR_RETURN(InPlaceContest::Whole whole, contest_.CompareWhole(constructed));
    // The whole counts: what wins by itself may leave the caches to its neighbours in a worse
    // state.
    if (whole.incumbents >= whole.others) winners_.assign(winners_.size(), {});
    session_.result().network_constructed_seconds = whole.others;
    session_.result().network_best_seconds = std::min(whole.incumbents, whole.others);
    return Record();
  }

 private:
  // The finalists of that place against what their tasks run with.
  Status Round(size_t place) {
    std::vector<std::vector<uint8_t>> challengers(winners_.size());
    for (size_t t = 0; t < winners_.size(); ++t) {
      if (place < finalists_[t].size()) challengers[t] = finalists_[t][place].artefact;
    }
    TCC_ASSIGN_OR_RETURN(std::vector<std::optional<InPlaceOutcome>> outcomes,
                         contest_.Challenge(challengers, kDemand));
    for (size_t t = 0; t < winners_.size(); ++t) {
      if (!outcomes[t] || !outcomes[t]->won) continue;
      winners_[t].finalist = &finalists_[t][place];
      winners_[t].ratio *= outcomes[t]->ratio;
    }
    return OkStatus();
  }

  Status Record() {
    for (size_t t = 0; t < winners_.size(); ++t) {
      TaskState& task = session_.tasks()[t];
      if (contest_.task_seconds(t) <= 0) continue;  // the network does not run it
      const Winner& winner = winners_[t];
      double seconds = task.result.constructed_seconds;
      std::vector<StoredTrial> trials = {task.constructed};
      trials[0].measurement = {.seconds = seconds};
      task.result.in_place_ratio = winner.ratio;
      task.result.winner = task.constructed.searcher;
      if (winner.finalist) {
        trials.push_back(winner.finalist->trial);
        trials[1].measurement = {.seconds = seconds * winner.ratio};
        task.result.winner = winner.finalist->trial.searcher;
      }
      TCC_RETURN_IF_ERROR(session_.RecordComparison(task, trials));
    }
    return OkStatus();
  }

  TuneSession& session_;
  InPlaceContest contest_;
  std::vector<std::vector<Finalist>> finalists_;  // by task
  std::vector<Winner> winners_;
};

}  // namespace

Status CompareInPlace(TuneSession& session, NetworkMeasurer& network) {
  PhaseClock clock(session.result().phases.compare);
  Status status = Comparison(session, network).Run();
  // What was measured one by one stands without it.
  if (!absl::IsAborted(status)) return status;
  if (session.options().warn) {
    session.options().warn("the winners were not compared in the network: " + Message(status));
  }
  return OkStatus();
}

}  // namespace tcc
