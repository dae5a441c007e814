#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace tcc {

struct ApartLine {
  std::string line;
  bool is_last = false;  // of its process, which is broken
};

// Calls run(0), run(1), ... one after the other in a child process, and hands `take` the line that
// each returns. Where the child ends in a call, its line says how, "ended by signal 11
// (Segmentation fault)"; behind such a call, and behind a last line, a new child goes on.
void RunApart(size_t count, const std::function<ApartLine(size_t)>& run,
              const std::function<void(size_t, const std::string&)>& take);

}  // namespace tcc
