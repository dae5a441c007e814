#include "runtime/supervise/serve_batch.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <vector>

#include "runtime/measure/batch_results.h"
#include "runtime/measure/worker_device.h"
#include "runtime/supervise/measuring_lock.h"
#include "runtime/supervise/task_runner.h"
#include "support/file.h"
#include "support/stopwatch.h"
#include "support/target_api.h"

namespace tcc {
namespace {

constexpr double kStopBeyond = 2;   // times the best: a slower candidate is not timed further
constexpr double kSyncSeconds = 1;  // that a power failure may cost

int64_t MicrosecondsSince1970() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// The results' file. Lines are written whole and in a second at the latest to the disk.
class ResultsFile {
 public:
  // Opens the file, which is made if there is none.
  static StatusOr<ResultsFile> Open(const std::string& path) {
    FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (file.get() < 0) return InvalidInput("cannot write '{}': {}", path, strerror(errno));
    ResultsFile results(path, std::move(file));
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) {
      return InvalidInput("'{}' is no regular file", path);
    }
    if (std::filesystem::file_size(path, error) == 0) return results;
    TCC_ASSIGN_OR_RETURN(SharedBytes bytes, MapDescriptor(results.file_.get(), path));
    results.text_.assign(bytes.bytes.begin(), bytes.bytes.end());
    return results;
  }

  // Returns what the file held when it was opened.
  const std::string& text() const { return text_; }

  // Returns the lines of it; what has none has only the beginning of one.
  std::string_view lines() const {
    return std::string_view(text_).substr(0, text_.rfind('\n') + 1);
  }
  // Cuts off a last line without its end, which a full disk may leave.
  Status CutOffRest() {
    if (lines().size() == text_.size()) return OkStatus();
    return ftruncate(file_.get(), static_cast<off_t>(lines().size())) == 0 ? OkStatus() : Refused();
  }

  Status Append(const std::string& line) {
    if (!WriteAll(file_.get(), AsBytes(line))) return Refused();
    if (since_sync_.Seconds() < kSyncSeconds) return OkStatus();
    return Sync();
  }

  // A file system that cannot sync has the lines all the same.
  Status Sync() {
    since_sync_ = Stopwatch();
    if (fdatasync(file_.get()) != 0 && errno != EINVAL && errno != ENOSYS) return Refused();
    return OkStatus();
  }

 private:
  ResultsFile(std::string path, FileDescriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}

  Status Refused() const { return InvalidInput("cannot write '{}': {}", path_, strerror(errno)); }

  std::string path_;
  FileDescriptor file_;
  std::string text_;
  Stopwatch since_sync_;
};

Status ExpectCode(const CandidateBatch& batch, const ReadyMessage& device) {
  StatusOr<Target> found = FindTarget(batch.header().target);
  if (!found.ok()) return InvalidInput("the batch is for an {}", Message(found.status()));
  const Target& target = *found;
  if (!IsCuda(target) || !device.gpu) {
    return Missing("kernels for '{}' are not measured on a GPU", target.name);
  }
  TCC_RETURN_IF_ERROR(ExpectRuns(target, device));
  const bool is_text = batch.header().compilers == kTextCompilers;
  if (is_text == device.gpu->takes_text) return OkStatus();
  return Missing("the batch was built by {}; {} takes {}", batch.header().compilers, device.device,
                 device.gpu->takes_text ? "CUDA text" : "machine code");
}

// A task of the batch on its way.
struct Visited {
  const BatchTask* task = nullptr;
  size_t next = 0;  // of its candidates
  double best = 0;  // seconds; 0: none yet
  bool done = false;
};

class BatchRunner {
 public:
  BatchRunner(const ServeBatchOptions& options, const CandidateBatch& batch, TaskRunner& runner,
              ResultsFile& file)
      : options_(options), batch_(batch), runner_(runner), file_(file) {
    for (const BatchTask& task : batch.tasks()) tasks_.push_back({.task = &task});
  }

  Status Run() {
    TCC_RETURN_IF_ERROR(GoOn());
    TCC_ASSIGN_OR_RETURN(
        MeasuringLock lock,
        MeasuringLock::Acquire({.device = LockedDevice(runner_.device()), .say = options_.say}));
    while (!IsOver()) {
      for (Visited& visited : tasks_) TCC_RETURN_IF_ERROR(Visit(visited));
    }
    TCC_RETURN_IF_ERROR(file_.Sync());
    if (right_ > 0) return OkStatus();
    return absl::DeadlineExceededError("no candidate of the batch is right so far");
  }

 private:
  bool IsLate() const { return options_.seconds > 0 && stopwatch_.Seconds() >= options_.seconds; }
  bool IsOver() const { return IsLate() || std::ranges::all_of(tasks_, &Visited::done); }

