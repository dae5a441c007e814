#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedule/sketches/parts/sketch.h"

// The building blocks of the sketch rules of several targets.
namespace tcc {

// Returns the key of one part of a split: "mm/i" and 1 give "mm/i.1".
LoopRef LevelKey(const LoopRef& loop, size_t level);

// Returns the keys of the loops of these iteration variables of a block that no step has touched.
std::vector<LoopRef> KeysOf(const Block& block, const std::vector<size_t>& iters);

// Fuses the loops, which are perfectly nested in this order. Returns the key of the fused loop.
LoopRef FuseAll(SketchState& state, const std::vector<LoopRef>& loops);

// Moves the loops of an unscheduled block outside, in their order, if that is legal, except those
// of reduce variables and of variables that some outputs lack (IsUnshared). Returns the moved loops
// that are then outermost.
std::vector<LoopRef> SpatialLoopsOutside(SketchState& state, const Block& block);

// Returns the domain of the powers of two in [least, most]; `least` is one of them.
Domain PowersOfTwo(int64_t least, int64_t most);

// Adds a free size for the extent of the vectorized loop `loop`: a power of two up to the `widest`
// vector, or all of `extent` if that is shorter.
Expr LanesOf(SketchState& state, const LoopRef& loop, int64_t extent, int64_t widest,
             int64_t start);

// The reader of a reduction's results. KeepResult gives the results of a reduction (WritesPlainly)
// a buffer of their own, which its consumer or else a write-back reads. `block` is that reader, to
// be placed where a tile of the results is done; `loops` are its loops, one per spatial variable of
// the reduction, in their order.
struct ResultReader {
  std::string block;
  std::vector<LoopRef> loops;
};
ResultReader KeepResult(SketchState& state, const Block& reduction, Scope scope);
ResultReader KeepResultLocal(SketchState& state, const Block& reduction);
// Does the same for a tuple, whose elements may need a reader each, and for a reduction that is
// decomposed. Returns nullopt if that is not legal.
std::optional<std::vector<ResultReader>> KeepResults(SketchState& state, const Block& reduction);

}  // namespace tcc
