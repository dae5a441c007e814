#include "schedule/steps/pad.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir/analysis/accesses.h"
#include "ir/expr/compare.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/interval.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"
#include "schedule/analysis/guard.h"
#include "schedule/analysis/moved_value.h"
#include "schedule/analysis/placement.h"

namespace tcc {
namespace {

// A variable of a block, and the loop that is its whole binding.
struct Axis {
  Ref<Block> block;
  size_t iter = 0;
  Ref<For> loop;
};

struct Plan {
  Axis axis;
  Expr padded;
  std::vector<Axis> copies;                            // the operands' dimensions, where written
  std::map<std::string, std::set<size_t>> dimensions;  // to be padded, by buffer
  Expr (*fill)(DType) = nullptr;
};

// Whether `var` occurs other than in the indices of loads.
bool UsesDirectly(const Expr& expr, const Var& var) {
  if (expr.same_as(var)) return true;
  if (expr.as<Load>()) return false;
  bool found = false;
  ForEachChild(expr, [&](const Expr& child) { found = found || UsesDirectly(child, var); });
  return found;
}

StatusOr<Axis> AxisOf(const Path& path, size_t iter) {
  Ref<Block> block = BlockAt(path);
  const IterVar& var = block->iters[iter];
  for (const Ref<For>& loop : LoopsOn(path)) {
    if (!var.binding.same_as(loop->var)) continue;
    TCC_RETURN_IF_ERROR(ExpectSerial("pad", loop));
    if (BlocksOf(loop->body).size() != 1) {
      return InvalidInput("pad: loop '{}' holds other blocks than '{}'", loop->key, block->name);
    }
    if (EqualUpToAlgebra(loop->extent, var.domain)) return Axis{block, iter, loop};
  }
  return InvalidInput("pad: variable '{}' of block '{}' is no whole loop; pad before splitting",
                      var.var->name, block->name);
}

StatusOr<size_t> IterNamed(const Block& block, const std::string& name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < block.iters.size(); ++i) {
    if (block.iters[i].var->name == name) return i;
    names.push_back(block.iters[i].var->name);
  }
  return InvalidInput("pad: block '{}' has no variable '{}'; it has {}", block.name, name,
                      fmt::join(names, ", "));
}

// The dimensions of `access` whose index is the variable; any other use of it is refused.
StatusOr<std::vector<size_t>> DimensionsOf(const Block& block, const Access& access,
                                           const Var& var) {
  std::vector<size_t> dims;
  for (size_t d = 0; d < access.indices.size(); ++d) {
    if (access.indices[d].same_as(var)) {
      dims.push_back(d);
    } else if (UsesDirectly(access.indices[d], var)) {
      return InvalidInput("pad: index {} of buffer '{}' in block '{}' is more than variable '{}'",
                          d, access.buffer->name, block.name, var->name);
    }
  }
  return dims;
}

// The buffer can grow: it is a copy that is whole, laid out row by row.
Status ExpectGrowing(const Function& fn, const Plan& plan, const Var& var, size_t dim) {
  const Buffer& buffer = *FindBuffer(fn, var);
  if (IsParameter(fn, var)) {
    return InvalidInput("pad: buffer '{}' is a parameter; let block '{}' use a copy", var->name,
                        plan.axis.block->name);
  }
  TCC_RETURN_IF_ERROR(ExpectRemovable("pad", fn, buffer));
  TCC_RETURN_IF_ERROR(ExpectMovable("pad", buffer));
  if (!buffer.window.size.empty()) {
    return InvalidInput("pad: buffer '{}' is placed under a loop already; pad before", var->name);
  }
  if (EqualUpToAlgebra(buffer.shape[dim], plan.axis.block->iters[plan.axis.iter].domain)) {
    return OkStatus();
  }
  return InvalidInput("pad: dimension {} of buffer '{}' is not as long as variable '{}'", dim,
                      var->name, plan.axis.block->iters[plan.axis.iter].var->name);
}

StatusOr<Axis> CopyOf(const Function& fn, const Var& operand, size_t dim) {
  std::vector<Path> writers = PathsOf(fn, [&](const Block& b) { return Writes(b, operand); });
  if (writers.size() != 1) {
    return InvalidInput("pad: buffer '{}' has {} writers; expected one", operand->name,
                        writers.size());
  }
  TCC_RETURN_IF_ERROR(ExpectElementwise("pad", writers[0]));
  Ref<Block> block = BlockAt(writers[0]);
  TCC_ASSIGN_OR_RETURN(std::vector<size_t> order, PlainIndices(*block, WritesOf(*block)[0]));
  return AxisOf(writers[0], order[dim]);
}

Status PlanReads(const Function& fn, Plan& plan) {
  const Block& block = *plan.axis.block;
  const Var& var = block.iters[plan.axis.iter].var;
  for (const Access& read : ReadsOf(block)) {
    TCC_ASSIGN_OR_RETURN(std::vector<size_t> dims, DimensionsOf(block, read, var));
    for (size_t dim : dims) {
      TCC_RETURN_IF_ERROR(ExpectGrowing(fn, plan, read.buffer, dim));
      if (!plan.dimensions[read.buffer->name].insert(dim).second) continue;
      TCC_ASSIGN_OR_RETURN(Axis copy, CopyOf(fn, read.buffer, dim));
      plan.copies.push_back(copy);
    }
  }
  return OkStatus();
}

Status PlanWrites(const Function& fn, Plan& plan) {
  const Block& block = *plan.axis.block;
  for (const Access& write : WritesOf(block)) {
    const Var& var = block.iters[plan.axis.iter].var;
    TCC_ASSIGN_OR_RETURN(std::vector<size_t> dims, DimensionsOf(block, write, var));
    for (size_t dim : dims) {
      TCC_RETURN_IF_ERROR(ExpectGrowing(fn, plan, write.buffer, dim));
      plan.dimensions[write.buffer->name].insert(dim);
    }
    for (const Ref<Block>& other : BlocksOf(fn.body)) {
      if (dims.empty() || other->name == block.name || !Writes(*other, write.buffer)) continue;
      return InvalidInput("pad: block '{}' writes buffer '{}' as well; pad before", other->name,
                          write.buffer->name);
    }
  }
  return OkStatus();
}

// Filled operands may be 0, which divides nothing.
Status ExpectNoDivision(const Block& block) {
  Status status;
  PreOrderExprs(block.body, [&](const Expr& expr) {
    Expr divisor;
    if (const auto* e = expr.as<FloorDiv>()) divisor = e->b;
    if (const auto* e = expr.as<FloorMod>()) divisor = e->b;
    if (const auto* e = expr.as<CeilDiv>()) divisor = e->b;
    if (const auto* e = expr.as<Call>()) {
      if (e->op == ScalarOp::kTruncDiv || e->op == ScalarOp::kTruncMod) divisor = e->args[1];
    }
    if (divisor && HasLoad(divisor)) {
      status = InvalidInput("pad: block '{}' divides by what it reads, which may be 0", block.name);
    }
  });
  return status;
}

Expr Zero(DType dtype) {
  return Const(dtype, 0);
}
Expr One(DType dtype) {
  return Const(dtype, 1);
}
Expr Lowest(DType dtype) {
  return dtype == kBool ? Zero(dtype) : MaxCombiner(dtype)->identities[0];
}
Expr Highest(DType dtype) {
  return dtype == kBool ? One(dtype) : MinCombiner(dtype)->identities[0];
}

constexpr Expr (*kFillings[])(DType) = {Zero, One, Lowest, Highest};

// `input` where the variable is beyond its extent.
Expr Filled(const Expr& input, const Var& var, Expr (*fill)(DType)) {
  auto replace = [&](const Expr& expr) -> Expr {
    const auto* load = expr.as<Load>();
    bool filled = load && std::ranges::any_of(
                              load->indices, [&](const Expr& index) { return index.same_as(var); });
    return filled ? fill(load->dtype) : expr;
  };
  return Simplify(RewriteBottomUp(input, replace));
}

// Returns the value, as a function of the copy's dtype, that pads copies of operands beyond the
// extent of `axis`. Along a spatial variable any value does. Along a reduce variable the value
// makes each input of the reduction the identity of its combiner. Operands are padded where their
// index is the variable itself.
StatusOr<Expr (*)(DType)> FillingFor(const Block& block, const IterVar& axis) {
  if (axis.kind == IterKind::kSpatial) return Zero;
  const auto* reduce = block.body.as<Reduce>();
  if (!reduce) {
    return InvalidInput("pad: variable '{}' of block '{}' runs in order; expected a reduction",
                        axis.var->name, block.name);
  }
  for (Expr (*fill)(DType) : kFillings) {
    bool neutral = true;
    for (size_t e = 0; e < reduce->inputs.size(); ++e) {
      neutral = neutral && Equal(Filled(reduce->inputs[e], axis.var, fill),
                                 Simplify(reduce->combiner->identities[e]));
    }
    if (neutral) return fill;
  }
  return InvalidInput(
      "pad: whatever the operands hold beyond variable '{}', the inputs of reduction '{}' are not "
      "the identity of '{}'",
      axis.var->name, block.name, reduce->combiner->name);
}

StatusOr<Plan> MakePlan(const Function& fn, const Pad& step) {
  TCC_ASSIGN_OR_RETURN(Path path, FindBlock(fn, step.block));
  TCC_RETURN_IF_ERROR(ExpectNotTensorized("pad", path));
  Ref<Block> block = BlockAt(path);
  Plan plan;
  TCC_ASSIGN_OR_RETURN(size_t iter, IterNamed(*block, step.axis));
  TCC_ASSIGN_OR_RETURN(plan.axis, AxisOf(path, iter));
  const IterVar& axis = block->iters[iter];
  plan.padded = CeilDivide(axis.domain, step.multiple) * step.multiple;
  TCC_RETURN_IF_ERROR(PlanReads(fn, plan));
  TCC_RETURN_IF_ERROR(PlanWrites(fn, plan));
  TCC_RETURN_IF_ERROR(ExpectNoDivision(*block));
  TCC_ASSIGN_OR_RETURN(plan.fill, FillingFor(*block, axis));
  return plan;
}

Stmt PadBlock(const Block& block, size_t iter, const Expr& padded, const Stmt& body) {
  std::vector<IterVar> iters = block.iters;
  iters[iter].domain = padded;
  return MakeStmt<Block>(block.name, iters, block.guards, block.predicate, body);
}

}  // namespace

