#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "runtime/measure/worker_device.h"
#include "runtime/supervise/measuring_lock.h"
#include "search/fleet/fleet.h"
#include "search/fleet/fleet_connection.h"
#include "support/printable.h"
#include "support/stopwatch.h"
#include "support/threads.h"

namespace tcc {
namespace {

constexpr double kPollSeconds = 2;  // in case a notification is lost
constexpr int kMostAttempts = 2;    // workers that a candidate may cost

// Leases candidates of one task: of the open one if it has any, else of the oldest; an eighth of
// them, so that the last ones are spread over all workers. A candidate whose worker was lost is
// leased by itself, so that none is blamed for another. What this worker holds already it had lost
// sight of when its connection broke.
constexpr const char* kClaim = R"(
WITH same AS (
  SELECT id, task, attempts FROM job
  WHERE device = $1::int AND task = $3::bytea AND wanted_until > now() AND state <> 'done' AND
        (state = 'queued' OR lease_until < now() OR worker = $2)
  ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
), oldest AS (
  SELECT id, task, attempts FROM job
  WHERE NOT EXISTS (SELECT FROM same) AND
        device = $1::int AND wanted_until > now() AND state <> 'done' AND
        (state = 'queued' OR lease_until < now() OR worker = $2)
  ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
), chosen AS (
  SELECT * FROM same UNION ALL SELECT * FROM oldest
), picked AS (
  SELECT id FROM job
  WHERE device = $1::int AND task = (SELECT task FROM chosen WHERE attempts = 0) AND
        attempts = 0 AND state = 'queued' AND wanted_until > now()
  ORDER BY id
  LIMIT (SELECT count(*) / 8 FROM (
           SELECT FROM job WHERE device = $1::int AND task = (SELECT task FROM chosen) AND
                                 state = 'queued' LIMIT 256) some_queued)
  FOR UPDATE SKIP LOCKED
), mine AS (
  UPDATE job SET state = 'leased', worker = $2, lease_until = now() + $4::interval,
                 attempts = attempts + (state = 'queued' OR worker <> $2)::int
  WHERE id = ANY(ARRAY(SELECT id FROM chosen UNION SELECT id FROM picked))
  RETURNING job.id, job.task, job.artefact, job.attempts, job.stop_beyond)
SELECT mine.id, mine.task, mine.attempts, mine.stop_beyond, blob.bytes,
       mine.artefact = task.reference
FROM mine JOIN blob ON blob.digest = mine.artefact JOIN task ON task.digest = mine.task
ORDER BY mine.id)";

// A worker that lost its lease changes nothing.
constexpr const char* kReport = R"(
WITH mine AS (UPDATE job SET state = 'done' WHERE id = $1 AND worker = $2 AND state = 'leased'
              RETURNING id, device),
     kept AS (INSERT INTO result(job, status, seconds, spread, calls, error, canary, message, worker)
              SELECT id, $3::text, $4::float8, $5::float8, $6::bigint, $7::float8, $8::float8,
                     $9::text, $2 FROM mine
              ON CONFLICT DO NOTHING RETURNING job)
SELECT pg_notify('tcc_done_' || device, '') FROM mine, kept)";

constexpr const char* kRenew = R"(
UPDATE job SET lease_until = now() + $2::interval WHERE worker = $1 AND state = 'leased')";

constexpr const char* kGiveBack = R"(
UPDATE job SET state = 'queued', attempts = attempts - 1 WHERE worker = $1 AND state = 'leased')";

// Returns a name that no other worker has.
std::string NameOfThis() {
  char host[256] = "?";
  gethostname(host, sizeof host - 1);
  return fmt::format("{}:{}:{:08x}", WithValidUtf8(host), getpid(), std::random_device{}());
}

// Returns the description by which tuners choose; other numbers of threads make other devices.
std::string TextOf(const ReadyMessage& ready) {
  return ready.gpu ? DescribeGpu(ready)
                   : fmt::format("{}, {} thread{}", ready.device, ready.threads,
                                 ready.threads == 1 ? "" : "s");
}

