#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "runtime/measure/worker_device.h"
#include "search/fleet/fleet.h"
#include "search/fleet/fleet_connection.h"
#include "search/fleet/fleet_schema.h"
#include "support/check.h"
#include "support/sha256.h"
#include "support/stop.h"
#include "support/stopwatch.h"

namespace tcc {
namespace {

constexpr double kPollSeconds = 2;        // in case a notification is lost
constexpr double kRenewSeconds = 30;      // after which the server is told what is still wanted
constexpr const char* kWanted = "120 s";  // how long a candidate is wanted without being told
constexpr double kWarnSeconds = 10;       // without a result, after which a user wonders
constexpr double kPatienceSeconds = 300;  // without a result or a worker that measures

// A job is asked for once: where it is there already, its result counts for this tuner as well.
constexpr const char* kSubmit = R"(
WITH kept AS (INSERT INTO blob VALUES ($1, $2) ON CONFLICT DO NOTHING),
     asked AS (INSERT INTO job(device, task, artefact, stop_beyond, wanted_until)
               VALUES ($3, $4, $1, $5, now() + $6::interval)
               ON CONFLICT (device, task, artefact) DO UPDATE SET wanted_until = excluded.wanted_until
               RETURNING id)
SELECT id, pg_notify('tcc_job_' || $3::int, '') FROM asked)";

constexpr const char* kAddTask = R"(
WITH kept AS (INSERT INTO blob VALUES ($1, $2) ON CONFLICT DO NOTHING)
INSERT INTO task VALUES ($3, $4, $5, $1) ON CONFLICT DO NOTHING)";

// Returns the array of numbers as SQL writes it.
std::string ArrayOf(const std::set<int64_t>& numbers) {
  return fmt::format("{{{}}}", fmt::join(numbers, ","));
}

StatusOr<Measurement> MeasurementIn(const SqlRows& rows, int row) {
  const std::optional<MeasureStatus> status = FindMeasureStatus(rows.Text(row, 1));
  if (!status) return Missing("the fleet has a result of status '{}'", rows.Text(row, 1));
  return Measurement{.status = *status,
                     .seconds = rows.Real(row, 2),
                     .spread = rows.Real(row, 3),
                     .calls = rows.Int(row, 4),
                     .error = rows.Real(row, 5),
                     .canary = rows.Real(row, 6),
                     .message = rows.Text(row, 7)};
}

// A measurer that leaves candidates in the queue and waits for their results. Candidates of tasks
// that were open before may still be under way.
class FleetMeasurer : public Measurer {
 public:
  FleetMeasurer(LocalMeasurerOptions options, std::shared_ptr<FleetConnection> connection,
                int64_t device)
      : options_(std::move(options)), connection_(std::move(connection)), device_(device) {}

  std::string Name() const override { return "local"; }
  bool IsParallel() const override { return true; }
  StatusOr<Measurement> Open(const Workload& workload, std::vector<uint8_t> reference) override;
  void Submit(MeasureRequest request) override;
  StatusOr<std::optional<MeasureReport>> Take() override;

 private:
  Status Ask(const std::vector<uint8_t>& artefact, double stop_beyond, int64_t& job);
  Status AwaitResults();
  Status ReadResults();
  Status TellWanted();
  Status ExpectWorkers();

  const LocalMeasurerOptions options_;
  const std::shared_ptr<FleetConnection> connection_;
  const int64_t device_;
  std::string name_;  // of the open task
  Sha256Digest task_{};
  std::map<Sha256Digest, Measurement> opened_;        // references' measurements, by task
  std::deque<std::pair<size_t, int64_t>> under_way_;  // ids of requests and their jobs
  std::set<int64_t> awaited_;                         // jobs without a result
  std::map<int64_t, Measurement> results_;
  Status failure_;  // of a Submit
  Stopwatch since_renewed_;
  Stopwatch since_result_;  // or since a worker was seen to measure
  bool warned_ = false;
};

StatusOr<Measurement> FleetMeasurer::Open(const Workload& workload,
                                          std::vector<uint8_t> reference) {
  name_ = workload.name;
  const std::vector<uint8_t> message = Encode(TaskOf(workload, options_));
  const Sha256Digest digest = Sha256(reference);
  std::vector<uint8_t> both = message;
  both.insert(both.end(), digest.begin(), digest.end());
  task_ = Sha256(both);
  if (auto known = opened_.find(task_); known != opened_.end()) return known->second;
  TCC_RETURN_IF_ERROR(
      connection_
          ->Run(kAddTask,
                {std::span<const uint8_t>(digest), std::span<const uint8_t>(reference),
                 std::span<const uint8_t>(task_), name_, std::span<const uint8_t>(message)})
          .status());
  int64_t job = 0;
  TCC_RETURN_IF_ERROR(Ask(reference, 0, job));
  while (!results_.contains(job)) TCC_RETURN_IF_ERROR(AwaitResults());
  const Measurement& measured = results_.at(job);
  if (measured.status != MeasureStatus::kOk) {
    return absl::InternalError(fmt::format("the reference of '{}' is no reference: {}: {}", name_,
                                           NameOf(measured.status), measured.message));
  }
  return opened_.emplace(task_, measured).first->second;
}

Status FleetMeasurer::Ask(const std::vector<uint8_t>& artefact, double stop_beyond, int64_t& job) {
  const Sha256Digest digest = Sha256(artefact);
  TCC_ASSIGN_OR_RETURN(
      SqlRows asked,
      connection_->Run(
          kSubmit, {std::span<const uint8_t>(digest), std::span<const uint8_t>(artefact), device_,
                    std::span<const uint8_t>(task_), stop_beyond, std::string(kWanted)}));
  job = asked.Int(0, 0);
  if (awaited_.empty()) since_result_ = since_renewed_ = Stopwatch();
  if (!results_.contains(job)) awaited_.insert(job);
  return OkStatus();
}

