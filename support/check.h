#pragma once

#include <sstream>
#include <string>

// A failed TCC_CHECK is a bug in tcc, never a user's mistake. It prints the place, the condition
// and the message, and aborts; the command line turns that into exit code 70. Tests may intercept
// it with SetCheckHandler.
//
//   TCC_CHECK(lhs.dtype() == rhs.dtype()) << "in " << Print(expr);
namespace tcc {

// A function that is called with the whole message instead of printing and aborting; it must not
// return. nullptr restores the default.
using CheckHandler = void (*)(const std::string& message);
void SetCheckHandler(CheckHandler handler);

class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  [[noreturn]] ~CheckFailure() noexcept(false);
  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

}  // namespace tcc

#define TCC_CHECK(condition)  \
  if (condition) [[likely]] { \
  } else                      \
    ::tcc::CheckFailure(__FILE__, __LINE__, #condition).stream()

#define TCC_UNREACHABLE()                                          \
  ::tcc::CheckFailure(__FILE__, __LINE__, "unreachable").stream(); \
  __builtin_unreachable()
