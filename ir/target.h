#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ir/support/status.h"

namespace tcc {

enum class TargetKind { kCpu, kCuda, kReference };

// What code is generated for. Rows of one table (target.cc); `native` is the CPU that runs tcc.
struct Target {
  std::string name;  // as on the command line
  TargetKind kind = TargetKind::kReference;
  std::string llvm_cpu =
      {};                // CPU targets: LLVM's name, "" for native until resolved by codegen_llvm
  int vector_bytes = 0;  // CPU targets: widest vector register
  int vector_registers = 0;
  int sm = 0;  // CUDA targets: 75, 80, ...

  // Lanes of float32 in one vector register; at least 1.
  int FloatLanes() const { return vector_bytes >= 4 ? vector_bytes / 4 : 1; }
};

// Fails with the list of known names.
StatusOr<Target> FindTarget(std::string_view name);
// Every row, in the order of the table.
std::span<const Target> AllTargets();

}  // namespace tcc
