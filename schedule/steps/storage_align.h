#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/analysis/loop_tree.h"

// Two steps that set where rows of a buffer begin, so that threads that read a column hit different
// banks of shared memory, and vectors are aligned.
namespace tcc {

// Pads the stride of a dimension to the smallest value, at least the old one, that is `offset` more
// than a multiple of `factor`: cells lie row by row with gaps between the rows.
//
//   allocate A_s: f32[128, 8]     -->     allocate A_s: f32[128, 8] strides [12, 1]
//
// with dimension 0, factor 8 and offset 4. Row strides of 4 modulo 32 banks keep rows of 16-byte
// vectors apart.
struct StorageAlign {
  std::string buffer;
  int64_t dim = 0;
  Expr factor;  // >= 1; both in elements, both may hold Tile variables
  Expr offset;  // 0 <= offset < factor
  auto Fields() { return std::tie(buffer, dim, factor, offset); }
};

// Permutes chunks of 2^base elements: a chunk's number is XORed with `bits` bits of itself, from
// bit `shift` on. With rows of 2^shift chunks, these are bits of the row number. The only memory
// wasted completes the last group of chunks, and vectors within a chunk stay whole.
//
//   f32[64, 32] with bits 3, base 2, shift 3: chunk c of row r (16 bytes) lies at c xor (r mod 8)
struct Swizzle {
  std::string buffer;
  int64_t bits = 0;
  int64_t base = 0;
  int64_t shift = 0;
  auto Fields() { return std::tie(buffer, bits, base, shift); }
};

// Refused: an unknown buffer; a parameter; a buffer that has a layout already or is circular; a
// dimension that is not there; a factor or offset that is provably out of its range.
StatusOr<Constraints> CheckStorageAlign(const Function& fn, const StorageAlign& step);
Function ApplyStorageAlign(const Function& fn, const StorageAlign& step);

// Refused: an unknown buffer; a parameter; a buffer that is swizzled already or circular; fewer
// than 1 bit or 1 place to shift by; a negative base; more than 20 bits in all.
StatusOr<Constraints> CheckSwizzle(const Function& fn, const Swizzle& step);
Function ApplySwizzle(const Function& fn, const Swizzle& step);

}  // namespace tcc
