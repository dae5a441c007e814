#include "schedule/steps/re_index.h"

#include "ir/analysis/accesses.h"
#include "ir/expr/compare.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/interval.h"
#include "ir/simplify/simplify.h"
#include "schedule/analysis/guard.h"
#include "schedule/analysis/moved_value.h"
#include "schedule/steps/copy_nest.h"

namespace tcc {
namespace {

constexpr const char* kStep = "reindex";

struct Plan {
  Ref<Block> block;
  Buffer operand;
  bool written = false;
  std::vector<Expr> indices;   // of the operand, in the block's variables
  std::vector<IterVar> iters;  // those that occur in them
  Expr predicate;              // of the copy: what the block's says about them alone
  bool whole_predicate = true;
};

bool UsesOnly(const Expr& expr, const std::vector<IterVar>& iters) {
  for (const Var& var : VarsOf(expr)) {
    bool known = false;
    for (const IterVar& iter : iters) known = known || iter.var == var;
    if (!known) return false;
  }
  return true;
}

// The terms of a conjunction that use the variables alone.
void KeepTerms(const Expr& predicate, Plan& plan) {
  for (const Expr& term : ConjunctsOf(predicate)) {
    if (!UsesOnly(term, plan.iters)) {
      plan.whole_predicate = false;
    } else if (!IsConstant(term, 1)) {
      plan.predicate = IsConstant(plan.predicate, 1) ? term : BothOf(plan.predicate, term);
    }
  }
}

// Every index lies in the buffer wherever the variables are in their domains.
bool StaysInside(const Plan& plan) {
  Bounds bounds;
  for (const IterVar& iter : plan.iters) {
    int64_t high = BoundsOf(iter.domain, {}).high;
    bounds[iter.var] = {0, high == INT64_MAX ? high : std::max<int64_t>(0, high - 1)};
  }
  for (size_t d = 0; d < plan.indices.size(); ++d) {
    const Expr& index = plan.indices[d];
    bool inside = Prove(Expr(0) <= index, bounds) == Proof::kTrue &&
                  Prove(index < plan.operand.shape[d], bounds) == Proof::kTrue;
    for (const IterVar& iter : plan.iters) {
      inside = inside ||
               (index.same_as(iter.var) && EqualUpToAlgebra(iter.domain, plan.operand.shape[d]));
    }
    if (!inside) return false;
  }
  return true;
}

StatusOr<Plan> MakePlan(const Function& fn, const ReIndex& step) {
  TCC_ASSIGN_OR_RETURN(Path path, FindBlock(fn, step.block));
  Plan plan{BlockAt(path), {}, false, {}, {}, True()};
  TCC_ASSIGN_OR_RETURN(plan.operand, BufferNamed(fn, step.operand));
  const Var& buffer = plan.operand.var;
  plan.written = Writes(*plan.block, buffer);
  std::vector<Access> reads = ReadsOf(*plan.block);
  std::vector<Access> writes = WritesOf(*plan.block);
  const std::vector<Access>& accesses = plan.written ? writes : reads;
  bool found = false;
  for (const Access& access : accesses) {
    if (!(access.buffer == buffer)) continue;
    if (found && !SameField(plan.indices, access.indices)) {
      return InvalidInput("{}: block '{}' accesses several cells of buffer '{}'", kStep, step.block,
                          step.operand);
    }
    plan.indices = access.indices;
    found = true;
  }
  if (!found) {
    return InvalidInput("{}: block '{}' does not access buffer '{}'", kStep, step.block,
                        step.operand);
  }
  for (const IterVar& iter : plan.block->iters) {
    bool used = false;
    for (const Expr& index : plan.indices) used = used || UsesVar(index, iter.var);
    if (used) plan.iters.push_back(iter);
  }
  if (plan.iters.empty()) {
    return InvalidInput("{}: block '{}' accesses one cell of buffer '{}'", kStep, step.block,
                        step.operand);
  }
  // A reduction begins where its predicate does not hold as well.
  bool always_written = plan.written && plan.block->body.as<Reduce>();
  if (!always_written) KeepTerms(plan.block->predicate, plan);
  return plan;
}

Status CheckRead(const Function& fn, const Plan& plan) {
  const std::string& block = plan.block->name;
  if (HasLoad(plan.block->predicate)) {
    return InvalidInput("{}: the predicate of block '{}' depends on data", kStep, block);
  }
  bool as_often = plan.whole_predicate && AlwaysReads(plan.block->body, plan.operand.var);
  if (!as_often && !StaysInside(plan)) {
    return InvalidInput(
        "{}: the indices of buffer '{}' may leave it where block '{}' does not read it", kStep,
        plan.operand.var->name, block);
  }
  if (!as_often) TCC_RETURN_IF_ERROR(ExpectWhole(kStep, fn, plan.operand));
  auto is_reader = [&](const Block& b) { return b.name == block; };
  TCC_RETURN_IF_ERROR(ExpectWrittenBefore(kStep, fn, is_reader, plan.operand.var));
  for (const Expr& index : plan.indices) {
    Status status;
    PreOrder(index, [&](const Expr& expr) {
      const auto* load = expr.as<Load>();
      if (!load || !status.ok()) return;
      status = ExpectUnplaced(*FindBuffer(fn, load->buffer));
      if (status.ok()) status = ExpectWrittenBefore(kStep, fn, is_reader, load->buffer);
    });
    TCC_RETURN_IF_ERROR(status);
  }
  return OkStatus();
}

Status CheckWrite(const Function& fn, const Plan& plan) {
  const std::string& block = plan.block->name;
  const Var& buffer = plan.operand.var;
  if (Reads(*plan.block, buffer)) {
    return InvalidInput("{}: block '{}' reads and writes buffer '{}'", kStep, block, buffer->name);
  }
  TCC_RETURN_IF_ERROR(CellsWritten(kStep, *plan.block, buffer).status());
  TCC_RETURN_IF_ERROR(ExpectOnlyWriter(kStep, fn, block, buffer));
  return ExpectReadAfter(kStep, fn, block, buffer);
}

}  // namespace

StatusOr<Constraints> CheckReIndex(const Function& fn, const ReIndex& step) {
  TCC_ASSIGN_OR_RETURN(Plan plan, MakePlan(fn, step));
  TCC_RETURN_IF_ERROR(ExpectNotTensorized(kStep, FindBlock(fn, step.block).value()));
  TCC_RETURN_IF_ERROR(ExpectFreeName(fn, step.name));
  TCC_RETURN_IF_ERROR(ExpectUnplaced(plan.operand));
  TCC_RETURN_IF_ERROR(ExpectWritableScope(kStep, step.scope));
  TCC_RETURN_IF_ERROR(plan.written ? CheckWrite(fn, plan) : CheckRead(fn, plan));
  return Constraints{};
}

Function ApplyReIndex(const Function& fn, const ReIndex& step) {
  Plan plan = MakePlan(fn, step).value();
  const Var& buffer = plan.operand.var;
  Buffer copy{BufferVar(step.name, plan.operand.dtype()), {}, step.scope, {}, {}, -1, {}};
  Access cell{copy.var, {}};
  for (const IterVar& iter : plan.iters) {
    copy.shape.push_back(iter.domain);
    cell.indices.push_back(iter.var);
  }
  auto change = [&](const Access&) { return cell; };
  Stmt changed = plan.written ? ChangeWrites(Stmt(*plan.block), buffer, change)
                              : ChangeLoads(Stmt(*plan.block), buffer, change);
  Stmt body = Replace(fn.body, plan.block.get(), changed);
  auto accesses = [&](const Stmt& stmt) { return Accesses(stmt, copy.var); };
  Access outside{buffer, plan.indices};
  // A copy that is read has no holes: what copies it in turn reads all of it.
  Expr value = plan.written ? Make<Load>(cell.buffer, cell.indices)
                            : SelectOf(plan.predicate, Make<Load>(buffer, plan.indices),
                                       Const(buffer.dtype(), 0));
  Stmt nest = plan.written ? NestThatStores(step.name, plan.iters, plan.predicate, outside, value)
                           : NestThatStores(step.name, plan.iters, True(), cell, value);
  Function result = fn;
  result.body = MakeStmt<Allocate>(
      copy, InsertBeside(body, accesses, plan.written ? Side::kAfter : Side::kBefore, nest));
  return result;
}

}  // namespace tcc
