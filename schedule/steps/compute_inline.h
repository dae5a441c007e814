#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// A producer disappears: its readers compute its values themselves.
//
//   for a { P: T[a] = f(a) }               for i { C: .. f(i + 1) .. }
//   for i { C: .. T[i + 1] .. }     -->
//
// Readers may stand in any loops, and read any cells.
struct ComputeInline {
  std::string block;
  auto Fields() { return std::tie(block); }
};

// A consumer disappears: what it computes of its operand, the operand's producer computes at once.
//
//   for i { P: T[i] = f(i) }               for i { P: D[i] = g(f(i), i) }
//   for a { C: D[a] = g(T[a], a) }  -->
//
// A reduction can be followed by a copy of its result, whatever it is; or, once it is decomposed,
// by its own combiner with one more operand, which is then where the reduction begins:
//
//   P.init: T[i] = 0.0                     P.init: D[i] = b[i]
//   P:      T[i] += x[i, k]         -->    P:      D[i] += x[i, k]
//   C:      D[i] = T[i] + b[i]
struct ReverseComputeInline {
  std::string block;
  auto Fields() { return std::tie(block); }
};

// Refused: a block that does anything but store a value a cell, at just its spatial variables; a
// result that is a parameter, has another writer, is circular, staged by a pipeline or computed
// when the model is linked; a reader that comes before the block, is emitted by an intrinsic or
// copies for a pipeline; an operand that is written later or does not live where a reader stands.
StatusOr<Constraints> CheckComputeInline(const Function& fn, const ComputeInline& step);
Function ApplyComputeInline(const Function& fn, const ComputeInline& step);

// Refused, beside the like of the above: a consumer that reads its operand elsewhere than at just
// its variables or not whole; an operand that others read; a reduction that is not followed as
// described; a consumer that leaves cells of its tile to the next one.
StatusOr<Constraints> CheckReverseComputeInline(const Function& fn,
                                                const ReverseComputeInline& step);
Function ApplyReverseComputeInline(const Function& fn, const ReverseComputeInline& step);

}  // namespace tcc
