#include "schedule/copy_nest.h"

#include <algorithm>

#include "ir/substitute.h"
#include "ir/visitor.h"

namespace tcc {
namespace {

// The nests that the body is a sequence of, whatever is allocated round them.
std::vector<Stmt> NestsOf(const Stmt& body) {
  if (const auto* allocate = body.as<Allocate>()) return NestsOf(allocate->body);
  if (const auto* seq = body.as<Seq>()) return seq->stmts;
  return {body};
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
  auto at = side == Side::kBefore ? std::find_if(stmts.begin(), stmts.end(), wanted)
                                  : std::find_if(stmts.rbegin(), stmts.rend(), wanted).base();
  stmts.insert(at, nest);
  return SeqOf(stmts);
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
