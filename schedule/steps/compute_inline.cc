#include "schedule/steps/compute_inline.h"

#include "ir/analysis/accesses.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/moved_value.h"

namespace tcc {
namespace {

constexpr const char* kStep = "compute_inline";

struct Plan {
  Ref<Block> block;
  Stmt nest;
  Var buffer;
  std::vector<size_t> order;  // the block's variables by dimension of the buffer
};

// The block writes all cells that are ever read, and knows the cell by its variables.
StatusOr<Plan> MakePlan(const Function& fn, const ComputeInline& step) {
  TCC_ASSIGN_OR_RETURN(Path path, FindBlock(fn, step.block));
  TCC_RETURN_IF_ERROR(ExpectElementwise(kStep, path));
  Ref<Block> block = BlockAt(path);
  Access write = WritesOf(*block)[0];
  TCC_RETURN_IF_ERROR(ExpectRemovable(kStep, fn, *FindBuffer(fn, write.buffer)));
  for (const Ref<Block>& other : BlocksOf(fn.body)) {
    if (other->name == step.block || !Writes(*other, write.buffer)) continue;
    return InvalidInput("{}: block '{}' writes buffer '{}' as well", kStep, other->name,
                        write.buffer->name);
  }
  TCC_ASSIGN_OR_RETURN(std::vector<size_t> order, PlainIndices(*block, write));
  if (order.size() != block->iters.size()) {
    return InvalidInput("{}: block '{}' has variables that are no index of buffer '{}'", kStep,
                        step.block, write.buffer->name);
  }
  return Plan{block, NestOf(path), write.buffer, order};
}

// The block at the end of `reader` can compute the value instead.
Status CheckReader(const Function& fn, const Plan& plan, const Path& reader) {
  const Block& block = *BlockAt(reader);
  const Buffer& buffer = *FindBuffer(fn, plan.buffer);
  TCC_RETURN_IF_ERROR(ExpectNotTensorized(kStep, reader));
  if (NumberOf(fn, block.name) < NumberOf(fn, plan.block->name)) {
    return InvalidInput("{}: block '{}' reads buffer '{}' before block '{}' writes it", kStep,
                        block.name, buffer.var->name, plan.block->name);
  }
  for (const Access& write : WritesOf(block)) {
    if (!FindBuffer(fn, write.buffer)->versions) continue;
    return InvalidInput("{}: block '{}' copies for a pipeline already", kStep, block.name);
  }
  for (const Access& read : ReadsOf(*plan.block)) {
    TCC_RETURN_IF_ERROR(ExpectReachable(kStep, fn, read.buffer, buffer, reader));
  }
  return OkStatus();
}

}  // namespace

StatusOr<Constraints> CheckComputeInline(const Function& fn, const ComputeInline& step) {
  TCC_ASSIGN_OR_RETURN(Plan plan, MakePlan(fn, step));
  std::vector<Path> readers =
      PathsOf(fn, [&](const Block& block) { return Reads(block, plan.buffer); });
  if (readers.empty()) {
    return InvalidInput("{}: nothing reads buffer '{}'", kStep, plan.buffer->name);
  }
  for (const Path& reader : readers) TCC_RETURN_IF_ERROR(CheckReader(fn, plan, reader));
  TCC_RETURN_IF_ERROR(
      ExpectReadsFinal(kStep, fn, *plan.block, NumberOf(fn, step.block), plan.buffer));
  return Constraints{};
}

Function ApplyComputeInline(const Function& fn, const ComputeInline& step) {
  Plan plan = MakePlan(fn, step).value();
  const Expr& value = plan.block->body.as<Store>()->value;
  auto inlined = [&](const Expr& expr) -> Expr {
    const auto* load = expr.as<Load>();
    if (!load || !(load->buffer == plan.buffer)) return expr;
    Substitution at;
    for (size_t d = 0; d < plan.order.size(); ++d) {
      at.emplace(plan.block->iters[plan.order[d]].var, load->indices[d]);
    }
    return Substitute(value, at);
  };
  Stmt body = Replace(fn.body, plan.nest.get(), Nothing());
  Function result = fn;
  result.body = RewriteExprs(RemoveAllocation(body, plan.buffer), inlined);
  return result;
}

}  // namespace tcc
