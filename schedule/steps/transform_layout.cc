#include "schedule/steps/transform_layout.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "ir/expr/layout.h"
#include "ir/simplify/interval.h"
#include "schedule/analysis/guard.h"
#include "schedule/analysis/placement.h"

namespace tcc {
namespace {

bool IsPermutation(std::vector<int64_t> order, size_t size) {
  std::ranges::sort(order);
  for (size_t d = 0; d < order.size(); ++d) {
    if (order[d] != static_cast<int64_t>(d)) return false;
  }
  return order.size() == size;
}

Status CheckBlocks(const Buffer& buffer, const TransformLayout& step) {
  size_t stored = buffer.rank();
  for (const BlockFactor& block : step.blocks) {
    if (block.dim < 0 || block.dim >= static_cast<int>(stored)) {
      return InvalidInput("transform_layout: a block of dimension {} of buffer '{}', which has {}",
                          block.dim, step.buffer, stored);
    }
    if (BoundsOf(block.factor, {}).high < 1) {
      return InvalidInput("transform_layout: a factor of dimension {} of buffer '{}' is below 1",
                          block.dim, step.buffer);
    }
    ++stored;
  }
  if (!IsPermutation(step.order, stored)) {
    return InvalidInput(
        "transform_layout: [{}] is no order of the {} stored dimensions of buffer '{}'",
        fmt::join(step.order, ", "), stored, step.buffer);
  }
  return OkStatus();
}

}  // namespace

StatusOr<Constraints> CheckTransformLayout(const Function& fn, const TransformLayout& step) {
  TCC_ASSIGN_OR_RETURN(Buffer buffer, BufferNamed(fn, step.buffer));
  if (IsParameter(fn, buffer.var)) {
    return InvalidInput("transform_layout: buffer '{}' is a parameter; copy it first", step.buffer);
  }
  if (!IsRowMajor(buffer.layout) || buffer.circular >= 0) {
    return InvalidInput("transform_layout: buffer '{}' has a layout already", step.buffer);
  }
  TCC_RETURN_IF_ERROR(CheckBlocks(buffer, step));
  Constraints constraints;
  for (const BlockFactor& block : step.blocks) {
    if (BoundsOf(block.factor, {}).low >= 1) continue;
    constraints.push_back({Expr(1) - block.factor, "a block of a layout has at least one cell"});
  }
  return constraints;
}

Function ApplyTransformLayout(const Function& fn, const TransformLayout& step) {
  auto lay_out = [&](Buffer buffer) {
    buffer.layout.blocks = step.blocks;
    std::vector<Expr> extents = StoredExtents(buffer);
    buffer.layout.strides.assign(extents.size(), Expr(1));
    for (size_t i = step.order.size(); i-- > 1;) {
      int64_t inner = step.order[i];
      buffer.layout.strides[step.order[i - 1]] = buffer.layout.strides[inner] * extents[inner];
    }
    return buffer;
  };
  return WithBuffer(fn, BufferNamed(fn, step.buffer).value().var, lay_out);
}

}  // namespace tcc
