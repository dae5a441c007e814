#pragma once

#include <algorithm>

#include "support/tensor.h"

// Tensors that a caller has anywhere in memory.
namespace tcc {

inline constexpr size_t kAround = 64;
inline constexpr uint8_t kUntouched = 0xee;

// Returns a copy of the tensor that begins `shift` bytes above a multiple of 64, with kAround bytes
// of kUntouched before and after it.
inline Tensor Shifted(const Tensor& tensor, size_t shift) {
  size_t begin = kAround + shift, size = tensor.bytes.size();
  Tensor room =
      MakeZeroTensor(DType(DTypeCode::kUInt8), {static_cast<int64_t>(begin + size + kAround)});
  std::span<uint8_t> bytes = MutableBytes(room);
  std::ranges::fill(bytes, kUntouched);
  std::ranges::copy(tensor.bytes, bytes.begin() + static_cast<ptrdiff_t>(begin));
  return {tensor.dtype, tensor.shape, room.owner, room.bytes.subspan(begin, size)};
}

// Returns whether nobody wrote to the bytes around the result of Shifted.
inline bool IsAloneWritten(const Tensor& shifted) {
  auto untouched = [](std::span<const uint8_t> bytes) {
    return std::ranges::all_of(bytes, [](uint8_t byte) { return byte == kUntouched; });
  };
  const uint8_t* begin = shifted.bytes.data();
  return untouched({begin - kAround, kAround}) &&
         untouched({begin + shifted.bytes.size(), kAround});
}

}  // namespace tcc
