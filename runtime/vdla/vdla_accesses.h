#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/vdla/vdla_isa.h"
#include "support/status.h"

namespace tcc {

// By unit: its last instruction that tokens say has ended; -1: none.
using VdlaClock = std::array<int64_t, kVdlaUnits>;

// The last accesses to each vector of the chip, which show races. One unit writes a memory and
// another reads it: load and compute for activations and weights, compute and store for sums. A
// unit runs its instructions one after the other, so the last access of either is enough.
class VdlaAccesses {
 public:
  // `program` is verified and outlives this object.
  VdlaAccesses(const VdlaProgram& program, const VdlaConfig& config);

  // Records an instruction that begins when its unit knows `known`. Calls come in the order in
  // which instructions begin. DataLoss, naming both: it shares a vector with an instruction of
  // another unit that began before it and comes later in the program, or is not known to have
  // ended, whether or not it has.
  Status Add(size_t instruction, const VdlaClock& known);

 private:
  struct Accesses {
    int64_t written = -1, read = -1;  // by which instruction; -1: none yet
  };

  void Touch(VdlaMemory memory, int64_t number, bool writes);
  void TouchBox(const VdlaCopy& copy);
  void TouchSteps(const VdlaGemm& gemm);
  Status Race(VdlaMemory memory, int64_t number, bool writes, int64_t other) const;

  const VdlaProgram& program_;
  // By memory, then by number of the vector, of the block for weights.
  std::array<std::vector<Accesses>, kVdlaMemories> accesses_;
  // The instruction that is recorded, its clock and the first race found.
  int64_t instruction_ = 0;
  VdlaClock known_ = {};
  Status race_;
};

}  // namespace tcc