// Renews the leases of a worker in a thread with a connection of its own.
class LeaseKeeper {
 public:
  LeaseKeeper(std::unique_ptr<FleetConnection> connection, std::string worker, double lease)
      : connection_(std::move(connection)), worker_(std::move(worker)), lease_(lease) {
    thread_ = StartThread([this] { Run(); });
  }
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;
  ~LeaseKeeper() {
    {
      std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    if (thread_) thread_->join();
  }

  bool runs() const { return thread_.has_value(); }
  void set_holding(bool holding) { holding_ = holding; }

 private:
  void Run() {
    const auto pause = std::chrono::duration<double>(lease_ / 3);
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, pause, [this] { return ended_; })) {
      if (!holding_) continue;
      lock.unlock();
      // The worker's own connection shows what is wrong with the server.
      connection_->Run(kRenew, {worker_, fmt::format("{} s", lease_)}).status().IgnoreError();
      lock.lock();
    }
  }

  const std::unique_ptr<FleetConnection> connection_;
  const std::string worker_;
  const double lease_;  // seconds
  std::atomic<bool> holding_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::optional<std::thread> thread_;
};

class FleetWorker {
 public:
  FleetWorker(const FleetWorkerOptions& options, FleetConnection& connection, TaskRunner& runner,
              LeaseKeeper& keeper, std::string name)
      : options_(options),
        connection_(connection),
        runner_(runner),
        keeper_(keeper),
        name_(std::move(name)) {}

  Status Run() {
    TCC_RETURN_IF_ERROR(Register());
    Status status;
    while (status.ok() && !IsOver()) {
      StatusOr<bool> measured = MeasureSome();
      status = measured.status();
      if (!status.ok() || *measured) continue;
      if (options_.idle_exit) break;
      connection_.Wait(kPollSeconds);
    }
    keeper_.set_holding(false);
    return absl::IsCancelled(status) ? OkStatus() : status;
  }

 private:
  bool IsOver() const {
    return options_.fleet.stop.stop_requested() ||
           (options_.seconds > 0 && stopwatch_.Seconds() >= options_.seconds);
  }

  Status Register() {
    const ReadyMessage& ready = runner_.device();
    const std::string text = TextOf(ready);
    TCC_RETURN_IF_ERROR(
        connection_
            .Run("INSERT INTO device(text, protocol, ready) "
                 "VALUES ($1, $2::int, $3) ON CONFLICT DO NOTHING",
                 {text, int64_t{ready.version}, std::span<const uint8_t>(Encode(ready))})
            .status());
    TCC_ASSIGN_OR_RETURN(SqlRows rows, connection_.Run("SELECT id FROM device WHERE text = $1 AND "
                                                       "protocol = $2::int",
                                                       {text, int64_t{ready.version}}));
    device_ = rows.Int(0, 0);
    TCC_RETURN_IF_ERROR(connection_.Listen(fmt::format("tcc_job_{}", device_)));
    Say(fmt::format("{}: {} measures on '{}'", connection_.name(), name_, text));
    return OkStatus();
  }

  void SayOnce(const std::string& message) {
    if (std::exchange(said_, message) != message) Say(message);
  }
  void Say(const std::string& message) {
    if (options_.fleet.warn) options_.fleet.warn(message);
  }

  // Measures the candidates of one claim. Returns false where there are none. The device's lock is
  // held for no longer, and before anything is leased, since another process may hold it for long.
  StatusOr<bool> MeasureSome() {
    TCC_ASSIGN_OR_RETURN(
        MeasuringLock lock,
        MeasuringLock::Acquire({.device = LockedDevice(runner_.device()),
                                .say = [this](const std::string& message) { SayOnce(message); },
                                .stop = options_.fleet.stop}));
    keeper_.set_holding(true);
    TCC_ASSIGN_OR_RETURN(SqlRows claim,
                         connection_.Run(kClaim, {device_, name_, std::span<const uint8_t>(task_),
                                                  fmt::format("{} s", options_.lease)}));
    StatusOr<bool> kept = true;
    int row = 0;
    while (row < claim.size() && !IsOver()) {
      kept = MeasureOne(claim, row);
      if (!kept.ok() || !*kept) break;
      ++row;
    }
    keeper_.set_holding(false);
    if (row < claim.size()) TCC_RETURN_IF_ERROR(connection_.Run(kGiveBack, {name_}).status());
    TCC_RETURN_IF_ERROR(kept.status());
    if (!*kept) {
      Say(fmt::format("{}: {} lost its lease; the result is dropped", connection_.name(), name_));
    }
    return claim.size() > 0;
  }

