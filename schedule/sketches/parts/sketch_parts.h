#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/sketches/parts/sketch.h"

// What sketch rules of several targets are made of.
namespace tcc {

// The key of one part of a split: "mm/i" and 1 give "mm/i.1".
LoopRef LevelKey(const LoopRef& loop, size_t level);

// The keys of the loops of these iteration variables of a block that no step has touched.
std::vector<LoopRef> KeysOf(const Block& block, const std::vector<size_t>& iters);

// The loops, which are perfectly nested in this order, as one: its key.
LoopRef FuseAll(SketchState& state, const std::vector<LoopRef>& loops);

// Moves the loops of a block that no step has touched, but those of reductions and of variables
// that some outputs lack (IsUnshared), outside the others, in their order, where that is legal.
// Returns those of them that are outermost then.
std::vector<LoopRef> SpatialLoopsOutside(SketchState& state, const Block& block);

// Powers of two of [least, most], of which `least` is one.
Domain PowersOfTwo(int64_t least, int64_t most);

// The extent of the vectorized loop `loop`, left free: a power of two up to the `widest` vector, or
// all of `extent` where that is shorter.
Expr LanesOf(SketchState& state, const LoopRef& loop, int64_t extent, int64_t widest,
             int64_t start);

// The results of a reduction (WritesPlainly) get a copy of their own: its consumer reads that, or a
// write-back does. `block` is the consumer, to be placed where a tile of the results is done;
// `loops` are its loops, one for each spatial variable of the reduction, in their order.
struct ResultReader {
  std::string block;
  std::vector<LoopRef> loops;
};
ResultReader KeepResult(SketchState& state, const Block& reduction, Scope scope);
ResultReader KeepResultLocal(SketchState& state, const Block& reduction);
// The same of a tuple, whose elements may need a reader each, and of a reduction that is
// decomposed; nullopt where that is not legal.
std::optional<std::vector<ResultReader>> KeepResults(SketchState& state, const Block& reduction);

}  // namespace tcc
