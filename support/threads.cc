#include "support/threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

namespace tcc {

std::optional<std::thread> StartThread(std::function<void()> work) {
  try {
    return std::thread(std::move(work));
  } catch (const std::system_error&) {
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

void RunOnThreads(int threads, const std::function<void()>& work) {
  std::vector<std::exception_ptr> errors(static_cast<size_t>(threads > 1 ? threads : 1));
  auto keep_error = [&](size_t thread) {
    try {
      work();
    } catch (...) {
      errors[thread] = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  others.reserve(errors.size());
  for (size_t i = 1; i < errors.size(); ++i) {
    std::optional<std::thread> other = StartThread([&, i] { keep_error(i); });
    if (!other) break;
    others.push_back(*std::move(other));
  }
  keep_error(0);
  for (std::thread& other : others) other.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

Status ForEachIndex(size_t count, int threads, const std::function<Status(size_t)>& work) {
  std::vector<Status> statuses(count);
  std::atomic<size_t> next{0};
  RunOnThreads(static_cast<int>(std::min<size_t>(std::max(threads, 1), count)), [&] {
    for (size_t i = next++; i < count; i = next++) statuses[i] = work(i);
  });
  for (const Status& status : statuses) TCC_RETURN_IF_ERROR(status);
  return OkStatus();
}

}  // namespace tcc
