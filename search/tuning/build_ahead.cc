#include "search/tuning/build_ahead.h"

#include <algorithm>
#include <optional>

#include "support/threads.h"

namespace tcc {

bool BuildAhead::Start() {
  if (threads_.empty()) {
    for (int i = 0; i < std::max(most_, 1); ++i) {
      std::optional<std::thread> thread = StartThread([this] { Run(); });
      if (!thread) break;
      threads_.push_back(*std::move(thread));
    }
  }
  return !threads_.empty();
}

void BuildAhead::Push(std::packaged_task<void()> work, Place place) {
  {
    std::lock_guard lock(mutex_);
    waiting_.insert(place == Place::kFirst ? waiting_.begin() : waiting_.end(), std::move(work));
  }
  changed_.notify_one();
}

void BuildAhead::Run() {
  while (true) {
    std::packaged_task<void()> work;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopped_ || !waiting_.empty(); });
      if (stopped_) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    work();
  }
}

void BuildAhead::Drop() {
  std::lock_guard lock(mutex_);
  waiting_.clear();
}

void BuildAhead::Stop() {
  {
    std::lock_guard lock(mutex_);
    waiting_.clear();
    stopped_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace tcc
