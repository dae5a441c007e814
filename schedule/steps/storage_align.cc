#include "schedule/steps/storage_align.h"

#include "ir/expr/layout.h"
#include "ir/simplify/interval.h"
#include "schedule/analysis/guard.h"
#include "schedule/analysis/placement.h"

namespace tcc {
namespace {

StatusOr<Buffer> BufferToLayOut(const char* step, const Function& fn, const std::string& name) {
  TCC_ASSIGN_OR_RETURN(Buffer buffer, BufferNamed(fn, name));
  if (IsParameter(fn, buffer.var)) {
    return InvalidInput("{}: buffer '{}' is a parameter; copy it first", step, name);
  }
  if (buffer.circular >= 0) {
    return InvalidInput("{}: buffer '{}' is circular", step, name);
  }
  return buffer;
}

}  // namespace

StatusOr<Constraints> CheckStorageAlign(const Function& fn, const StorageAlign& step) {
  TCC_ASSIGN_OR_RETURN(Buffer buffer, BufferToLayOut("storage_align", fn, step.buffer));
  if (!IsRowMajor(buffer.layout)) {
    return InvalidInput("storage_align: buffer '{}' has a layout already", step.buffer);
  }
  if (step.dim < 0 || step.dim >= static_cast<int64_t>(buffer.rank())) {
    return InvalidInput("storage_align: buffer '{}' has {} dimensions, so none is {}", step.buffer,
                        buffer.rank(), step.dim);
  }
  const std::pair<Expr, const char*> kRules[] = {
      {Expr(1) - step.factor, "the factor is at least 1"},
      {Expr(0) - step.offset, "the offset is at least 0"},
      {step.offset - step.factor + Expr(1), "the offset is below the factor"},
  };
  Constraints constraints;
  for (const auto& [excess, why] : kRules) {
    Interval bounds = BoundsOf(excess, {});
    if (bounds.low > 0) {
      return InvalidInput("storage_align: buffer '{}': it does not hold that {}", step.buffer, why);
    }
    if (bounds.high > 0) constraints.push_back({excess, why});
  }
  return constraints;
}

Function ApplyStorageAlign(const Function& fn, const StorageAlign& step) {
  auto align = [&](Buffer buffer) {
    std::vector<Expr> extents = StoredExtents(buffer);
    std::vector<Expr> strides(extents.size());
    Expr stride(1);
    for (size_t d = extents.size(); d-- > 0;) {
      if (static_cast<int64_t>(d) == step.dim) {
        stride = CeilDivide(stride - step.offset, step.factor) * step.factor + step.offset;
      }
      strides[d] = stride;
      stride = stride * extents[d];
    }
    buffer.layout.strides = strides;
    return buffer;
  };
  return WithBuffer(fn, BufferNamed(fn, step.buffer).value().var, align);
}

StatusOr<Constraints> CheckSwizzle(const Function& fn, const Swizzle& step) {
  constexpr int64_t kMaxBits = 20;  // a group of 2^20 elements is more than any shared memory
  TCC_ASSIGN_OR_RETURN(Buffer buffer, BufferToLayOut("swizzle", fn, step.buffer));
  if (buffer.layout.swizzle.bits > 0) {
    return InvalidInput("swizzle: buffer '{}' is swizzled already", step.buffer);
  }
  bool in_range = step.bits >= 1 && step.shift >= 1 && step.base >= 0 && step.bits <= kMaxBits &&
                  step.shift <= kMaxBits && step.base <= kMaxBits;
  if (!in_range || step.bits + step.base + step.shift > kMaxBits) {
    return InvalidInput(
        "swizzle: {} bits from bit {}, shifted by {}; expected 1 bit or more, a shift of 1 or "
        "more, "
        "and at most {} in all",
        step.bits, step.base, step.shift, kMaxBits);
  }
  return Constraints{};
}

Function ApplySwizzle(const Function& fn, const Swizzle& step) {
  auto swizzle = [&](Buffer buffer) {
    buffer.layout.swizzle = {static_cast<int>(step.bits), static_cast<int>(step.base),
                             static_cast<int>(step.shift)};
    return buffer;
  };
  return WithBuffer(fn, BufferNamed(fn, step.buffer).value().var, swizzle);
}

}  // namespace tcc
