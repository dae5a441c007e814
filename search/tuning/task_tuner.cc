#include "search/tuning/task_tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "support/check.h"
#include "support/sha256.h"

namespace tcc {
namespace {

// The gain of a trial is ln(best seconds before / its seconds) where it is faster, plus kNearGain
// where it takes at most kNear times the best: a searcher that stays near is worth going on with.
constexpr double kNear = 1.1;
constexpr double kNearGain = 0.05;
// An older trial's weight relative to the next one; 0.8 after 15 trials.
constexpr double kTrialDecay = 0.985;
// The trials without a gain that each searcher is taken to have had.
constexpr double kPriorTrials = 2;
// The gain per trial that every searcher keeps: none is given up for good.
constexpr double kMinRate = 0.002;
// The part of the budget that is dealt out in equal shares.
constexpr double kEqualShare = 0.1;
// A sketch is given up when its start takes more than this many times the best seconds.
constexpr double kMaxStartRatio = 8;
// The proposals that a searcher makes at once, where several share a batch: a round of a searcher
// takes as long whether it is for one proposal or for some.
constexpr size_t kProposalsAtOnce = 4;
// A task is settled when its latest kSettledTrials have gained less than this part of the best.
constexpr double kSettledGain = 0.01;

struct Gains {
  double sum = 0;
  double weights = 0;
};

double GainOf(const Trial& trial, double best) {
  if (trial.status != MeasureStatus::kOk || trial.seconds <= 0 || best <= 0) return 0;
  double gain = std::max(std::log(best / trial.seconds), 0.0);
  return gain + (trial.seconds <= kNear * best ? kNearGain : 0);
}

}  // namespace

uint64_t SeedFor(const std::string& text) {
  Sha256Digest digest = Sha256(text);
  uint64_t seed;
  std::memcpy(&seed, digest.data(), sizeof(seed));
  return seed;
}

std::vector<double> SharesOf(const TaskHistory& history, std::span<const std::string_view> names) {
  std::vector<Gains> gains(names.size());
  double best = 0;  // before the trial; 0: none
  for (const Trial& trial : history.trials()) {
    auto place = std::ranges::find(names, trial.searcher);
    for (Gains& searcher : gains) {
      searcher.sum *= kTrialDecay;
      searcher.weights *= kTrialDecay;
    }
    if (place != names.end()) {
      Gains& searcher = gains[static_cast<size_t>(place - names.begin())];
      searcher.sum += GainOf(trial, best);
      searcher.weights += 1;
    }
    bool faster = trial.status == MeasureStatus::kOk && (best == 0 || trial.seconds < best);
    if (faster) best = trial.seconds;
  }
  // Falls to the least while nothing new is known of a searcher.
  auto rate = [](const Gains& searcher) {
    return std::max(searcher.sum / (searcher.weights + kPriorTrials), kMinRate);
  };
  double most = kMinRate;
  for (const Gains& searcher : gains) {
    if (searcher.weights > 0) most = std::max(most, rate(searcher));
  }
  std::vector<double> shares;
  double sum = 0;
  for (const Gains& searcher : gains) {
    shares.push_back(searcher.weights > 0 ? rate(searcher) : most);
    sum += shares.back();
  }
  for (double& share : shares) {
    share = kEqualShare / static_cast<double>(names.size()) + (1 - kEqualShare) * share / sum;
  }
  return shares;
}

TaskTuner::TaskTuner(const Workload& workload, const Target& target,
                     const TaskTunerOptions& options)
    : TaskTuner(workload, target, TaskSpace(workload, target), options) {}

TaskTuner::TaskTuner(const Workload& workload, const Target& target, TaskSpace space,
                     const TaskTunerOptions& options)
    : workload_(&workload),
      options_(options),
      space_(std::make_unique<TaskSpace>(std::move(space))),
      history_(std::make_unique<TaskHistory>()),
      estimator_(options.estimates ? std::make_unique<TaskEstimator>(
                                         *space_, target, options.settings, options.model)
                                   : nullptr),
      ranker_(std::make_unique<NearestRanker>(*space_, *history_, estimator_.get())) {
  TCC_CHECK(!options.searchers.empty());
  if (estimator_ && options.trains) {
    training_.emplace(*history_, *estimator_,
                      SeedFor(fmt::format("{} {}", options.seed, workload.key)));
  }
  for (const SearcherRow* row : options.searchers) {
    searchers_.push_back(row->make({*space_, *history_, *ranker_, estimator_.get()}));
  }
}

void TaskTuner::Resume(std::span<const StoredTrial> trials) {
  for (const StoredTrial& stored : trials) {
    std::optional<SearchPoint> point = space_->Find(stored.variant_key, stored.schedule);
    if (!point) continue;
    history_->Add({.point = *std::move(point),
                   .status = stored.measurement.status,
                   .seconds = stored.measurement.seconds,
                   .searcher = stored.searcher});
  }
  resumed_ = history_->trials().size();
}

void TaskTuner::Suggest(std::span<const StoredTrial> trials) {
  for (const StoredTrial& trial : trials) {
    std::optional<SearchPoint> point = space_->Find(trial.variant_key, trial.schedule);
    if (point) suggested_.push_back(*std::move(point));
  }
}

std::vector<Proposal> TaskTuner::Propose(size_t count) {
  std::vector<Proposal> proposals;
  AddSuggested(count, proposals);
  if (options_.starts) AddStarts(count, proposals);
  if (proposals.size() < count) {
    RetireSlowSketches();
    if (training_ && training_->Update()) ranker_->ReadAgain();
    AddSearched(count, proposals);
  }
  return proposals;
}

// A searcher that finds no more leaves its share to the next ones.
void TaskTuner::AddSearched(size_t count, std::vector<Proposal>& proposals) {
  std::vector<size_t> deal = Deal(count - proposals.size());
  size_t missing = 0;
  for (size_t s = 0; s < 2 * searchers_.size() && proposals.size() < count; ++s) {
    size_t searcher = s % searchers_.size();
    size_t wanted = missing + (s < searchers_.size() ? deal[searcher] : 0);
    if (wanted == 0) continue;
    std::string name(options_.searchers[searcher]->name);
    Random random = RandomFor(name);
    std::vector<SearchPoint> points = searchers_[searcher]->Propose(wanted, random);
    missing = wanted - points.size();
    for (SearchPoint& point : points) {
      history_->MarkProposed(point);
      proposals.push_back({std::move(point), name});
    }
  }
}

std::vector<size_t> TaskTuner::Deal(size_t count) const {
  std::vector<std::string_view> names;
  for (const SearcherRow* row : options_.searchers) names.push_back(row->name);
  std::vector<double> shares = SharesOf(*history_, names);
  std::vector<size_t> deal(names.size());
  Random random = RandomFor("shares");
  for (size_t left = count; left > 0;) {
    double draw = random.Unit();
    size_t searcher = 0;
    while (searcher + 1 < shares.size() && draw >= shares[searcher]) draw -= shares[searcher++];
    // A rest that is too small for another hand goes along.
    size_t hand = left < 2 * kProposalsAtOnce ? left : kProposalsAtOnce;
    deal[searcher] += hand;
    left -= hand;
  }
  return deal;
}

Random TaskTuner::RandomFor(std::string_view name) const {
  return Random(SeedFor(
      fmt::format("{} {} {} {}", options_.seed, workload_->key, name, history_->trials().size())));
}

void TaskTuner::Observe(const Proposal& proposal, const Measurement& measurement) {
  history_->Add({.point = proposal.point,
                 .status = measurement.status,
                 .seconds = measurement.seconds,
                 .searcher = proposal.searcher});
}

bool TaskTuner::IsSettled() const {
  std::span<const Trial> trials = history_->trials();
  if (!history_->best() || !suggested_.empty()) return false;
  size_t first = trials.size();  // of the window
  int64_t timed = 0;
  while (first > resumed_ && timed < kSettledTrials) timed += HasTime(trials[--first].status);
  if (timed < kSettledTrials) return false;
  double before = std::numeric_limits<double>::infinity();
  for (const Trial& trial : trials.first(first)) {
    if (trial.status == MeasureStatus::kOk) before = std::min(before, trial.seconds);
  }
  return history_->best()->seconds > (1 - kSettledGain) * before;
}

void TaskTuner::AddSuggested(size_t count, std::vector<Proposal>& proposals) {
  while (!suggested_.empty() && proposals.size() < count) {
    SearchPoint point = std::move(suggested_.front());
    suggested_.pop_front();
    if (history_->Knows(point)) continue;
    history_->MarkProposed(point);
    proposals.push_back({std::move(point), "imported"});
  }
}

void TaskTuner::AddStarts(size_t count, std::vector<Proposal>& proposals) {
  for (; next_start_ < space_->size() && proposals.size() < count; ++next_start_) {
    std::optional<SearchPoint> start = space_->Start(next_start_);
    if (!start || history_->Knows(*start)) continue;
    history_->MarkProposed(*start);
    proposals.push_back({*std::move(start), "start"});
  }
}

void TaskTuner::RetireSlowSketches() {
  const Trial* best = history_->best();
  if (!best) return;
  for (size_t sketch : space_->live()) {
    if (sketch == best->point.sketch) continue;
    std::optional<SearchPoint> start = space_->Start(sketch);
    for (const Trial& trial : history_->trials()) {
      if (trial.point != *start) continue;
      bool usable = HasTime(trial.status) && trial.seconds <= kMaxStartRatio * best->seconds;
      if (!usable && trial.status != MeasureStatus::kRefused) space_->Retire(sketch);
    }
  }
}

}  // namespace tcc
