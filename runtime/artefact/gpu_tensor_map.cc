#include "runtime/artefact/gpu_tensor_map.h"

#include <fmt/ranges.h>

#include <functional>
#include <numeric>
#include <vector>

namespace tcc {
namespace {

// The demands of cuTensorMapEncodeTiled (CUDA driver API, tensor map object management).
constexpr int64_t kMultiple = 16;  // in bytes: of addresses, strides, rows of a box
constexpr uint32_t kMaxBox = 256;  // in elements, of each dimension

// The values that a size may have.
struct SizeLimits {
  const char* what;
  int64_t low, high, multiple;
};
constexpr SizeLimits kOffset = {"byte offset", 0, INT64_MAX, kMultiple};
constexpr SizeLimits kExtent = {"extent", 1, int64_t{1} << 32, 1};
constexpr SizeLimits kStride = {"byte stride", kMultiple, (int64_t{1} << 40) - kMultiple,
                                kMultiple};

Status CheckSize(const SizeLimits& limits, int64_t size) {
  if (size >= limits.low && size <= limits.high && size % limits.multiple == 0) return OkStatus();
  return InvalidInput("{} {}; expected a multiple of {} from {} to {}", limits.what, size,
                      limits.multiple, limits.low, limits.high);
}

// Calls `visit` for each size of the map until one fails.
using VisitSize = std::function<Status(const SizeExpr& size, const SizeLimits& limits)>;
Status ForEachSize(const GpuTensorMap& map, const VisitSize& visit) {
  TCC_RETURN_IF_ERROR(visit(map.byte_offset, kOffset));
  for (const SizeExpr& extent : map.extents) TCC_RETURN_IF_ERROR(visit(extent, kExtent));
  for (const SizeExpr& stride : map.byte_strides) TCC_RETURN_IF_ERROR(visit(stride, kStride));
  return OkStatus();
}

int64_t SwizzleBytes(GpuSwizzle swizzle) {
  switch (swizzle) {
    case GpuSwizzle::kNone:
      return 0;
    case GpuSwizzle::k32Bytes:
      return 32;
    case GpuSwizzle::k64Bytes:
      return 64;
    case GpuSwizzle::k128Bytes:
      return 128;
  }
  __builtin_unreachable();
}

std::string_view NameOf(GpuMapType type) {
  constexpr std::string_view kNames[] = {"u8", "u16", "f16", "bf16", "f32", "tf32"};
  return kNames[static_cast<size_t>(type)];
}

Status CheckRank(const GpuTensorMap& map) {
  const size_t rank = map.extents.size();
  if (rank >= 1 && rank <= kMaxMapRank && map.byte_strides.size() == rank - 1 &&
      map.box.size() == rank) {
    return OkStatus();
  }
  return InvalidInput(
      "{} extents, {} strides and a box of rank {}; expected a rank from 1 to {}, and a stride for "
      "each dimension but the innermost",
      rank, map.byte_strides.size(), map.box.size(), kMaxMapRank);
}

Status CheckBox(const GpuTensorMap& map) {
  for (uint32_t elements : map.box) {
    if (elements >= 1 && elements <= kMaxBox) continue;
    return InvalidInput("a box of {} elements along a dimension; expected 1 to {}", elements,
                        kMaxBox);
  }
  const int64_t row = map.box[0] * ElementBytes(map.type);
  const int64_t swizzled = SwizzleBytes(map.swizzle);
  if (swizzled != 0 && row != swizzled) {
    return InvalidInput("a box with rows of {} bytes; expected the {} of its swizzle", row,
                        swizzled);
  }
  if (row % kMultiple == 0) return OkStatus();
  return InvalidInput("a box with rows of {} bytes; expected a multiple of {}", row, kMultiple);
}

// Returns the number of bytes from the first element to the end of the last one. Fails if that is
// more than `room`.
StatusOr<int64_t> SpanOf(const GpuTensorMap& map, const TensorMapSizes& sizes, int64_t room) {
  int64_t left = room - static_cast<int64_t>(sizes.extents[0]) * ElementBytes(map.type);
  for (size_t i = 1; i < map.extents.size() && left >= 0; ++i) {
    const auto steps = static_cast<int64_t>(sizes.extents[i] - 1);
    const auto stride = static_cast<int64_t>(sizes.byte_strides[i - 1]);
    left = steps <= left / stride ? left - steps * stride : -1;
  }
  if (left >= 0) return room - left;
  return InvalidInput("the elements from byte {} on do not lie in their array of {} bytes",
                      sizes.byte_offset, sizes.byte_offset + room);
}

// Returns "[v0, 64]", the innermost dimension last.
std::string Reversed(const std::vector<SizeExpr>& sizes) {
  std::vector<std::string> texts;
  for (const SizeExpr& size : sizes) texts.insert(texts.begin(), ToString(size));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

}  // namespace

int64_t ElementBytes(GpuMapType type) {
  switch (type) {
    case GpuMapType::kU8:
      return 1;
    case GpuMapType::kU16:
    case GpuMapType::kF16:
    case GpuMapType::kBF16:
      return 2;
    case GpuMapType::kF32:
    case GpuMapType::kTf32:
      return 4;
  }
  __builtin_unreachable();
}

int64_t BoxBytes(const GpuTensorMap& map) {
  return std::accumulate(map.box.begin(), map.box.end(), ElementBytes(map.type),
                         std::multiplies<>());
}

Status CheckTensorMap(const GpuTensorMap& map, int64_t variables) {
  TCC_RETURN_IF_ERROR(CheckRank(map));
  TCC_RETURN_IF_ERROR(ForEachSize(map, [&](const SizeExpr& size, const SizeLimits& limits) {
    TCC_RETURN_IF_ERROR(Annotate(CheckSizeExpr(size, variables), limits.what));
    const std::optional<int64_t> constant = size.AsConstant();
    return constant ? CheckSize(limits, *constant) : OkStatus();
  }));
  return CheckBox(map);
}

StatusOr<TensorMapSizes> SizesOf(const GpuTensorMap& map, std::span<const int64_t> shapes,
                                 int64_t array_bytes) {
  std::vector<int64_t> values;
  TCC_RETURN_IF_ERROR(ForEachSize(map, [&](const SizeExpr& size, const SizeLimits& limits) {
    TCC_ASSIGN_OR_RETURN(values.emplace_back(), Evaluate(size, shapes));
    return CheckSize(limits, values.back());
  }));
  TensorMapSizes sizes;
  auto value = values.begin();
  sizes.byte_offset = *value++;
  for (size_t i = 0; i < map.extents.size(); ++i) {
    sizes.extents[i] = static_cast<uint64_t>(*value++);
  }
  for (size_t i = 0; i < map.byte_strides.size(); ++i) {
    sizes.byte_strides[i] = static_cast<uint64_t>(*value++);
  }
  TCC_ASSIGN_OR_RETURN(sizes.bytes, SpanOf(map, sizes, array_bytes - sizes.byte_offset));
  return sizes;
}

std::string ToString(const GpuTensorMap& map) {
  const bool is_buffer = map.array.kind == GpuArgument::Kind::kBuffer;
  std::string text =
      fmt::format("{} {} of {} {} at {}", NameOf(map.type), Reversed(map.extents),
                  is_buffer ? "buffer" : "workspace", map.array.index, ToString(map.byte_offset));
  if (!map.byte_strides.empty()) {
    text += fmt::format(", strides {} bytes", Reversed(map.byte_strides));
  }
  const std::vector<uint32_t> box(map.box.rbegin(), map.box.rend());
  text += fmt::format(", boxes [{}]", fmt::join(box, ", "));
  if (map.swizzle == GpuSwizzle::kNone) return text;
  return text + fmt::format(", swizzle {}", SwizzleBytes(map.swizzle));
}

}  // namespace tcc