void FleetMeasurer::Submit(MeasureRequest request) {
  int64_t job = 0;
  if (failure_.ok()) failure_ = Ask(request.artefact, request.stop_beyond, job);
  under_way_.emplace_back(request.id, job);
}

StatusOr<std::optional<MeasureReport>> FleetMeasurer::Take() {
  if (under_way_.empty()) return std::nullopt;
  while (true) {
    TCC_RETURN_IF_ERROR(failure_);
    auto found = std::ranges::find_if(
        under_way_, [&](const auto& request) { return results_.contains(request.second); });
    if (found != under_way_.end()) {
      MeasureReport report{found->first, results_.at(found->second)};
      under_way_.erase(found);
      return report;
    }
    TCC_RETURN_IF_ERROR(AwaitResults());
  }
}

// Reads results, and waits where there are none.
Status FleetMeasurer::AwaitResults() {
  const size_t before = awaited_.size();
  TCC_RETURN_IF_ERROR(StopIfRequested(connection_->options().stop));
  TCC_RETURN_IF_ERROR(TellWanted());
  TCC_RETURN_IF_ERROR(ReadResults());
  if (awaited_.size() < before) {
    since_result_ = Stopwatch();
    return OkStatus();
  }
  TCC_RETURN_IF_ERROR(ExpectWorkers());
  connection_->Wait(kPollSeconds);
  return OkStatus();
}

Status FleetMeasurer::ReadResults() {
  TCC_ASSIGN_OR_RETURN(
      SqlRows rows,
      connection_->Run("SELECT job, status, seconds, spread, calls, error, canary, message "
                       "FROM result WHERE job = ANY($1::bigint[])",
                       {ArrayOf(awaited_)}));
  for (int row = 0; row < rows.size(); ++row) {
    TCC_ASSIGN_OR_RETURN(Measurement measured, MeasurementIn(rows, row));
    results_.emplace(rows.Int(row, 0), std::move(measured));
    awaited_.erase(rows.Int(row, 0));
  }
  return OkStatus();
}

Status FleetMeasurer::TellWanted() {
  if (since_renewed_.Seconds() < kRenewSeconds) return OkStatus();
  since_renewed_ = Stopwatch();
  return connection_
      ->Run("UPDATE job SET wanted_until = now() + $2::interval WHERE id = ANY($1::bigint[])",
            {ArrayOf(awaited_), std::string(kWanted)})
      .status();
}

// Fails where nobody has measured for long what this tuner waits for.
Status FleetMeasurer::ExpectWorkers() {
  if (since_result_.Seconds() < kWarnSeconds) return OkStatus();
  TCC_ASSIGN_OR_RETURN(SqlRows busy,
                       connection_->Run("SELECT count(*) FROM job WHERE device = $1::int AND "
                                        "state = 'leased' AND lease_until > now()",
                                        {device_}));
  if (busy.Int(0, 0) > 0) {
    since_result_ = Stopwatch();
    return OkStatus();
  }
  const std::string message =
      fmt::format("{}: no worker measures '{}'", connection_->name(), name_);
  if (since_result_.Seconds() > kPatienceSeconds) return Missing("{}", message);
  if (!warned_ && connection_->options().warn) connection_->options().warn(message + "; waiting");
  warned_ = true;
  return OkStatus();
}

bool Runs(const Target& target, const ReadyMessage& ready) {
  if (target.kind != TargetKind::kGpu) return target.kind == TargetKind::kCpu && !ready.gpu;
  return ready.gpu && ExpectRuns(target, ready).ok();
}

}  // namespace

StatusOr<FleetDevice> FindFleetDevice(const FleetOptions& options, const Target& target,
                                      const std::string& device) {
  TCC_ASSIGN_OR_RETURN(std::shared_ptr<FleetConnection> connection, FleetConnection::Open(options));
  TCC_ASSIGN_OR_RETURN(
      SqlRows rows,
      connection->Run("SELECT id, text, ready FROM device WHERE protocol = $1::int ORDER BY text",
                      {int64_t{kMeasureProtocolVersion}}));
  std::vector<std::string> texts;
  int64_t id = 0;
  ReadyMessage ready;
  for (int row = 0; row < rows.size(); ++row) {
    TCC_ASSIGN_OR_RETURN(ReadyMessage told, DecodeReady(rows.Bytes(row, 2)));
    const std::string text = rows.Text(row, 1);
    if (!Runs(target, told) || text.find(device) == std::string::npos) continue;
    texts.push_back("'" + text + "'");
    id = rows.Int(row, 0);
    ready = std::move(told);
  }
  if (texts.size() > 1) {
    return UsageError("--device: expected a part of the name of one of {}", fmt::join(texts, ", "));
  }
  if (texts.empty()) {
    return Missing("{} has no worker{} for target '{}'; `tcc worker --fleet URL` is one",
                   connection->name(), device.empty() ? "" : " on '" + device + "'", target.name);
  }
  TCC_RETURN_IF_ERROR(connection->Listen(fmt::format("tcc_done_{}", id)));
  return FleetDevice{ready,
                     [connection, id](const LocalMeasurerOptions& measuring,
                                      std::stop_token stop) -> StatusOr<std::unique_ptr<Measurer>> {
                       connection->set_stop(std::move(stop));
                       return std::make_unique<FleetMeasurer>(measuring, connection, id);
                     }};
}

std::string FleetSql() {
  return std::string(kFleetSchema) + kFleetRoles;
}

}  // namespace tcc
