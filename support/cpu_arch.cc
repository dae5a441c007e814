#include "support/cpu_arch.h"

#include <elf.h>

#include <algorithm>
#include <iterator>

#include "support/check.h"

namespace tcc {
namespace {

constexpr CpuArchRow kArchs[] = {
    {CpuArch::kX86, "x86-64", EM_X86_64, "__x86_64__"},
    {CpuArch::kArm64, "aarch64", EM_AARCH64, "__aarch64__"},
};

}  // namespace

std::span<const CpuArchRow> CpuArchs() {
  return kArchs;
}

const CpuArchRow& RowOf(CpuArch arch) {
  const auto* row = std::ranges::find(kArchs, arch, &CpuArchRow::arch);
  TCC_CHECK(row != std::end(kArchs)) << "an architecture without a row";
  return *row;
}

const CpuArchRow* FindElfMachine(uint16_t elf_machine) {
  const auto* row = std::ranges::find(kArchs, elf_machine, &CpuArchRow::elf_machine);
  return row == std::end(kArchs) ? nullptr : row;
}

}  // namespace tcc
