#include "support/for_each_index.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "support/threads.h"

namespace tcc {

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
