#pragma once

#include <chrono>

namespace tcc {

// A clock that starts when it is made and is never set back.
class Stopwatch {
 public:
  double Seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point start_ = Clock::now();
};

}  // namespace tcc
