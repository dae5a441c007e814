#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

namespace tcc {

// What `work` says in a forked child, "" for nothing; a child that crashes or takes longer than
// half a minute says so too.
template <typename Work>
std::string InChild(Work&& work) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  pid_t child = fork();
  if (child == 0) {
    alarm(30);
    std::string said = work();
    _exit(write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string said;
  char buffer[256];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof(buffer))) > 0;) {
    said.append(buffer, static_cast<size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return std::string("ended by ") + strsignal(WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? said : "ended with a code";
}

// Bytes of address space that this process has taken.
inline int64_t MemoryInUse() {
  std::ifstream file("/proc/self/statm");
  int64_t pages = 0;
  file >> pages;
  return pages * getpagesize();
}

inline bool LimitMemoryTo(int64_t bytes) {
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = static_cast<rlim_t>(bytes);
  return setrlimit(RLIMIT_AS, &limit) == 0;
}

}  // namespace tcc
