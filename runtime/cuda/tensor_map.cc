#include "runtime/cuda/tensor_map.h"

#include <array>

#include "runtime/artefact/gpu_tensor_map.h"
#include "runtime/cuda/cuda_driver.h"

namespace tcc {
namespace {

// Drivers up to this one let a small tensor's copies go wrong unless a bit of the map is cleared
// (CUTLASS, copy_traits_sm90_tma.hpp; Triton, third_party/nvidia/backend/driver.c).
constexpr int kLastDriverWithBit = 13010;
constexpr int64_t kSmallBytes = 128 << 10;
constexpr size_t kWordOfBit = 1;
constexpr uint64_t kBitOfLargeTensors = uint64_t{1} << 21;

CudaMapType TypeOf(GpuMapType type) {
  switch (type) {
    case GpuMapType::kU8:
      return kCudaMapU8;
    case GpuMapType::kU16:
      return kCudaMapU16;
    case GpuMapType::kF16:
      return kCudaMapF16;
    case GpuMapType::kBF16:
      return kCudaMapBF16;
    case GpuMapType::kF32:
      return kCudaMapF32;
    case GpuMapType::kTf32:
      return kCudaMapTf32;
  }
  __builtin_unreachable();
}

CudaMapSwizzle SwizzleOf(GpuSwizzle swizzle) {
  switch (swizzle) {
    case GpuSwizzle::kNone:
      return kCudaMapNoSwizzle;
    case GpuSwizzle::k32Bytes:
      return kCudaMapSwizzle32;
    case GpuSwizzle::k64Bytes:
      return kCudaMapSwizzle64;
    case GpuSwizzle::k128Bytes:
      return kCudaMapSwizzle128;
  }
  __builtin_unreachable();
}

}  // namespace

StatusOr<EncodedMap> EncodeTensorMap(const CudaDriver& driver, int driver_version,
                                     const GpuTensorMap& map, const BufferPlace& array,
                                     std::span<const int64_t> shapes) {
  TCC_ASSIGN_OR_RETURN(const TensorMapSizes sizes, SizesOf(map, shapes, array.bytes));
  constexpr std::array<unsigned, kMaxMapRank> kEachElement = {1, 1, 1, 1, 1};
  EncodedMap encoded{.map = {}, .bytes = sizes.bytes};
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(
      driver, "encoding", cuTensorMapEncodeTiled, &encoded.map, TypeOf(map.type),
      static_cast<unsigned>(map.box.size()), array.data + sizes.byte_offset, sizes.extents.data(),
      sizes.byte_strides.data(), map.box.data(), kEachElement.data(), kCudaMapNoInterleave,
      SwizzleOf(map.swizzle), kCudaMapL2Line, kCudaMapZeros));
  if (driver_version <= kLastDriverWithBit && sizes.bytes < kSmallBytes) {
    encoded.map.words[kWordOfBit] &= ~kBitOfLargeTensors;
  }
  return encoded;
}

}  // namespace tcc
