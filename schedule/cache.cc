#include "schedule/cache.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "ir/visitor.h"
#include "schedule/guard.h"
#include "schedule/prepack.h"

namespace tcc {
namespace {

// The nest that copies every cell of `from` to `to`; its block is called `name`.
Stmt CopyNest(const std::string& name, const Buffer& from, const Var& to, const Var& source) {
  std::vector<IterVar> iters;
  std::vector<Var> loops;
  std::vector<Expr> indices;
  for (size_t d = 0; d < from.rank(); ++d) {
    loops.push_back(LoopVar("ax" + std::to_string(d)));
    Var iter = IterationVar("ax" + std::to_string(d));
    iters.push_back({iter, IterKind::kSpatial, loops[d], from.shape[d]});
    indices.push_back(iter);
  }
  Stmt nest = MakeStmt<Block>(name, iters, std::vector<LoopGuard>{}, True(),
                              MakeStmt<Store>(to, indices, Make<Load>(source, indices)));
  for (size_t d = from.rank(); d-- > 0;) {
    nest = MakeStmt<For>(loops[d], from.shape[d], ForKind::kSerial, BaseKey(name, iters[d]), nest);
  }
  return nest;
}

Stmt RenameLoads(const Stmt& stmt, const Var& from, const Var& to) {
  return RewriteExprs(stmt, [&](const Expr& expr) -> Expr {
    const auto* load = expr.as<Load>();
    return load && load->buffer == from ? Make<Load>(to, load->indices) : expr;
  });
}

Stmt RenameWrites(const Stmt& stmt, const Var& from, const Var& to) {
  auto rename = [&](const Stmt& s) -> Stmt {
    if (const auto* store = s.as<Store>(); store && store->buffer == from) {
      return MakeStmt<Store>(to, store->indices, store->value, store->mask);
    }
    if (const auto* reduce = s.as<Reduce>()) {
      std::vector<Access> outputs = reduce->outputs;
      for (Access& output : outputs) {
        if (output.buffer == from) output.buffer = to;
      }
      return MakeStmt<Reduce>(reduce->combiner, outputs, reduce->inputs, reduce->init);
    }
    return s;
  };
  return RewriteBottomUp(stmt, rename, [](const Expr& expr) { return expr; });
}

// `nest` beside the first (last) statement of the outermost sequence for which `wanted` holds.
enum class Side { kBefore, kAfter };
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

// The nests that the body is a sequence of, whatever is allocated round them.
std::vector<Stmt> NestsOf(const Stmt& body) {
  if (const auto* allocate = body.as<Allocate>()) return NestsOf(allocate->body);
  if (const auto* seq = body.as<Seq>()) return seq->stmts;
  return {body};
}

bool IsReader(const CacheRead& step, const Block& block, const Var& buffer) {
  bool listed = step.readers.empty() || std::find(step.readers.begin(), step.readers.end(),
                                                  block.name) != step.readers.end();
  return listed && Reads(block, buffer);
}

// The copy is made before the nest of the first reader, so everything must be written by then.
Status ExpectWrittenBefore(const Function& fn, const CacheRead& step, const Var& buffer) {
  const Block* reader = nullptr;
  for (const Stmt& nest : NestsOf(fn.body)) {
    std::vector<Ref<Block>> blocks = BlocksOf(nest);
    for (const Ref<Block>& block : blocks) {
      if (!reader && IsReader(step, *block, buffer)) reader = block.get();
    }
    for (const Ref<Block>& block : blocks) {
      if (reader && Writes(*block, buffer)) {
        return InvalidInput(
            "cache_read: block '{}' writes buffer '{}' beside or after its reader '{}'; expected "
            "all writers in earlier nests",
            block->name, buffer->name, reader->name);
      }
    }
  }
  return OkStatus();
}

// The write-back follows the writer's nest, so nothing may read the target in that nest, an ordered
// writer itself included.
Status ExpectReadAfter(const Function& fn, const std::string& writer, const Var& buffer) {
  for (const Stmt& nest : NestsOf(fn.body)) {
    if (!Writes(nest, buffer)) continue;
    for (const Ref<Block>& block : BlocksOf(nest)) {
      if (!Reads(*block, buffer)) continue;
      return InvalidInput(
          "cache_write: block '{}' reads buffer '{}' in the nest of its writer '{}'; expected "
          "readers in later nests",
          block->name, buffer->name, writer);
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<Buffer> BufferNamed(const Function& fn, const std::string& name) {
  std::vector<std::string> names;
  for (const Buffer& buffer : DeclaredBuffers(fn)) {
    if (buffer.var->name == name) return buffer;
    names.push_back(buffer.var->name);
  }
  return InvalidInput("no buffer '{}' in function '{}'; it has {}", name, fn.name,
                      fmt::join(names, ", "));
}

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
  TCC_RETURN_IF_ERROR(ExpectWrittenBefore(fn, step, buffer.var));
  return Constraints{};
}

Function ApplyCacheRead(const Function& fn, const CacheRead& step) {
  Buffer source = BufferNamed(fn, step.buffer).value();
  Buffer copy{BufferVar(step.name, source.dtype()), source.shape, step.scope, {}, {}, -1, {}};
  auto is_reader = [&](const Stmt& stmt) {
    for (const Ref<Block>& block : BlocksOf(stmt)) {
      if (IsReader(step, *block, source.var)) return true;
    }
    return false;
  };
  Stmt nest = CopyNest(step.name, source, copy.var, source.var);
  Stmt body = InsertBeside(fn.body, is_reader, Side::kBefore, nest);
  auto redirect = [&](const Stmt& stmt) -> Stmt {
    const auto* block = stmt.as<Block>();
    bool reader = block && block->name != step.name && IsReader(step, *block, source.var);
    return reader ? RenameLoads(stmt, source.var, copy.var) : stmt;
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
  for (const Ref<Block>& block : BlocksOf(fn.body)) {
    if (Writes(*block, buffer.var) != (block->name == step.block)) {
      return InvalidInput(
          "cache_write: block '{}' {} buffer '{}'; expected '{}' to be its one writer", block->name,
          block->name == step.block ? "does not write" : "writes", step.buffer, step.block);
    }
  }
  TCC_RETURN_IF_ERROR(ExpectReadAfter(fn, step.block, buffer.var));
  return Constraints{};
}

Function ApplyCacheWrite(const Function& fn, const CacheWrite& step) {
  Buffer target = BufferNamed(fn, step.buffer).value();
  Buffer copy{BufferVar(step.name, target.dtype()), target.shape, step.scope, {}, {}, -1, {}};
  Path path = FindBlock(fn, step.block).value();
  Stmt body = Replace(fn.body, path.back().get(), RenameWrites(path.back(), target.var, copy.var));
  auto is_writer = [&](const Stmt& stmt) { return Writes(stmt, copy.var); };
  body = InsertBeside(body, is_writer, Side::kAfter,
                      CopyNest(step.name, target, target.var, copy.var));
  Function result = fn;
  result.body = MakeStmt<Allocate>(copy, body);
  return result;
}

StatusOr<Constraints> CheckSetScope(const Function& fn, const SetScope& step) {
  TCC_ASSIGN_OR_RETURN(Buffer buffer, BufferNamed(fn, step.buffer));
  TCC_RETURN_IF_ERROR(ExpectUnversioned("set_scope", buffer));
  TCC_RETURN_IF_ERROR(ExpectNotPrepacked("set_scope", buffer));
  TCC_RETURN_IF_ERROR(ExpectWritableScope("set_scope", step.scope));
  for (const Buffer& param : fn.params) {
    if (param.var == buffer.var) {
      return InvalidInput("set_scope: buffer '{}' is a parameter; its memory is the caller's",
                          step.buffer);
    }
  }
  if (step.scope == Scope::kShared && !buffer.window.size.empty()) {
    return InvalidInput(
        "set_scope: buffer '{}' is placed already; shared windows depend on the "
        "threads, so set the scope before placing it",
        step.buffer);
  }
  return Constraints{};
}

Function ApplySetScope(const Function& fn, const SetScope& step) {
  Var var = BufferNamed(fn, step.buffer).value().var;
  auto change = [&](const Stmt& stmt) -> Stmt {
    const auto* allocate = stmt.as<Allocate>();
    if (!allocate || !(allocate->buffer.var == var)) return stmt;
    Buffer buffer = allocate->buffer;
    buffer.scope = step.scope;
    return MakeStmt<Allocate>(buffer, allocate->body);
  };
  Function result = fn;
  result.body = RewriteBottomUp(fn.body, change, [](const Expr& expr) { return expr; });
  return result;
}

}  // namespace tcc
