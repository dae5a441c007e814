#include "schedule/steps/compute_inline.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/moved_value.h"
#include "support/check.h"

namespace tcc {
namespace {

constexpr const char* kStep = "compute_inline";

struct Plan {
  Ref<Block> block;
  Stmt nest;
  Var buffer;
  std::vector<size_t> order;  // the block's variables by dimension of the buffer
};

// A rank of scopes: the more threads share a cell, the higher.
int WidthOf(Scope scope) {
  switch (scope) {
    case Scope::kLocal:
      return 0;
    case Scope::kWarp:
      return 1;
    case Scope::kShared:
      return 2;
    case Scope::kGlobal:
    case Scope::kConstant:
      return 3;
  }
  TCC_UNREACHABLE();
}

bool HasThreads(const Function& fn) {
  return Contains(fn.body, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    return loop && (IsThreadIdx(loop->for_kind) || loop->for_kind == ForKind::kVthread);
  });
}

bool LivesOn(const Function& fn, const Var& buffer, const Path& path) {
  return IsParameter(fn, buffer) || std::ranges::any_of(path, [&](const Stmt& stmt) {
           const auto* allocate = stmt.as<Allocate>();
           return allocate && allocate->buffer.var == buffer;
         });
}

// Returns the block's number in execution order.
size_t NumberOf(const Function& fn, const std::string& block) {
  std::vector<Ref<Block>> blocks = BlocksOf(fn.body);
  size_t number = 0;
  while (number < blocks.size() && blocks[number]->name != block) ++number;
  return number;
}

// Checks that `buffer` is live where `path` ends, and that all threads that share `through` share
// `buffer` too: after the move, another thread may access it.
Status ExpectReachable(const Function& fn, const Var& buffer, const Buffer& through,
                       const Path& path) {
  const Buffer& declared = *FindBuffer(fn, buffer);
  const std::string& block = BlockAt(path)->name;
  if (!LivesOn(fn, buffer, path)) {
    return InvalidInput("{}: buffer '{}' does not live where block '{}' stands", kStep,
                        buffer->name, block);
  }
  if (declared.circular >= 0) {
    return InvalidInput("{}: buffer '{}' is circular; block '{}' may come too late for its rows",
                        kStep, buffer->name, block);
  }
  if (WidthOf(declared.scope) < WidthOf(through.scope) && HasThreads(fn)) {
    return InvalidInput("{}: buffer '{}' is {}, but '{}' is {}: another thread may run block '{}'",
                        kStep, buffer->name, ToString(declared.scope), through.var->name,
                        ToString(through.scope), block);
  }
  return OkStatus();
}

// Checks that no block that runs after `block` writes a buffer that it reads.
Status ExpectReadsFinal(const Function& fn, const Block& block) {
  std::vector<Ref<Block>> blocks = BlocksOf(fn.body);
  for (size_t i = NumberOf(fn, block.name); i < blocks.size(); ++i) {
    for (const Access& read : ReadsOf(block)) {
      if (!Writes(*blocks[i], read.buffer)) continue;
      return InvalidInput("{}: block '{}' reads buffer '{}', which block '{}' writes too late",
                          kStep, block.name, read.buffer->name, blocks[i]->name);
    }
  }
  return OkStatus();
}

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
    TCC_RETURN_IF_ERROR(ExpectReachable(fn, read.buffer, buffer, reader));
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
  TCC_RETURN_IF_ERROR(ExpectReadsFinal(fn, *plan.block));
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
