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

// Product of the dimensions, 1 for rank 0. Fails on a negative dimension or overflow of int64.
StatusOr<int64_t> ElementCount(std::span<const int64_t> shape);
// Bytes that a dense tensor takes; sub-byte types round up to whole bytes.
StatusOr<int64_t> ByteCount(DType dtype, std::span<const int64_t> shape);

// Owns 64-byte aligned copies of `bytes` (or zeros). Expects the byte count to fit the shape.
// Memory that is short is std::bad_alloc, as it is where a vector grows: the command line and the
// embedding API make an error of it.
Tensor MakeTensor(DType dtype, std::vector<int64_t> shape, std::span<const uint8_t> bytes);
Tensor MakeZeroTensor(DType dtype, std::vector<int64_t> shape);
// MakeTensor of what a user gives, which may be large: fails with ResourceExhausted, naming `what`,
// where memory is short.
StatusOr<Tensor> CopyTensor(DType dtype, std::vector<int64_t> shape, std::span<const uint8_t> bytes,
                            const std::string& what);
// The bytes of a tensor that nobody else holds yet, to fill it.
std::span<uint8_t> MutableBytes(Tensor& tensor);

// Element `index` of the flat tensor; exact for every type but 64-bit integers beyond 2^53.
double ElementAsDouble(const Tensor& tensor, int64_t index);
int64_t ElementAsInt(const Tensor& tensor, int64_t index);
// Rounds to nearest even for floats; integers are taken modulo 2^bits.
void SetElement(Tensor& tensor, int64_t index, double value);
void SetElementInt(Tensor& tensor, int64_t index, int64_t value);

// "f32[1x3x224x224]"
std::string ToString(const Tensor& tensor);
std::string ShapeToString(std::span<const int64_t> shape);

}  // namespace tcc