  // Reads what earlier runs have written, or writes the first line.
  Status GoOn() {
    const ReadyMessage& device = runner_.device();
    const BatchRun run{.batch = ToHex(batch_.digest()),
                       .device = DescribeGpu(device),
                       .driver = device.gpu->driver,
                       .policy = std::string(NameOf(batch_.policy()))};
    if (file_.text().empty()) return file_.Append(LineOf(run));
    StatusOr<BatchResults> known = ParseResults(file_.lines(), batch_);
    if (!known.ok()) return Annotate(known.status(), options_.results);
    if (known->run.device != run.device) {
      return InvalidInput("{}: results of '{}'; this is '{}'", options_.results, known->run.device,
                          run.device);
    }
    TCC_RETURN_IF_ERROR(file_.CutOffRest());
    for (const BatchResult& result : known->results) {
      known_.emplace(result.artefact, result.measurement);
    }
    for (Visited& visited : tasks_) {
      for (const Sha256Digest& digest : visited.task->candidates) {
        if (const Measurement* measured = Known(digest)) Count(visited, *measured);
      }
    }
    return OkStatus();
  }

  const Measurement* Known(const Sha256Digest& digest) const {
    const auto found = known_.find(ToHex(digest));
    return found == known_.end() ? nullptr : &found->second;
  }

  // Keeps what later candidates of the task are stopped by.
  void Count(Visited& visited, const Measurement& measured) {
    if (!HasTime(measured.status)) return;
    ++right_;
    KeepBest(visited, measured);
  }
  static void KeepBest(Visited& visited, const Measurement& measured) {
    if (measured.status != MeasureStatus::kOk) return;
    if (visited.best == 0 || measured.seconds < visited.best) visited.best = measured.seconds;
  }

  Status Record(const BatchTask& task, const Sha256Digest& digest, const Measurement& measured) {
    known_.emplace(ToHex(digest), measured);
    return file_.Append(LineOf(BatchResult{.artefact = ToHex(digest),
                                           .task = task.name,
                                           .measurement = measured,
                                           .at = MicrosecondsSince1970()}));
  }

  // Measures the task's next candidates.
  Status Visit(Visited& visited) {
    const BatchTask& task = *visited.task;
    SkipKnown(visited);
    if (visited.done || IsLate()) return OkStatus();
    TCC_ASSIGN_OR_RETURN(bool opened, Open(visited));
    SkipKnown(visited);
    for (size_t n = 0; opened && n < options_.visit && !visited.done && !IsLate(); ++n) {
      const Sha256Digest& digest = task.candidates[visited.next];
      TCC_ASSIGN_OR_RETURN(std::span<const uint8_t> artefact, batch_.Artefact(digest));
      StatusOr<Measurement> measured =
          runner_.Measure({.id = visited.next,
                           .stop_beyond = kStopBeyond * visited.best,
                           .artefact = {artefact.begin(), artefact.end()}});
      if (!measured.ok()) return LeaveOut(visited, measured.status());
      TCC_RETURN_IF_ERROR(Record(task, digest, *measured));
      Count(visited, *measured);
      SkipKnown(visited);
    }
    return OkStatus();
  }

  void SkipKnown(Visited& visited) const {
    const std::vector<Sha256Digest>& candidates = visited.task->candidates;
    while (visited.next < candidates.size() && Known(candidates[visited.next])) ++visited.next;
    if (visited.next == candidates.size() && Known(visited.task->reference)) visited.done = true;
  }

  // Opens the task, whose reference is measured with it. Returns false where that does not run.
  StatusOr<bool> Open(Visited& visited) {
    const BatchTask& task = *visited.task;
    TCC_ASSIGN_OR_RETURN(std::span<const uint8_t> reference, batch_.Artefact(task.reference));
    TaskMessage message = task.message;
    message.artefact.assign(reference.begin(), reference.end());
    StatusOr<Measurement> measured = runner_.Open(task.name, message);
    if (!measured.ok()) {
      TCC_RETURN_IF_ERROR(LeaveOut(visited, measured.status()));
      return false;
    }
    if (!Known(task.reference)) TCC_RETURN_IF_ERROR(Record(task, task.reference, *measured));
    KeepBest(visited, *measured);
    return true;
  }

  // Ends a task that cannot go on. Error: no task can.
  Status LeaveOut(Visited& visited, const Status& status) {
    if (absl::IsUnavailable(status)) return status;
    visited.done = true;
    if (options_.say)
      options_.say(fmt::format("'{}' is left out: {}", visited.task->name, Message(status)));
    return OkStatus();
  }

  const ServeBatchOptions& options_;
  const CandidateBatch& batch_;
  TaskRunner& runner_;
  ResultsFile& file_;
  Stopwatch stopwatch_;
  std::map<std::string, Measurement> known_;  // by artefact
  std::vector<Visited> tasks_;
  int64_t right_ = 0;  // candidates with a time, of earlier runs too
};

}  // namespace

Status ServeBatch(const ServeBatchOptions& options) {
  TCC_ASSIGN_OR_RETURN(CandidateBatch batch, CandidateBatch::Read(options.batch));
  if (IsSameFile(options.batch, options.results)) {
    return InvalidInput("'{}' is the batch; expected another file for results", options.results);
  }
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<TaskRunner> runner,
                       TaskRunner::Start({.worker = options.worker,
                                          .hello = {.device = "cuda", .ordinal = options.ordinal},
                                          .spare = true,
                                          .warn = options.say}));
  TCC_RETURN_IF_ERROR(ExpectCode(batch, runner->device()));
  TCC_ASSIGN_OR_RETURN(ResultsFile file, ResultsFile::Open(options.results));
  return BatchRunner(options, batch, *runner, file).Run();
}

}  // namespace tcc
