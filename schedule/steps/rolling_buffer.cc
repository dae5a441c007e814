#include "schedule/steps/rolling_buffer.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/analysis/affine.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/interval.h"
#include "ir/simplify/simplify.h"
#include "schedule/analysis/guard.h"
#include "schedule/analysis/placement.h"

namespace tcc {
namespace {

struct Plan {
  Buffer buffer;
  Ref<For> loop;  // the buffer is placed in
  Ref<For> rows;  // of the producer, over the window
  Ref<Block> block;
  Stmt nest;     // of the producer
  Expr advance;  // s
};

bool PathTo(const Stmt& stmt, const Var& buffer, Path& path) {
  path.push_back(stmt);
  const auto* allocate = stmt.as<Allocate>();
  if (allocate && allocate->buffer.var == buffer) return true;
  bool found = false;
  ForEachChild(stmt, [&](const Stmt& child) { found = found || PathTo(child, buffer, path); });
  if (!found) path.pop_back();
  return found;
}

StatusOr<Ref<For>> LoopRound(const Function& fn, const Buffer& buffer) {
  Path path;
  if (!PathTo(fn.body, buffer.var, path) || LoopsOn(path).empty() || buffer.window.size.empty()) {
    return InvalidInput("rolling_buffer: buffer '{}' is not placed in a loop", buffer.var->name);
  }
  Ref<For> loop = LoopsOn(path).back();
  TCC_RETURN_IF_ERROR(ExpectSerial("rolling_buffer", loop));
  return loop;
}

StatusOr<Ref<Block>> OnlyWriter(const Function& fn, const Buffer& buffer) {
  std::vector<Path> writers =
      PathsOf(fn, [&](const Block& block) { return Writes(block, buffer.var); });
  if (writers.size() == 1 && WritesOf(*BlockAt(writers[0])).size() == 1) {
    return BlockAt(writers[0]);
  }
  return InvalidInput("rolling_buffer: expected one block that writes buffer '{}' and nothing else",
                      buffer.var->name);
}

// How far the window moves with the loop, in dimension `dim` alone.
StatusOr<Expr> AdvanceOf(const Buffer& buffer, const For& loop, size_t dim) {
  for (size_t d = 0; d < buffer.rank(); ++d) {
    bool moves = d != dim && UsesVar(buffer.window.origin[d], loop.var);
    if (moves || UsesVar(buffer.window.size[d], loop.var)) {
      return InvalidInput("rolling_buffer: dimension {} of buffer '{}' changes with loop '{}' too",
                          d, buffer.var->name, loop.key);
    }
  }
  std::optional<AffineForm> form = ToAffine(buffer.window.origin[dim], {loop.var});
  if (!form || form->vars.empty()) {
    return InvalidInput(
        "rolling_buffer: the window of buffer '{}' does not move with loop '{}' by a constant step "
        "in dimension {}",
        buffer.var->name, loop.key, dim);
  }
  return form->coefficients[0];
}

// The loop that runs over the window's rows, and over nothing else.
StatusOr<Ref<For>> RowsOf(const Path& path, const Buffer& buffer, const Ref<For>& outer,
                          size_t dim) {
  Ref<Block> block = BlockAt(path);
  Expr index = WritesOf(*block)[0].indices[dim];
  for (const Ref<For>& loop : LoopsInside(path, outer->key)) {
    int uses = 0;
    bool over_rows = false;
    for (const IterVar& iter : block->iters) {
      uses += UsesVar(iter.binding, loop->var);
      over_rows = over_rows ||
                  (index.same_as(iter.var) && iter.kind == IterKind::kSpatial &&
                   EqualUpToAlgebra(iter.binding, buffer.window.origin[dim] + Expr(loop->var)));
    }
    bool whole = over_rows && uses == 1 && loop->for_kind == ForKind::kSerial &&
                 EqualUpToAlgebra(loop->extent, buffer.window.size[dim]);
    if (whole) return loop;
  }
  return InvalidInput(
      "rolling_buffer: block '{}' has no serial loop over the window of '{}' in dimension {}; roll "
      "a buffer before its producer's loop is changed",
      block->name, buffer.var->name, dim);
}

Status ExpectVisibleOutside(const Function& fn, const Plan& plan) {
  std::vector<Buffer> inside = DeclaredBuffers([&] {
    Function body = fn;
    body.params.clear();
    body.body = plan.loop->body;
    return body;
  }());
  for (const Access& read : ReadsOf(*plan.block)) {
    for (const Buffer& buffer : inside) {
      if (!(buffer.var == read.buffer) || buffer.var == plan.buffer.var) continue;
      return InvalidInput(
          "rolling_buffer: block '{}' reads buffer '{}', which lives inside loop "
          "'{}'",
          plan.block->name, buffer.var->name, plan.loop->key);
    }
  }
  for (const IterVar& iter : plan.block->iters) {
    bool row = UsesVar(iter.binding, plan.rows->var);
    if (row || !UsesVar(iter.binding, plan.loop->var)) continue;
    return InvalidInput("rolling_buffer: variable '{}' of block '{}' moves with loop '{}'",
                        iter.var->name, plan.block->name, plan.loop->key);
  }
  return OkStatus();
}

StatusOr<Plan> MakePlan(const Function& fn, const RollingBuffer& step) {
  TCC_ASSIGN_OR_RETURN(Buffer buffer, BufferNamed(fn, step.buffer));
  if (buffer.circular >= 0) {
    return InvalidInput("rolling_buffer: buffer '{}' is circular already", step.buffer);
  }
  TCC_RETURN_IF_ERROR(ExpectUnversioned("rolling_buffer", buffer));
  if (step.dim < 0 || step.dim >= static_cast<int64_t>(buffer.rank())) {
    return InvalidInput("rolling_buffer: buffer '{}' has {} dimensions, so none is {}", step.buffer,
                        buffer.rank(), step.dim);
  }
  size_t dim = static_cast<size_t>(step.dim);
  TCC_ASSIGN_OR_RETURN(Ref<For> loop, LoopRound(fn, buffer));
  TCC_ASSIGN_OR_RETURN(Expr advance, AdvanceOf(buffer, *loop, dim));
  TCC_ASSIGN_OR_RETURN(Ref<Block> block, OnlyWriter(fn, buffer));
  Path path = FindBlock(fn, block->name).value();
  TCC_ASSIGN_OR_RETURN(Ref<For> rows, RowsOf(path, buffer, loop, dim));
  Plan plan{buffer, loop, rows, block, NestOf(path), advance};
  TCC_RETURN_IF_ERROR(ExpectWholeNest("rolling_buffer", path));
  TCC_RETURN_IF_ERROR(ExpectVisibleOutside(fn, plan));
  if (IsBlockName(fn, block->name + ".fill")) {
    return InvalidInput("rolling_buffer: the name '{}.fill' is in use", block->name);
  }
  return plan;
}

// The producer's nest with `count` rows, from the one numbered `first` in the window.
Stmt NestOfRows(const Plan& plan, const Expr& first, const Expr& count) {
  Var row = LoopVar(plan.rows->var->name);
  Stmt body = Substitute(plan.rows->body, plan.rows->var, first + Expr(row));
  Stmt rows = MakeStmt<For>(row, count, plan.rows->for_kind, plan.rows->key, body);
  return Replace(plan.nest, plan.rows.get(), rows);
}

// A copy of the nest whose block and loops have names of their own.
Stmt Renamed(const Stmt& nest, const std::string& name) {
  auto rename = [&](const Stmt& stmt) -> Stmt {
    if (const auto* block = stmt.as<Block>()) {
      return MakeStmt<Block>(name, block->iters, block->guards, block->predicate, block->body);
    }
    const auto* loop = stmt.as<For>();
    if (!loop) return stmt;
    return MakeStmt<For>(loop->var, loop->extent, loop->for_kind,
                         name + loop->key.substr(loop->key.find('/')), loop->body);
  };
  return WithFreshVars(RewriteBottomUp(nest, rename, [](const Expr& expr) { return expr; }));
}

}  // namespace

StatusOr<Constraints> CheckRollingBuffer(const Function& fn, const RollingBuffer& step) {
  TCC_ASSIGN_OR_RETURN(Plan plan, MakePlan(fn, step));
  Constraints constraints;
  auto require = [&](const Expr& excess, const char* why) -> Status {
    Interval bounds = BoundsOf(Simplify(excess), {});
    if (bounds.low > 0) {
      return InvalidInput("rolling_buffer: buffer '{}': it does not hold that {}", step.buffer,
                          why);
    }
    if (bounds.high > 0) constraints.push_back({excess, why});
    return OkStatus();
  };
  TCC_RETURN_IF_ERROR(require(Expr(1) - plan.advance, "the window moves on with the loop"));
  TCC_RETURN_IF_ERROR(require(plan.advance - plan.buffer.window.size[static_cast<size_t>(step.dim)],
                              "the window moves by no more than its size"));
  return constraints;
}

Function ApplyRollingBuffer(const Function& fn, const RollingBuffer& step) {
  Plan plan = MakePlan(fn, step).value();
  size_t dim = static_cast<size_t>(step.dim);
  Expr kept = plan.buffer.window.size[dim] - plan.advance;
  Stmt fill = Renamed(Substitute(NestOfRows(plan, Expr(0), kept), plan.loop->var, Expr(0)),
                      plan.block->name + ".fill");
  Stmt loop = RemoveAllocation(
      Replace(Stmt(*plan.loop), plan.nest.get(), NestOfRows(plan, kept, plan.advance)),
      plan.buffer.var);

  Buffer buffer = plan.buffer;
  buffer.circular = static_cast<int>(dim);
  buffer.window.origin[dim] = Substitute(buffer.window.origin[dim], plan.loop->var, Expr(0));
  Function result = fn;
  result.body = Replace(fn.body, plan.loop.get(), MakeStmt<Allocate>(buffer, SeqOf({fill, loop})));
  return result;
}

}  // namespace tcc
