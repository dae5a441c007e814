#pragma once

#include <cstdint>
#include <map>

#include "support/cuda/cuda_api.h"

namespace tcc::emulator {

// The address ranges that kernels and copies began to write, used to tell when old contents are
// dead. Several kernels may write one buffer: first its parts (as in a concatenation, whose rows
// may alternate), then the whole. So old contents are known to be dead only if the last overlapping
// write began at the same byte and was no shorter: of two ranges that hold that byte one is a part
// of the other, and the part is written first.
class BegunBuffers {
 public:
  // Records a write. Returns whether the old contents of the bytes are known to be dead.
  bool Begin(CudaAddress begin, int64_t bytes);

  // Forgets the writes that overlap freed memory.
  void Forget(CudaAddress begin, int64_t bytes);

 private:
  std::map<CudaAddress, CudaAddress> end_of_;  // by begin; the ranges are disjoint
};

}  // namespace tcc::emulator
