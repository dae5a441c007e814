#pragma once

#include <span>
#include <string>
#include <vector>

#include "codegen_cuda/cubin/sass.h"
#include "support/status.h"

namespace tcc {

// A kernel in a cubin.
struct CubinKernel {
  std::string name;
  int64_t registers = 0;    // per thread
  int64_t local_bytes = 0;  // per thread: its stack
  int64_t code_bytes = 0;
  SassFacts facts;
};

// Reads the kernels of a cubin (ELF for machine 190) for `sm`, in the order of their sections.
// Error (InvalidArgument): the bytes are no cubin, or are truncated.
StatusOr<std::vector<CubinKernel>> ReadCubin(std::span<const uint8_t> bytes, int sm);

}  // namespace tcc
