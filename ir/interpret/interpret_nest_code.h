#pragma once

#include <optional>

#include "ir/interpret/interpret_expr_code.h"

namespace tcc::interpret {

// A chain of loops round one leaf of the function.
struct Chain {
  std::vector<const For*> loops;
  std::vector<Expr> conditions;  // of Ifs between the loops and the leaf
  const Block* block = nullptr;
  const Store* store = nullptr;  // exactly one of the two is set
  const Reduce* reduce = nullptr;
};

// Returns nullopt where the statement is no such chain.
std::optional<Chain> FindChain(const Stmt& stmt, bool merge_parallel);

// The order of a chain's loops, as indices into Chain::loops.
struct LoopOrder {
  std::vector<int> outer;
  std::vector<int> lanes;
  std::vector<int> inner;
  bool independent = false;
};

// Chooses the lane loops: loops whose iterations write different cells (each has a dimension of
// every output to itself), from the innermost outwards until a chunk is large enough. Other loops
// inside the outermost lane loop, mostly reductions, run for all lanes of a chunk. Each cell still
// gets its instances in the original order. Unknown `extents` are 0.
LoopOrder OrderLoops(const Chain& chain, const std::vector<int64_t>& extents);
// Returns the order in which every loop runs one by one.
LoopOrder KeepOrder(const Chain& chain);

// Compiles the leaf's expressions and conditions into nest.code; the caller sets loops, slots and
// guard. `slots` has the variables from outside and of the chain's loops. Returns false where the
// leaf reads cells that other lanes write, so that lanes are not allowed.
bool CompileLeaf(const Chain& chain, const LoopOrder& order,
                 const std::unordered_map<Var, int, VarHash>& buffers,
                 const std::unordered_map<Var, int, VarHash>& slots, Nest& nest);

}  // namespace tcc::interpret
