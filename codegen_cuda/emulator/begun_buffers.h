#pragma once

#include <cstdint>
#include <map>

#include "support/cuda/cuda_api.h"

namespace tcc::emulator {

// Where kernels and copies began to write buffers. Several may write one buffer, its parts each (a
// concatenation's, whose rows may alternate), the whole last. So what lies in a place is known to
// be over only if the last that began there, with nothing that overlaps it since, began at the same
// byte and was no shorter: of two that hold that byte one is a part of the other, and a part begins
// first.
class BegunBuffers {
 public:
  // Whether what the bytes held is over, as far as is known.
  bool Begin(CudaAddress begin, int64_t bytes);

  // The memory is given back.
  void Forget(CudaAddress begin, int64_t bytes);

 private:
  std::map<CudaAddress, CudaAddress> end_of_;  // by begin; none overlap
};

}  // namespace tcc::emulator
