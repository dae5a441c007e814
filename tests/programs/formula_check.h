#pragma once

#include <string>
#include <vector>

#include "schedule/resources.h"
#include "schedule/trace.h"
#include "tests/programs/lowered_facts.h"

namespace tcc {

// A program at one point, lowered.
struct LoweredPoint {
  Function lowered;
  std::vector<NestFacts> facts;
  // Of each nest, what its marked loops are going to be unrolled into.
  std::vector<int64_t> statements;
  bool aligned = true;  // VectorsAreAligned
};

// Only as far as marked loops: what is too large may unroll into millions of statements.
enum class LoweringDepth : uint8_t { kMarked, kWhole };
StatusOr<LoweredPoint> LowerAt(const SymbolicProgram& program, const Decisions& decisions,
                               LoweringDepth depth);

// Empty if every formula has at the point the value that was counted in the lowered function; else
// the first difference. Vectors may be narrower than asked for: lanes that meet in one cell stay a
// loop.
std::string FirstWrongFormula(const std::vector<NestResources>& formulas, const Function& symbolic,
                              const Decisions& decisions, const LoweredPoint& point);

// Whether vectors and statements, too, are those of the formulas, to the last.
bool HasAllVectors(const std::vector<NestResources>& formulas, const Function& symbolic,
                   const Decisions& decisions, const LoweredPoint& point);

// The value of a formula over the free sizes of `symbolic`.
int64_t FormulaAt(const Expr& formula, const Function& symbolic, const Decisions& decisions);

}  // namespace tcc
