#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "codegen_cuda/emulator/driver_calls.h"
#include "codegen_cuda/emulator/driver_machine.h"

// Tensor maps.
namespace tcc::emulator::calls {
namespace {

// The demands of the CUDA driver API, tensor map object management.
constexpr unsigned kMaxRank = 5;
constexpr unsigned kMaxBox = 256;   // in elements, of each dimension
constexpr uint64_t kMultiple = 16;  // in bytes: of addresses, strides, rows of a box
constexpr uint64_t kMaxExtent = uint64_t{1} << 32;
constexpr uint64_t kEndOfStrides = uint64_t{1} << 40;
// The swizzle of n address bits goes with rows of this many bytes << n.
constexpr unsigned kSwizzleChunk = 16;

// Returns 0 for a type that is not emulated.
unsigned ElementBytes(int type) {
  switch (type) {
    case kCudaMapU8:
      return 1;
    case kCudaMapU16:
    case kCudaMapF16:
    case kCudaMapBF16:
      return 2;
    case kCudaMapF32:
    case kCudaMapTf32:
      return 4;
    default:
      return 0;
  }
}

CudaResult Refuse(const std::string& what) {
  return Fail(kCudaInvalidValue, "a tensor map " + what);
}

CudaResult CheckDimension(unsigned i, const uint64_t* extents, const uint64_t* byte_strides,
                          const unsigned* box, const unsigned* element_strides) {
  if (extents[i] < 1 || extents[i] > kMaxExtent) {
    return Refuse(fmt::format("whose extent {} is {}", i, extents[i]));
  }
  if (box[i] < 1 || box[i] > kMaxBox) {
    return Refuse(fmt::format("whose box extent {} is {}", i, box[i]));
  }
  if (element_strides[i] != 1) return Refuse("with element strides, which are not emulated");
  if (i == 0) return kCudaSuccess;
  const uint64_t stride = byte_strides[i - 1];
  if (stride > 0 && stride < kEndOfStrides && stride % kMultiple == 0) return kCudaSuccess;
  return Refuse(fmt::format("whose byte stride {} is {}", i, stride));
}

CudaResult CheckDevice() {
  Machine& machine = TheMachine();
  std::lock_guard lock(machine.mutex);
  Context* context = nullptr;
  if (CudaResult error = CurrentContext(&context); error != kCudaSuccess) return error;
  return context->target.sm >= 90 ? kCudaSuccess : Refuse("on a device that has none");
}

}  // namespace

// Sets kTccLargeMap for every tensor, as drivers up to 13.1 do.
CudaResult cuTensorMapEncodeTiled(CudaTensorMap* map, int type, unsigned rank, void* address,
                                  const std::uint64_t* extents, const std::uint64_t* byte_strides,
                                  const unsigned* box, const unsigned* element_strides,
                                  int interleave, int swizzle, int, int fill) {
  if (CudaResult error = CheckDevice(); error != kCudaSuccess) return error;
  const unsigned element_bytes = ElementBytes(type);
  if (element_bytes == 0 || interleave != kCudaMapNoInterleave || fill != kCudaMapZeros ||
      swizzle < kCudaMapNoSwizzle || swizzle > kCudaMapSwizzle128) {
    return Refuse("of a kind that is not emulated");
  }
  if (std::bit_cast<uintptr_t>(map) % alignof(TccMap) != 0) return Refuse("that is misaligned");
  if (std::bit_cast<uintptr_t>(address) % kMultiple != 0) {
    return Refuse("of a tensor that is misaligned");
  }
  if (rank < 1 || rank > kMaxRank) return Refuse(fmt::format("of rank {}", rank));
  for (unsigned i = 0; i < rank; ++i) {
    CudaResult error = CheckDimension(i, extents, byte_strides, box, element_strides);
    if (error != kCudaSuccess) return error;
  }
  const unsigned row = box[0] * element_bytes;
  if (row % kMultiple != 0 || (swizzle != 0 && row > kSwizzleChunk << swizzle)) {
    return Refuse(fmt::format("whose box has rows of {} bytes", row));
  }
  if (swizzle != 0 && row != kSwizzleChunk << swizzle) {
    return Refuse("with rows shorter than their swizzle, which is not emulated");
  }
  TccMap encoded{.data = static_cast<unsigned char*>(address),
                 .mark = kTccMapMark | kTccLargeMap,
                 .rank = static_cast<unsigned char>(rank),
                 .element_bytes = static_cast<unsigned char>(element_bytes),
                 .swizzle = static_cast<unsigned char>(swizzle),
                 .rounds_to_tf32 = type == kCudaMapTf32,
                 .extents = {},
                 .byte_strides = {element_bytes},
                 .box = {},
                 .rest = {}};
  std::copy_n(extents, rank, encoded.extents);
  std::copy_n(byte_strides, rank - 1, encoded.byte_strides + 1);
  std::copy_n(box, rank, encoded.box);
  static_assert(sizeof(encoded) == sizeof(*map));
  std::memcpy(map, &encoded, sizeof(encoded));
  return kCudaSuccess;
}

}  // namespace tcc::emulator::calls
