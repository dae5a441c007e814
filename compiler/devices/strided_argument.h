#pragma once

#include <span>
#include <vector>

#include "ir/expr/evaluate.h"
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

// Places an argument in `memory`, which may have more bytes than it takes. `what` names it in
// messages. Error: the memory is too small; strides of elements that have no address.
StatusOr<StridedArgument> ArgumentOver(StridedArgument argument, const std::string& what);
// Makes the argument of a parameter in `bytes` at `data`, for these values of the function's Shape
// variables. Error: the same; an extent or stride that they do not give, or a negative one.
StatusOr<StridedArgument> ArgumentOver(const Buffer& param, const Assignment& sizes, void* data,
                                       int64_t bytes);

// Returns the memory as a tensor: a view, or a compact copy if the argument has strides.
Tensor TensorOf(const StridedArgument& argument);
// Copies the elements of a compact tensor to the argument's memory.
void StoreBack(const Tensor& tensor, const StridedArgument& argument);

}  // namespace tcc
