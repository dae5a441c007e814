#include "schedule/steps/copy_nest.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/expr/compare.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "schedule/analysis/guard.h"

namespace tcc {
namespace {

// The nests that the body is a sequence of, whatever is allocated round them.
std::vector<Stmt> NestsOf(const Stmt& body) {
  if (const auto* allocate = body.as<Allocate>()) return NestsOf(allocate->body);
  if (const auto* seq = body.as<Seq>()) return seq->stmts;
  return {body};
}

bool SameIndices(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::ranges::equal(a, b, [](const Expr& x, const Expr& y) { return Equal(x, y); });
}

// Adds the terms of a conjunction; false where one holds other variables than those of the cells.
bool AddTerms(const Expr& predicate, WrittenCells& cells) {
  auto is_iter = [&](const Var& var) {
    return std::ranges::any_of(cells.iters, [&](const IterVar& iter) { return iter.var == var; });
  };
  bool known = true;
  for (const Expr& term : ConjunctsOf(predicate)) {
    if (IsConstant(term, 1)) continue;
    cells.predicate = IsConstant(cells.predicate, 1) ? term : BothOf(cells.predicate, term);
    known = known && std::ranges::all_of(VarsOf(term), is_iter);
  }
  return known;
}

std::vector<IterVar> ItersIn(const std::vector<Expr>& indices, const Block& block) {
  std::vector<IterVar> found;
  for (const Expr& index : indices) {
    for (const IterVar& iter : block.iters) {
      bool known =
          std::ranges::any_of(found, [&](const IterVar& other) { return other.var == iter.var; });
      if (!known && UsesVar(index, iter.var)) found.push_back(iter);
    }
  }
  return found;
}

// A reduction initialises its cells even where the predicate fails, so it does not count.
bool WritesUnderPredicate(const Block& block) {
  return !block.body.as<Reduce>() && !IsConstant(block.predicate, 1);
}

// Returns whether every cell is one that the block writes, each index being a variable that runs
// over all of its dimension.
bool WritesAll(const Block& block, const Buffer& buffer) {
  if (WritesUnderPredicate(block)) return false;
  std::vector<Access> writes = WritesOf(block);
  return std::ranges::any_of(writes, [&](const Access& write) {
    if (!(write.buffer == buffer.var)) return false;
    std::vector<IterVar> iters = ItersIn(write.indices, block);
    if (iters.size() != buffer.rank()) return false;
    for (size_t d = 0; d < iters.size(); ++d) {
      bool all = write.indices[d].same_as(iters[d].var) &&
                 EqualUpToAlgebra(iters[d].domain, buffer.shape[d]);
      if (!all) return false;
    }
    return true;
  });
}

}  // namespace

Stmt NestThatStores(const std::string& name, const std::vector<IterVar>& iters,
                    const Expr& predicate, const Access& target, const Expr& value) {
  std::vector<IterVar> copies;
  std::vector<Var> loops;
  Substitution fresh;
  for (const IterVar& iter : iters) {
    loops.push_back(LoopVar(iter.var->name));
    copies.push_back({IterationVar(iter.var->name), IterKind::kSpatial, loops.back(), iter.domain});
    fresh.emplace(iter.var, copies.back().var);
  }
  Stmt body = Substitute(MakeStmt<Store>(target.buffer, target.indices, value), fresh);
  Stmt nest =
      MakeStmt<Block>(name, copies, std::vector<LoopGuard>{}, Substitute(predicate, fresh), body);
  for (size_t i = copies.size(); i-- > 0;) {
    nest =
        MakeStmt<For>(loops[i], copies[i].domain, ForKind::kSerial, BaseKey(name, copies[i]), nest);
  }
  return nest;
}

Stmt ChangeLoads(const Stmt& stmt, const Var& buffer, const ChangeAccess& change) {
  return RewriteExprs(stmt, [&](const Expr& expr) -> Expr {
    const auto* load = expr.as<Load>();
    if (!load || !(load->buffer == buffer)) return expr;
    Access cell = change({load->buffer, load->indices});
    return Make<Load>(cell.buffer, cell.indices);
  });
}

Stmt ChangeWrites(const Stmt& stmt, const Var& buffer, const ChangeAccess& change) {
  auto rename = [&](const Stmt& s) -> Stmt {
    if (const auto* store = s.as<Store>(); store && store->buffer == buffer) {
      Access cell = change({store->buffer, store->indices});
      return MakeStmt<Store>(cell.buffer, cell.indices, store->value, store->mask);
    }
    if (const auto* reduce = s.as<Reduce>()) {
      std::vector<Access> outputs = reduce->outputs;
      for (Access& output : outputs) {
        if (output.buffer == buffer) output = change(output);
      }
      return MakeStmt<Reduce>(reduce->combiner, outputs, reduce->inputs, reduce->init);
    }
    return s;
  };
  return RewriteBottomUp(stmt, rename, [](const Expr& expr) { return expr; });
}

Stmt InsertBeside(const Stmt& body, const std::function<bool(const Stmt&)>& wanted, Side side,
                  const Stmt& nest) {
  if (const auto* allocate = body.as<Allocate>()) {
    return MakeStmt<Allocate>(allocate->buffer, InsertBeside(allocate->body, wanted, side, nest));
  }
  std::vector<Stmt> stmts = {body};
  if (const auto* seq = body.as<Seq>()) stmts = seq->stmts;
  auto at = side == Side::kBefore ? std::ranges::find_if(stmts, wanted)
                                  : std::find_if(stmts.rbegin(), stmts.rend(), wanted).base();
  stmts.insert(at, nest);
  return SeqOf(stmts);
}

StatusOr<WrittenCells> CellsWritten(const char* step, const Block& block, const Var& buffer) {
  std::vector<Access> writes = WritesOf(block);
  const Access* cell = nullptr;
  for (const Access& write : writes) {
    if (!(write.buffer == buffer)) continue;
    if (cell && !SameIndices(cell->indices, write.indices)) {
      return InvalidInput("{}: block '{}' accesses several cells of buffer '{}'", step, block.name,
                          buffer->name);
    }
    cell = &write;
  }
  if (!cell) {
    return InvalidInput("{}: block '{}' does not write buffer '{}'", step, block.name,
                        buffer->name);
  }
  WrittenCells cells{cell->indices, ItersIn(cell->indices, block), True()};
  bool whole = !WritesUnderPredicate(block) || AddTerms(block.predicate, cells);
  bool by_data = HasLoad(cells.predicate);
  for (const Expr& index : cells.indices) by_data = by_data || HasLoad(index);
  if (by_data || !whole) {
    return InvalidInput("{}: where block '{}' writes depends on {}", step, block.name,
                        by_data ? "data" : "variables that are no part of the place");
  }
  for (const IterVar& iter : cells.iters) {
    if (iter.kind == IterKind::kSpatial) continue;
    return InvalidInput("{}: where block '{}' writes depends on '{}', which runs in order", step,
                        block.name, iter.var->name);
  }
  return cells;
}

Status ExpectWhole(const char* step, const Function& fn, const Buffer& buffer) {
  int writers = 0;
  const Block* partial = nullptr;
  for (const Ref<Block>& block : BlocksOf(fn.body)) {
    if (!Writes(*block, buffer.var)) continue;
    if (WritesAll(*block, buffer)) return OkStatus();
    if (++writers == 1 || WritesUnderPredicate(*block)) partial = block.get();
  }
  if (!partial || (writers > 1 && !WritesUnderPredicate(*partial))) return OkStatus();
  return InvalidInput("{}: block '{}' may leave out cells of buffer '{}'; expected a whole buffer",
                      step, partial->name, buffer.var->name);
}

Status ExpectFreeName(const Function& fn, const std::string& name) {
  if (name.empty() || IsBlockName(fn, name) || BufferNamed(fn, name).ok()) {
    return InvalidInput("the name '{}' for a copy is empty or in use", name);
  }
  return OkStatus();
}

Status ExpectWritableScope(const char* step, Scope scope) {
  if (scope != Scope::kConstant) return OkStatus();
  return InvalidInput("{}: nothing can be written to a constant buffer; prepack makes it one later",
                      step);
}

Status ExpectUnplaced(const Buffer& buffer) {
  if (buffer.window.size.empty()) return OkStatus();
  return InvalidInput("buffer '{}' is placed under a loop already; cache it before",
                      buffer.var->name);
}

Status ExpectWrittenBefore(const char* step, const Function& fn, const IsReader& is_reader,
                           const Var& buffer) {
  const Block* reader = nullptr;
  for (const Stmt& nest : NestsOf(fn.body)) {
    std::vector<Ref<Block>> blocks = BlocksOf(nest);
    for (const Ref<Block>& block : blocks) {
      if (!reader && is_reader(*block)) reader = block.get();
    }
    for (const Ref<Block>& block : blocks) {
      if (!reader || !Writes(*block, buffer)) continue;
      return InvalidInput(
          "{}: block '{}' writes buffer '{}' beside or after its reader '{}'; expected all writers "
          "in earlier nests",
          step, block->name, buffer->name, reader->name);
    }
  }
  return OkStatus();
}

Status ExpectOnlyWriter(const char* step, const Function& fn, const std::string& writer,
                        const Var& buffer) {
  for (const Ref<Block>& block : BlocksOf(fn.body)) {
    if (Writes(*block, buffer) == (block->name == writer)) continue;
    return InvalidInput("{}: block '{}' {} buffer '{}'; expected '{}' to be its one writer", step,
                        block->name, block->name == writer ? "does not write" : "writes",
                        buffer->name, writer);
  }
  return OkStatus();
}

Status ExpectReadAfter(const char* step, const Function& fn, const std::string& writer,
                       const Var& buffer) {
  for (const Stmt& nest : NestsOf(fn.body)) {
    if (!Writes(nest, buffer)) continue;
    for (const Ref<Block>& block : BlocksOf(nest)) {
      if (!Reads(*block, buffer)) continue;
      return InvalidInput(
          "{}: block '{}' reads buffer '{}' in the nest of its writer '{}'; expected readers in "
          "later nests",
          step, block->name, buffer->name, writer);
    }
  }
  return OkStatus();
}

}  // namespace tcc
