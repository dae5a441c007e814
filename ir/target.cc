#include "ir/target.h"

#include <fmt/ranges.h>

#include <vector>

namespace tcc {
namespace {

// The widest vectors that the CPU running tcc has.
int NativeVectorBytes() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return 64;
  if (__builtin_cpu_supports("avx2")) return 32;
#endif
  return 16;
}

const std::vector<Target>& Table() {
  static const auto* table = new std::vector<Target>{
      {.name = "native",
       .kind = TargetKind::kCpu,
       .llvm_cpu = "",
       .vector_bytes = NativeVectorBytes(),
       .vector_registers = NativeVectorBytes() == 64 ? 32 : 16},
      {.name = "x86-64-v3",
       .kind = TargetKind::kCpu,
       .llvm_cpu = "x86-64-v3",
       .vector_bytes = 32,
       .vector_registers = 16},
      {.name = "x86-64-v4",
       .kind = TargetKind::kCpu,
       .llvm_cpu = "x86-64-v4",
       .vector_bytes = 64,
       .vector_registers = 32},
      {.name = "reference", .kind = TargetKind::kReference},
  };
  return *table;
}

}  // namespace

std::span<const Target> AllTargets() {
  return Table();
}

StatusOr<Target> FindTarget(std::string_view name) {
  std::vector<std::string> known;
  for (const Target& target : Table()) {
    if (target.name == name) return target;
    known.push_back(target.name);
  }
  return UsageError("unknown target '{}'; expected one of {}", name, fmt::join(known, ", "));
}

}  // namespace tcc
