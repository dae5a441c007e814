#include "support/check.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace tcc {
namespace {
std::atomic<CheckHandler> g_handler{nullptr};
}  // namespace

void SetCheckHandler(CheckHandler handler) {
  g_handler = handler;
}

CheckFailure::CheckFailure(const char* file, int line, const char* condition) {
  stream_ << "internal error at " << file << ":" << line << ": " << condition << " does not hold: ";
}

CheckFailure::~CheckFailure() noexcept(false) {
  std::string message = stream_.str();
  if (CheckHandler handler = g_handler) handler(message);
  std::fprintf(stderr, "%s\n", message.c_str());
  std::abort();
}

}  // namespace tcc
