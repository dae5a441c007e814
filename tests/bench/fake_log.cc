#include "tests/bench/fake_log.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace tcc::test {

void LogCall(const std::string& line) {
  const char* hangs = std::getenv("TCC_FAKE_HANG");
  if (hangs != nullptr && line == hangs) std::this_thread::sleep_for(std::chrono::hours(1));
  const char* path = std::getenv("TCC_FAKE_LOG");
  if (path == nullptr) return;
  std::ofstream(path, std::ios::app) << line << '\n';
}

}  // namespace tcc::test
