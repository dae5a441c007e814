#include "tests/bench/fake_log.h"

#include <cstdlib>
#include <fstream>

namespace tcc::test {

void LogCall(const std::string& line) {
  const char* path = std::getenv("TCC_FAKE_LOG");
  if (path == nullptr) return;
  std::ofstream(path, std::ios::app) << line << '\n';
}

}  // namespace tcc::test
