#include "support/opened_library.h"

#include <dlfcn.h>

namespace tcc {

StatusOr<void*> FindSymbol(const OpenedLibrary& library, const char* name,
                           std::string_view expected) {
  if (void* function = dlsym(library.handle, name)) return function;
  return Missing("{} has no {}; expected {}", library.path, name, expected);
}

}  // namespace tcc
