#pragma once

#include <span>
#include <string>
#include <vector>

#include "codegen_cuda/cubin/sass.h"
#include "support/status.h"

namespace tcc {

// One kernel in a file of machine code.
struct CubinKernel {
  std::string name;
  int64_t registers = 0;    // of a thread
  int64_t local_bytes = 0;  // of a thread: its stack
  int64_t code_bytes = 0;
  SassFacts facts;
};

// The kernels of a cubin (ELF for machine 190) for `sm`, in the order of their sections. Error
// (InvalidArgument): no such file, or one that is cut off.
StatusOr<std::vector<CubinKernel>> ReadCubin(std::span<const uint8_t> bytes, int sm);

}  // namespace tcc
