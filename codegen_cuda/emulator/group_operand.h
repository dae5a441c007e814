#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tcc::emulator {

// The fields of a wgmma descriptor; strides in bytes.
struct GroupDescriptor {
  explicit GroupDescriptor(uint64_t bits);

  int64_t start;
  int64_t lead;
  int64_t stride;
  int mode;  // 0, or 1, 2, 3: rows of 128, 64, 32 bytes
};

// A and B of a product: `rows` of A, or columns of B, of 32 bytes each along K.
struct GroupOperand {
  static constexpr int kChunk = 16;  // the bytes that lie together whatever the layout

  int rows;
  int element_bytes;
  bool transposed;

  int Depth() const { return 32 / element_bytes; }
  int OfChunk() const { return kChunk / element_bytes; }
  // Returns the chunk that holds an element, as a number below 2 * rows, and its place there.
  int ChunkOf(int row, int k) const;
  int PlaceOf(int row, int k) const { return (transposed ? row : k) % OfChunk(); }

  // Returns the address of each chunk in shared memory.
  std::vector<int64_t> Addresses(const GroupDescriptor& descriptor) const;
};

// Returns a complaint if an operand does not begin in the first row of its swizzle's pattern, which
// the descriptor would have to say in its base offset.
std::optional<std::string> CheckStart(const GroupDescriptor& descriptor);

}  // namespace tcc::emulator
