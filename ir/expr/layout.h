#pragma once

#include <vector>

#include "ir/expr/stmt.h"

// Where the cells of a buffer lie, as stmt.h says of Layout: the same for what limits count and
// what is allocated.
namespace tcc {

// Whether cells lie row by row without gaps.
bool IsRowMajor(const Layout& layout);

// Extents of the stored dimensions: the window's sizes (or the shape), block factors applied.
std::vector<Expr> StoredExtents(const Buffer& buffer);
// A stride for each of them.
std::vector<Expr> StoredStrides(const Buffer& buffer);
// 1 + the largest offset of a stored cell, of one version. A swizzle moves cells within aligned
// groups, so the last group is whole.
Expr StoredElements(const Buffer& buffer);

}  // namespace tcc
