#include "tests/search/fake_measurer.h"

#include <cmath>
#include <cstring>

#include "support/check.h"
#include "support/random.h"
#include "support/sha256.h"

namespace tcc {
namespace {

// Numbers that the seed and the text decide, for one purpose.
Random RandomFor(const FakeOptions& options, std::string_view purpose, const std::string& text) {
  Sha256Digest digest = Sha256(fmt::format("{} {} {}", options.seed, purpose, text));
  uint64_t seed;
  std::memcpy(&seed, digest.data(), sizeof(seed));
  return Random(seed);
}

// The name of the workload, which is an artefact's first line.
std::string WorkloadIn(const std::string& artefact) {
  return artefact.substr(0, artefact.find('\n'));
}

Schedule ScheduleIn(const std::string& artefact) {
  StatusOr<Schedule> schedule = ParseSchedule(artefact.substr(artefact.find('\n') + 1));
  TCC_CHECK(schedule.ok()) << artefact << Message(schedule.status());
  return *std::move(schedule);
}

std::string LoweredKeyOf(const FakeOptions& options, const std::string& artefact) {
  if (options.lowered_keys == 0) return ToHex(Sha256(artefact));
  return fmt::format("key {}", RandomFor(options, "key", artefact).Below(options.lowered_keys));
}

}  // namespace

std::string FakeArtefact(const Workload& workload, const Schedule& schedule) {
  return workload.name + "\n" + Print(schedule);
}

MeasureStatus PlantedStatus(const FakeOptions& options, const std::string& artefact) {
  const std::pair<double, MeasureStatus> shares[] = {
      {options.refused, MeasureStatus::kRefused},
      {options.build_failed, MeasureStatus::kBuildFailed},
      {options.wrong, MeasureStatus::kWrong},
      {options.hang, MeasureStatus::kHang},
      {options.fault, MeasureStatus::kFault}};
  double drawn = RandomFor(options, "end", artefact).Unit();
  for (const auto& [share, status] : shares) {
    if (drawn < share) return status;
    drawn -= share;
  }
  return MeasureStatus::kOk;
}

double FakeSeconds(const FakeOptions& options, const std::string& artefact) {
  Schedule schedule = ScheduleIn(artefact);
  std::string sketch = WorkloadIn(artefact) + Print(schedule.trace);
  double exponent = options.sketch_spread * RandomFor(options, "sketch", sketch).Unit() +
                    options.noise * RandomFor(options, "noise", artefact).Normal();
  for (const FreeSize& size : schedule.trace.sizes) {
    double most = std::log2(static_cast<double>(size.var->high));
    double value = std::log2(static_cast<double>(schedule.decisions.at(size.var->name)));
    double distance = value - options.best_place * most;
    exponent += options.size_weight * distance * distance;
  }
  return options.base_seconds * std::exp(exponent);
}

Measurement FakeMeasurement(const FakeOptions& options, const std::string& artefact,
                            double stop_beyond) {
  MeasureStatus planted = PlantedStatus(options, artefact);
  if (planted != MeasureStatus::kOk) return {.status = planted, .message = "planted"};
  double seconds = FakeSeconds(options, artefact);
  if (stop_beyond > 0 && seconds > stop_beyond) {
    return {.status = MeasureStatus::kSlow, .seconds = seconds, .message = "beyond the bound"};
  }
  return {.status = MeasureStatus::kOk, .seconds = seconds, .message = ""};
}

StatusOr<Measurement> FakeMeasurer::Open(const Workload& workload, std::vector<uint8_t> reference) {
  std::string artefact(reference.begin(), reference.end());
  TCC_CHECK(queue_.empty() || options_.parallel) << "candidates of '" << open_ << "' are waiting";
  TCC_CHECK(WorkloadIn(artefact) == workload.name) << artefact;
  ++opened_[workload.name];
  open_.clear();
  if (options_.unavailable) return Missing("there is no device");
  if (options_.unopenable.contains(workload.name)) {
    return absl::InternalError("the reference of '" + workload.name + "' is no reference");
  }
  open_ = workload.name;
  return Measurement{.seconds = FakeSeconds(options_, artefact), .message = ""};
}

void FakeMeasurer::Submit(MeasureRequest request) {
  if (options_.parallel) {
    queue_.push_front(std::move(request));
  } else {
    queue_.push_back(std::move(request));
  }
  most_waiting_ = std::max(most_waiting_, queue_.size());
}

// Fails for a candidate whose task is not the open one: a worker would compare it with another
// task's results.
StatusOr<std::optional<MeasureReport>> FakeMeasurer::Take() {
  if (queue_.empty()) return std::nullopt;
  MeasureRequest request = std::move(queue_.front());
  queue_.pop_front();
  if (taken_ == options_.fail_after) return absl::UnavailableError("measuring cannot go on");
  std::string artefact(request.artefact.begin(), request.artefact.end());
  if (WorkloadIn(artefact) != open_ && !options_.parallel) {
    return absl::InternalError(fmt::format("a candidate of '{}' was submitted while '{}' was open",
                                           WorkloadIn(artefact), open_));
  }
  ++measured_[artefact];
  if (++taken_ == options_.stop_after) stop_.request_stop();
  return MeasureReport{request.id, FakeMeasurement(options_, artefact, request.stop_beyond)};
}

BuildFunction FakeMeasurer::Builder() {
  return [this](const Workload& workload, std::span<const Candidate> candidates,
                const BuildFilter& filter) {
    std::vector<BuiltCandidate> built;
    for (const Candidate& candidate : candidates) {
      built.push_back(Build(workload, candidate, filter));
    }
    return built;
  };
}

BuiltCandidate FakeMeasurer::Build(const Workload& workload, const Candidate& candidate,
                                   const BuildFilter& filter) {
  BuiltCandidate built;
  std::string artefact = FakeArtefact(workload, candidate.schedule);
  // What is built for a reference is not held against what is known.
  MeasureStatus planted = filter.known ? PlantedStatus(options_, artefact) : MeasureStatus::kOk;
  if (options_.refuses && options_.refuses(candidate)) planted = MeasureStatus::kRefused;
  if (planted == MeasureStatus::kRefused) {
    built.refused = true;
    built.status = InvalidInput("planted: refused");
    return built;
  }
  built.lowered_key = LoweredKeyOf(options_, artefact);
  built.known = filter.known && filter.known(built.lowered_key);
  if (built.known) {
    ++known_;
  } else if (planted == MeasureStatus::kBuildFailed) {
    built.status = absl::InternalError("planted: not built");
  } else {
    built.artefact.assign(artefact.begin(), artefact.end());
  }
  return built;
}

}  // namespace tcc
