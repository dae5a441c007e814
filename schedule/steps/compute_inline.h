#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// Inlines a producer into its readers, which compute its values themselves.
//
//   for a { P: T[a] = f(a) }               for i { C: .. f(i + 1) .. }
//   for i { C: .. T[i + 1] .. }     -->
//
// Readers may be in any loops and read any cells.
struct ComputeInline {
  std::string block;
  auto Fields() { return std::tie(block); }
};

// Inlines a consumer into its operand's producer, which computes the consumer's result directly.
//
//   for i { P: T[i] = f(i) }               for i { P: D[i] = g(f(i), i) }
//   for a { C: D[a] = g(T[a], a) }  -->
//
// If the producer is a reduction, the consumer may be a plain copy of its result; or, once the
// reduction is decomposed, its own combiner with one more operand, which becomes the initial value:
//
//   P.init: T[i] = 0.0                     P.init: D[i] = b[i]
//   P:      T[i] += x[i, k]         -->    P:      D[i] += x[i, k]
//   C:      D[i] = T[i] + b[i]
struct ReverseComputeInline {
  std::string block;
  auto Fields() { return std::tie(block); }
};

// Refused: a block that does anything but store one value per cell, at exactly its spatial
// variables; a result that is a parameter, has another writer, is circular, staged by a pipeline or
// computed when the model is linked; a reader that precedes the block, is emitted by an intrinsic
// or copies for a pipeline; an operand that is written later or is not live at a reader.
StatusOr<Constraints> CheckComputeInline(const Function& fn, const ComputeInline& step);
Function ApplyComputeInline(const Function& fn, const ComputeInline& step);

// Refused, in addition to the corresponding cases above: a consumer that reads its operand at
// anything but exactly its variables, or not as a whole; an operand with other readers; a consumer
// of a reduction that is not as described; a consumer that leaves cells of its tile to the next
// one.
StatusOr<Constraints> CheckReverseComputeInline(const Function& fn,
                                                const ReverseComputeInline& step);
Function ApplyReverseComputeInline(const Function& fn, const ReverseComputeInline& step);

}  // namespace tcc
