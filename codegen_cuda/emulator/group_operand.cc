#include "codegen_cuda/emulator/group_operand.h"

#include <fmt/format.h>

namespace tcc::emulator {
namespace {

// Returns the bytes of a row of memory.
int64_t RowBytes(int mode) {
  return mode == 0 ? GroupOperand::kChunk : 256 >> mode;
}

// XORs the bits from 4 on that number the chunks of a row with those 3 above.
int64_t Swizzled(int64_t address, int mode) {
  const int64_t chunks = RowBytes(mode) / GroupOperand::kChunk;
  return address ^ (address >> 3 & (chunks - 1) * GroupOperand::kChunk);
}

}  // namespace

GroupDescriptor::GroupDescriptor(uint64_t bits)
    : start(static_cast<int64_t>(bits & 0x3fff) << 4),
      lead(static_cast<int64_t>(bits >> 16 & 0x3fff) << 4),
      stride(static_cast<int64_t>(bits >> 32 & 0x3fff) << 4),
      mode(static_cast<int>(bits >> 62)) {}

int GroupOperand::ChunkOf(int row, int k) const {
  return transposed ? k * (rows / OfChunk()) + row / OfChunk() : row * 2 + k / OfChunk();
}

// PTX ISA, "Strides" of wgmma. Without a swizzle the two strides of a transposed operand trade
// places.
std::vector<int64_t> GroupOperand::Addresses(const GroupDescriptor& descriptor) const {
  const auto& [start, lead, stride, mode] = descriptor;
  const int64_t width = RowBytes(mode);
  const int64_t chunks = width / kChunk;
  std::vector<int64_t> addresses;
  // A chunk is number `across` of the rows of memory, and in row `down`.
  auto add = [&](int64_t down, int64_t across, int64_t next_rows, int64_t next_width) {
    const int64_t linear = start + down % 8 * width + down / 8 * next_rows +
                           across % chunks * kChunk + across / chunks * next_width;
    addresses.push_back(Swizzled(linear, mode));
  };
  if (!transposed) {
    for (int row = 0; row < rows; ++row) {
      for (int chunk = 0; chunk < 2; ++chunk) add(row, chunk, stride, lead);
    }
  } else {
    for (int k = 0; k < Depth(); ++k) {
      for (int chunk = 0; chunk < rows / OfChunk(); ++chunk) {
        add(k, chunk, mode == 0 ? lead : stride, mode == 0 ? stride : lead);
      }
    }
  }
  return addresses;
}

std::optional<std::string> CheckStart(const GroupDescriptor& descriptor) {
  if (descriptor.mode == 0) return std::nullopt;
  const int64_t rows = RowBytes(descriptor.mode);
  // The bits of the address that number a row of the pattern.
  const int64_t within = descriptor.start & (8 * rows - 1) & ~int64_t{127};
  if (within == 0) return std::nullopt;
  return fmt::format(
      "begins {} bytes above a multiple of {}, where the pattern of a swizzle of {} bytes begins",
      descriptor.start % (8 * rows), 8 * rows, rows);
}

}  // namespace tcc::emulator
