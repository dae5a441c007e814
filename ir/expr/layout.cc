#include "ir/expr/layout.h"

namespace tcc {

bool IsRowMajor(const Layout& layout) {
  return layout.strides.empty() && !layout.offset && layout.blocks.empty() &&
         layout.swizzle.bits == 0;
}

std::vector<Expr> StoredExtents(const Buffer& buffer) {
  std::vector<Expr> extents = buffer.window.size.empty() ? buffer.shape : buffer.window.size;
  for (const BlockFactor& block : buffer.layout.blocks) {
    extents[block.dim] = CeilDivide(extents[block.dim], block.factor);
    extents.push_back(block.factor);
  }
  return extents;
}

std::vector<Expr> StoredStrides(const Buffer& buffer) {
  if (!buffer.layout.strides.empty()) return buffer.layout.strides;
  std::vector<Expr> extents = StoredExtents(buffer);
  std::vector<Expr> strides(extents.size(), Expr(1));
  for (size_t d = extents.size(); d-- > 1;) strides[d - 1] = strides[d] * extents[d];
  return strides;
}

Expr StoredElements(const Buffer& buffer) {
  std::vector<Expr> extents = StoredExtents(buffer);
  Expr count(1);
  if (buffer.layout.strides.empty()) {
    for (const Expr& extent : extents) count = count * extent;
  } else {
    for (size_t d = 0; d < extents.size(); ++d) {
      if (IsConstant(extents[d], 0)) return 0;
      count = count + (extents[d] - Expr(1)) * buffer.layout.strides[d];
    }
  }
  if (buffer.layout.offset) count = count + buffer.layout.offset;
  if (const XorSwizzle& swizzle = buffer.layout.swizzle; swizzle.bits > 0) {
    Expr group(int64_t{1} << (swizzle.base + swizzle.bits));
    count = CeilDivide(count, group) * group;
  }
  if (buffer.versions && buffer.scope == Scope::kShared) {
    Expr vector(kSharedAlignment * 8 / buffer.dtype().bits());
    count = CeilDivide(count, vector) * vector;
  }
  return count;
}

}  // namespace tcc
