#include "schedule/steps/compute_at.h"

#include "ir/analysis/accesses.h"
#include "ir/analysis/nested_blocks.h"
#include "ir/expr/compare.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/guard.h"
#include "schedule/analysis/placement.h"

namespace tcc {
namespace {

struct Plan {
  Ref<Block> block;
  Stmt nest;
  std::vector<Var> buffers;
  std::vector<Box> windows;    // of each buffer
  std::vector<IterBox> boxes;  // of each iteration variable
};

// Where memory says where a window begins, no guard keeps that from being read.
Status ExpectReadableOrigin(const Block& block, const Var& buffer, const Box& box) {
  for (const Expr& origin : box.origin) {
    if (block.guards.empty() || !HasLoad(origin)) continue;
    return InvalidInput(
        "compute_at: memory says where the window of '{}' begins, which is read beyond the guards "
        "of block '{}'; place it before splitting",
        buffer->name, block.name);
  }
  return OkStatus();
}

// The hull of what the blocks under `loop` read of `buffer`.
StatusOr<Box> RegionRead(const Function& nested, const Buffer& buffer, const LoopRef& loop) {
  Function fn = UnnestBlocks(nested);
  std::optional<Box> region;
  auto reads = [&](const Block& block) { return Reads(block, buffer.var); };
  for (const Path& path : PathsOf(fn, reads)) {
    if (!IsUnder(path, loop)) {
      return InvalidInput("compute_at: block '{}' reads buffer '{}' outside loop '{}'",
                          BlockAt(path)->name, buffer.var->name, loop);
    }
    std::vector<Ref<For>> moving = MovingLoops(path, loop, buffer.scope);
    for (const Access& access : ReadsOf(*BlockAt(path))) {
      if (!(access.buffer == buffer.var)) continue;
      TCC_ASSIGN_OR_RETURN(Box box, RegionOf(*BlockAt(path), access, moving));
      TCC_RETURN_IF_ERROR(ExpectReadableOrigin(*BlockAt(path), buffer.var, box));
      if (region) {
        TCC_ASSIGN_OR_RETURN(box, Hull(*region, box));
      }
      region = box;
    }
  }
  if (!region) return InvalidInput("compute_at: nothing reads buffer '{}'", buffer.var->name);
  return *region;
}

Status ExpectOnlyWriter(const Function& fn, const Block& block, const Var& buffer) {
  if (IsParameter(fn, buffer)) {
    return InvalidInput("compute_at: block '{}' writes '{}', a parameter of the function",
                        block.name, buffer->name);
  }
  for (const Ref<Block>& other : BlocksOf(fn.body)) {
    if (other->name != block.name && Writes(*other, buffer)) {
      return InvalidInput(
          "compute_at: block '{}' writes buffer '{}' as well; decompose after placing", other->name,
          buffer->name);
    }
  }
  return OkStatus();
}

StatusOr<Plan> MakePlan(const Function& fn, const ComputeAt& step) {
  TCC_ASSIGN_OR_RETURN(Path path, FindBlock(fn, step.block));
  TCC_ASSIGN_OR_RETURN(Path loop_path, FindLoop(fn, step.loop));
  TCC_RETURN_IF_ERROR(ExpectWholeNest("compute_at", path));
  if (IsUnder(path, step.loop)) {
    return InvalidInput("compute_at: block '{}' is under loop '{}' already", step.block, step.loop);
  }
  TCC_RETURN_IF_ERROR(ExpectOutsideVectors("compute_at", loop_path));
  if (IsPipelined(LoopAt(loop_path)->for_kind)) {
    return InvalidInput("compute_at: loop '{}' is pipelined already; place what it computes before",
                        step.loop);
  }
  Plan plan{BlockAt(path), NestOf(path), {}, {}, {}};
  plan.boxes.resize(plan.block->iters.size());
  for (const Access& write : WritesOf(*plan.block)) {
    TCC_RETURN_IF_ERROR(ExpectOnlyWriter(fn, *plan.block, write.buffer));
    TCC_ASSIGN_OR_RETURN(std::vector<size_t> order, PlainIndices(*plan.block, write));
    TCC_ASSIGN_OR_RETURN(Buffer buffer, BufferNamed(fn, write.buffer->name));
    TCC_RETURN_IF_ERROR(ExpectMovable("compute_at", buffer));
    TCC_RETURN_IF_ERROR(ExpectUnversioned("compute_at", buffer));
    TCC_ASSIGN_OR_RETURN(Box region, RegionRead(fn, buffer, step.loop));
    for (size_t d = 0; d < order.size(); ++d) {
      IterBox& box = plan.boxes[order[d]];
      if (box.size && !(Equal(box.origin, region.origin[d]) && Equal(box.size, region.size[d]))) {
        return InvalidInput("compute_at: the results of block '{}' are read in different windows",
                            step.block);
      }
      box = {region.origin[d], region.size[d]};
    }
    plan.buffers.push_back(write.buffer);
    plan.windows.push_back(region);
  }
  TCC_RETURN_IF_ERROR(ExpectVisible(fn, *plan.block, loop_path, plan.buffers));
  return plan;
}

}  // namespace

StatusOr<Constraints> CheckComputeAt(const Function& fn, const ComputeAt& step) {
  TCC_RETURN_IF_ERROR(MakePlan(fn, step).status());
  return Constraints{};
}

Function ApplyComputeAt(const Function& fn, const ComputeAt& step) {
  Plan plan = MakePlan(fn, step).value();
  Stmt nest = NestOver(*plan.block, plan.boxes, {});
  auto place = [&](const Stmt& body) {
    Stmt placed = InsertBeforeReaders(body, plan.buffers, nest);
    for (size_t i = plan.buffers.size(); i-- > 0;) {
      Buffer buffer = *FindBuffer(fn, plan.buffers[i]);
      buffer.window = {plan.windows[i].origin, plan.windows[i].size};
      placed = MakeStmt<Allocate>(buffer, placed);
    }
    return placed;
  };
  Stmt body = Replace(fn.body, plan.nest.get(), Nothing());
  for (const Var& buffer : plan.buffers) body = RemoveAllocation(body, buffer);
  Function result = fn;
  result.body = MapBodyOf(body, step.loop, place);
  return result;
}

}  // namespace tcc
