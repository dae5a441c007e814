#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/expr/function.h"
#include "ir/support/status.h"

// Finding and replacing loops and blocks in the tree of a function.
namespace tcc {

// A loop's key, "block/axis.path": "mm/k" is a loop as the operator means it, "mm/k.1" the inner
// part of its split, "mm/(i.0*j.0)" a fusion.
using LoopRef = std::string;

// The statements from the function's body down to one statement, that one included.
using Path = std::vector<Stmt>;

// Error: "no loop 'mm/q' in function 'mm'; it has mm/i, mm/j, ...".
StatusOr<Path> FindLoop(const Function& fn, const LoopRef& loop);
StatusOr<Path> FindBlock(const Function& fn, const std::string& block);

// The loops on a path, outermost first, as the nodes themselves.
std::vector<Ref<For>> LoopsOn(const Path& path);
// The loops strictly inside `outer` on a path that goes through it.
std::vector<Ref<For>> LoopsInside(const Path& path, const LoopRef& outer);

// The last statement of the path as a loop or a block; it is one.
Ref<For> LoopAt(const Path& path);
Ref<Block> BlockAt(const Path& path);

// `root` with the node `target` replaced. Loops, conditions and allocations left with nothing
// inside are removed.
Stmt Replace(const Stmt& root, const StmtNode* target, const Stmt& replacement);

// The topmost statement of `path` that holds no other block than the last one, allocations
// excluded: what has to move when that block moves.
Stmt NestOf(const Path& path);

// The names in the keys of a fresh nest: "block/axis".
LoopRef BaseKey(const std::string& block, const IterVar& iter);

// Whether a block has the name, or a loop that is left of one that is gone: loops of another block
// of that name could have its key.
bool IsBlockName(const Function& fn, const std::string& name);

}  // namespace tcc
