#pragma once

#include "support/target.h"

namespace tcc {

// Returns whether CUDA runs the target's kernels.
inline bool IsCuda(const Target& target) {
  return target.kind == TargetKind::kGpu && target.api == GpuApi::kCuda;
}
// Returns whether OpenCL runs the target's kernels.
inline bool IsOpenCl(const Target& target) {
  return target.kind == TargetKind::kGpu && target.api == GpuApi::kOpenCl;
}

}  // namespace tcc
