#include <algorithm>

#include "search/tuning/in_place.h"
#include "search/tuning/tune_session.h"

namespace tcc {
namespace {

constexpr Demand kDemand = {.margin = 0.01, .seconds = 0.8};
constexpr size_t kMaxBuilt = 4;         // to find finalists among, as some lower alike
constexpr size_t kFinalists = 3;        // of a task
constexpr double kFinalistRatio = 1.1;  // that may take so many times the constructed's seconds

struct Finalist {
  StoredTrial trial;
  std::vector<uint8_t> artefact;
};

// The candidate that a task ran with at the end, and how it compares with the constructed one.
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
  std::vector<const Trial*> best = BestTrials(task);
  if (best.size() > kMaxBuilt) best.resize(kMaxBuilt);
  std::vector<Candidate> candidates;
  for (const Trial* trial : best) {
    candidates.push_back(task.tuner->space().ToCandidate(trial->point));
  }
  std::vector<BuiltCandidate> built = session.Build(task, candidates);
  std::vector<std::string> lowered = {task.constructed.lowered_key};
  for (size_t i = 0; i < built.size() && finalists.size() < kFinalists; ++i) {
    bool is_new = std::ranges::find(lowered, built[i].lowered_key) == lowered.end();
    if (!built[i].status.ok() || !is_new) continue;
    lowered.push_back(built[i].lowered_key);
    Finalist& finalist = finalists.emplace_back();
    finalist.artefact = std::move(built[i].artefact);
    finalist.trial = {.variant_key = task.workload->variant_keys[candidates[i].schedule.variant],
                      .rules = std::move(candidates[i].rules),
                      .schedule = std::move(candidates[i].schedule),
                      .lowered_key = built[i].lowered_key,
                      .measurement = {.seconds = best[i]->seconds},
                      .build_seconds = built[i].build_seconds,
                      .searcher = best[i]->searcher};
  }
  return finalists;
}

class Comparison {
 public:
  Comparison(TuneSession& session, NetworkMeasurer& network)
      : session_(session),
        contest_(network, session.tasks().size(), session.consumers(), session.options().stop),
        winners_(session.tasks().size()) {}

  // Finds the winners. Error: the network's, and then nobody has won anything.
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
    // Once the budget of time is spent, later finalists are not compared. The first ones always
    // are: a task without a comparison would lose what its search found.
    for (size_t place = 0; place < kFinalists; ++place) {
      if (place > 0 && session_.IsSpent()) break;
      TCC_RETURN_IF_ERROR(Round(place));
    }
    TCC_ASSIGN_OR_RETURN(InPlaceContest::Whole whole, contest_.CompareWhole(constructed));
    // The whole counts: what wins by itself may leave the caches to its neighbours in a worse
    // state.
    if (whole.incumbents >= whole.others) winners_.assign(winners_.size(), {});
    session_.result().network_constructed_seconds = whole.others;
    // Without a winner both are the same network, and what they differ by is chance.
    session_.result().network_best_seconds = AnyWon() ? whole.incumbents : whole.others;
    compared_ = true;
    return OkStatus();
  }

  // Records what Run found. Error: the database's.
  Status Record() {
    for (size_t t = 0; compared_ && t < winners_.size(); ++t) {
      TCC_RETURN_IF_ERROR(RecordTask(session_.tasks()[t], t));
    }
    return OkStatus();
  }

 private:
  bool AnyWon() const {
    return std::ranges::any_of(winners_, [](const Winner& winner) { return winner.finalist; });
  }

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

  Status RecordTask(TaskState& task, size_t t) {
    double seconds = task.result.constructed_seconds;
    // Some tasks are not run by the network, or were not reached by the budget.
    if (contest_.task_seconds(t) <= 0 || task.unrecorded || seconds <= 0) return OkStatus();
    const Winner& winner = winners_[t];
    std::vector<StoredTrial> trials = {task.constructed};
    trials[0].measurement = {.seconds = seconds};
    task.result.in_place_ratio = winner.ratio;
    task.result.winner = task.constructed.searcher;
    if (winner.finalist) {
      trials.push_back(winner.finalist->trial);
      trials[1].measurement = {.seconds = seconds * winner.ratio};
      task.result.winner = winner.finalist->trial.searcher;
    }
    return session_.RecordComparison(task, trials);
  }

  TuneSession& session_;
  InPlaceContest contest_;
  std::vector<std::vector<Finalist>> finalists_;  // by task
  std::vector<Winner> winners_;
  bool compared_ = false;
};

}  // namespace

Status CompareInPlace(TuneSession& session, NetworkMeasurer& network) {
  PhaseClock clock(session.result().phases.compare);
  Comparison comparison(session, network);
  Status status = comparison.Run();
  // The records of the search stand without it.
  if (!status.ok() && !absl::IsCancelled(status) && session.options().warn) {
    session.options().warn("the winners were not compared in the network: " + Message(status));
  }
  return comparison.Record();
}

}  // namespace tcc
