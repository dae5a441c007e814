#pragma once

#include <vector>

#include "ir/expr/stmt.h"

// The places of a buffer's cells by Layout (stmt.h), for both resource limits and allocation.
namespace tcc {

// The bytes of which the starts of shared buffers, and of their versions, are multiples: the widest
// vector is aligned there.
inline constexpr int64_t kSharedAlignment = 16;
// The longest period of a swizzle that tensor cores have, in bytes (PTX ISA, "asynchronous
// warpgroup level matrix shared memory layout").
inline constexpr int64_t kMaxSharedAlignment = 1024;

// Returns whether the layout is row-major without gaps.
bool IsRowMajor(const Layout& layout);

// Returns the extents of the stored dimensions: the window's sizes (or the shape), block factors
// applied.
std::vector<Expr> StoredExtents(const Buffer& buffer);
// Returns the stride of each stored dimension.
std::vector<Expr> StoredStrides(const Buffer& buffer);
// Returns 1 + the largest offset of a stored cell of one version. A swizzle moves cells within
// aligned groups, so the last group counts as a whole. A version of a shared buffer ends where the
// next one may begin, a swizzled shared buffer where its swizzle repeats.
Expr StoredElements(const Buffer& buffer);

// Returns the layout of a flat buffer with the same cells: row-major, and in whole blocks of a
// swizzle's period if the buffer is shared and tensor cores may have the swizzle.
Layout FlatLayout(const Buffer& buffer);
// Returns whether the buffer has one dimension and a layout of that kind.
bool IsFlat(const Buffer& buffer);
// Returns the bytes of which the start of a flat shared buffer is a multiple: kSharedAlignment, or
// a block. The bits that a swizzle reads are then bits of the address, as they are for tensor
// cores.
int64_t SharedAlignment(const Buffer& flat);

}  // namespace tcc
