#pragma once

#include "ir/expr/expr.h"
#include "schedule/sketches/parts/operand_panels.h"
#include "schedule/sketches/parts/sketch.h"

// Non-constant operands, copied into panels of columns whenever a function runs.
namespace tcc {

// The gain of a copy if a tile has `rows` rows and panels have `width` columns. kGathers: columns
// that are not contiguous are gathered once, not by every tile of rows, and by cache lines, not all
// columns at each step of the reduction, where they evict each other from L1. kStrides: other
// operands lose their long strides if they exceed L1.
enum class PanelGain : uint8_t { kNone, kStrides, kGathers };
PanelGain GainOfPanels(const PanelOperand& operand, int64_t rows, int64_t width,
                       const Target& target);

// The use of a copy.
struct PanelCopy {
  std::string reader;     // a block
  LoopRef at;             // a loop of the reader that makes its part of the copy; none: made before
  Expr registers, lanes;  // of a panel's columns
};

// Makes the reader read a copy of the operand in panels of registers x lanes columns, and marks the
// copy as done. A copy outside all loops is made in parallel. Returns false, with the state
// unchanged, if that is not legal.
//
//   mm.B: for n.0, k.0 parallel { for n.1 { for k.1 { for n.2 vectorized
//           mm.B[n div 32, k, n mod 32] = B[n, k] } } }
bool CopyIntoPanels(SketchState& state, const PanelOperand& operand, const PanelCopy& copy);

}  // namespace tcc
