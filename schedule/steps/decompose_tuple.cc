#include "schedule/steps/decompose_tuple.h"

#include "ir/expr/substitute.h"
#include "schedule/analysis/guard.h"
#include "schedule/analysis/region.h"
#include "schedule/steps/tuple_update.h"

namespace tcc {
namespace {

struct Plan {
  ReductionNest found;
  std::vector<TupleGroup> groups;
  // The loops of the nest. `common`: those around all groups, down to the innermost loop of the
  // reduction. `before`: how many of them precede its outermost loop. `inner`: the loops that each
  // group gets copies of.
  std::vector<Ref<For>> common;
  size_t before = 0;
  std::vector<Ref<For>> inner;
  OldValues old;
};

// Moves the loops that some group lacks inside, after the loops that are inside already.
void SortLoops(Plan& plan) {
  const Block& block = *plan.found.block;
  std::vector<Ref<For>> moved;
  size_t last_reduce = 0;
  for (const Ref<For>& loop : plan.found.loops) {
    bool lacking = IsLacking(*loop, block, plan.groups[0]);
    (lacking ? moved : plan.common).push_back(loop);
    if (RoleOf(*loop, block) != LoopRole::kReduce) continue;
    if (last_reduce == 0) plan.before = plan.common.size() - 1;
    last_reduce = plan.common.size();
  }
  plan.inner.assign(plan.common.begin() + static_cast<std::ptrdiff_t>(last_reduce),
                    plan.common.end());
  plan.common.resize(last_reduce);
  plan.inner.insert(plan.inner.end(), moved.begin(), moved.end());
}

Status ExpectNames(const Function& fn, const Plan& plan) {
  for (const TupleGroup& group : plan.groups) {
    if (group.name != plan.found.block->name) {
      TCC_RETURN_IF_ERROR(ExpectFree("decompose_tuple", fn, group.name));
    }
    TCC_RETURN_IF_ERROR(ExpectFree("decompose_tuple", fn, group.name + ".init"));
  }
  for (const Buffer& buffer : plan.old.buffers) {
    TCC_RETURN_IF_ERROR(ExpectFree("decompose_tuple", fn, buffer.var->name));
  }
  return OkStatus();
}

// Places old values in the innermost loop of the reduction: they are live while the `inner` loops
// run.
Status PlaceOldValues(Plan& plan) {
  for (Buffer& buffer : plan.old.buffers) {
    size_t e = 0;
    while (!(plan.old.of_element[e] == buffer.var)) ++e;
    TCC_ASSIGN_OR_RETURN(
        Box box, RegionOf(*plan.found.block, plan.found.reduce->outputs[e],
                          MovingWithThreads(plan.inner, plan.found, plan.common, buffer.scope)));
    buffer.window = {box.origin, box.size};
  }
  return OkStatus();
}

StatusOr<Plan> MakePlan(const Function& fn, const DecomposeTuple& step) {
  Plan plan;
  TCC_ASSIGN_OR_RETURN(plan.found, FindReduction("decompose_tuple", fn, step.block));
  if (UnsharedAxes(*plan.found.block).empty()) {
    return InvalidInput("decompose_tuple: the outputs of block '{}' have the same axes",
                        step.block);
  }
  if (plan.found.reduce->init == ReduceInit::kDecomposed) {
    return InvalidInput("decompose_tuple: block '{}' is decomposed already", step.block);
  }
  TCC_ASSIGN_OR_RETURN(plan.groups, GroupsOf("decompose_tuple", plan.found));
  TCC_RETURN_IF_ERROR(CheckLoops("decompose_tuple", plan.found, plan.groups));
  SortLoops(plan);
  if (plan.common.empty()) {
    return InvalidInput("decompose_tuple: block '{}' has no loop of its reduction", step.block);
  }
  for (const Ref<For>& loop : plan.common) {
    if (loop->for_kind == ForKind::kVectorized) {
      return InvalidInput("decompose_tuple: loop '{}' is vectorized", loop->key);
    }
  }
  TCC_RETURN_IF_ERROR(ExpectOutsideVectors("decompose_tuple", PathAbove(plan.found)));
  TCC_RETURN_IF_ERROR(ExpectOutsidePipelines("decompose_tuple", PathAbove(plan.found)));
  plan.old = OldValuesOf(fn, plan.found, plan.groups);
  TCC_RETURN_IF_ERROR(ExpectNames(fn, plan));
  TCC_RETURN_IF_ERROR(PlaceOldValues(plan));
  return plan;
}

Stmt UpdateNest(const Plan& plan, const TupleGroup& group) {
  const Block& block = *plan.found.block;
  Stmt update = MakeStmt<Block>(
      group.name, ItersOfGroup(block, group), GuardsOfGroup(plan.found, group), block.predicate,
      UpdateOfGroup(*plan.found.reduce, group, plan.old, plan.found.reduce->inputs));
  return CopiesRound(LoopsOfGroup(plan.inner, block, group), group.name, update);
}

}  // namespace

StatusOr<Constraints> CheckDecomposeTuple(const Function& fn, const DecomposeTuple& step) {
  TCC_RETURN_IF_ERROR(MakePlan(fn, step).status());
  return Constraints{};
}

Function ApplyDecomposeTuple(const Function& fn, const DecomposeTuple& step) {
  Plan plan = MakePlan(fn, step).value();
  std::vector<Ref<For>> initialised(plan.common.begin() + static_cast<std::ptrdiff_t>(plan.before),
                                    plan.common.end());
  initialised.insert(initialised.end(), plan.inner.begin(), plan.inner.end());
  std::vector<Stmt> nests;
  std::vector<Stmt> updates;
  for (const TupleGroup& group : plan.groups) {
    nests.push_back(InitOfGroup(plan.found, group, initialised));
    updates.push_back(UpdateNest(plan, group));
  }
  Stmt body = SeqOf(updates);
  for (size_t i = plan.old.buffers.size(); i-- > 0;) {
    body = MakeStmt<Allocate>(plan.old.buffers[i], body);
  }
  std::span<const Ref<For>> common = plan.common;
  nests.push_back(InLoops(common.subspan(plan.before), body));
  Function result = fn;
  result.body =
      Replace(fn.body, plan.found.nest.get(), InLoops(common.first(plan.before), SeqOf(nests)));
  return result;
}

}  // namespace tcc
