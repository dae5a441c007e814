#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/vdla/vdla_isa.h"
#include "support/status.h"

// The bytes of a program and the check that a machine can run it.
namespace tcc {

std::vector<uint8_t> VdlaProgramBytes(const VdlaProgram& program);
// Errors: bytes missing or left over, an unknown kind of instruction, memory or flag.
StatusOr<VdlaProgram> ParseVdlaProgram(std::span<const uint8_t> bytes);

// Checks every instruction by itself; an error names the instruction and the field. A program that
// passes accesses nothing outside the chip's memories; races, deadlocks and the sizes of operands
// are found when it runs.
Status VerifyVdlaProgram(const VdlaProgram& program, const VdlaConfig& config);

}  // namespace tcc
