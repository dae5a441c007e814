#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/space/resources.h"
#include "schedule/space/trace.h"
#include "tests/programs/lowered_facts.h"

namespace tcc {

// A program at one point, lowered.
struct LoweredPoint {
  Function lowered;
  // While loops are marked unrolled or vectorized, nest by nest.
  std::vector<NestFacts> marked;
  std::vector<int64_t> statements;  // what they are going to be unrolled into
  // With virtual threads' versions; not known where they would be too many.
  std::vector<std::optional<int64_t>> local_bytes;
  bool aligned = true;     // VectorsAreAligned; at the whole depth, once pipelined as well
  bool pipelined = false;  // HasPipeline
  bool repeated = false;   // HasRepeatedLoops
  // Of all nests together, the statements in sum: a nest may be unrolled into several. Only at the
  // whole depth.
  std::optional<NestFacts> whole;
};

// Only as far as marked loops: what is too large may unroll into millions of statements.
enum class LoweringDepth : uint8_t { kMarked, kWhole };
StatusOr<LoweredPoint> LowerAt(const SymbolicProgram& program, const Decisions& decisions,
                               LoweringDepth depth);

// Empty if every formula has at the point the value that was counted in the lowered function; else
// the first difference. Written vectors may be narrower than asked for: lanes that meet in one cell
// stay a loop.
std::string FirstWrongFormula(const std::vector<NestResources>& formulas, const Function& symbolic,
                              const Decisions& decisions, const LoweredPoint& point);

// Whether written vectors and statements, too, are those of the formulas, to the last.
bool HasAllVectors(const std::vector<NestResources>& formulas, const Function& symbolic,
                   const Decisions& decisions, const LoweredPoint& point);

// The value of a formula over the free sizes of `symbolic`.
int64_t FormulaAt(const Expr& formula, const Function& symbolic, const Decisions& decisions);

}  // namespace tcc
