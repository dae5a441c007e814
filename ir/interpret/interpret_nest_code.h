#pragma once

#include <optional>

#include "ir/interpret/interpret_expr_code.h"

namespace tcc::interpret {

// A chain of loops round one leaf, as found in the function.
struct Chain {
  std::vector<const For*> loops;
  std::vector<Expr> conditions;  // of Ifs between the loops and the leaf
  const Block* block = nullptr;
  const Store* store = nullptr;  // exactly one of the two is set
  const Reduce* reduce = nullptr;
};

// nullopt where the statement is no such chain.
std::optional<Chain> FindChain(const Stmt& stmt, bool merge_parallel);

// How the loops of a chain run: indices into Chain::loops.
struct LoopOrder {
  std::vector<int> outer;
  std::vector<int> lanes;
  std::vector<int> inner;
  bool independent = false;
};

// Loops whose iterations write different cells (each has a dimension of every output to itself)
// become lanes, from the innermost outwards until a chunk is worth it; the loops inside the
// outermost of them that are no lanes, reductions mostly, run for all lanes of a chunk. Each cell
// still sees its instances in the old order. `extents` are 0 where not known.
LoopOrder OrderLoops(const Chain& chain, const std::vector<int64_t>& extents);
// Every loop one by one.
LoopOrder KeepOrder(const Chain& chain);

// Compiles the leaf's expressions and conditions into nest.code; the caller sets loops, slots and
// guard. `outside` are the slots of variables from outside, `slots` those of the chain's loops.
// False where the leaf reads what other lanes write, so that lanes are not allowed.
bool CompileLeaf(const Chain& chain, const LoopOrder& order,
                 const std::unordered_map<Var, int, VarHash>& buffers,
                 const std::unordered_map<Var, int, VarHash>& slots, Nest& nest);

}  // namespace tcc::interpret
