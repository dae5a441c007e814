#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/expr/compare.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "schedule/analysis/guard.h"
#include "schedule/analysis/moved_value.h"
#include "schedule/steps/compute_inline.h"

namespace tcc {
namespace {

constexpr const char* kStep = "reverse_compute_inline";

struct Plan {
  Ref<Block> block;
  Path path;
  Buffer operand;
  Buffer target;
  std::vector<size_t> order;  // the block's variables by the operand's dimensions
  std::vector<Path> writers;  // of the operand
  // The extra operand that a reduction takes in, if any.
  Expr extra;
};

// Returns the buffer, among those that the block reads and another block writes, that is written
// last: all others must be ready before.
StatusOr<Var> OperandOf(const Function& fn, const Block& block) {
  Var operand;
  for (const Ref<Block>& writer : BlocksOf(fn.body)) {
    for (const Access& write : WritesOf(*writer)) {
      if (writer->name != block.name && Reads(block, write.buffer)) operand = write.buffer;
    }
  }
  if (operand.get()) return operand;
  return InvalidInput("{}: block '{}' reads nothing that another block writes", kStep, block.name);
}

// Checks that the block, whose extents are the buffer's, reads `operand` at exactly its variables.
StatusOr<std::vector<size_t>> ExpectWholeRead(const Block& block, const Buffer& operand) {
  std::optional<Access> read;
  for (const Access& access : ReadsOf(block)) {
    if (!(access.buffer == operand.var)) continue;
    if (read && !SameField(read->indices, access.indices)) {
      return InvalidInput("{}: block '{}' reads several cells of buffer '{}'", kStep, block.name,
                          operand.var->name);
    }
    read = access;
  }
  TCC_ASSIGN_OR_RETURN(std::vector<size_t> order, PlainIndices(block, *read));
  bool whole = order.size() == block.iters.size();
  for (size_t d = 0; d < order.size(); ++d) {
    whole = whole && EqualUpToAlgebra(operand.shape[d], block.iters[order[d]].domain);
  }
  if (whole) return order;
  return InvalidInput("{}: the domain of block '{}' is not the shape of buffer '{}'", kStep,
                      block.name, operand.var->name);
}

// Returns h if `value` is the combiner of `operand`'s cell and h.
std::optional<Expr> ExtraOperand(const Combiner& combiner, const Expr& value, const Var& operand) {
  Expr cell;
  std::vector<Expr> others;
  PreOrder(value, [&](const Expr& expr) {
    const auto* load = expr.as<Load>();
    if (load && load->buffer == operand) cell = expr;
    others.push_back(expr);
  });
  if (combiner.arity() != 1 || !cell) return std::nullopt;
  for (const Expr& other : others) {
    if (Reads(other, operand) || other.dtype() != cell.dtype()) continue;
    if (Equal(Combine(combiner, {cell}, {other})[0], value) ||
        Equal(Combine(combiner, {other}, {cell})[0], value)) {
      return other;
    }
  }
  return std::nullopt;
}

// Returns whether the block passes on its operand unchanged.
bool IsCopy(const Plan& plan) {
  const auto* load = plan.block->body.as<Store>()->value.as<Load>();
  return load && load->buffer == plan.operand.var;
}

// Checks that the writers can store the block's results in place of theirs.
Status CheckWriters(Plan& plan) {
  const std::string& name = plan.operand.var->name;
  for (const Path& writer : plan.writers) {
    TCC_RETURN_IF_ERROR(ExpectNotTensorized(kStep, writer));
  }
  if (IsCopy(plan)) return OkStatus();
  if (plan.writers.size() == 1 && !BlockAt(plan.writers[0])->body.as<Reduce>()) {
    return ExpectElementwise(kStep, plan.writers[0]);
  }
  const Path& last = plan.writers.back();
  const auto* reduce = BlockAt(last)->body.as<Reduce>();
  if (plan.writers.size() > 2 || !reduce) {
    return InvalidInput("{}: buffer '{}' has {} writers", kStep, name, plan.writers.size());
  }
  if (reduce->init != ReduceInit::kDecomposed || plan.writers.size() != 2) {
    return InvalidInput("{}: block '{}' is a reduction; decompose it first", kStep,
                        BlockAt(last)->name);
  }
  TCC_RETURN_IF_ERROR(ExpectElementwise(kStep, plan.writers[0]));
  const Expr& value = plan.block->body.as<Store>()->value;
  std::optional<Expr> extra = ExtraOperand(reduce->combiner, value, plan.operand.var);
  if (!extra) {
    return InvalidInput(
        "{}: block '{}' does more to the result of reduction '{}' than combine it with one value "
        "by "
        "'{}'",
        kStep, plan.block->name, BlockAt(last)->name, reduce->combiner->name);
  }
  plan.extra = *extra;
  return OkStatus();
}

// Returns the number of the first block that is in a loop around `writer` but not around `path`, or
// of the writer itself: later blocks may run after the value is computed.
size_t FirstBeside(const Function& fn, const Path& writer, const Path& path) {
  size_t split = 0;
  while (writer[split].same_as(path[split])) ++split;
  return NumberOf(fn, BlocksOf(writer[split])[0]->name);
}

// Checks that the block's reads and writes can move to where its operand is written.
Status CheckMove(const Function& fn, const Plan& plan) {
  size_t own = NumberOf(fn, plan.block->name);
  size_t first = own;
  for (const Path& writer : plan.writers) {
    const std::string& name = BlockAt(writer)->name;
    if (NumberOf(fn, name) > own) {
      return InvalidInput("{}: block '{}' writes buffer '{}' after block '{}' reads it", kStep,
                          name, plan.operand.var->name, plan.block->name);
    }
    first = std::min(first, FirstBeside(fn, writer, plan.path));
    for (const Access& read : ReadsOf(*plan.block)) {
      if (read.buffer == plan.operand.var) continue;
      TCC_RETURN_IF_ERROR(ExpectReachable(kStep, fn, read.buffer, plan.operand, writer));
    }
    TCC_RETURN_IF_ERROR(ExpectReachable(kStep, fn, plan.target.var, plan.operand, writer));
    for (const LoopGuard& guard : plan.block->guards) {
      for (const Ref<For>& loop : LoopsOn(writer)) {
        if (!UsesVar(guard.value, loop->var)) continue;
        return InvalidInput(
            "{}: a split inside loop '{}' leaves part of block '{}' undone; inline it before",
            kStep, loop->key, plan.block->name);
      }
    }
  }
  TCC_RETURN_IF_ERROR(ExpectReadsFinal(kStep, fn, *plan.block, first, plan.operand.var));
  std::vector<Ref<Block>> blocks = BlocksOf(fn.body);
  for (size_t i = first; i < own; ++i) {
    if (!Accesses(*blocks[i], plan.target.var)) continue;
    return InvalidInput("{}: block '{}' accesses buffer '{}' before block '{}' writes it", kStep,
                        blocks[i]->name, plan.target.var->name, plan.block->name);
  }
  return OkStatus();
}

StatusOr<Plan> MakePlan(const Function& fn, const ReverseComputeInline& step) {
  Plan plan;
  TCC_ASSIGN_OR_RETURN(plan.path, FindBlock(fn, step.block));
  TCC_RETURN_IF_ERROR(ExpectElementwise(kStep, plan.path));
  plan.block = BlockAt(plan.path);
  TCC_ASSIGN_OR_RETURN(Var operand, OperandOf(fn, *plan.block));
  plan.operand = *FindBuffer(fn, operand);
  TCC_RETURN_IF_ERROR(ExpectRemovable(kStep, fn, plan.operand));
  TCC_ASSIGN_OR_RETURN(plan.order, ExpectWholeRead(*plan.block, plan.operand));
  for (const Path& reader : PathsOf(fn, [&](const Block& b) { return Reads(b, operand); })) {
    if (BlockAt(reader)->name == step.block) continue;
    return InvalidInput("{}: block '{}' reads buffer '{}' as well", kStep, BlockAt(reader)->name,
                        operand->name);
  }
  plan.writers = PathsOf(fn, [&](const Block& b) { return Writes(b, operand); });
  const auto* store = plan.block->body.as<Store>();
  plan.target = *FindBuffer(fn, store->buffer);
  bool placed = !plan.target.window.size.empty() || plan.target.versions;
  if (placed) {
    return InvalidInput("{}: buffer '{}' is placed already; inline what writes it before", kStep,
                        store->buffer->name);
  }
  TCC_RETURN_IF_ERROR(ExpectNotPrepacked(kStep, plan.target));
  TCC_RETURN_IF_ERROR(CheckWriters(plan));
  return plan;
}

// Rewrites the writers of the operand to store the block's results.
class Follower {
 public:
  explicit Follower(const Plan& plan) : plan_(plan), store_(*plan.block->body.as<Store>()) {}

