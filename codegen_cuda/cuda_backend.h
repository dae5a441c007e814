#pragma once

#include <memory>

#include "ir/target.h"
#include "lower/backend.h"

namespace tcc {

// For CUDA targets. Emit gives "source" (CUDA C, without NVRTC) and "ptx"; Compile one cubin of all
// kernels. Both need NVRTC but for "source"; where there is none, Unavailable says where it was
// sought.
std::unique_ptr<Backend> MakeCudaBackend(const Target& target);

}  // namespace tcc
