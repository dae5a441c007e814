#include "search/tuning/task_tuner.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "tests/search/fake_measurer.h"
#include "tests/search/sample_database.h"
#include "tests/search/sample_workloads.h"

using namespace tcc;

namespace {

TaskTunerOptions OptionsFor(std::string_view searcher, uint64_t seed) {
  TaskTunerOptions options;
  options.searchers = SearchersNamed(searcher);
  options.seed = seed;
  return options;
}

std::vector<SearchPoint> PointsOf(const std::vector<Proposal>& proposals) {
  std::vector<SearchPoint> points;
  for (const Proposal& proposal : proposals) points.push_back(proposal.point);
  return points;
}

// A tuner whose proposals are measured by the fake and recorded.
struct Tuning {
  Tuning(const Workload& of, const TaskTunerOptions& options)
      : workload(of), tuner(workload, SearchTarget(), options) {}

  void Measure(const std::vector<Proposal>& proposals) {
    for (const Proposal& proposal : proposals) {
      Candidate candidate = tuner.space().ToCandidate(proposal.point);
      StoredTrial trial;
      trial.variant_key = workload.variant_keys[candidate.schedule.variant];
      trial.rules = candidate.rules;
      trial.schedule = candidate.schedule;
      trial.measurement = FakeMeasurement(fake, FakeArtefact(workload, candidate.schedule));
      trial.searcher = proposal.searcher;
      tuner.Observe(proposal, trial.measurement);
      trials.push_back(std::move(trial));
    }
  }

  const Workload workload;
  const FakeOptions fake = {.size_weight = 0.2, .wrong = 0.1};
  TaskTuner tuner;
  std::vector<StoredTrial> trials;
};

// The least seconds of a search after so many trials, where all is right.
double BestAfter(int64_t trials, const Workload& workload, std::string_view searcher,
                 uint64_t seed) {
  TaskTuner tuner(workload, SearchTarget(), OptionsFor(searcher, seed));
  while (std::ssize(tuner.history().trials()) < trials) {
    auto left = static_cast<size_t>(trials - std::ssize(tuner.history().trials()));
    std::vector<Proposal> proposals = tuner.Propose(std::min<size_t>(left, 8));
    REQUIRE_FALSE(proposals.empty());
    for (const Proposal& proposal : proposals) {
      Candidate candidate = tuner.space().ToCandidate(proposal.point);
      tuner.Observe(proposal, FakeMeasurement({}, FakeArtefact(workload, candidate.schedule)));
    }
  }
  return tuner.history().best()->seconds;
}

double MedianAfter(int64_t trials, const Workload& workload, std::string_view searcher) {
  std::vector<double> best;
  for (uint64_t seed = 1; seed <= 7; ++seed) {
    best.push_back(BestAfter(trials, workload, searcher, seed));
  }
  std::ranges::sort(best);
  return best[3];
}

}  // namespace

TEST_CASE("the starts of all sketches are proposed first, each once", "[search][tuner]") {
  Workload workload = ProductWorkload("product");
  for (const SearcherRow& row : Searchers()) {
    INFO(row.name);
    TaskTuner tuner(workload, SearchTarget(), OptionsFor(row.name, 1));
    const size_t sketches = tuner.space().size();
    REQUIRE(sketches >= 2);
    std::vector<Proposal> proposals = tuner.Propose(1);
    for (Proposal& proposal : tuner.Propose(sketches + 3)) {
      proposals.push_back(std::move(proposal));
    }
    REQUIRE(proposals.size() > sketches);
    for (size_t i = 0; i < proposals.size(); ++i) {
      bool is_start = i < sketches;
      CHECK(proposals[i].searcher == (is_start ? "start" : row.name));
      if (is_start) CHECK(proposals[i].point == tuner.space().Start(i));
    }
  }
}

TEST_CASE("the same history gives the same proposals", "[search][tuner]") {
  for (const SearcherRow& row : Searchers()) {
    INFO(row.name);
    Tuning unbroken(ProductWorkload("product"), OptionsFor(row.name, 3));
    for (int round = 0; round < 6; ++round) {
      TaskTuner resumed(unbroken.workload, SearchTarget(), OptionsFor(row.name, 3));
      resumed.Resume(unbroken.trials);
      CHECK(resumed.history().trials().size() == unbroken.trials.size());
      TaskTuner other(unbroken.workload, SearchTarget(), OptionsFor(row.name, 4));
      other.Resume(unbroken.trials);
      std::vector<Proposal> proposals = unbroken.tuner.Propose(8);
      CHECK(PointsOf(resumed.Propose(8)) == PointsOf(proposals));
      if (row.name != "rtile") CHECK(PointsOf(other.Propose(8)) != PointsOf(proposals));
      unbroken.Measure(proposals);
    }
  }
}

TEST_CASE("the same history gives the same proposals where the estimator is trained on it",
          "[search][tuner]") {
  for (std::string_view searcher : {"evolutionary", "gradient", "auto"}) {
    INFO(searcher);
    TaskTunerOptions options = OptionsFor(searcher, 3);
    options.trains = true;
    Tuning unbroken(ProductWorkload("product"), options);
    while (unbroken.trials.size() < 2 * OnlineTraining::kTrainEvery) {
      unbroken.Measure(unbroken.tuner.Propose(16));
    }
    for (int round = 0; round < 2; ++round) {
      TaskTuner resumed(unbroken.workload, SearchTarget(), options);
      resumed.Resume(unbroken.trials);
      TaskTuner untrained(unbroken.workload, SearchTarget(), OptionsFor(searcher, 3));
      untrained.Resume(unbroken.trials);
      std::vector<Proposal> proposals = unbroken.tuner.Propose(16);
      CHECK(PointsOf(resumed.Propose(16)) == PointsOf(proposals));
      CHECK(PointsOf(untrained.Propose(16)) != PointsOf(proposals));
      unbroken.Measure(proposals);
    }
  }
}

