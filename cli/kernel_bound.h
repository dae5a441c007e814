#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/artefact/artefact.h"

namespace tcc {

// The peak rates of a device's units.
struct DevicePeaks {
  double fma_gflops = 0;  // float32, on the device or the threads of the pool
  std::vector<std::pair<std::string, double>> mma_gflops;  // by type: "f16", "bf16", "tf32", "s8"
  double memory_gbytes = 0;                                // 0: not known
};

// The least time of a kernel call.
struct KernelBound {
  // The unit whose peak bounds the call: "fma"; "f16 mma" for a kernel with such instructions;
  // "tf32 mma / 3" where each product is three of them; "memory"; "" where the peak is not known.
  std::string of;
  double seconds = 0;
};

// Returns the bound of each kernel of the artefact, from what the artefact says about its kernels:
// their float operations, their machine code's instructions, and the bytes that they move. A buffer
// that stays in a cache may be faster than memory.
std::vector<KernelBound> BoundsOf(const Artefact& artefact, const DevicePeaks& peaks);

// Returns for each kernel the bytes that one call moves: the bytes of the elements that it reads or
// writes, each once, as far as the artefact says so ("moved_bytes"). They are at most the bytes of
// the buffers that it is called on, the mean over the calls of the plan.
std::vector<double> BytesOfCalls(const Artefact& artefact);

}  // namespace tcc
