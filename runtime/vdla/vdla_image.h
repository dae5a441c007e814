#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/vdla/vdla_isa.h"
#include "support/status.h"

namespace tcc {

// The kernels section of an artefact for device "vdla".
struct VdlaImage {
  // By kernel of the metadata: the accelerator's program; nullopt where the CPU has code.
  std::vector<std::optional<VdlaProgram>> programs;
  std::vector<uint8_t> host;  // the CPU's code of the other kernels: an ELF shared object
};

std::vector<uint8_t> VdlaImageBytes(const VdlaImage& image);
// Errors: bytes missing or left over, a bad program (ParseVdlaProgram, VerifyVdlaProgram).
StatusOr<VdlaImage> ParseVdlaImage(std::span<const uint8_t> bytes, const VdlaConfig& config);

}  // namespace tcc