  // Returns whether the result was taken.
  StatusOr<bool> MeasureOne(const SqlRows& claim, int row) {
    const int64_t job = claim.Int(row, 0);
    const bool is_reference = claim.Text(row, 5) == "t";
    if (claim.Int(row, 2) > kMostAttempts) {
      return Report(
          job, {.status = MeasureStatus::kFault,
                .message = fmt::format("{} workers that measured it were lost", kMostAttempts)});
    }
    StatusOr<Measurement> opened = Open(claim.Bytes(row, 1));
    if (absl::IsUnavailable(opened.status())) return opened.status();
    if (!opened.ok() && !is_reference) {
      return Missing("a task that runs elsewhere does not run here: {}", Message(opened.status()));
    }
    if (!opened.ok()) {
      return Report(job,
                    {.status = MeasureStatus::kLaunchFailed, .message = Message(opened.status())});
    }
    if (is_reference) return Report(job, *opened);
    TCC_ASSIGN_OR_RETURN(Measurement measured, runner_.Measure({.id = static_cast<uint64_t>(job),
                                                                .stop_beyond = claim.Real(row, 3),
                                                                .artefact = claim.Bytes(row, 4)}));
    return Report(job, measured);
  }

  // Opens the task unless it is open, and returns its reference's measurement.
  StatusOr<Measurement> Open(std::vector<uint8_t> task) {
    if (task == task_) return reference_;
    task_.clear();
    TCC_ASSIGN_OR_RETURN(
        SqlRows rows,
        connection_.Run(
            "SELECT name, message, bytes FROM task JOIN blob ON blob.digest = reference "
            "WHERE task.digest = $1",
            {std::span<const uint8_t>(task)}));
    TCC_ASSIGN_OR_RETURN(TaskMessage message, DecodeTask(rows.Bytes(0, 1)));
    message.artefact = rows.Bytes(0, 2);
    TCC_ASSIGN_OR_RETURN(reference_, runner_.Open(rows.Text(0, 0), message));
    task_ = std::move(task);
    return reference_;
  }

  StatusOr<bool> Report(int64_t job, const Measurement& measured) {
    TCC_ASSIGN_OR_RETURN(
        SqlRows kept,
        connection_.Run(kReport, {job, name_, std::string(NameOf(measured.status)),
                                  measured.seconds, measured.spread, measured.calls, measured.error,
                                  measured.canary, WithValidUtf8(measured.message)}));
    return kept.size() > 0;
  }

  const FleetWorkerOptions& options_;
  FleetConnection& connection_;
  TaskRunner& runner_;
  LeaseKeeper& keeper_;
  const std::string name_;
  std::string said_;  // of the device's lock, last
  Stopwatch stopwatch_;
  int64_t device_ = 0;
  std::vector<uint8_t> task_;  // digest of the open task; empty: there is none
  Measurement reference_;      // its reference's
};

}  // namespace

Status ServeFleet(const FleetWorkerOptions& options) {
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<FleetConnection> connection,
                       FleetConnection::Open(options.fleet));
  TCC_ASSIGN_OR_RETURN(
      std::unique_ptr<FleetConnection> second,
      FleetConnection::Open({.url = options.fleet.url, .stop = options.fleet.stop}));
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<TaskRunner> runner, TaskRunner::Start(options.runner));
  const std::string name = NameOfThis();
  LeaseKeeper keeper(std::move(second), name, options.lease);
  if (!keeper.runs()) return Missing("the system has no thread that renews leases");
  return FleetWorker(options, *connection, *runner, keeper, name).Run();
}

}  // namespace tcc