  Stmt Rewrite(const Stmt& stmt) const {
    if (const auto* store = stmt.as<Store>(); store && store->buffer == plan_.operand.var) {
      return MakeStmt<Store>(store_.buffer, Target(store->indices), ValueOf(*store));
    }
    const auto* reduce = stmt.as<Reduce>();
    if (!reduce) return stmt;
    std::vector<Access> outputs = reduce->outputs;
    for (Access& output : outputs) {
      if (output.buffer == plan_.operand.var) output = {store_.buffer, Target(output.indices)};
    }
    return MakeStmt<Reduce>(reduce->combiner, outputs, reduce->inputs, reduce->init);
  }

 private:
  Substitution At(const std::vector<Expr>& indices) const {
    Substitution at;
    for (size_t d = 0; d < plan_.order.size(); ++d) {
      at.emplace(plan_.block->iters[plan_.order[d]].var, indices[d]);
    }
    return at;
  }

  std::vector<Expr> Target(const std::vector<Expr>& indices) const {
    std::vector<Expr> target;
    for (const Expr& index : store_.indices) target.push_back(Substitute(index, At(indices)));
    return target;
  }

  // Returns the value stored for `cell` of the operand, or the initial value of the reduction.
  Expr ValueOf(const Store& cell) const {
    if (plan_.extra) return Begin(cell);
    return RewriteBottomUp(Substitute(store_.value, At(cell.indices)), [&](const Expr& expr) {
      const auto* load = expr.as<Load>();
      return load && load->buffer == plan_.operand.var ? cell.value : expr;
    });
  }

