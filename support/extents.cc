#include "support/extents.h"

#include "support/tensor.h"

namespace tcc {

Status CheckExtents(std::span<const int64_t> shape) {
  if (static_cast<int64_t>(shape.size()) > kMaxRank) {
    return InvalidInput("{} dimensions; expected at most {}", shape.size(), kMaxRank);
  }
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 0) return InvalidInput("shape {} has a negative dimension", ShapeToString(shape));
    if (extent > kMaxExtent) {
      return InvalidInput("shape {} has a dimension of {}; expected at most {}",
                          ShapeToString(shape), extent, kMaxExtent);
    }
    if (extent == 0) continue;
    if (count > kMaxElements / extent) {
      return InvalidInput("shape {} has more than {} elements", ShapeToString(shape), kMaxElements);
    }
    count *= extent;
  }
  return OkStatus();
}

}  // namespace tcc
