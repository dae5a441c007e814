#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "support/status.h"

namespace tcc {

enum class TargetKind { kCpu, kGpu, kReference };

// A machine that code is generated for: a row of the table in target.cc. `native` is the CPU that
// runs tcc.
struct Target {
  std::string name;  // as on the command line
  TargetKind kind = TargetKind::kReference;
  std::string llvm_cpu =
      {};  // CPU targets: LLVM's name, "" for native until resolved by codegen_llvm
  // CPU targets but native: LLVM's names of the features that code for it may use, which are all of
  // those of llvm_cpu that cpu_features.cc knows.
  std::span<const std::string_view> needed_features = {};
  int vector_bytes = 0;  // CPU targets: widest vector register
  int vector_registers = 0;
  bool dots_bytes = false;  // CPU targets: vpdpbusd adds four products of bytes to each lane
  // CPU targets: products that vdpbf16ps adds in the time of one that FMA of f32 adds; 0 without
  // it.
  double bf16_speedup = 0;
  // CPU targets: AMX multiplies tiles of 16 rows of 64 bytes by tiles of 16 columns, tdpbusd and
  // tdpbf16ps.
  bool amx = false;
  int64_t l1_bytes = 0;  // CPU targets: data caches of one core
  int64_t l2_bytes = 0;
  int sm = 0;                // CUDA targets: 75, 80, ...
  int64_t shared_bytes = 0;  // limit of a thread block that opts in to more than the default
  // The count of the typical device: T4, A100, A10, RTX 4090, H200 (reference: gpu_perf, section
  // 1).
  int64_t multiprocessors = 0;

  // Limits that every CUDA target has.
  static constexpr int64_t kMaxThreads = 1024;   // per thread block
  static constexpr int64_t kMaxThreadsInZ = 64;  // along z; x and y may reach kMaxThreads
  static constexpr int64_t kMaxGridX = (int64_t{1} << 31) - 1;  // blocks
  static constexpr int64_t kMaxGridYZ = 65535;                  // blocks along y or z
  static constexpr int64_t kWarp = 32;                          // threads
  static constexpr int64_t kMaxRegisters = 255;                 // per thread
  static constexpr int64_t kRegisterFile = 65536;               // per thread block
  static constexpr int64_t kWidestAccess = 16;                  // bytes of one load or store

  // Returns the alignment that kernels may expect of a buffer; a part of another buffer must start
  // at a multiple of it.
  int64_t BufferAlignment() const { return kind == TargetKind::kGpu ? kWidestAccess : 1; }
  // Returns the float32 lanes of one vector register; at least 1.
  int FloatLanes() const { return vector_bytes >= 4 ? vector_bytes / 4 : 1; }
};

// Fails with the list of known names.
StatusOr<Target> FindTarget(std::string_view name);
// Returns all rows in the order of the table.
std::span<const Target> AllTargets();

}  // namespace tcc
