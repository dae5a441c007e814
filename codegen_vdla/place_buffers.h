#pragma once

#include <unordered_map>

#include "ir/expr/compare.h"
#include "ir/expr/function.h"
#include "runtime/vdla/vdla_isa.h"
#include "support/status.h"

namespace tcc {

// The place of a local buffer on the chip.
struct BufferPlace {
  VdlaMemory memory = VdlaMemory::kActivations;
  int64_t at = 0;        // its first vector
  int64_t elements = 0;  // of the buffer
};
using BufferPlaces = std::unordered_map<Var, BufferPlace, VarHash>;

// Places each buffer that the function allocates in a memory of the chip: the intrinsic reads or
// writes the buffer as an operand, which tells the memory. Buffers never share vectors.
// Unsupported, naming the buffer: no operand or two different ones, a memory that is full, an
// operand that is a parameter.
StatusOr<BufferPlaces> PlaceBuffers(const Function& lowered, const VdlaConfig& config);

}  // namespace tcc
