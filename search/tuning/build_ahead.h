#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace tcc {

// Threads that do their owner's jobs beside it.
class BuildAhead {
 public:
  explicit BuildAhead(int threads) : most_(threads) {}
  BuildAhead(const BuildAhead&) = delete;
  BuildAhead& operator=(const BuildAhead&) = delete;
  ~BuildAhead() { Stop(); }

  // A place among the work that waits.
  enum class Place { kFirst, kLast };

  // Adds work. Where the system has no thread, get() of the future does it.
  template <typename T>
  std::future<T> Add(std::function<T()> work, Place place) {
    if (!Start()) return std::async(std::launch::deferred, std::move(work));
    std::packaged_task<T()> task(std::move(work));
    std::future<T> result = task.get_future();
    Push(std::packaged_task<void()>([task = std::move(task)]() mutable { task(); }), place);
    return result;
  }
  // Drops the work that no thread has begun; its futures must not be asked.
  void Drop();
  // Does the same and waits for the threads.
  void Stop();

 private:
  // Starts the threads unless they run. Returns whether there is one.
  bool Start();
  void Push(std::packaged_task<void()> work, Place place);
  void Run();

  const int most_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::packaged_task<void()>> waiting_;
  bool stopped_ = false;
};

}  // namespace tcc
