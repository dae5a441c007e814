#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/command_line.h"
#include "compiler/kernels.h"

namespace tcc {

struct ProgressOptions {
  std::string mode = "auto";  // one line that is rewritten on a terminal, else plain
  bool quiet = false;         // mode none, and no warnings
  bool verbose = false;
};

// Adds --progress auto|plain|json|none, -q and -v.
void AddProgressOptions(CommandLine& line, ProgressOptions& options);

// A file that a command has written.
struct Written {
  std::string file;
  uint64_t bytes = 0;
  size_t kernels = 0;
  double seconds = 0;
};

// The state of a search for faster kernels. The budget is one of trials or one of time.
struct SearchState {
  int64_t trials = 0;
  int64_t most_trials = 0;
  double seconds = 0;
  double most_seconds = 0;
  std::string improved = {};  // the kernel that became faster last; "": none
  double gain = 1;            // its speedup over its constructed schedule
};

// A report of progress on standard error: a line when a stage begins, and every few seconds; in
// mode json twice a second. In mode auto it reports only work that takes longer than a second. The
// first stage, "import", begins at once. The hook is valid as long as the Progress; only one thread
// may call it at a time.
class Progress {
 public:
  explicit Progress(const ProgressOptions& options);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Report(const std::string& stage, int64_t done, int64_t total);
  ProgressHook hook();
  // Reports how much of the budget is spent, trials per second and the last gain; in json an object
  // with "stage": "tuning".
  void ReportSearch(const SearchState& search);
  // Writes the last state of the search if its turn had not come, and removes the line on a
  // terminal.
  void EndSearch();
  // Removes the line on a terminal. Comes before anything else is printed there.
  void Clear();
  // Begins a stage without a report. With -v the time of the one before is told.
  void Begin(const std::string& stage);
  // Writes a line on standard error unless -q is given; in json an object with "warning".
  void Warn(const std::string& message);
  // Writes a fact of the result as a line; in json an object with "note".
  void Tell(const std::string& message);
  // Does the same in any mode if -v is given.
  void TellDetail(const std::string& message);
  // Writes the last line, also of short work: "tcc: wrote m.tcc, 97.5 MiB, 21 kernels, 6.2 s".
  void TellWritten(const Written& written);

 private:
  enum class Mode { kLine, kPlain, kJson, kNone };
  using Clock = std::chrono::steady_clock;

  // Returns whether anything is reported: not in mode none, and not of work that is short so far.
  bool IsTelling(Clock::time_point now) const;
  // Returns whether to report a stage now. After that it waits for its next turn.
  bool TakeTurn(const std::string& stage);
  void Write(const std::string& text);
  void WriteNote(const std::string& message);
  void EndStage();
  void WriteSearch(const SearchState& search);

  Mode mode_;
  bool quiet_;
  bool verbose_;
  double silent_seconds_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_{};
  std::string told_stage_;        // that a line was written of last
  std::string stage_ = "import";  // "": none
  Clock::time_point stage_start_ = start_;
  std::optional<SearchState> untold_;  // the last state of a search, until it is written
  bool line_open_ = false;
};

}  // namespace tcc
