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

// Refused: a block that does anything but store one value per cell, at exactly its spatial
// variables; a result that is a parameter, has another writer, is circular, staged by a pipeline or
// computed when the model is linked; a reader that precedes the block, is emitted by an intrinsic
// or copies for a pipeline; an operand that is written later or is not live at a reader.
StatusOr<Constraints> CheckComputeInline(const Function& fn, const ComputeInline& step);
Function ApplyComputeInline(const Function& fn, const ComputeInline& step);

}  // namespace tcc
