#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "support/cpu_arch.h"
#include "support/status.h"

namespace tcc {

enum class TargetKind { kCpu, kGpu, kReference };
// The interface that a GPU is driven by, and with it the language of its kernels.
enum class GpuApi : uint8_t { kCuda, kOpenCl };
// A co-processor that a CPU hands products to. runtime/vdla says what VDLA is.
enum class Accelerator : uint8_t { kNone, kVdla };

// The limits that all devices of one interface share.
struct GpuLimits {
  int64_t max_threads = 0;              // per thread block
  int64_t max_threads_in_z = 0;         // along z; x and y may reach max_threads
  std::array<int64_t, 3> max_blocks{};  // along x, y, z
  int64_t registers = 0;                // of 32 bits, per thread
  int64_t register_file = 0;            // of 32 bits, per thread block
  int64_t default_shared_bytes = 0;     // of a thread block that does not ask for more
  int64_t max_shared_bytes = 0;         // of a thread block on the device that has most
  int64_t warp = 0;                     // threads that exchange registers; 0: none do
};
// CUDA C Programming Guide, compute capabilities 7.5 to 12.1.
inline constexpr GpuLimits kCudaLimits = {.max_threads = 1024,
                                          .max_threads_in_z = 64,
                                          .max_blocks = {(int64_t{1} << 31) - 1, 65535, 65535},
                                          .registers = 255,
                                          .register_file = 65536,
                                          .default_shared_bytes = 48 << 10,
                                          .max_shared_bytes = 227 << 10,
                                          .warp = 32};

// A machine that code is generated for: a row of the table in target.cc. `native` is the CPU that
// runs tcc.
struct Target {
  std::string name;  // as on the command line
  TargetKind kind = TargetKind::kReference;
  CpuArch arch = CpuArch::kX86;  // CPU targets
  std::string llvm_cpu =
      {};  // CPU targets: LLVM's name, "" for the CPU that runs tcc until resolved by codegen_llvm
  // CPU targets but native: LLVM's names of the features that code for it may use beside the least
  // that CPUs of the architecture have. They include what llvm_cpu has.
  std::span<const std::string_view> needed_features = {};
  int vector_bytes = 0;  // CPU targets: widest vector register
  int vector_registers = 0;
  // CPU targets: the least and the most bytes of SVE's vectors, whose predicates serve as masks; 0
  // without SVE. Code relies on the length where both are the same.
  std::array<int, 2> sve_bytes = {0, 0};
  // CPU targets: vpdpbusd, or usdot of ARM, adds four products of bytes to each lane.
  bool dots_bytes = false;
  bool dots_signed_bytes =
      false;  // CPU targets: sdot of ARM does so with data that are signed, too
  // CPU targets: vpopcntd counts the bits of each lane.
  bool counts_bits = false;
  // CPU targets: products that vdpbf16ps, or bfdot of ARM, adds in the time of one that FMA of f32
  // adds; 0 without it.
  double bf16_speedup = 0;
  // CPU targets: masked accesses cost nothing, so that a masked tail beats narrower vectors that
  // divide.
  bool cheap_masks = false;
  // CPU targets: a vector times one lane of another is one instruction, so that several terms of a
  // row are loaded at once.
  bool multiplies_by_lane = false;
  // CPU targets: AMX multiplies tiles of 16 rows of 64 bytes by tiles of 16 columns, tdpbusd and
  // tdpbf16ps.
  bool amx = false;
  int64_t l1_bytes = 0;  // CPU targets: data caches of one core
  int64_t l2_bytes = 0;
  Accelerator accelerator = Accelerator::kNone;  // CPU targets
  GpuApi api = GpuApi::kCuda;                    // GPU targets
  int sm = 0;                                    // CUDA targets: 75, 80, ...; 0 of others
  int64_t shared_bytes = 0;     // limit of a thread block that opts in to more than the default
  int64_t multiprocessors = 0;  // GPU targets: of the typical device
  GpuLimits limits = {};        // GPU targets
  // GPU targets: shared memory is no faster than any other, so that operands are not staged in it.
  bool shared_is_memory = false;

  static constexpr int64_t kWarp = 32;          // threads that share a buffer of scope warp
  static constexpr int64_t kWidestAccess = 16;  // GPU targets: bytes of one load or store

  // Returns whether code is for the CPU that runs tcc, whatever that is.
  bool IsHostCpu() const { return kind == TargetKind::kCpu && llvm_cpu.empty(); }
  // Returns the alignment that kernels may expect of a buffer; a part of another buffer must start
  // at a multiple of it.
  int64_t BufferAlignment() const { return kind == TargetKind::kGpu ? kWidestAccess : 1; }
  // GPU targets: returns what the threads of a block are a multiple of, warps or lanes of a unit.
  int64_t ThreadMultiple() const { return std::max<int64_t>(limits.warp, 16); }
  // Returns the float32 lanes of one vector register; at least 1.
  int FloatLanes() const { return vector_bytes >= 4 ? vector_bytes / 4 : 1; }
};

// Fails with the list of known names.
StatusOr<Target> FindTarget(std::string_view name);
// Returns all rows in the order of the table.
std::span<const Target> AllTargets();

}  // namespace tcc
