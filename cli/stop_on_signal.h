#pragma once

#include <atomic>
#include <csignal>
#include <stop_token>
#include <thread>

#include "cli/error_report.h"

namespace tcc {

// A watch that requests a stop at the first SIGINT or SIGTERM; restores what the signals did
// before, so that the second one ends the program.
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
    if (signal != 0) EndBySignal(signal);
  }

  sigset_t signals_;
  sigset_t before_;
  std::stop_source source_;
  std::atomic<bool> ended_ = false;
  std::thread waiter_;
};

}  // namespace tcc
