#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/expr/function.h"
#include "support/status.h"

// Finding and replacing loops and blocks in the tree of a function.
namespace tcc {

// A loop's key, "block/axis.path": "mm/k" is an original loop of the operator, "mm/k.1" the inner
// loop of its split, "mm/(i.0*j.0)" a fused loop.
using LoopRef = std::string;

// The statements from the function's body down to one statement, that one included.
using Path = std::vector<Stmt>;

// Error: "no loop 'mm/q' in function 'mm'; it has mm/i, mm/j, ...".
StatusOr<Path> FindLoop(const Function& fn, const LoopRef& loop);
StatusOr<Path> FindBlock(const Function& fn, const std::string& block);

// Returns the loops on a path, outermost first, as the nodes themselves.
std::vector<Ref<For>> LoopsOn(const Path& path);
// Returns the loops strictly inside `outer` on a path that goes through it.
std::vector<Ref<For>> LoopsInside(const Path& path, const LoopRef& outer);

// Returns the last statement of the path, which must be a loop (a block).
Ref<For> LoopAt(const Path& path);
Ref<Block> BlockAt(const Path& path);

// Returns `root` with the node `target` replaced. Loops, conditions and allocations that become
// empty are removed.
Stmt Replace(const Stmt& root, const StmtNode* target, const Stmt& replacement);

// Returns `body` inside the loops, the first of which is outermost.
Stmt InLoops(std::span<const Ref<For>> loops, Stmt body);

// Returns the topmost statement of `path`, allocations excluded, whose only block is the last one:
// the statement that has to move when that block moves.
Stmt NestOf(const Path& path);

// Returns the key of a loop of a fresh nest: "block/axis".
LoopRef BaseKey(const std::string& block, const IterVar& iter);

// Returns whether a block has this name, or a loop is still keyed after a removed block of this
// name: a new block of that name could get loops with the same key.
bool IsBlockName(const Function& fn, const std::string& name);

}  // namespace tcc
