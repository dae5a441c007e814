#pragma once

#include <cstdint>

#include "runtime/vdla/vdla_isa.h"

// Facts about an instruction that follow from its fields.
namespace tcc {

// Returns the unit that runs an instruction.
VdlaUnit UnitOf(const VdlaInstruction& instruction);
const char* NameOf(VdlaUnit unit);
// "activations", "weights", "sums".
const char* NameOf(VdlaMemory memory);

// Returns the number of vectors of 16 elements that a memory has; a block of weights is 16.
int64_t VectorsOf(const VdlaConfig& config, VdlaMemory memory);
// Returns the bytes of one element of a copy in memory: 4 for a store of words, else 1.
int64_t ElementBytes(const VdlaProgram& program, const VdlaCopy& copy);
// Returns the number of vectors of the box on the chip, padding included.
int64_t OnChipVectors(const VdlaCopy& copy);
// Returns the bytes of the elements that a copy reads from memory or writes to it.
int64_t MemoryBytes(const VdlaProgram& program, const VdlaCopy& copy);
// Returns the bytes that the output stage of a store reads from memory; 0 for other copies.
int64_t OutputBytes(const VdlaProgram& program, const VdlaCopy& copy);
// Returns the end, in elements, of what a copy accesses in its buffer; 0 if it accesses nothing.
int64_t MemoryEnd(const VdlaCopy& copy);
// Returns the number of micro-ops that a GEMM runs, each taking a cycle.
int64_t StepsOf(const VdlaGemm& gemm);

// Calls visit(micro_op) for each micro-op that a GEMM runs, in order and with the loops' steps
// added.
template <typename Visit>
void ForEachStep(const VdlaProgram& program, const VdlaGemm& gemm, Visit visit) {
  const auto& [sum, activation, weight] = gemm.steps;
  for (uint32_t i = 0; i < gemm.loops[0]; ++i) {
    for (uint32_t j = 0; j < gemm.loops[1]; ++j) {
      for (uint32_t m = gemm.first; m < gemm.last; ++m) {
        const VdlaMicroOp& op = program.micro_ops[m];
        visit(VdlaMicroOp{.sum = op.sum + sum[0] * i + sum[1] * j,
                          .activation = op.activation + activation[0] * i + activation[1] * j,
                          .weight = op.weight + weight[0] * i + weight[1] * j});
      }
    }
  }
}

// Calls visit(vector on the chip, element in memory or -1 for padding) for each vector of a copy's
// box, in the order of the chip.
template <typename Visit>
void ForEachVector(const VdlaCopy& copy, Visit visit) {
  const auto& [size_x, size_y, size_z] = copy.size;
  const auto& [above, below, before, behind] = copy.pad;
  int64_t vector = copy.on_chip_at;
  for (int64_t z = -int64_t{before}; z < int64_t{size_z} + behind; ++z) {
    for (int64_t y = -int64_t{above}; y < int64_t{size_y} + below; ++y) {
      const bool in_memory = z >= 0 && z < size_z && y >= 0 && y < size_y;
      const int64_t row = copy.memory_at + z * copy.stride[1] + y * copy.stride[0];
      for (int64_t x = 0; x < size_x; ++x) visit(vector++, in_memory ? row + x * kVdlaBlock : -1);
    }
  }
}

// Calls visit(vector on the chip, element in memory, first of 16 channels) for each vector of a
// store. `channels`: of its output stage.
template <typename Visit>
void ForEachChannels(const VdlaCopy& copy, uint32_t channels, Visit visit) {
  int64_t x = 0;
  ForEachVector(copy, [&](int64_t vector, int64_t element) {
    visit(vector, element, (copy.channel_at + x * kVdlaBlock) % channels);
    x = (x + 1) % copy.size[0];
  });
}

}  // namespace tcc
