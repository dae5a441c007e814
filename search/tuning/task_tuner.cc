#include "search/tuning/task_tuner.h"

#include <fmt/format.h>

#include <cstring>

#include "ir/support/sha256.h"

namespace tcc {
namespace {

// A sketch is given up when its start takes so many times the best.
constexpr double kHopeless = 8;

uint64_t SeedFor(const std::string& text) {
  Sha256Digest digest = Sha256(text);
  uint64_t seed;
  std::memcpy(&seed, digest.data(), sizeof(seed));
  return seed;
}

bool HasTime(MeasureStatus status) {
  return status == MeasureStatus::kOk || status == MeasureStatus::kSlow;
}

}  // namespace

TaskTuner::TaskTuner(const Workload& workload, const Target& target,
                     const TaskTunerOptions& options)
    : workload_(&workload),
      options_(options),
      space_(std::make_unique<TaskSpace>(workload, target)),
      history_(std::make_unique<TaskHistory>()),
      searcher_(options.searcher->make({*space_, *history_})) {}

void TaskTuner::Resume(std::span<const StoredTrial> trials) {
  for (const StoredTrial& stored : trials) {
    std::optional<SearchPoint> point = space_->Find(stored.variant_key, stored.schedule);
    if (!point) continue;
    history_->Add({.point = *std::move(point),
                   .status = stored.measurement.status,
                   .seconds = stored.measurement.seconds,
                   .searcher = stored.searcher});
  }
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
  AddStarts(count, proposals);
  if (proposals.size() < count) {
    RetireSlowSketches();
    Random random(SeedFor(fmt::format("{} {} {} {}", options_.seed, workload_->key,
                                      options_.searcher->name, history_->trials().size())));
    for (SearchPoint& point : searcher_->Propose(count - proposals.size(), random)) {
      proposals.push_back({std::move(point), std::string(options_.searcher->name)});
    }
  }
  for (const Proposal& proposal : proposals) history_->MarkProposed(proposal.point);
  return proposals;
}

void TaskTuner::Observe(const Proposal& proposal, const Measurement& measurement) {
  history_->Add({.point = proposal.point,
                 .status = measurement.status,
                 .seconds = measurement.seconds,
                 .searcher = proposal.searcher});
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
      bool usable = HasTime(trial.status) && trial.seconds <= kHopeless * best->seconds;
      if (!usable && trial.status != MeasureStatus::kRefused) space_->Retire(sketch);
    }
  }
}

}  // namespace tcc
