#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/cpu_arch.h"
#include "support/status.h"

namespace tcc {

// The code and constants of linked kernels: position-independent bytes that refer to nothing
// outside and that nothing has to adjust. They work at each multiple of `alignment` where they may
// be read and executed.
struct KernelImage {
  CpuArchRow machine;  // nothing else of an export depends on it
  std::vector<uint8_t> bytes;
  uint64_t alignment = 0;
  std::vector<uint64_t> entries;  // the offsets of the kernels in `bytes`
};

// Reads the kernels named `names` out of an ELF shared object. Refuses one that a loader would have
// to adjust: relocations, undefined symbols, memory that is written.
StatusOr<KernelImage> ReadKernelImage(std::span<const uint8_t> object,
                                      std::span<const std::string> names);

}  // namespace tcc
