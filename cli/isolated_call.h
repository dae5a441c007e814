#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "support/status.h"

namespace tcc {

// A function that runs in a process of its own, so that its crash does not end this process.
class IsolatedCall {
 public:
  // Forks. Expects that no other thread runs. Fails with Unavailable if no process can be made.
  static StatusOr<IsolatedCall> Start(const std::function<std::string()>& work);

  IsolatedCall(IsolatedCall&& other) noexcept;
  IsolatedCall& operator=(IsolatedCall&& other) = delete;
  ~IsolatedCall();  // ends the process if nobody waited for it

  // Waits and returns the result of `work`. Fails with Internal, saying how, if the process died,
  // failed a TCC_CHECK or took longer than `limit`, counted from the start; it is ended then. May
  // be called once.
  StatusOr<std::string> Wait(std::chrono::seconds limit);

 private:
  IsolatedCall(int process, int pipe) : process_(process), pipe_(pipe) {}

  int process_;
  int pipe_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace tcc
