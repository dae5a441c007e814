#include "search/tuning/emit_batch.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "autodiff_features/measured_tasks.h"
#include "ir/text/printer.h"
#include "search/database/record_lines.h"
#include "search/model/nearest_ranker.h"
#include "search/searchers/ranked_points.h"
#include "search/tuning/task_tuner.h"
#include "support/json_line.h"
#include "support/sha256.h"

namespace tcc {
namespace {

constexpr size_t kDrawn = 500;     // points that the prior chooses from in a round
constexpr size_t kRound = 32;      // candidates that are proposed together
constexpr int kMaxIdleRounds = 3;  // in a row that bring no candidate

// A point of the batch that is built.
struct Emitted {
  StoredTrial trial;  // without a measurement
  std::vector<uint8_t> artefact;
};

// The candidates of one workload.
class EmittedTask {
 public:
  EmittedTask(const Workload& workload, const EmitOptions& options, const BuildFunction& build,
              std::span<const StoredTrial> known)
      : workload_(workload),
        options_(options),
        build_(build),
        space_(workload, options.target),
        estimator_(space_, options.target,
                   SettingsOf(std::string(NameOf(options.measuring.policy)), 1), nullptr),
        ranker_(space_, history_, &estimator_),
        random_(SeedFor(fmt::format("{} {} emit", options.seed, workload.key))) {
    for (const StoredTrial& trial : known) Remember(trial);
  }

  const Workload& workload() const { return workload_; }

  // Builds the reference: the first start without a fault, else the first one with.
  Status BuildReference() {
    Status problem;
    std::optional<Emitted> faulty;
    size_t tried = 0;
    for (size_t s : space_.ByDefault()) {
      if (tried == kMaxStartsTried) break;
      std::optional<SearchPoint> point = space_.Start(s);
      if (!point) continue;
      ++tried;
      const Candidate candidate = space_.ToCandidate(*point);
      BuiltCandidate built = build_(workload_, {&candidate, 1}, {})[0];
      if (absl::IsCancelled(built.status)) return built.status;
      if (!built.status.ok()) {
        problem.Update(built.status);
        continue;
      }
      const bool fault = !built.fault.empty();
      if (fault && faulty) continue;
      if (!faulty || !fault) Choose(*point, built);
      Emitted emitted = EmittedOf(candidate, std::move(built), "constructed");
      if (!fault) {
        reference_ = std::move(emitted);
        return OkStatus();
      }
      faulty = std::move(emitted);
    }
    if (faulty) {
      reference_ = *std::move(faulty);
      return OkStatus();
    }
    return problem.ok() ? InvalidInput("it has no schedule to search from") : problem;
  }

  // Returns the network's seconds in this kernel by the estimator; 0: it knows nothing.
  double PredictedSeconds() {
    const double ln_seconds =
        ranker_.Rank(reference_point_.sketch, {&reference_point_.point, 1})[0].ln_seconds;
    return std::isnan(ln_seconds) ? 0 : workload_.runs * std::exp(ln_seconds);
  }

  // Builds up to `count` candidates beside the reference.
  Status BuildCandidates(size_t count) {
    lowered_.insert(reference_.trial.lowered_key);
    history_.MarkProposed(reference_point_);
    TCC_RETURN_IF_ERROR(Build(count, Starts(), "start"));
    for (int idle = 0; idle < kMaxIdleRounds && emitted_.size() < count;) {
      const size_t before = emitted_.size();
      const size_t wanted = std::min(count - before, kRound);
      const auto drawn =
          static_cast<size_t>(std::llround(options_.random_share * static_cast<double>(wanted)));
      TCC_RETURN_IF_ERROR(Build(count, BestExpected(wanted - drawn), "prior"));
      TCC_RETURN_IF_ERROR(Build(count, Drawn(drawn), "random"));
      idle = emitted_.size() == before ? idle + 1 : 0;
    }
    return OkStatus();
  }

