#pragma once

#include <cstdint>

// The sizes and rates of VDLA, an accelerator of int8 products for a CPU (runtime/vdla/vdla_isa.h).
namespace tcc {

// Elements of a vector; a block of weights is 16 vectors.
inline constexpr int64_t kVdlaBlock = 16;
// The constants of the machine. The TVM paper (Chen et al., 2018, section 6.4) gives the sizes, the
// clock and the product of 16 x 16 a cycle. The last four are chosen: a simple model of ResNet-18's
// convolutions then has about the paper's shares of the peak.
struct VdlaConfig {
  int64_t activation_bytes = 32 << 10;
  int64_t weight_bytes = 32 << 10;
  int64_t sum_bytes = 128 << 10;
  int64_t micro_ops = 8192;  // that the chip has room for
  double hertz = 200e6;
  int64_t bytes_per_cycle = 8;  // of memory; >= 1
  int64_t memory_latency = 50;  // cycles before the first byte of a copy; >= 1
  int64_t issue_cycles = 12;    // of a GEMM before its first product
  int64_t queue_depth = 512;    // instructions that may wait for one unit; >= 1
};

}  // namespace tcc
