#pragma once

#include <functional>

#include "schedule/steps/cache.h"

// The parts shared by the steps that put a copy between a block and a buffer: CacheRead,
// CacheWrite, ReIndex.
namespace tcc {

// Returns a fresh serial nest of a block called `name` that stores `value` to `target`. The block
// iterates over a copy of another block's `iters`; `target` and `value` are expressed in the
// variables of `iters`.
Stmt NestThatStores(const std::string& name, const std::vector<IterVar>& iters,
                    const Expr& predicate, const Access& target, const Expr& value);

// A function from an access to the access that replaces it. ChangeLoads (ChangeWrites) returns
// `stmt` reading (writing) cell `change(access)` for each access of `buffer`.
using ChangeAccess = std::function<Access(const Access&)>;
Stmt ChangeLoads(const Stmt& stmt, const Var& buffer, const ChangeAccess& change);
Stmt ChangeWrites(const Stmt& stmt, const Var& buffer, const ChangeAccess& change);

// The side of a statement to insert on. InsertBeside inserts `nest` before the first (after the
// last) statement of the outermost sequence for which `wanted` holds.
enum class Side { kBefore, kAfter };
Stmt InsertBeside(const Stmt& body, const std::function<bool(const Stmt&)>& wanted, Side side,
                  const Stmt& nest);

// The cells of `buffer` that a block writes: `indices`, for the values of `iters`, in order of the
// indices, where `predicate` holds.
struct WrittenCells {
  std::vector<Expr> indices;
  std::vector<IterVar> iters;
  Expr predicate;
};
// Returns the cells of `buffer` that the block writes. Refuses a block that writes at several
// places; cells that depend on data, or on variables that run in order; a predicate over variables
// that are not in the indices.
StatusOr<WrittenCells> CellsWritten(const char* step, const Block& block, const Var& buffer);

// Refuses a buffer some of whose cells are known to stay unwritten, or whose only writer is not
// known to write all cells: a copy of the buffer reads them all.
Status ExpectWhole(const char* step, const Function& fn, const Buffer& buffer);

// Refuses a bad name: "the name 'x' for a copy is empty or in use".
Status ExpectFreeName(const Function& fn, const std::string& name);
// Refuses a scope whose buffers cannot be written.
Status ExpectWritableScope(const char* step, Scope scope);
// Refuses a buffer that has a window.
Status ExpectUnplaced(const Buffer& buffer);

// A predicate that tells the readers of a copy. ExpectWrittenBefore checks that the buffer is fully
// written before the nest of the first reader, where the copy is made.
using IsReader = std::function<bool(const Block&)>;
Status ExpectWrittenBefore(const char* step, const Function& fn, const IsReader& is_reader,
                           const Var& buffer);
// These two check that `writer` is the only block that writes the buffer, and that nothing in the
// writer's nest reads the target, not even an ordered writer itself: the write-back follows the
// nest.
Status ExpectOnlyWriter(const char* step, const Function& fn, const std::string& writer,
                        const Var& buffer);
Status ExpectReadAfter(const char* step, const Function& fn, const std::string& writer,
                       const Var& buffer);

}  // namespace tcc
