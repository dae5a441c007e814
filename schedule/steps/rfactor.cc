#include "schedule/steps/rfactor.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/guard.h"
#include "schedule/analysis/reduction_nest.h"
#include "schedule/analysis/region.h"

namespace tcc {
namespace {

struct Plan {
  ReductionNest found;
  Ref<For> loop;
  std::vector<Ref<For>> spatial;  // of the nest, without `loop`
  std::vector<Ref<For>> reducing;
  Var partial;  // p of the partial block
  std::vector<Buffer> buffers;
  Ref<Block> block;  // the partial one
};

std::vector<Expr> WithIndex(std::vector<Expr> list, int64_t axis, const Expr& index) {
  list.insert(axis < 0 ? list.end() : list.begin() + axis, index);
  return list;
}

// A name that no iteration variable of the block has.
std::string FreeIterName(const Block& block) {
  auto taken = [&](const std::string& name) {
    return std::ranges::any_of(block.iters,
                               [&](const IterVar& iter) { return iter.var->name == name; });
  };
  std::string name = "p";
  for (int suffix = 1; taken(name); ++suffix) name = "p" + std::to_string(suffix);
  return name;
}

Status ExpectNames(const Function& fn, const RFactor& step, const Reduce& reduce) {
  TCC_RETURN_IF_ERROR(ExpectFree("rfactor", fn, step.name));
  TCC_RETURN_IF_ERROR(ExpectFree("rfactor", fn, step.name + ".init"));
  if (reduce.init == ReduceInit::kFirstInstance) {
    TCC_RETURN_IF_ERROR(ExpectFree("rfactor", fn, step.block + ".init"));
  }
  for (size_t e = 0; e < reduce.outputs.size(); ++e) {
    TCC_RETURN_IF_ERROR(ExpectFree("rfactor", fn, PartialName(step.name, reduce, e)));
    int64_t rank = static_cast<int64_t>(reduce.outputs[e].indices.size());
    if (step.axis < -1 || step.axis > rank) {
      return InvalidInput("rfactor: dimension {} of '{}'; expected -1 to {}", step.axis,
                          reduce.outputs[e].buffer->name, rank);
    }
  }
  return OkStatus();
}

// Refuses a loop whose extent can be no buffer's size: it uses a loop of the nest or above the
// nest.
Status ExpectFixedExtent(const For& loop, const ReductionNest& found) {
  for (const auto* loops : {&found.above, &found.loops}) {
    for (const Ref<For>& other : *loops) {
      if (!UsesVar(loop.extent, other->var)) continue;
      return InvalidInput("rfactor: the extent of loop '{}' depends on loop '{}'", loop.key,
                          other->key);
    }
  }
  return OkStatus();
}

// Sorts the loops of the nest; the loop to factor is one that reduces.
Status SortLoops(const RFactor& step, Plan& plan) {
  for (const Ref<For>& loop : plan.found.loops) {
    bool reduces = RoleOf(*loop, *plan.found.block) == LoopRole::kReduce;
    if (reduces) plan.reducing.push_back(loop);
    if (!reduces) plan.spatial.push_back(loop);
    if (loop->key == step.loop) plan.loop = loop;
  }
  if (!plan.loop) {
    return InvalidInput("rfactor: loop '{}' does not go round block '{}' alone", step.loop,
                        step.block);
  }
  if (RoleOf(*plan.loop, *plan.found.block) != LoopRole::kReduce) {
    return InvalidInput("rfactor: loop '{}' feeds no reduce variable of block '{}'", step.loop,
                        step.block);
  }
  return ExpectFixedExtent(*plan.loop, plan.found);
}

Ref<Block> PartialBlock(const RFactor& step, const Plan& plan) {
  const Block& block = *plan.found.block;
  std::vector<IterVar> iters = block.iters;
  auto first_reduce = std::ranges::find_if(
      iters, [](const IterVar& iter) { return iter.kind == IterKind::kReduce; });
  iters.insert(first_reduce, {plan.partial, IterKind::kSpatial, plan.loop->var, plan.loop->extent});
  std::vector<Access> outputs;
  for (size_t e = 0; e < plan.buffers.size(); ++e) {
    const Access& output = plan.found.reduce->outputs[e];
    outputs.push_back({plan.buffers[e].var, WithIndex(output.indices, step.axis, plan.partial)});
  }
  Stmt leaf = MakeStmt<Reduce>(plan.found.reduce->combiner, outputs, plan.found.reduce->inputs,
                               ReduceInit::kDecomposed);
  return BlockAt({MakeStmt<Block>(step.name, iters, block.guards, block.predicate, leaf)});
}

// Gives each buffer its window: the cells that the partial block writes while the loops of the nest
// run. A buffer that is allocated at the root, where no loop is above, gets none. Error: an index
// that is not affine in the loops.
Status PlaceBuffers(Plan& plan) {
  if (plan.found.above.empty()) return OkStatus();
  std::vector<Access> writes = WritesOf(*plan.block);
  for (size_t e = 0; e < plan.buffers.size(); ++e) {
    Buffer& buffer = plan.buffers[e];
    TCC_ASSIGN_OR_RETURN(
        Box box, RegionOf(*plan.block, writes[e],
                          MovingWithThreads(plan.found.loops, plan.found, {}, buffer.scope)));
    buffer.window = {box.origin, box.size};
  }
  return OkStatus();
}

StatusOr<Plan> MakePlan(const Function& fn, const RFactor& step) {
  TCC_ASSIGN_OR_RETURN(Path loop_path, FindLoop(fn, step.loop));
  TCC_RETURN_IF_ERROR(ExpectSerial("rfactor", LoopAt(loop_path)));
  Plan plan;
  TCC_ASSIGN_OR_RETURN(plan.found, FindReduction("rfactor", fn, step.block));
  const Reduce& reduce = *plan.found.reduce;
  TCC_RETURN_IF_ERROR(ExpectSharedAxes("rfactor", *plan.found.block));
  TCC_RETURN_IF_ERROR(SortLoops(step, plan));
  TCC_RETURN_IF_ERROR(ExpectNames(fn, step, reduce));
  TCC_RETURN_IF_ERROR(ExpectOutsideVectors("rfactor", PathAbove(plan.found)));
  TCC_RETURN_IF_ERROR(ExpectOutsidePipelines("rfactor", PathAbove(plan.found)));

  plan.partial = IterationVar(FreeIterName(*plan.found.block));
  for (size_t e = 0; e < reduce.outputs.size(); ++e) {
    Buffer output = *FindBuffer(fn, reduce.outputs[e].buffer);
    plan.buffers.push_back({BufferVar(PartialName(step.name, reduce, e), output.dtype()),
                            WithIndex(output.shape, step.axis, plan.loop->extent),
                            step.scope,
                            {},
                            {},
                            -1,
                            {}});
  }
  plan.block = PartialBlock(step, plan);
  TCC_RETURN_IF_ERROR(PlaceBuffers(plan));
  return plan;
}

// The combination of the partial results: the block under its own name.
Stmt FinalNest(const RFactor& step, const Plan& plan) {
  Var partial = IterationVar(plan.partial->name);
  const Reduce& reduce = *plan.found.reduce;
  std::vector<IterVar> iters = SpatialIters(*plan.found.block);
  iters.push_back({partial, IterKind::kReduce, plan.loop->var, plan.loop->extent});
  std::vector<Expr> inputs;
  for (size_t e = 0; e < plan.buffers.size(); ++e) {
    inputs.push_back(
        MakeLoad(plan.buffers[e].var, WithIndex(reduce.outputs[e].indices, step.axis, partial)));
  }
  Stmt leaf = MakeStmt<Reduce>(reduce.combiner, reduce.outputs, inputs, ReduceInit::kDecomposed);
  Stmt block = MakeStmt<Block>(step.block, iters, GuardsWithout(*plan.found.block, plan.reducing),
                               True(), leaf);
  std::vector<Ref<For>> loops = plan.spatial;
  loops.push_back(plan.loop);
  return CopiesRound(loops, step.block, block);
}

Stmt InitNest(const std::string& name, const Plan& plan, const Block& block,
              const std::vector<Ref<For>>& loops) {
  const Reduce& reduce = *block.body.as<Reduce>();
  return CopiesRound(loops, name,
                     IdentityBlock(name, SpatialIters(block), GuardsWithout(block, plan.reducing),
                                   reduce, AllElements(reduce.combiner)));
}

Stmt AllocateRound(const std::vector<Buffer>& buffers, Stmt body) {
  for (size_t i = buffers.size(); i-- > 0;) body = MakeStmt<Allocate>(buffers[i], body);
  return body;
}

// Returns `root` with the nest replaced by `nests` and the buffers allocated: at the root if no
// loop is above the nest, else around `nests`.
Stmt WithNests(const Stmt& root, const Plan& plan, const Stmt& nests) {
  const Stmt& nest = plan.found.nest;
  if (plan.found.above.empty()) {
    return AllocateRound(plan.buffers, Replace(root, nest.get(), nests));
  }
  return Replace(root, nest.get(), AllocateRound(plan.buffers, nests));
}

}  // namespace

StatusOr<Constraints> CheckRFactor(const Function& fn, const RFactor& step) {
  TCC_RETURN_IF_ERROR(MakePlan(fn, step).status());
  return Constraints{};
}

Function ApplyRFactor(const Function& fn, const RFactor& step) {
  Plan plan = MakePlan(fn, step).value();
  std::vector<Ref<For>> cells;  // the loops over the partial results, in their order
  for (const Ref<For>& loop : plan.found.loops) {
    bool reduces = RoleOf(*loop, *plan.found.block) == LoopRole::kReduce;
    if (!reduces || loop->key == step.loop) cells.push_back(loop);
  }
  std::vector<Stmt> nests = {
      InitNest(step.name + ".init", plan, *plan.block, cells),
      CopiesRound(plan.found.loops, step.name, *plan.block),
  };
  if (plan.found.reduce->init == ReduceInit::kFirstInstance) {
    nests.push_back(InitNest(step.block + ".init", plan, *plan.found.block, plan.spatial));
  }
  nests.push_back(FinalNest(step, plan));
  Function result = fn;
  result.body = WithNests(fn.body, plan, SeqOf(nests));
  return result;
}

}  // namespace tcc
