#include "schedule/analysis/placement.h"

#include <algorithm>
#include <set>

#include "ir/analysis/accesses.h"
#include "ir/expr/layout.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/guard.h"

namespace tcc {
namespace {

Stmt InsertInto(const Stmt& body, const std::function<bool(const Stmt&)>& wanted, bool before,
                const Stmt& nest) {
  if (const auto* allocate = body.as<Allocate>()) {
    return MakeStmt<Allocate>(allocate->buffer, InsertInto(allocate->body, wanted, before, nest));
  }
  std::vector<Stmt> stmts = {body};
  if (const auto* seq = body.as<Seq>()) stmts = seq->stmts;
  auto at = before ? std::ranges::find_if(stmts, wanted)
                   : std::find_if(stmts.rbegin(), stmts.rend(), wanted).base();
  stmts.insert(at, nest);
  return SeqOf(stmts);
}

}  // namespace

StatusOr<std::vector<size_t>> DistinctIndices(const Block& block, const Access& access) {
  std::vector<size_t> order;
  for (const Expr& index : access.indices) {
    size_t i = 0;
    while (i < block.iters.size() && !index.same_as(block.iters[i].var)) ++i;
    if (i == block.iters.size() || std::ranges::find(order, i) != order.end()) {
      return InvalidInput(
          "block '{}' accesses buffer '{}' by other indices than distinct iteration variables",
          block.name, access.buffer->name);
    }
    order.push_back(i);
  }
  return order;
}

StatusOr<std::vector<size_t>> PlainIndices(const Block& block, const Access& access) {
  StatusOr<std::vector<size_t>> order = DistinctIndices(block, access);
  bool plain = order.ok() && std::ranges::all_of(*order, [&](size_t i) {
                 return block.iters[i].kind == IterKind::kSpatial;
               });
  if (plain) return order;
  return InvalidInput(
      "block '{}' accesses buffer '{}' by other indices than distinct spatial iteration variables",
      block.name, access.buffer->name);
}

Status ExpectMovable(const char* step, const Buffer& buffer) {
  TCC_RETURN_IF_ERROR(ExpectNotPrepacked(step, buffer));
  if (IsRowMajor(buffer.layout)) return OkStatus();
  return InvalidInput("{}: buffer '{}' has a layout already; place it before", step,
                      buffer.var->name);
}

Status ExpectWholeNest(const char* step, const Path& path) {
  const std::string& name = BlockAt(path)->name;
  Stmt nest = NestOf(path);
  for (const Stmt& stmt : path) {
    if (stmt.same_as(nest)) break;
    const auto* loop = stmt.as<For>();
    if (loop && loop->key.starts_with(name + "/")) {
      return InvalidInput("{}: loop '{}' of block '{}' holds other blocks as well", step, loop->key,
                          name);
    }
  }
  return OkStatus();
}

Stmt NestOver(const Block& block, const std::vector<IterBox>& boxes,
              const std::vector<LoopGuard>& guards) {
  std::vector<IterVar> iters = block.iters;
  std::vector<Var> loops;
  for (size_t i = 0; i < iters.size(); ++i) {
    loops.push_back(LoopVar(iters[i].var->name));
    iters[i].binding = boxes[i].size ? boxes[i].origin + loops[i] : Expr(loops[i]);
  }
  Stmt nest = MakeStmt<Block>(block.name, iters, guards, block.predicate, block.body);
  for (size_t i = iters.size(); i-- > 0;) {
    Expr extent = boxes[i].size ? boxes[i].size : iters[i].domain;
    nest = MakeStmt<For>(loops[i], extent, ForKind::kSerial, BaseKey(block.name, iters[i]), nest);
  }
  return nest;
}

std::vector<IterBox> SpatialBoxes(const Block& block, const std::vector<IterBox>& boxes) {
  std::vector<IterBox> spatial;
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (block.iters[i].kind == IterKind::kSpatial) spatial.push_back(boxes[i]);
  }
  return spatial;
}

Stmt MapBodyOf(const Stmt& root, const LoopRef& loop,
               const std::function<Stmt(const Stmt& body)>& place) {
  auto put = [&](const Stmt& stmt) -> Stmt {
    const auto* node = stmt.as<For>();
    if (!node || node->key != loop) return stmt;
    return MakeStmt<For>(node->var, node->extent, node->for_kind, node->key, place(node->body));
  };
  return RewriteBottomUp(root, put, [](const Expr& expr) { return expr; });
}

