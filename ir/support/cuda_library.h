#pragma once

#include <span>
#include <string>

#include "ir/support/status.h"

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
  std::string lacks = {};  // the first function that Bind did not find in it
};

// Sought in the variable alone if it is set, else CUDA_HOME, /usr/local/cuda, the linker's path,
// and the venv that scripts/setup.sh makes: named by TCC_VENV or else build/venv of the current
// folder or of the build that this program is in. Error (Unavailable): what was looked for, and
// where.
StatusOr<OpenedLibrary> OpenCudaLibrary(const CudaLibrary& library);

// A function of it. False, and null, where it has none of that name.
bool FindSymbol(OpenedLibrary& library, const char* name, void*& entry);

template <typename Function>
bool Bind(OpenedLibrary& library, const char* name, Function*& entry) {
  void* found = nullptr;
  bool ok = FindSymbol(library, name, found);
  entry = reinterpret_cast<Function*>(found);
  return ok;
}

// Unavailable, for a library that Bind found something to lack in: its path, the function, and what
// was expected, "cuDNN of version 9".
Status Lacks(const OpenedLibrary& library, std::string_view expected);

}  // namespace tcc
