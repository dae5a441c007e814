#pragma once

#include "schedule/analysis/loop_tree.h"

// The queries and edits that the steps on reductions (DecomposeReduction, RFactor, RFactorTile)
// share.
namespace tcc {

// The role of a loop for a block: which kinds of the block's variables it feeds. A loop that feeds
// both kinds counts as spatial if each of its iterations has cells of its own (OwnsCells).
enum class LoopRole : uint8_t { kNeither, kSpatial, kReduce, kBoth };
LoopRole RoleOf(const For& loop, const Block& block);

// Returns the loops of a path from `nest` inwards, down to the block that the path ends at.
std::vector<Ref<For>> LoopsFrom(const Path& path, const Stmt& nest);

// A reduction that a step takes apart: the block, the loops of its nest from the outermost one that
// encloses no other block, and the loops further out. Leading spatial loops that are bound
// (parallel, blockIdx, threadIdx, vthread), and the loops around them, count as further out.
struct ReductionNest {
  Ref<Block> block;
  const Reduce* reduce = nullptr;  // the block's body
  Path path;
  Stmt nest;
  std::vector<Ref<For>> loops;
  std::vector<Ref<For>> above;
};
// Error: no reduction; a statement between the loops of the nest; a loop above the nest that feeds
// a reduce variable, unless the outputs live inside it; a loop of the nest that feeds both spatial
// and reduce variables, or neither.
StatusOr<ReductionNest> FindReduction(const char* step, const Function& fn,
                                      const std::string& block);

// Returns whether each iteration of `loop`, which encloses the nest, allocates the output anew.
bool IsInsideLoop(const ReductionNest& found, const For& loop, const Access& output);

// Refuses a name that is taken: "step: the name 'x' is in use".
Status ExpectFree(const char* step, const Function& fn, const std::string& name);

// Returns whether an iteration variable is spatial for this output: its indices use it.
bool Indexes(const Access& access, const Var& iter);

// Returns the spatial variables that some outputs of a tuple have and others lack: in attention,
// (m[i], l[i], acc[i, d]) differ in d. The meaning of such a reduction is its loops run in the
// order of kTensor, spatial loops outermost: every value of d repeats the updates of m and l.
// RFactorTile gives it a form whose loops may move.
std::vector<Var> UnsharedAxes(const Block& block);
bool IsUnshared(const Block& block, const IterVar& iter);
// Returns whether the binding of a variable of UnsharedAxes uses the loop.
bool FeedsUnsharedAxis(const For& loop, const Block& block);
// Refuses a tuple with unshared axes: "step: block 'core' updates outputs of different axes;
// rfactor_tile it first".
Status ExpectSharedAxes(const char* step, const Block& block);

// Returns the block that only sets the outputs of a decomposed reduction to the identities,
// "mm.init" for "mm", or nullptr.
const Block* InitialisationOf(const Function& fn, const Block& block);

// Returns `body` inside copies of the loops, with fresh variables and with `name` instead of the
// block's name in the keys.
Stmt CopiesRound(const std::vector<Ref<For>>& loops, const std::string& name, const Stmt& body);
// Returns the key of a loop with the block's name replaced.
LoopRef Rekeyed(const LoopRef& key, const std::string& name);

// Returns the block's guards that use no loop of `loops`.
std::vector<LoopGuard> GuardsWithout(const Block& block, const std::vector<Ref<For>>& loops);

// Returns the spatial variables of a block.
std::vector<IterVar> SpatialIters(const Block& block);

// Returns a block that stores the combiner's identities of the given elements to their outputs.
Stmt IdentityBlock(const std::string& name, const std::vector<IterVar>& iters,
                   const std::vector<LoopGuard>& guards, const Reduce& reduce,
                   const std::vector<size_t>& elements);
// Returns the indices 0, 1, ... of all elements of a combiner.
std::vector<size_t> AllElements(const Combiner& combiner);

// Returns the name of the buffer of partial results of element e: `name`, or name.e if the
// reduction is to a tuple.
std::string PartialName(const std::string& name, const Reduce& reduce, size_t e);

// Returns buffer[indices], with the buffer's element type.
Expr MakeLoad(const Var& buffer, const std::vector<Expr>& indices);

// Returns the statements above the nest.
Path PathAbove(const ReductionNest& found);

// Returns the loops that iterate during the lifetime of a buffer of that scope: `moving`, and for a
// shared buffer the thread loops above the nest and among `outer`.
std::vector<Ref<For>> MovingWithThreads(const std::vector<Ref<For>>& moving,
                                        const ReductionNest& found,
                                        const std::vector<Ref<For>>& outer, Scope scope);

}  // namespace tcc
