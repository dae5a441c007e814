#pragma once

#include <span>
#include <string>

#include "support/status.h"

namespace tcc {

// An NVIDIA library that is opened at run time, so that the build needs none.
struct CudaLibrary {
  const char* variable;                // the environment variable for its path: "TCC_NVRTC"
  std::span<const char* const> names;  // "libnvrtc.so.13", newer versions first
  // The folders that hold the library in a toolkit and in Python packages, beside their lib
  // folders: relative to CUDA_HOME and /usr/local/cuda ("extras/CUPTI/lib64"), and to
  // site-packages/nvidia ("cudnn/lib").
  std::span<const char* const> toolkit_folders = {};
  std::span<const char* const> wheel_folders = {};
};

struct OpenedLibrary {
  void* handle = nullptr;  // stays open
  std::string path;
};

// Opens the library. It is looked for in the variable alone if that is set, else in CUDA_HOME,
// /usr/local/cuda, the linker's path, and the venv that scripts/setup.sh makes: named by TCC_VENV
// or else build/venv of the current folder or of the build that this program is in. Error
// (Unavailable): what was looked for, and where.
StatusOr<OpenedLibrary> OpenCudaLibrary(const CudaLibrary& library);

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
};

// Makes a Symbol: SymbolFor<&Library::create>("cublasCreate_v2").
template <auto kField>
constexpr auto SymbolFor(const char* name) {
  return [&]<typename Calls, typename Function>(Function* Calls::*) {
    return Symbol<Calls>{name, [](Calls& calls, void* function) {
                           calls.*kField = reinterpret_cast<Function*>(function);
                         }};
  }(kField);
}

// Binds the functions of a table. Error: FindSymbol's, for the first function that is missing.
template <typename Calls, size_t kCount>
StatusOr<Calls> BindAll(const OpenedLibrary& library, const Symbol<Calls> (&symbols)[kCount],
                        std::string_view expected) {
  Calls calls{};
  for (const Symbol<Calls>& symbol : symbols) {
    TCC_ASSIGN_OR_RETURN(void* function, FindSymbol(library, symbol.name, expected));
    symbol.set(calls, function);
  }
  return calls;
}

}  // namespace tcc
