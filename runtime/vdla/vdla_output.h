#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "runtime/vdla/vdla_isa.h"
#include "support/status.h"

// The output stage of VDLA: the elementwise operations that make bytes of sums.
namespace tcc {

using VdlaSums = std::array<int32_t, kVdlaBlock>;
using VdlaBytes = std::array<uint8_t, kVdlaBlock>;

// Returns whether the op has a second operand.
bool HasOperand(VdlaOutputOp op);

// "to_float", "multiply", ...
const char* NameOf(VdlaOutputOp op);

// Checks that steps fit each other, from integers to bytes, and name buffers of the program. An
// error names the step.
Status VerifyOutput(const VdlaOutput& output, uint32_t buffers);

// Returns what a verified output makes of the sums of 16 channels, the first of which is given.
// Operands by channel must have a float for each.
VdlaBytes RunOutput(const VdlaOutput& output, const VdlaSums& sums, int64_t channel,
                    std::span<const std::span<uint8_t>> operands);

}  // namespace tcc
