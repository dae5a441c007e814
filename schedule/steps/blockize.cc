#include "schedule/steps/blockize.h"

#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/guard.h"
#include "schedule/analysis/tensor_reading.h"
#include "schedule/steps/copy_nest.h"

namespace tcc {

StatusOr<Constraints> CheckBlockize(const Function& fn, const Blockize& step) {
  TCC_ASSIGN_OR_RETURN(Path path, FindLoop(fn, step.loop));
  for (const Stmt& stmt : path) {
    if (const auto* block = stmt.as<Block>()) {
      return InvalidInput("blockize: loop '{}' is inside block '{}' already", step.loop,
                          block->name);
    }
    if (const auto* call = stmt.as<IntrinsicCall>()) {
      return InvalidInput("blockize: loop '{}' is in intrinsic '{}'", step.loop, call->intrinsic);
    }
  }
  TCC_ASSIGN_OR_RETURN(LoopNest nest, LoopNestFrom("blockize", path.back(), step.loop));
  if (!BlocksOf(nest.block->body).empty()) {
    return InvalidInput("blockize: block '{}' at loop '{}' holds a nest already", nest.block->name,
                        step.loop);
  }
  for (const Ref<For>& loop : LoopsOn(path)) {
    if (IsInOrder(loop->for_kind) || !Feeds(*loop, *nest.block, IterKind::kReduce)) continue;
    return InvalidInput(
        "blockize: loop '{}' of the reduction of block '{}' is {}; expected one in order",
        loop->key, nest.block->name, ToString(loop->for_kind));
  }
  if (IsBlockName(fn, step.name) || step.name.empty()) {
    return InvalidInput("blockize: the name '{}' for a block is empty or in use", step.name);
  }
  return Constraints{};
}

Function ApplyBlockize(const Function& fn, const Blockize& step) {
  Path path = FindLoop(fn, step.loop).value();
  Ref<For> nest = LoopAt(path);
  Ref<Block> block = LoopNestFrom("blockize", path.back(), step.loop)->block;
  std::vector<IterVar> iters;
  Substitution inside;
  path.pop_back();
  for (const Ref<For>& loop : LoopsOn(path)) {
    if (!UsesVar(Stmt(*nest), loop->var)) continue;
    bool reduces = Feeds(*loop, *block, IterKind::kReduce);
    Var iter = IterationVar(loop->var->name);
    iters.push_back(
        {iter, reduces ? IterKind::kReduce : IterKind::kSpatial, loop->var, loop->extent});
    inside.emplace(loop->var, iter);
  }
  Stmt outer = MakeStmt<Block>(step.name, iters, std::vector<LoopGuard>{}, True(),
                               Substitute(Stmt(*nest), inside));
  Function result = fn;
  result.body = Replace(fn.body, nest.get(), outer);
  return result;
}

}  // namespace tcc
