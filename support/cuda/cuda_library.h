#pragma once

#include <span>
#include <string>

#include "support/status.h"

namespace tcc {

// A library of NVIDIA's that is opened at run time, so that none is needed to build.
struct CudaLibrary {
  const char* variable;                // names its file: "TCC_NVRTC"
  std::span<const char* const> names;  // "libnvrtc.so.13", newer ones first
  // Where a toolkit and the Python packages have it, beside their lib folders: of CUDA_HOME and
  // /usr/local/cuda ("extras/CUPTI/lib64"), of site-packages/nvidia ("cudnn/lib").
  std::span<const char* const> toolkit_folders = {};
  std::span<const char* const> wheel_folders = {};
};

struct OpenedLibrary {
  void* handle = nullptr;  // stays open
  std::string path;
};

// Sought in the variable alone if it is set, else CUDA_HOME, /usr/local/cuda, the linker's path,
// and the venv that scripts/setup.sh makes: named by TCC_VENV or else build/venv of the current
// folder or of the build that this program is in. Error (Unavailable): what was looked for, and
// where.
StatusOr<OpenedLibrary> OpenCudaLibrary(const CudaLibrary& library);

// A function of the library by its name. Error (Unavailable): the library, the name, and what was
// `expected`, "cuDNN of version 9".
StatusOr<void*> FindSymbol(const OpenedLibrary& library, const char* name,
                           std::string_view expected);

// A function of a library and the field of `Calls`, a struct of function pointers, for its address.
template <typename Calls>
struct Symbol {
  const char* name;
  void (*set)(Calls& calls, void* function);
};

// SymbolFor<&Library::create>("cublasCreate_v2").
template <auto kField>
constexpr auto SymbolFor(const char* name) {
  return [&]<typename Calls, typename Function>(Function* Calls::*) {
    return Symbol<Calls>{name, [](Calls& calls, void* function) {
                           calls.*kField = reinterpret_cast<Function*>(function);
                         }};
  }(kField);
}

// The functions of a table. Error: FindSymbol's, for the first that is not there.
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
