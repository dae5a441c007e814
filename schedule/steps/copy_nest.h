#pragma once

#include <functional>

#include "schedule/steps/cache.h"

// What the steps share that put a copy between a block and a buffer: CacheRead, CacheWrite,
// ReIndex.
namespace tcc {

// A fresh serial nest of a block called `name` that stores `value` to `target`, for the copy of a
// block's `iters`: both sides are written with the variables of `iters`.
Stmt NestThatStores(const std::string& name, const std::vector<IterVar>& iters,
                    const Expr& predicate, const Access& target, const Expr& value);

// `stmt` that reads (writes) cell `change(access)` for each access of `buffer`.
using ChangeAccess = std::function<Access(const Access&)>;
Stmt ChangeLoads(const Stmt& stmt, const Var& buffer, const ChangeAccess& change);
Stmt ChangeWrites(const Stmt& stmt, const Var& buffer, const ChangeAccess& change);

// `nest` beside the first (last) statement of the outermost sequence for which `wanted` holds.
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
// Refuses several cells or but one, and cells that depend on data, on variables of the predicate
// that are no part of the place, or on variables that run in order.
StatusOr<WrittenCells> CellsWritten(const char* step, const Block& block, const Var& buffer);

// A copy of all cells of a buffer reads them all: refuses a buffer some of whose cells are known to
// stay unwritten, or whose one writer is not known to write them all.
Status ExpectWhole(const char* step, const Function& fn, const Buffer& buffer);

// "the name 'x' for a copy is empty or in use", or OK.
Status ExpectFreeName(const Function& fn, const std::string& name);
// Refuses the scope of what cannot be written.
Status ExpectWritableScope(const char* step, Scope scope);
// Refuses a buffer that has a window.
Status ExpectUnplaced(const Buffer& buffer);

// A copy is made before the nest of the first reader, so everything must be written by then.
using IsReader = std::function<bool(const Block&)>;
Status ExpectWrittenBefore(const char* step, const Function& fn, const IsReader& is_reader,
                           const Var& buffer);
// A write-back follows the writer's nest, so nothing may read the target in that nest, an ordered
// writer itself included. `writer` is the one block that writes the buffer.
Status ExpectOnlyWriter(const char* step, const Function& fn, const std::string& writer,
                        const Var& buffer);
Status ExpectReadAfter(const char* step, const Function& fn, const std::string& writer,
                       const Var& buffer);

}  // namespace tcc
