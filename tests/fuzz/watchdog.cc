#include "tests/fuzz/watchdog.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

// Of the sanitizers' runtime, where that is linked.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace tcc {
namespace {

using Clock = std::chrono::steady_clock;

// A signal's handler can read no more than this.
char current_line[4096];  // NOLINT: the reproduction of the running point
std::mutex mutex;         // NOLINT: of the two below
Clock::time_point begun;  // NOLINT
bool running = false;     // NOLINT

void PrintLine() {
  size_t length = std::strlen(current_line);
  if (length > 0 && write(STDERR_FILENO, current_line, length) < 0) std::abort();
}

void OnSignal(int number) {
  PrintLine();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

[[noreturn]] void End(const std::string& why) {
  fmt::print(stderr, "{}\n", why);
  PrintLine();
  std::_Exit(1);
}

void Watch(WatchdogLimits limits) {
  while (true) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    int64_t peak = PeakResidentBytes();
    if (peak > limits.resident_bytes) End(fmt::format("{} bytes are resident", peak));
    std::lock_guard lock(mutex);
    std::chrono::duration<double> taken = Clock::now() - begun;
    if (running && taken.count() > limits.seconds)
      End(fmt::format("{} s and no end", taken.count()));
  }
}

}  // namespace

void StartWatchdog(const WatchdogLimits& limits) {
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(PrintLine);
  } else {
    for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) std::signal(number, OnSignal);
  }
  std::thread(Watch, limits).detach();
}

void WatchPoint(const std::string& reproduction) {
  std::lock_guard lock(mutex);
  size_t length = std::min(reproduction.size(), sizeof(current_line) - 2);
  std::memcpy(current_line, reproduction.data(), length);
  if (length > 0) current_line[length++] = '\n';
  current_line[length] = 0;
  begun = Clock::now();
  running = !reproduction.empty();
}

int64_t PeakResidentBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace tcc
