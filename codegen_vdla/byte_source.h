#pragma once

#include <optional>

#include "ir/expr/expr.h"

namespace tcc {

// A signed byte that a load copies to the chip: one in memory, or an unsigned one less 128.
struct ByteSource {
  Ref<Load> element;
  bool flips = false;
};

// Returns what the value is a copy of: A[..] of i8, or i8(bit_xor(A[..], 128)) of u8; nullopt if it
// is none.
std::optional<ByteSource> ReadByteSource(const Expr& value);

}  // namespace tcc
