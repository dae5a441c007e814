#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "search/measure/measurer.h"
#include "search/tuning/tuner.h"

// Candidates that are neither compiled nor run: their text and a seed say what becomes of them.
namespace tcc {

struct FakeOptions {
  uint64_t seed = 1;

  // A point takes base_seconds times e to the sum of
  //   size_weight * (log2 of a size - log2 of the best one)^2, for each size,
  //   a number below sketch_spread that its sketch has, and
  //   a normal number of deviation `noise` that it has itself.
  // The best size is at `best_place`, between 0 and 1, of the logarithm of the size's range.
  double base_seconds = 1e-3;
  double size_weight = 0.1;
  double sketch_spread = 0.1;
  double noise = 0;
  double best_place = 0.4;

  // Shares of the points that end so. A reference is always built and right.
  double refused = 0, build_failed = 0, wrong = 0, hang = 0, fault = 0;
  size_t lowered_keys = 0;  // that all points share; 0: each point has its own
  std::function<bool(const Candidate&)> refuses = {};  // candidates beside the share above

  bool parallel = false;     // Measurer::IsParallel; reports the candidate that came last first
  bool unavailable = false;  // there is no device
  std::set<std::string> unopenable = {};  // workloads whose references cannot be run
  // Take fails, or asks for a stop, once it has measured so many.
  size_t fail_after = std::numeric_limits<size_t>::max();
  size_t stop_after = std::numeric_limits<size_t>::max();
};

// The artefact that the fake makes of a candidate, as text.
std::string FakeArtefact(const Workload& workload, const Schedule& schedule);
// kOk, or the status that the shares plant at the artefact's point.
MeasureStatus PlantedStatus(const FakeOptions& options, const std::string& artefact);
double FakeSeconds(const FakeOptions& options, const std::string& artefact);
Measurement FakeMeasurement(const FakeOptions& options, const std::string& artefact,
                            double stop_beyond = 0);

class FakeMeasurer final : public Measurer {
 public:
  explicit FakeMeasurer(const FakeOptions& options = {}) : options_(options) {}

  std::string Name() const override { return "fake"; }
  StatusOr<Measurement> Open(const Workload& workload, std::vector<uint8_t> reference) override;
  void Submit(MeasureRequest request) override;
  bool IsParallel() const override { return options_.parallel; }
  StatusOr<std::optional<MeasureReport>> Take() override;

  // Makes artefacts for this measurer, which outlives the function.
  BuildFunction Builder();
  // Is asked for a stop by FakeOptions::stop_after.
  std::stop_token stop() const { return stop_.get_token(); }

  // How often each artefact was measured, references left out.
  const std::map<std::string, int>& measured() const { return measured_; }
  // How often each workload was opened, by name.
  const std::map<std::string, int>& opened() const { return opened_; }
  // The most candidates that waited at once.
  size_t most_waiting() const { return most_waiting_; }
  // Candidates that were not built since their lowered keys were known.
  size_t known() const { return known_; }

 private:
  BuiltCandidate Build(const Workload& workload, const Candidate& candidate,
                       const BuildFilter& filter);

  const FakeOptions options_;
  std::stop_source stop_;
  std::string open_;  // name of the open task; "": there is none
  std::deque<MeasureRequest> queue_;
  std::map<std::string, int> measured_, opened_;
  size_t taken_ = 0;
  size_t most_waiting_ = 0;
  std::atomic<size_t> known_ = 0;
};

}  // namespace tcc
