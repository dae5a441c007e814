#include "ir/support/for_each_index.h"

#include <atomic>
#include <thread>
#include <vector>

namespace tcc {

Status ForEachIndex(size_t count, int threads, const std::function<Status(size_t)>& work) {
  std::vector<Status> statuses(count);
  std::atomic<size_t> next{0};
  auto loop = [&] {
    for (size_t i = next++; i < count; i = next++) statuses[i] = work(i);
  };
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(loop);
  loop();
  for (std::thread& thread : others) thread.join();
  for (const Status& status : statuses) TCC_RETURN_IF_ERROR(status);
  return OkStatus();
}

}  // namespace tcc