TEST_CASE("what was proposed and not yet observed is not proposed again", "[search][tuner]") {
  Workload workload = ProductWorkload("product");
  for (const SearcherRow& row : Searchers()) {
    INFO(row.name);
    TaskTuner tuner(workload, SearchTarget(), OptionsFor(row.name, 1));
    std::set<SearchPoint> seen;
    for (int round = 0; round < 4; ++round) {
      for (const Proposal& proposal : tuner.Propose(8)) CHECK(seen.insert(proposal.point).second);
    }
    CHECK(seen.size() > 16);
  }
}

TEST_CASE("records of sketches that are no longer there are skipped", "[search][tuner]") {
  Workload workload = ProductWorkload("product");
  TaskTuner tuner(workload, SearchTarget(), OptionsFor("random", 1));
  StoredTrial foreign = TrialOf(workload, 4, 1e-6);
  StoredTrial known = foreign;
  known.schedule = tuner.space().ToCandidate(tuner.space().Start(1).value()).schedule;
  known.measurement.seconds = 2e-3;
  tuner.Resume(std::vector<StoredTrial>{foreign, known});
  REQUIRE(tuner.history().trials().size() == 1);
  CHECK(tuner.history().best()->seconds == 2e-3);
  CHECK(tuner.history().best()->searcher == "random");
  CHECK(tuner.history().Knows(tuner.space().Start(1).value()));
  CHECK_FALSE(tuner.history().Knows(tuner.space().Start(0).value()));
}

TEST_CASE("a sketch whose start takes more than eight times the best is given up",
          "[search][tuner]") {
  struct Row {
    MeasureStatus status;
    double seconds;
    bool live;
  };
  for (const Row& row :
       {Row{MeasureStatus::kOk, 9e-3, false}, Row{MeasureStatus::kOk, 7e-3, true},
        Row{MeasureStatus::kSlow, 9e-3, false}, Row{MeasureStatus::kSlow, 7e-3, true},
        Row{MeasureStatus::kWrong, 0, false}, Row{MeasureStatus::kHang, 0, false},
        Row{MeasureStatus::kRefused, 0, true}}) {
    INFO(NameOf(row.status) << " " << row.seconds);
    Workload workload = ProductWorkload("product");
    TaskTuner tuner(workload, SearchTarget(), OptionsFor("coordinate", 1));
    REQUIRE(tuner.space().size() >= 2);
    for (const Proposal& start : tuner.Propose(tuner.space().size())) {
      bool second = start.point.sketch == 1;
      Measurement measured;
      measured.status = second ? row.status : MeasureStatus::kOk;
      measured.seconds = second ? row.seconds : 1e-3;
      tuner.Observe(start, measured);
    }
    std::vector<Proposal> proposals = tuner.Propose(48);
    CHECK(tuner.space().IsLive(1) == row.live);
    CHECK(tuner.space().IsLive(0));
    CHECK(std::ranges::any_of(proposals, [](const Proposal& proposal) {
            return proposal.point.sketch == 1;
          }) == row.live);
  }
}

TEST_CASE("a task is settled once its last 96 trials gained less than 1 % together",
          "[search][tuner]") {
  struct Row {
    int64_t gain_at;  // the trial that is 2 % faster than the first one; -1: none
    int64_t settled_after;
  };
  for (const Row& row : {Row{-1, kSettledTrials + 1}, Row{40, 40 + 1 + kSettledTrials}}) {
    INFO(row.gain_at);
    Workload workload = ProductWorkload("product");
    TaskTuner tuner(workload, SearchTarget(), OptionsFor("random", 1));
    int64_t trials = 0;
    for (; !tuner.IsSettled(); ++trials) {
      REQUIRE(trials < 3 * kSettledTrials);
      std::vector<Proposal> proposals = tuner.Propose(1);
      REQUIRE(proposals.size() == 1);
      bool gains = trials == row.gain_at;
      tuner.Observe(proposals[0], {.status = MeasureStatus::kOk, .seconds = gains ? 0.98 : 1});
    }
    CHECK(trials == row.settled_after);
  }
}

TEST_CASE("trials of earlier runs and trials without a time do not settle a task",
          "[search][tuner]") {
  Workload workload = ProductWorkload("product");
  TaskTuner first(workload, SearchTarget(), OptionsFor("random", 1));
  std::vector<StoredTrial> trials;
  for (const Proposal& proposal : first.Propose(2 * kSettledTrials)) {
    Candidate candidate = first.space().ToCandidate(proposal.point);
    StoredTrial& trial = trials.emplace_back();
    trial.variant_key = workload.variant_keys[candidate.schedule.variant];
    trial.rules = candidate.rules;
    trial.schedule = candidate.schedule;
    trial.measurement = {.status = MeasureStatus::kOk, .seconds = 1};
    first.Observe(proposal, trial.measurement);
  }
  CHECK(first.IsSettled());
  TaskTuner second(workload, SearchTarget(), OptionsFor("random", 1));
  second.Resume(trials);
  CHECK_FALSE(second.IsSettled());
  for (const Proposal& proposal : second.Propose(2 * kSettledTrials)) {
    second.Observe(proposal, {.status = MeasureStatus::kRefused});
  }
  CHECK_FALSE(second.IsSettled());
}

TEST_CASE("moving one size at a time beats chance where time is a bowl", "[search][tuner]") {
  Workload workload = ProductWorkload("product");
  CHECK(MedianAfter(160, workload, "coordinate") < MedianAfter(160, workload, "random"));
}
