#pragma once

#include <span>
#include <vector>

#include "ir/expr/function.h"
#include "support/status.h"
#include "support/tensor.h"

namespace tcc {

// A parameter in the caller's memory.
struct StridedArgument {
  DType dtype;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // in elements; empty: contiguous
  std::span<uint8_t> memory;
};

// Makes the argument of a parameter in `bytes` at `data`. Error: a symbolic or negative extent or
// stride, or memory that is too small.
StatusOr<StridedArgument> ArgumentOver(const Buffer& param, void* data, int64_t bytes);

// Returns the memory as a tensor: a view, or a compact copy if the argument has strides.
Tensor TensorOf(const StridedArgument& argument);
// Copies the elements of such a copy back to the caller's memory.
void StoreBack(const Tensor& tensor, const StridedArgument& argument);

}  // namespace tcc
