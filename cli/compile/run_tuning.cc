#include "cli/compile/run_tuning.h"

#include <algorithm>
#include <csignal>
#include <thread>

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
    pthread_kill(waiter_.native_handle(), SIGUSR1);
    waiter_.join();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  std::stop_token token() const { return source_.get_token(); }

 private:
  void Wait() {
    int signal = 0;
    sigwait(&signals_, &signal);
    if (signal == SIGUSR1) return;
    source_.request_stop();
    sigwait(&signals_, &signal);
    if (signal == SIGUSR1) return;
    std::signal(signal, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
    std::raise(signal);
  }

  sigset_t signals_;
  sigset_t before_;
  std::stop_source source_;
  std::thread waiter_;
};

bool HasKernel(const TuneResult& result) {
  return std::ranges::any_of(result.tasks,
                             [](const TaskResult& task) { return task.best_seconds > 0; });
}

}  // namespace

StatusOr<TuneResult> RunTuning(const Graph& graph, TuneGraphOptions options, Progress& progress,
                               Database& database) {
  StopOnSignal signals;
  options.compile.stop = signals.token();
  bool counted = options.tune.trials > 0;
  auto total = counted ? options.tune.trials : static_cast<int64_t>(options.tune.seconds);
  options.tune.event = [&](const TuneEvent& event) {
    progress.Report(counted ? "tuning, trial" : "tuning, second",
                    counted ? event.trials : static_cast<int64_t>(event.seconds), total);
  };
  TCC_ASSIGN_OR_RETURN(TuneResult result, TuneGraph(graph, options, database));
  if (result.tasks.empty() || HasKernel(result)) return result;
  return absl::DeadlineExceededError(fmt::format("the budget ended without a valid kernel; {}: {}",
                                                 result.tasks[0].name, result.tasks[0].problem));
}

}  // namespace tcc
