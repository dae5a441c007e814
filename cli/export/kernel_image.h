#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/status.h"

namespace tcc {

// A CPU architecture of exported kernels. Nothing else of an export depends on it.
struct KernelMachine {
  uint16_t elf_machine;  // EM_X86_64
  const char* name;      // "x86-64"
  const char* macro;     // what C compilers for it define
};

// The code and constants of linked kernels: position-independent bytes that refer to nothing
// outside and that nothing has to adjust. They work at each multiple of `alignment` where they may
// be read and executed.
struct KernelImage {
  KernelMachine machine;
  std::vector<uint8_t> bytes;
  uint64_t alignment = 0;
  std::vector<uint64_t> entries;  // the offsets of the kernels in `bytes`
};

// Reads the kernels named `names` out of an ELF shared object. Refuses one that a loader would have
// to adjust: relocations, undefined symbols, memory that is written.
StatusOr<KernelImage> ReadKernelImage(std::span<const uint8_t> object,
                                      std::span<const std::string> names);

}  // namespace tcc
