#pragma once

#include <functional>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include "search/candidate/build_candidates.h"

namespace tcc {

// Builds one batch at a time in a thread of its own, while the caller measures another.
class BuildAhead {
 public:
  using Build = std::function<std::vector<BuiltCandidate>()>;

  BuildAhead() = default;
  BuildAhead(const BuildAhead&) = delete;
  BuildAhead& operator=(const BuildAhead&) = delete;
  // Waits for the batch that is under way.
  ~BuildAhead();

  // Begins a batch, after the one before was finished. Not `beside`, or where the system has no
  // thread: it is built by Finish.
  void Begin(Build build, bool beside);
  // Returns the batch that was begun.
  std::vector<BuiltCandidate> Finish();

 private:
  std::packaged_task<std::vector<BuiltCandidate>()> task_;
  std::optional<std::thread> thread_;
};

}  // namespace tcc
