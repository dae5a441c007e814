#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/dtype.h"
#include "support/status.h"

namespace tcc {

// A dense, row-major array in host memory with shared, immutable-once-shared bytes. Copying a
// Tensor copies a handle. The bytes may be owned or lie in a mapped file that `owner` keeps alive.
struct Tensor {
  DType dtype;
  std::vector<int64_t> shape;
  std::shared_ptr<const void> owner;
  std::span<const uint8_t> bytes;

  template <typename T>
  std::span<const T> values() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

// Returns the product of the dimensions, 1 for rank 0. Fails on a negative dimension or overflow of
// int64.
StatusOr<int64_t> ElementCount(std::span<const int64_t> shape);
// Returns the bytes that a dense tensor takes; sub-byte types round up to whole bytes.
StatusOr<int64_t> ByteCount(DType dtype, std::span<const int64_t> shape);

// Makes a tensor that owns a 64-byte aligned copy of `bytes` (or zeros). Expects the byte count to
// fit the shape. Throws std::bad_alloc where memory is short, like a growing vector; the command
// line and the embedding API turn that into an error.
Tensor MakeTensor(DType dtype, std::vector<int64_t> shape, std::span<const uint8_t> bytes);
Tensor MakeZeroTensor(DType dtype, std::vector<int64_t> shape);
// Makes a tensor of user data, which may be large: fails with ResourceExhausted, naming `what`,
// where memory is short.
StatusOr<Tensor> CopyTensor(DType dtype, std::vector<int64_t> shape, std::span<const uint8_t> bytes,
                            const std::string& what);
// Returns the bytes of a tensor that is not shared yet, to fill it.
std::span<uint8_t> MutableBytes(Tensor& tensor);

// Return element `index` of the flat tensor. The double is exact for every type but 64-bit integers
// beyond 2^53.
double ElementAsDouble(const Tensor& tensor, int64_t index);
int64_t ElementAsInt(const Tensor& tensor, int64_t index);
// Write element `index`. Floats round to nearest even; integers are taken modulo 2^bits.
void SetElement(Tensor& tensor, int64_t index, double value);
void SetElementInt(Tensor& tensor, int64_t index, int64_t value);

// Returns e.g. "f32[1x3x224x224]".
std::string ToString(const Tensor& tensor);
std::string ShapeToString(std::span<const int64_t> shape);

}  // namespace tcc