  // Moves all of it into the batch.
  void AddTo(BatchWriter& batch) {
    BatchTask task{.name = workload_.name,
                   .message = TaskOf(workload_, options_.measuring),
                   .reference = {},
                   .candidates = {}};
    task.reference = Sha256(reference_.artefact);
    // Results are joined by the artefact, so that another task's equal one may not come again.
    if (!AddArtefact(reference_, batch)) return;
    for (Emitted& emitted : emitted_) {
      const Sha256Digest digest = Sha256(emitted.artefact);
      if (AddArtefact(emitted, batch)) task.candidates.push_back(digest);
    }
    batch.AddTask(std::move(task));
  }

 private:
  void Remember(const StoredTrial& trial) {
    if (!trial.lowered_key.empty()) lowered_.insert(trial.lowered_key);
    std::optional<SearchPoint> point = space_.Find(trial.variant_key, trial.schedule);
    if (!point) return;
    history_.Add({.point = *std::move(point),
                  .status = trial.measurement.status,
                  .seconds = trial.measurement.seconds,
                  .searcher = trial.searcher});
  }

  void Choose(const SearchPoint& point, const BuiltCandidate& built) {
    reference_point_ = point;
    most_code_ = MostCodeBeside(built.code_size, options_.target);
  }

  Emitted EmittedOf(const Candidate& candidate, BuiltCandidate built, std::string_view searcher) {
    return {.trial = {.variant_key = workload_.variant_keys[candidate.schedule.variant],
                      .rules = candidate.rules,
                      .schedule = candidate.schedule,
                      .lowered_key = built.lowered_key,
                      .searcher = std::string(searcher)},
            .artefact = std::move(built.artefact)};
  }

  SearchContext Context() { return {space_, history_, ranker_, &estimator_}; }

  std::vector<SearchPoint> Starts() {
    std::vector<SearchPoint> starts;
    for (size_t s = 0; s < space_.size(); ++s) {
      std::optional<SearchPoint> start = space_.Start(s);
      if (start && !history_.Knows(*start)) starts.push_back(*std::move(start));
    }
    return starts;
  }

  std::vector<SearchPoint> Drawn(size_t count) {
    return MakeRandomSearcher(Context())->Propose(count, random_);
  }

  std::vector<SearchPoint> BestExpected(size_t count) {
    if (count == 0) return {};
    RankedPoints ranked(Context());
    const std::vector<SearchPoint> drawn = SampleAll(Context(), kDrawn, random_);
    const std::vector<Prediction> expected = RankAll(ranker_, drawn);
    for (size_t i = 0; i < drawn.size(); ++i) ranked.Add(drawn[i], expected[i]);
    return ranked.Pick(count, 0, random_);
  }

  // Builds the points and keeps those that lower like none before, until there are `count` in all.
  Status Build(size_t count, const std::vector<SearchPoint>& points, std::string_view searcher) {
    std::vector<Candidate> candidates;
    for (const SearchPoint& point : points) {
      if (emitted_.size() + candidates.size() == count) break;
      history_.MarkProposed(point);
      candidates.push_back(space_.ToCandidate(point));
    }
    const BuildFilter filter{
        .known = [this](const std::string& key) { return lowered_.contains(key); },
        .most_code = most_code_};
    std::vector<BuiltCandidate> built = build_(workload_, candidates, filter);
    for (size_t i = 0; i < built.size(); ++i) {
      if (absl::IsCancelled(built[i].status)) return built[i].status;
      if (!built[i].status.ok() || built[i].known) continue;
      if (!lowered_.insert(built[i].lowered_key).second) continue;
      emitted_.push_back(EmittedOf(candidates[i], std::move(built[i]), searcher));
    }
    return OkStatus();
  }

