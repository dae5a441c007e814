#include "codegen_llvm/short_memory.h"

#include <llvm/Support/ErrorHandling.h>

#include <cstdint>
#include <mutex>
#include <new>

namespace tcc {
namespace {

void Handle(void*, const char*, bool) {
  // More than any machine has: std::bad_alloc.
  volatile size_t bytes = PTRDIFF_MAX;
  ::operator delete(::operator new(bytes));
}

}  // namespace

void ThrowWhereMemoryIsShort() {
  static std::once_flag once;
  std::call_once(once, [] { llvm::install_bad_alloc_error_handler(Handle); });
}

}  // namespace tcc
