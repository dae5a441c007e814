#include "ir/expr/layout.h"

#include <algorithm>
#include <bit>

namespace tcc {
namespace {

int64_t BytesOf(const Buffer& buffer, int64_t elements) {
  return elements * buffer.dtype().bits() / 8;
}

// Returns the number of elements after which a shared buffer's swizzle repeats; 1 if it has none,
// or one of a longer period than those of tensor cores.
int64_t SwizzlePeriod(const Buffer& buffer) {
  const XorSwizzle& swizzle = buffer.layout.swizzle;
  const int places = swizzle.base + swizzle.shift + swizzle.bits;
  const int64_t most = 8 * kMaxSharedAlignment / buffer.dtype().bits();
  if (buffer.scope != Scope::kShared || swizzle.bits == 0) return 1;
  return places < 20 && int64_t{1} << places <= most ? int64_t{1} << places : 1;
}

}  // namespace

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
    Expr group(std::max(SwizzlePeriod(buffer), int64_t{1} << (swizzle.base + swizzle.bits)));
    count = CeilDivide(count, group) * group;
  }
  if (buffer.versions && buffer.scope == Scope::kShared) {
    Expr vector(kSharedAlignment * 8 / buffer.dtype().bits());
    count = CeilDivide(count, vector) * vector;
  }
  return count;
}

Layout FlatLayout(const Buffer& buffer) {
  int64_t period = SwizzlePeriod(buffer);
  if (BytesOf(buffer, period) <= kSharedAlignment) return {};
  return {.strides = {}, .offset = {}, .blocks = {{0, Expr(period)}}, .swizzle = {}};
}

bool IsFlat(const Buffer& buffer) {
  if (buffer.rank() != 1) return false;
  if (IsRowMajor(buffer.layout)) return true;
  Layout rest = buffer.layout;
  rest.blocks.clear();
  if (buffer.scope != Scope::kShared || buffer.layout.blocks.size() != 1 || !IsRowMajor(rest)) {
    return false;
  }
  int64_t bytes = SharedAlignment(buffer);
  return std::has_single_bit(static_cast<uint64_t>(bytes)) && bytes <= kMaxSharedAlignment;
}

int64_t SharedAlignment(const Buffer& flat) {
  if (flat.layout.blocks.empty()) return kSharedAlignment;
  int64_t block = AsConstant(flat.layout.blocks[0].factor).value_or(0);
  return BytesOf(flat, block);
}

}  // namespace tcc