  bool AddArtefact(Emitted& emitted, BatchWriter& batch) {
    const Sha256Digest digest = Sha256(emitted.artefact);
    if (!batch.AddArtefact(digest, std::move(emitted.artefact))) return false;
    nlohmann::ordered_json line = CandidateFields(TextsOf(emitted.trial, workload_.key));
    line.update({{"searcher", emitted.trial.searcher}, {"artefact", ToHex(digest)}});
    batch.AddRecord(JsonLine(line));
    return true;
  }

  const Workload& workload_;
  const EmitOptions& options_;
  const BuildFunction& build_;
  TaskSpace space_;
  TaskHistory history_;
  TaskEstimator estimator_;
  NearestRanker ranker_;
  Random random_;
  SearchPoint reference_point_;
  int64_t most_code_ = 0;
  Emitted reference_;
  std::set<std::string> lowered_;  // keys of what need not be built
  std::vector<Emitted> emitted_;
};

// Deals the candidates out: kMinEmitted each, the rest by the network's seconds in each task.
std::vector<size_t> Deal(const std::vector<double>& seconds, int64_t candidates) {
  const int64_t tasks = std::ssize(seconds);
  const auto rest = static_cast<double>(std::max<int64_t>(candidates - kMinEmitted * tasks, 0));
  double all = 0, before = 0;
  for (double one : seconds) all += one;
  std::vector<size_t> shares;
  for (double one : seconds) {
    const double part = all > 0 ? one / all : 1 / static_cast<double>(tasks);
    const double more = std::floor((before + part) * rest + 0.5) - std::floor(before * rest + 0.5);
    shares.push_back(static_cast<size_t>(kMinEmitted) + static_cast<size_t>(more));
    before += part;
  }
  return shares;
}

// Adds what the import needs of the workloads, each variant once.
void AddWorkloadLines(const std::vector<std::unique_ptr<EmittedTask>>& tasks, BatchWriter& batch) {
  std::set<std::string> variants;
  for (const auto& task : tasks) {
    const Workload& workload = task->workload();
    for (size_t v = 0; v < workload.variants.size(); ++v) {
      const std::string& key = workload.variant_keys[v];
      if (variants.insert(key).second)
        batch.AddRecord(VariantLine(key, Print(workload.variants[v])));
    }
    batch.AddRecord(WorkloadLine(StoredWorkloadOf(workload)));
  }
}

}  // namespace

Status EmitBatch(std::span<const Workload> workloads, const EmitOptions& options,
                 const BuildFunction& build, std::span<const std::vector<StoredTrial>> known,
                 BatchWriter& batch) {
  std::vector<std::unique_ptr<EmittedTask>> tasks;
  std::vector<double> seconds;
  Status problem = InvalidInput("the model has no kernel to measure");
  for (size_t w = 0; w < workloads.size(); ++w) {
    auto task = std::make_unique<EmittedTask>(
        workloads[w], options, build,
        known.empty() ? std::span<const StoredTrial>() : std::span<const StoredTrial>(known[w]));
    Status status = task->BuildReference();
    if (absl::IsCancelled(status)) return status;
    if (!status.ok()) {
      problem = Annotate(status, fmt::format("kernel '{}'", workloads[w].name));
      if (options.warn) options.warn(fmt::format("{}; it is left out", Message(problem)));
      continue;
    }
    seconds.push_back(task->PredictedSeconds());
    tasks.push_back(std::move(task));
  }
  if (tasks.empty()) return InvalidInput("nothing can be measured: {}", Message(problem));
  AddWorkloadLines(tasks, batch);
  const std::vector<size_t> shares = Deal(seconds, options.candidates);
  const auto all = std::accumulate(shares.begin(), shares.end(), size_t{0});
  size_t done = 0;
  for (size_t t = 0; t < tasks.size(); ++t) {
    TCC_RETURN_IF_ERROR(tasks[t]->BuildCandidates(shares[t]));
    tasks[t]->AddTo(batch);
    tasks[t].reset();
    done += shares[t];
    if (options.progress) {
      options.progress(static_cast<int64_t>(done), static_cast<int64_t>(all));
    }
  }
  return OkStatus();
}

}  // namespace tcc
