#pragma once

#include <span>
#include <vector>

#include "ir/expr/function.h"
#include "support/status.h"
#include "support/tensor.h"

namespace tcc {

// A parameter's place in the caller's memory.
struct StridedArgument {
  DType dtype;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // in elements; empty: one run of bytes
  std::span<uint8_t> memory;
};

// Of `bytes` at `data`. Error: a symbolic or negative extent or stride, or memory that is too
// small.
StatusOr<StridedArgument> ArgumentOver(const Buffer& param, void* data, int64_t bytes);

// The memory as a tensor, a copy where its elements lie apart.
Tensor TensorOf(const StridedArgument& argument);
// What was computed in such a copy, element by element to where it belongs.
void StoreBack(const Tensor& tensor, const StridedArgument& argument);

}  // namespace tcc
