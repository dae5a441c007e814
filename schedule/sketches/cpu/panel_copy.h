#pragma once

#include "ir/expr/expr.h"
#include "schedule/sketches/parts/operand_panels.h"
#include "schedule/sketches/parts/sketch.h"

// Operands that vary, copied into panels of columns whenever a function runs.
namespace tcc {

// Whether a copy pays where a tile has `rows` rows and panels have `width` columns. Columns that
// are apart in memory are gathered once, not by every tile of rows, and by lines of memory, not all
// at each step of the reduction, where they push each other out of the first cache. Others get rid
// of long strides, where there is more than that cache holds.
enum class PanelGain : uint8_t { kNone, kStrides, kGathers };
PanelGain GainOfPanels(const PanelOperand& operand, int64_t rows, int64_t width,
                       const Target& target);

// What a copy is for.
struct PanelCopy {
  std::string reader;     // a block
  LoopRef at;             // a loop of the reader that makes its part of the copy; none: made before
  Expr registers, lanes;  // of a panel's columns
};

// The reader reads a copy of the operand in panels of registers x lanes columns. One that stands
// before all is made in parallel. The copy is marked as done. false, and an unchanged state, where
// that is not legal.
//
//   mm.B: for n.0, k.0 parallel { for n.1 { for k.1 { for n.2 vectorized
//           mm.B[n div 32, k, n mod 32] = B[n, k] } } }
bool CopyIntoPanels(SketchState& state, const PanelOperand& operand, const PanelCopy& copy);

}  // namespace tcc
