#include "tests/codegen_cuda/twins/run_apart.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "support/check.h"

namespace tcc {
namespace {

[[noreturn]] void RunFrom(size_t first, size_t count, const std::function<ApartLine(size_t)>& run,
                          int pipe) {
  std::FILE* lines = fdopen(pipe, "w");
  for (size_t i = first; i < count; ++i) {
    ApartLine made = run(i);
    std::ranges::replace(made.line, '\n', ' ');
    fmt::print(lines, "{}\n", made.line);
    std::fflush(lines);
    if (made.is_last) break;
  }
  std::_Exit(0);
}

std::string HowItEnded(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("ended with exit code {}", WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  return fmt::format("ended by signal {} ({})", number, strsignal(number));
}

}  // namespace

void RunApart(size_t count, const std::function<ApartLine(size_t)>& run,
              const std::function<void(size_t, const std::string&)>& take) {
  for (size_t next = 0; next < count;) {
    int ends[2];
    TCC_CHECK(pipe(ends) == 0) << "no pipe can be had";
    std::fflush(nullptr);  // or the child would print it again
    const pid_t child = fork();
    TCC_CHECK(child >= 0) << "no process can be had";
    if (child == 0) {
      close(ends[0]);
      RunFrom(next, count, run, ends[1]);
    }
    close(ends[1]);
    std::FILE* lines = fdopen(ends[0], "r");
    char* line = nullptr;
    size_t capacity = 0;
    for (ssize_t length; (length = getline(&line, &capacity, lines)) > 0;) {
      take(next++, std::string(line, static_cast<size_t>(length) - 1));
    }
    std::free(line);
    std::fclose(lines);
    int status = 0;
    TCC_CHECK(waitpid(child, &status, 0) == child);
    if (status != 0) take(next++, HowItEnded(status));
  }
}

}  // namespace tcc
