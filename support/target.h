#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "support/status.h"

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
  int64_t l1_bytes = 0;  // CPU targets: data caches of one core
  int64_t l2_bytes = 0;
  int sm = 0;                // CUDA targets: 75, 80, ...
  int64_t shared_bytes = 0;  // that a thread block may have when it asks for more than the default
  // Of the typical device: T4, A100, A10, RTX 4090, H200 (reference: gpu_perf, section 1).
  int64_t multiprocessors = 0;

  // Limits that every CUDA target has.
  static constexpr int64_t kMaxThreads = 1024;   // of a thread block
  static constexpr int64_t kMaxThreadsInZ = 64;  // along its z; x and y as a whole block
  static constexpr int64_t kMaxGridX = (int64_t{1} << 31) - 1;  // blocks
  static constexpr int64_t kMaxGridYZ = 65535;                  // blocks along y or z
  static constexpr int64_t kWarp = 32;                          // threads
  static constexpr int64_t kMaxRegisters = 255;                 // of a thread
  static constexpr int64_t kRegisterFile = 65536;               // of a thread block
  static constexpr int64_t kWidestAccess = 16;                  // bytes of one load or store

  // Of where kernels may expect buffers to start: parts of others need be placed so.
  int64_t BufferAlignment() const { return kind == TargetKind::kCuda ? kWidestAccess : 1; }
  // Lanes of float32 in one vector register; at least 1.
  int FloatLanes() const { return vector_bytes >= 4 ? vector_bytes / 4 : 1; }
};

// Fails with the list of known names.
StatusOr<Target> FindTarget(std::string_view name);
// Every row, in the order of the table.
std::span<const Target> AllTargets();

}  // namespace tcc
