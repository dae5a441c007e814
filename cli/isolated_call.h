#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "support/status.h"

namespace tcc {

// A function at work in a process of its own: whatever it does there, this process goes on.
class IsolatedCall {
 public:
  // Forks; expects that no other thread runs. Fails with Unavailable where no process can be had.
  static StatusOr<IsolatedCall> Start(const std::function<std::string()>& work);

  IsolatedCall(IsolatedCall&& other) noexcept;
  IsolatedCall& operator=(IsolatedCall&& other) = delete;
  ~IsolatedCall();  // ends the process if nobody waited for it

  // What `work` returned. Fails with Internal, saying how, if the process died, failed a TCC_CHECK
  // or took longer than `limit`, counted from the start; it is ended then. Once only.
  StatusOr<std::string> Wait(std::chrono::seconds limit);

 private:
  IsolatedCall(int process, int pipe) : process_(process), pipe_(pipe) {}

  int process_;
  int pipe_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace tcc