StatusOr<Constraints> CheckPad(const Function& fn, const Pad& step) {
  TCC_RETURN_IF_ERROR(MakePlan(fn, step).status());
  Interval multiple = BoundsOf(step.multiple, {});
  if (multiple.high < 1) {
    return InvalidInput("pad: variable '{}' of block '{}' to a multiple of {}; expected at least 1",
                        step.axis, step.block, Print(step.multiple));
  }
  if (multiple.low >= 1) return Constraints{};
  return Constraints{{Expr(1) - step.multiple, "what is padded to is at least 1"}};
}

Function ApplyPad(const Function& fn, const Pad& step) {
  Plan plan = MakePlan(fn, step).value();
  auto pad = [&](const Stmt& stmt) -> Stmt {
    if (const auto* loop = stmt.as<For>()) {
      bool grows = loop->key == plan.axis.loop->key;
      for (const Axis& copy : plan.copies) grows = grows || loop->key == copy.loop->key;
      return grows ? MakeStmt<For>(loop->var, plan.padded, loop->for_kind, loop->key, loop->body)
                   : stmt;
    }
    if (const auto* allocate = stmt.as<Allocate>()) {
      Buffer buffer = allocate->buffer;
      auto dims = plan.dimensions.find(buffer.var->name);
      if (dims == plan.dimensions.end()) return stmt;
      for (size_t dim : dims->second) buffer.shape[dim] = plan.padded;
      return MakeStmt<Allocate>(buffer, allocate->body);
    }
    const auto* block = stmt.as<Block>();
    if (!block) return stmt;
    Stmt result = stmt;
    for (const Axis& copy : plan.copies) {
      const Block& now = *result.as<Block>();
      if (block->name != copy.block->name) continue;
      const Store& store = *now.body.as<Store>();
      Expr inside = now.iters[copy.iter].var < copy.block->iters[copy.iter].domain;
      Expr value = SelectOf(inside, store.value, plan.fill(store.value.dtype()));
      result = PadBlock(now, copy.iter, plan.padded,
                        MakeStmt<Store>(store.buffer, store.indices, value));
    }
    if (block->name != plan.axis.block->name) return result;
    return PadBlock(*block, plan.axis.iter, plan.padded, block->body);
  };
  Function result = fn;
  result.body = RewriteBottomUp(fn.body, pad, [](const Expr& expr) { return expr; });
  return result;
}

}  // namespace tcc
