#pragma once

#include <cstdint>
#include <span>

namespace tcc {

// The instruction sets that code for CPUs is generated for.
enum class CpuArch : uint8_t { kX86, kArm64 };

struct CpuArchRow {
  CpuArch arch;
  const char* name;      // "x86-64"
  uint16_t elf_machine;  // EM_X86_64
  const char* macro;     // what C compilers for it define
};

std::span<const CpuArchRow> CpuArchs();
const CpuArchRow& RowOf(CpuArch arch);
// Returns the row with that number in an ELF header; nullptr if there is none.
const CpuArchRow* FindElfMachine(uint16_t elf_machine);

// The instruction set of the CPU that runs tcc.
#if defined(__x86_64__)
inline constexpr CpuArch kHostArch = CpuArch::kX86;
#elif defined(__aarch64__)
inline constexpr CpuArch kHostArch = CpuArch::kArm64;
#endif

}  // namespace tcc
