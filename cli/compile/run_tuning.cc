#include "cli/compile/run_tuning.h"

#include <atomic>
#include <csignal>
#include <optional>
#include <thread>

#include "cli/compile/run_folder.h"

namespace tcc {
namespace {

// Requests a stop at the first SIGINT or SIGTERM; restores what the signals did before, so that the
// second one ends the program.
class StopOnSignal {
 public:
  StopOnSignal() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
    waiter_ = std::thread([this] { Wait(); });
  }
  ~StopOnSignal() {
    ended_ = true;
    pthread_kill(waiter_.native_handle(), SIGUSR1);
    waiter_.join();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  std::stop_token token() const { return source_.get_token(); }

 private:
  // The next signal that asks for an end; 0: this object ends. Batch systems send SIGUSR1, too.
  int NextSignal() {
    int signal = 0;
    do sigwait(&signals_, &signal);
    while (signal == SIGUSR1 && !ended_);
    return ended_ ? 0 : signal;
  }

  void Wait() {
    if (NextSignal() == 0) return;
    source_.request_stop();
    int signal = NextSignal();
    if (signal == 0) return;
    std::signal(signal, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
    std::raise(signal);
  }

  sigset_t signals_;
  sigset_t before_;
  std::stop_source source_;
  std::atomic<bool> ended_ = false;
  std::thread waiter_;
};

// Whether the trial made its kernel faster than its constructed schedule and all trials before.
bool IsGain(const TuneEvent& event) {
  return event.measurement.status == MeasureStatus::kOk &&
         event.measurement.seconds <= event.best_seconds &&
         event.best_seconds < event.constructed_seconds;
}

void Advance(SearchState& state, const TuneEvent& event) {
  state.trials = event.trials;
  state.seconds = event.seconds;
  if (!IsGain(event)) return;
  state.improved = event.task;
  state.gain = event.constructed_seconds / event.best_seconds;
}

// Adds warnings to the events of the folder.
void RecordWarnings(RunFolder& folder, CompileOptions& options) {
  options.warn = [&folder, warn = options.warn](const std::string& message) {
    if (warn) warn(message);
    folder.RecordWarning(message);
  };
}

}  // namespace

void DatabaseWarnings::Tell() {
  const std::vector<std::string>& warnings = database_.warnings();
  for (; told_ < warnings.size(); ++told_) progress_.Warn(warnings[told_]);
}

StatusOr<TuneResult> RunTuning(const Graph& graph, TuneGraphOptions options,
                               const TuningOptions& tuning, Progress& progress,
                               Database& database) {
  StopOnSignal signals;
  options.compile.stop = signals.token();
  std::optional<RunFolder> folder;
  if (!tuning.run.empty()) {
    TCC_ASSIGN_OR_RETURN(folder, RunFolder::Make(tuning.run, options, tuning.database));
    options.worker_log = folder->worker_log();
    RecordWarnings(*folder, options.compile);
  }
  SearchState state{.most_trials = options.tune.trials, .most_seconds = options.tune.seconds};
  options.tune.event = [&](const TuneEvent& event) {
    Advance(state, event);
    progress.ReportSearch(state);
    if (folder) folder->Record(event);
  };
  StatusOr<TuneResult> result = TuneGraph(graph, options, database);
  progress.EndSearch();
  if (folder) {
    Status written = folder->Finish(result, signals.token().stop_requested());
    if (!written.ok()) progress.Warn(Message(written));
  }
  // A stop may come before anything is measured.
  if (absl::IsCancelled(result.status()) && signals.token().stop_requested()) return TuneResult{};
  if (result.ok()) TCC_RETURN_IF_ERROR(ExpectSomeKernel(*result));
  return result;
}

}  // namespace tcc
