#pragma once

#include <string>
#include <string_view>

#include "support/status.h"

namespace tcc {

// A library that was opened at run time, so that neither the build nor the program needs it.
struct OpenedLibrary {
  void* handle = nullptr;  // stays open
  std::string path;
};

// Finds a function of the library by name. Error (Unavailable): the library, the name, and what was
// `expected`, "cuDNN of version 9".
StatusOr<void*> FindSymbol(const OpenedLibrary& library, const char* name,
                           std::string_view expected);

// A library function, and the field of `Calls`, a struct of function pointers, that takes its
// address.
template <typename Calls>
struct Symbol {
  const char* name;
  void (*set)(Calls& calls, void* function);
  bool required = true;  // false: the field stays null where the library lacks the function
};

// Makes a Symbol: SymbolFor<&Library::create>("cublasCreate_v2").
template <auto kField>
constexpr auto SymbolFor(const char* name, bool required = true) {
  return [&]<typename Calls, typename Function>(Function* Calls::*) {
    return Symbol<Calls>{
        name,
        [](Calls& calls, void* function) { calls.*kField = reinterpret_cast<Function*>(function); },
        required};
  }(kField);
}

// Binds the functions of a table. Error: FindSymbol's, for the first required function that is
// missing.
template <typename Calls, size_t kCount>
StatusOr<Calls> BindAll(const OpenedLibrary& library, const Symbol<Calls> (&symbols)[kCount],
                        std::string_view expected) {
  Calls calls{};
  for (const Symbol<Calls>& symbol : symbols) {
    StatusOr<void*> function = FindSymbol(library, symbol.name, expected);
    if (!function.ok() && symbol.required) return function.status();
    if (function.ok()) symbol.set(calls, *function);
  }
  return calls;
}

}  // namespace tcc
