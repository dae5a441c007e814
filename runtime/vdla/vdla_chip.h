#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/vdla/vdla_isa.h"

namespace tcc {

// The contents of the chip's memories and the effect of instructions on them and on operands.
class VdlaChip {
 public:
  // Fills the memories with bytes that the seed determines.
  VdlaChip(const VdlaConfig& config, uint64_t seed);

  // Runs an instruction of a verified program. Copies must lie within their operands.
  void Run(const VdlaProgram& program, const VdlaInstruction& instruction,
           std::span<const std::span<uint8_t>> operands);

 private:
  void Load(const VdlaCopy& copy, std::span<const uint8_t> operand);
  void Store(const VdlaProgram& program, const VdlaCopy& copy,
             std::span<const std::span<uint8_t>> operands) const;
  void Reset(const VdlaMicroOp& op);
  void Multiply(const VdlaMicroOp& op);

  std::vector<int8_t> activations_, weights_;
  std::vector<uint32_t> sums_;  // unsigned, since they wrap around
};

}  // namespace tcc