Stmt InsertBeforeReaders(const Stmt& body, const std::vector<Var>& buffers, const Stmt& nest) {
  auto reads = [&](const Stmt& stmt) {
    return std::ranges::any_of(buffers, [&](const Var& b) { return Reads(stmt, b); });
  };
  return InsertInto(body, reads, true, nest);
}

Stmt InsertAfterWriters(const Stmt& body, const std::vector<Var>& buffers, const Stmt& nest) {
  auto writes = [&](const Stmt& stmt) {
    return std::ranges::any_of(buffers, [&](const Var& b) { return Writes(stmt, b); });
  };
  return InsertInto(body, writes, false, nest);
}

Stmt RemoveAllocation(const Stmt& root, const Var& buffer) {
  auto remove = [&](const Stmt& stmt) -> Stmt {
    if (const auto* allocate = stmt.as<Allocate>()) {
      return allocate->buffer.var == buffer ? allocate->body : stmt;
    }
    if (const auto* hint = stmt.as<PrefetchLine>()) {
      return hint->cell.buffer == buffer ? Nothing() : stmt;
    }
    if (const auto* loop = stmt.as<For>()) return IsNothing(loop->body) ? Nothing() : stmt;
    if (const auto* test = stmt.as<If>()) return IsNothing(test->then_body) ? Nothing() : stmt;
    if (const auto* seq = stmt.as<Seq>()) return SeqOf(seq->stmts);
    return stmt;
  };
  return RewriteBottomUp(root, remove, [](const Expr& expr) { return expr; });
}

Function WithBuffer(const Function& fn, const Var& buffer,
                    const std::function<Buffer(const Buffer&)>& change) {
  auto changed = [&](const Stmt& stmt) -> Stmt {
    const auto* allocate = stmt.as<Allocate>();
    if (!allocate || !(allocate->buffer.var == buffer)) return stmt;
    return MakeStmt<Allocate>(change(allocate->buffer), allocate->body);
  };
  Function result = fn;
  result.body = RewriteBottomUp(fn.body, changed, [](const Expr& expr) { return expr; });
  return result;
}

std::vector<Path> PathsOf(const Function& fn, const std::function<bool(const Block&)>& wanted) {
  std::vector<Path> paths;
  for (const Ref<Block>& block : BlocksOf(fn.body)) {
    if (wanted(*block)) paths.push_back(FindBlock(fn, block->name).value());
  }
  return paths;
}

bool IsUnder(const Path& path, const LoopRef& loop) {
  for (const Ref<For>& above : LoopsOn(path)) {
    if (above->key == loop) return true;
  }
  return false;
}

bool IsParameter(const Function& fn, const Var& buffer) {
  return std::ranges::any_of(fn.params, [&](const Buffer& param) { return param.var == buffer; });
}

Status ExpectVisible(const Function& fn, const Block& block, const Path& loop_path,
                     const std::vector<Var>& except) {
  std::set<const ExprNode*> visible;
  for (const Buffer& param : fn.params) visible.insert(param.var.get());
  for (const Var& var : except) visible.insert(var.get());
  for (const Stmt& stmt : loop_path) {
    if (const auto* allocate = stmt.as<Allocate>()) visible.insert(allocate->buffer.var.get());
  }
  // The loop's own allocations are in its body, where the nest goes.
  Stmt body = LoopAt(loop_path)->body;
  while (const auto* allocate = body.as<Allocate>()) {
    visible.insert(allocate->buffer.var.get());
    body = allocate->body;
  }
  std::vector<Access> accesses = ReadsOf(block);
  for (const Access& write : WritesOf(block)) accesses.push_back(write);
  for (const Access& access : accesses) {
    if (!visible.contains(access.buffer.get())) {
      return InvalidInput("block '{}' uses buffer '{}', which does not live at loop '{}'",
                          block.name, access.buffer->name, LoopAt(loop_path)->key);
    }
    bool placed = !FindBuffer(fn, access.buffer)->window.size.empty();
    if (placed && std::ranges::find(except, access.buffer) == except.end()) {
      return InvalidInput(
          "block '{}' uses buffer '{}', which is placed already; place what uses a buffer before "
          "it",
          block.name, access.buffer->name);
    }
  }
  return OkStatus();
}

}  // namespace tcc
