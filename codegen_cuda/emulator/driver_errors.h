#pragma once

#include <span>

#include "support/cuda/cuda_api.h"

namespace tcc::emulator {

struct DriverError {
  CudaResult code;
  const char* name;
};

// Returns all errors; success is not among them.
std::span<const DriverError> DriverErrorTable();

}  // namespace tcc::emulator
