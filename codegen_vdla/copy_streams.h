#pragma once

#include <cstdint>
#include <vector>

#include "runtime/vdla/vdla_isa.h"

namespace tcc {

// A vector that is copied between the chip and memory.
struct CopiedVector {
  VdlaMemory on_chip = VdlaMemory::kActivations;
  int64_t vector = 0;   // its number on the chip
  uint32_t buffer = 0;  // the operand in memory
  int64_t element = 0;  // the first one in the operand, or kPadding
  int8_t fill = 0;      // this and the rest as in VdlaCopy
  bool flips = false;
  uint32_t output = kVdlaNoOutput;
  uint32_t channel = 0, channels = kVdlaBlock;  // the first one in the output stage; all of its
  bool operator==(const CopiedVector&) const = default;
};
// The element of a vector that is filled without a read, as in ForEachVector.
inline constexpr int64_t kPadding = -1;

// Folds copies, all to the chip or all from it, into a few boxes with padding that mean the same as
// the copies in order. A box without data names the buffer of its first vector.
std::vector<VdlaCopy> FoldCopies(std::vector<CopiedVector> vectors);

}  // namespace tcc
