#pragma once

#include <span>

#include "support/opened_library.h"

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

// Opens the library. It is looked for in the variable alone if that is set, else in CUDA_HOME,
// /usr/local/cuda, the linker's path, and the venv that scripts/setup.sh makes: named by TCC_VENV
// or else build/venv of the current folder or of the build that this program is in. Error
// (Unavailable): what was looked for, and where.
StatusOr<OpenedLibrary> OpenCudaLibrary(const CudaLibrary& library);

}  // namespace tcc
