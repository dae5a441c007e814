#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "support/status.h"
#include "support/tensor.h"

namespace tcc {

// Zeros at a multiple of 64, from the system page by page as they are touched. Fails with
// ResourceExhausted, naming `what`, when there are not so many.
StatusOr<std::shared_ptr<uint8_t>> AllocateMemory(int64_t bytes, const std::string& what);

// A tensor of zeros; unlike MakeZeroTensor, running out of memory is an error.
StatusOr<Tensor> AllocateTensor(DType dtype, const std::vector<int64_t>& shape,
                                const std::string& what);

}  // namespace tcc
