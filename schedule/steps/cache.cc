#include "schedule/steps/cache.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/guard.h"
#include "schedule/analysis/placement.h"
#include "schedule/analysis/reduction_nest.h"
#include "schedule/steps/copy_nest.h"

namespace tcc {
namespace {

IterVar CopyIter(size_t number, const Expr& domain) {
  return {IterationVar("ax" + std::to_string(number)), IterKind::kSpatial, {}, domain};
}

// Returns the nest that copies every cell of `like` from one buffer to another; its block is called
// `name`.
Stmt CopyNest(const std::string& name, const Buffer& like, const Var& to, const Var& from) {
  std::vector<IterVar> iters;
  std::vector<Expr> cell;
  for (size_t d = 0; d < like.rank(); ++d) {
    iters.push_back(CopyIter(d, like.shape[d]));
    cell.push_back(iters[d].var);
  }
  return NestThatStores(name, iters, True(), {to, cell}, Make<Load>(from, cell));
}

// Returns the nest that copies the written cells.
Stmt CopyNest(const std::string& name, const WrittenCells& written, const Var& to,
              const Var& from) {
  std::vector<IterVar> iters;
  Substitution fresh;
  for (const IterVar& iter : written.iters) {
    iters.push_back(CopyIter(iters.size(), iter.domain));
    fresh.emplace(iter.var, iters.back().var);
  }
  std::vector<Expr> cell;
  for (const Expr& index : written.indices) cell.push_back(Substitute(index, fresh));
  return NestThatStores(name, iters, Substitute(written.predicate, fresh), {to, cell},
                        Make<Load>(from, cell));
}

ChangeAccess RenameTo(const Var& buffer) {
  return [buffer](const Access& access) { return Access{buffer, access.indices}; };
}

bool IsReaderOf(const CacheRead& step, const Block& block, const Var& buffer) {
  bool listed =
      step.readers.empty() || std::ranges::find(step.readers, block.name) != step.readers.end();
  return listed && Reads(block, buffer);
}

// Checks that blocks that run when the model is linked share no copy with blocks that run later.
Status ExpectAllOrNoConstants(const Function& fn, const IsReader& is_reader) {
  const Block* linked = nullptr;
  const Block* run = nullptr;
  std::vector<Path> readers = PathsOf(fn, is_reader);
  for (const Path& path : readers) {
    const auto* reader = path.back().as<Block>();
    bool constant = false;
    for (const Access& write : WritesOf(*reader)) {
      constant = constant || FindBuffer(fn, write.buffer)->scope == Scope::kConstant;
    }
    (constant ? linked : run) = reader;
  }
  if (!linked || !run) return OkStatus();
  return InvalidInput(
      "cache_read: block '{}' runs when the model is linked and block '{}' later; expected a copy "
      "for each",
      linked->name, run->name);
}

}  // namespace

StatusOr<Constraints> CheckCacheRead(const Function& fn, const CacheRead& step) {
  TCC_ASSIGN_OR_RETURN(Buffer buffer, BufferNamed(fn, step.buffer));
  TCC_RETURN_IF_ERROR(ExpectFreeName(fn, step.name));
  TCC_RETURN_IF_ERROR(ExpectUnplaced(buffer));
  TCC_RETURN_IF_ERROR(ExpectWritableScope("cache_read", step.scope));
  for (const std::string& reader : step.readers) {
    TCC_ASSIGN_OR_RETURN(Path path, FindBlock(fn, reader));
    if (!Reads(path.back(), buffer.var)) {
      return InvalidInput("cache_read: block '{}' does not read buffer '{}'", reader, step.buffer);
    }
  }
  if (!Reads(fn.body, buffer.var)) {
    return InvalidInput("cache_read: nothing reads buffer '{}'", step.buffer);
  }
  auto is_reader = [&](const Block& block) { return IsReaderOf(step, block, buffer.var); };
  TCC_RETURN_IF_ERROR(ExpectAllOrNoConstants(fn, is_reader));
  TCC_RETURN_IF_ERROR(ExpectWrittenBefore("cache_read", fn, is_reader, buffer.var));
  TCC_RETURN_IF_ERROR(ExpectWhole("cache_read", fn, buffer));
  return Constraints{};
}

Function ApplyCacheRead(const Function& fn, const CacheRead& step) {
  Buffer source = BufferNamed(fn, step.buffer).value();
  Buffer copy{BufferVar(step.name, source.dtype()), source.shape, step.scope, {}, {}, -1, {}};
  auto is_reader = [&](const Stmt& stmt) {
    for (const Ref<Block>& block : BlocksOf(stmt)) {
      if (IsReaderOf(step, *block, source.var)) return true;
    }
    return false;
  };
  Stmt nest = CopyNest(step.name, source, copy.var, source.var);
  Stmt body = InsertBeside(fn.body, is_reader, Side::kBefore, nest);
  auto redirect = [&](const Stmt& stmt) -> Stmt {
    const auto* block = stmt.as<Block>();
    bool reader = block && block->name != step.name && IsReaderOf(step, *block, source.var);
    return reader ? ChangeLoads(stmt, source.var, RenameTo(copy.var)) : stmt;
  };
  body = RewriteBottomUp(body, redirect, [](const Expr& expr) { return expr; });
  Function result = fn;
  result.body = MakeStmt<Allocate>(copy, body);
  return result;
}

StatusOr<Constraints> CheckCacheWrite(const Function& fn, const CacheWrite& step) {
  TCC_ASSIGN_OR_RETURN(Path path, FindBlock(fn, step.block));
  TCC_ASSIGN_OR_RETURN(Buffer buffer, BufferNamed(fn, step.buffer));
  TCC_RETURN_IF_ERROR(ExpectFreeName(fn, step.name));
  TCC_RETURN_IF_ERROR(ExpectUnplaced(buffer));
  TCC_RETURN_IF_ERROR(ExpectWritableScope("cache_write", step.scope));
  const Block* init = InitialisationOf(fn, *BlockAt(path));
  for (const Ref<Block>& block : BlocksOf(fn.body)) {
    if (block.get() == init || Writes(*block, buffer.var) == (block->name == step.block)) continue;
    return InvalidInput(
        "cache_write: block '{}' {} buffer '{}'; expected '{}' to be its one writer", block->name,
        block->name == step.block ? "does not write" : "writes", step.buffer, step.block);
  }
  TCC_RETURN_IF_ERROR(ExpectReadAfter("cache_write", fn, step.block, buffer.var));
  TCC_RETURN_IF_ERROR(CellsWritten("cache_write", *BlockAt(path), buffer.var).status());
  return Constraints{};
}

Function ApplyCacheWrite(const Function& fn, const CacheWrite& step) {
  Buffer target = BufferNamed(fn, step.buffer).value();
  Buffer copy{BufferVar(step.name, target.dtype()), target.shape, step.scope, {}, {}, -1, {}};
  Path path = FindBlock(fn, step.block).value();
  WrittenCells written = CellsWritten("cache_write", *BlockAt(path), target.var).value();
  Stmt writer = ChangeWrites(path.back(), target.var, RenameTo(copy.var));
  Stmt body = Replace(fn.body, path.back().get(), writer);
  if (const Block* init = InitialisationOf(fn, *BlockAt(path))) {
    body = Replace(body, init, ChangeWrites(Stmt(*init), target.var, RenameTo(copy.var)));
  }
  auto is_writer = [&](const Stmt& stmt) { return Writes(stmt, copy.var); };
  body = InsertBeside(body, is_writer, Side::kAfter,
                      CopyNest(step.name, written, target.var, copy.var));
  Function result = fn;
  result.body = MakeStmt<Allocate>(copy, body);
  return result;
}

namespace {

// Returns the key of the loop that a buffer is placed in, which encloses its blocks at `path`.
LoopRef LoopOfAllocation(const Path& path, const Var& buffer) {
  LoopRef loop;
  for (const Stmt& stmt : path) {
    const auto* allocate = stmt.as<Allocate>();
    if (allocate && allocate->buffer.var == buffer) break;
    if (const auto* enclosing = stmt.as<For>()) loop = enclosing->key;
  }
  return loop;
}

// Returns the window of a placed buffer that all threads of a block share: the cells that they
// access together.
StatusOr<Window> SharedWindow(const Function& fn, const Var& buffer) {
  std::optional<Box> cells;
  auto accesses = [&](const Block& block) { return Reads(block, buffer) || Writes(block, buffer); };
  for (const Path& path : PathsOf(fn, accesses)) {
    const Block& block = *path.back().as<Block>();
    std::vector<Ref<For>> moving =
        MovingLoops(path, LoopOfAllocation(path, buffer), Scope::kShared);
    std::vector<Access> all = ReadsOf(block);
    for (const Access& write : WritesOf(block)) all.push_back(write);
    for (const Access& access : all) {
      if (!(access.buffer == buffer)) continue;
      TCC_ASSIGN_OR_RETURN(Box box, RegionOf(block, access, moving));
      if (cells) {
        TCC_ASSIGN_OR_RETURN(box, Hull(*cells, box));
      }
      cells = std::move(box);
    }
  }
  return Window{cells->origin, cells->size};
}

StatusOr<Buffer> InScope(const Function& fn, const SetScope& step) {
  TCC_ASSIGN_OR_RETURN(Buffer buffer, BufferNamed(fn, step.buffer));
  buffer.scope = step.scope;
  if (step.scope != Scope::kShared || buffer.window.size.empty()) return buffer;
  TCC_RETURN_IF_ERROR(ExpectMovable("set_scope", buffer));
  TCC_ASSIGN_OR_RETURN(buffer.window, SharedWindow(fn, buffer.var));
  return buffer;
}

}  // namespace

StatusOr<Constraints> CheckSetScope(const Function& fn, const SetScope& step) {
  TCC_ASSIGN_OR_RETURN(Buffer buffer, BufferNamed(fn, step.buffer));
  TCC_RETURN_IF_ERROR(ExpectUnversioned("set_scope", buffer));
  TCC_RETURN_IF_ERROR(ExpectNotPrepacked("set_scope", buffer));
  TCC_RETURN_IF_ERROR(ExpectWritableScope("set_scope", step.scope));
  if (IsParameter(fn, buffer.var)) {
    return InvalidInput("set_scope: buffer '{}' is a parameter; its memory is the caller's",
                        step.buffer);
  }
  TCC_RETURN_IF_ERROR(InScope(fn, step).status());
  return Constraints{};
}

Function ApplySetScope(const Function& fn, const SetScope& step) {
  Buffer changed = InScope(fn, step).value();
  return WithBuffer(fn, changed.var, [&](const Buffer&) { return changed; });
}

}  // namespace tcc
