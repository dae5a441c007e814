#pragma once

#include <vector>

#include "ir/expr/stmt.h"

// The places of a buffer's cells by Layout (stmt.h), for both resource limits and allocation.
namespace tcc {

// The bytes of which the starts of shared buffers, and of their versions, are multiples: the widest
// vector is aligned there.
inline constexpr int64_t kSharedAlignment = 16;

// Returns whether the layout is row-major without gaps.
bool IsRowMajor(const Layout& layout);

// Returns the extents of the stored dimensions: the window's sizes (or the shape), block factors
// applied.
std::vector<Expr> StoredExtents(const Buffer& buffer);
// Returns the stride of each stored dimension.
std::vector<Expr> StoredStrides(const Buffer& buffer);
// Returns 1 + the largest offset of a stored cell of one version. A swizzle moves cells within
// aligned groups, so the last group counts as a whole. A version of a shared buffer ends where the
// next one may begin.
Expr StoredElements(const Buffer& buffer);

}  // namespace tcc
