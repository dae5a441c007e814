#pragma once

#include <chrono>
#include <string>

#include "cli/command_line.h"
#include "compiler/kernels.h"

namespace tcc {

// --progress auto|plain|json|none. auto: one line that is rewritten on a terminal, else plain.
void AddProgressOption(CommandLine& line, std::string& mode);

// What a command has written.
struct Written {
  std::string file;
  uint64_t bytes = 0;
  size_t kernels = 0;
  double seconds = 0;
};

// What is being done, on standard error: a line when a stage begins, and every few seconds. Without
// being asked for (auto) only of work that takes longer than a second.
// The hook is valid as long as the Progress; only one thread may call it at a time.
class Progress {
 public:
  explicit Progress(const std::string& mode);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Report(const std::string& stage, int64_t done, int64_t total);
  ProgressHook hook();
  // A line on standard error; in json an object with "warning".
  void Warn(const std::string& message);
  // A fact of the result, as a line; in json an object with "note".
  void Tell(const std::string& message);
  // As the last line, of short work too: "tcc: wrote m.tcc, 97.5 MiB, 21 kernels, 6.2 s".
  void TellWritten(const Written& written);

 private:
  enum class Mode { kLine, kPlain, kJson, kNone };
  using Clock = std::chrono::steady_clock;

  void Write(const std::string& stage, int64_t done, int64_t total, double seconds);

  Mode mode_;
  double silent_seconds_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_{};
  std::string last_stage_;
  bool line_open_ = false;
};

}  // namespace tcc
