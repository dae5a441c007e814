#include "cli/threads_option.h"

#include "runtime/executor/usable_cpus.h"

namespace tcc {

void AddThreadsOption(CommandLine& line, int& threads) {
  line.AddOption("--threads", threads,
                 "Threads to use; 0: one for each CPU that the process may use")
      .TypeName("T")
      .InRange(0, 1024)
      .ShowDefault();
}

int ThreadCount(int threads) {
  return threads > 0 ? threads : UsableCpus();
}

}  // namespace tcc
