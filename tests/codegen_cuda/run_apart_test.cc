#include "tests/codegen_cuda/twins/run_apart.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <vector>

using namespace tcc;

TEST_CASE("calls that end their process are told, and the others are done", "[codegen_cuda]") {
  int calls = 0;  // of one process
  auto run = [&](size_t i) -> ApartLine {
    ++calls;
    if (i == 2) std::signal(SIGABRT, SIG_DFL);
    if (i == 2) abort();
    if (i == 3) alarm(1);
    if (i == 3) pause();
    if (i == 5) _exit(7);
    return {.line = fmt::format("{} is call\n{}", i, calls), .is_last = i == 4};
  };
  std::vector<std::string> lines;
  RunApart(8, run, [&](size_t i, const std::string& line) {
    CHECK(i == lines.size());
    lines.push_back(line);
  });
  CHECK(lines == std::vector<std::string>{"0 is call 1", "1 is call 2",
                                          "ended by signal 6 (Aborted)",
                                          "ended by signal 14 (Alarm clock)", "4 is call 1",
                                          "ended with exit code 7", "6 is call 1", "7 is call 2"});
  CHECK(calls == 0);
}
