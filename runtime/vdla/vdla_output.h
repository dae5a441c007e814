#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "runtime/vdla/vdla_isa.h"
#include "support/status.h"

// The output stage of VDLA: the elementwise operations on sums that leave the chip.
namespace tcc {

using VdlaSums = std::array<int32_t, kVdlaBlock>;

// Returns whether the op has a second operand.
bool HasOperand(VdlaOutputOp op);
// Returns whether the op is one of integers with an operand, which is by channel.
bool IsOfIntegers(VdlaOutputOp op);
// Returns whether the results are bytes.
bool MakesBytes(const VdlaOutput& output);

// "to_float", "multiply", ...
const char* NameOf(VdlaOutputOp op);

// Checks that steps fit each other, from integers to integers, and name buffers of the program. An
// error names the step.
Status VerifyOutput(const VdlaOutput& output, uint32_t buffers);

// Runs a verified output on the sums of 16 channels, the first of which is given. Operands by
// channel must have a number for each.
void RunOutput(const VdlaOutput& output, int64_t channel,
               std::span<const std::span<uint8_t>> operands, VdlaSums& sums);

}  // namespace tcc
