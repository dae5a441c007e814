#include "cli/threads_option.h"

#include <sched.h>

#include <algorithm>

namespace tcc {

void AddThreadsOption(CLI::App& app, int& threads) {
  app.add_option("--threads", threads, "Threads to use; 0: one for each CPU")
      ->type_name("T")
      ->check(CLI::Range(0, 1024).description(""))
      ->capture_default_str();
}

int ThreadCount(int threads) {
  if (threads > 0) return threads;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return 1;
  return std::max(1, CPU_COUNT(&allowed));
}

}  // namespace tcc