  Expr Begin(const Store& cell) const {
    Combiner combiner = BlockAt(plan_.writers.back())->body.as<Reduce>()->combiner;
    Expr extra = Substitute(plan_.extra, At(cell.indices));
    if (Equal(cell.value, combiner->identities[0])) return extra;
    return Combine(combiner, {cell.value}, {extra})[0];
  }

  const Plan& plan_;
  const Store& store_;
};

}  // namespace

StatusOr<Constraints> CheckReverseComputeInline(const Function& fn,
                                                const ReverseComputeInline& step) {
  TCC_ASSIGN_OR_RETURN(Plan plan, MakePlan(fn, step));
  for (const Expr& index : plan.block->body.as<Store>()->indices) {
    if (HasLoad(index)) {
      return InvalidInput("{}: where block '{}' writes depends on data", kStep, step.block);
    }
  }
  TCC_RETURN_IF_ERROR(CheckMove(fn, plan));
  return Constraints{};
}

Function ApplyReverseComputeInline(const Function& fn, const ReverseComputeInline& step) {
  Plan plan = MakePlan(fn, step).value();
  Follower follower(plan);
  Stmt body = Replace(fn.body, NestOf(plan.path).get(), Nothing());
  body = RewriteBottomUp(
      body, [&](const Stmt& stmt) { return follower.Rewrite(stmt); },
      [](const Expr& expr) { return expr; });
  Function result = fn;
  result.body = RemoveAllocation(body, plan.operand.var);
  return result;
}

}  // namespace tcc
