#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "support/status.h"
#include "support/tensor.h"

namespace tcc {

// Memory of at least two huge pages, of 2 MiB each, asks the system for them.
inline constexpr int64_t kMinHugeBytes = 4 << 20;

// Allocates zeroed memory at a multiple of 64; the system provides its pages as they are touched.
// Fails with ResourceExhausted, naming `what`, when memory is short.
StatusOr<std::shared_ptr<uint8_t>> AllocateMemory(int64_t bytes, const std::string& what);

// Makes a tensor of zeros. Unlike MakeZeroTensor, it returns an error when memory runs out.
StatusOr<Tensor> AllocateTensor(DType dtype, const std::vector<int64_t>& shape,
                                const std::string& what);

}  // namespace tcc
