#pragma once

#include <memory>

#include "lower/backend.h"
#include "runtime/vdla/vdla_isa.h"

namespace tcc {

// Returns the accelerator's program for a lowered function, with tokens. Unsupported: StreamOf's.
StatusOr<VdlaProgram> VdlaProgramOf(const Function& lowered, const VdlaConfig& config);

// Makes the code generator for a CPU with VDLA. Kernels that call the accelerator's intrinsic
// become its programs, `host` compiles the others; the image is a VdlaImage. The statistics of a
// program are what the machine counts: cycles, multiply_cycles, loaded_bytes, stored_bytes,
// instructions; its ratio is the share of the peak.
std::unique_ptr<Backend> MakeVdlaBackend(const VdlaConfig& config, std::unique_ptr<Backend> host);

}  // namespace tcc
