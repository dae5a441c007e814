#include "search/tuning/build_ahead.h"

#include <utility>

#include "support/check.h"
#include "support/threads.h"

namespace tcc {

BuildAhead::~BuildAhead() {
  if (thread_) thread_->join();
}

void BuildAhead::Begin(Build build, bool beside) {
  TCC_CHECK(!task_.valid()) << "a batch is being built";
  task_ = std::packaged_task<std::vector<BuiltCandidate>()>(std::move(build));
  if (beside) thread_ = StartThread([this] { task_(); });
}

std::vector<BuiltCandidate> BuildAhead::Finish() {
  TCC_CHECK(task_.valid()) << "no batch was begun";
  if (thread_) {
    thread_->join();
    thread_.reset();
  } else {
    task_();
  }
  std::future<std::vector<BuiltCandidate>> built = task_.get_future();
  task_ = {};
  return built.get();
}

}  // namespace tcc
