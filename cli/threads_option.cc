#include "cli/threads_option.h"

#include "runtime/executor/usable_cpus.h"

namespace tcc {

void AddThreadsOption(CLI::App& app, int& threads) {
  app.add_option("--threads", threads,
                 "Threads to use; 0: one for each CPU that the process may use")
      ->type_name("T")
      ->check(CLI::Range(0, 1024).description(""))
      ->capture_default_str();
}

int ThreadCount(int threads) {
  return threads > 0 ? threads : UsableCpus();
}

}  // namespace tcc
