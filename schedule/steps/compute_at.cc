#include "schedule/steps/compute_at.h"

#include "ir/analysis/accesses.h"
#include "ir/expr/compare.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/guard.h"
#include "schedule/analysis/placement.h"
#include "schedule/analysis/reduction_nest.h"

namespace tcc {
namespace {

struct Plan {
  Ref<Block> block;
  Stmt nest;
  const Block* init = nullptr;  // of a decomposed reduction: moves along
  Stmt init_nest;
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

// The hull of what the blocks under `loop` read of `buffer`; the writer's own reads do not count.
StatusOr<Box> RegionRead(const Function& fn, const Buffer& buffer, const std::string& writer,
                         const LoopRef& loop) {
  std::optional<Box> region;
  auto reads = [&](const Block& block) { return block.name != writer && Reads(block, buffer.var); };
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

Status ExpectOnlyWriter(const Function& fn, const Plan& plan, const Var& buffer) {
  const Block& block = *plan.block;
  if (IsParameter(fn, buffer)) {
    return InvalidInput("compute_at: block '{}' writes '{}', a parameter of the function",
                        block.name, buffer->name);
  }
  for (const Ref<Block>& other : BlocksOf(fn.body)) {
    if (other->name != block.name && other.get() != plan.init && Writes(*other, buffer)) {
      return InvalidInput(
          "compute_at: block '{}' writes buffer '{}' as well; decompose after placing", other->name,
          buffer->name);
    }
  }
  return OkStatus();
}

std::vector<Ref<For>> LoopsOf(const Path& path, const Stmt& nest) {
  auto begin = std::ranges::find_if(path, [&](const Stmt& stmt) { return stmt.same_as(nest); });
  return LoopsOn(Path(begin, path.end()));
}

bool IsDomainOf(const LoopGuard& guard, const Block& block) {
  return std::ranges::any_of(block.iters, [&](const IterVar& iter) {
    return Equal(guard.value, iter.binding) && Equal(guard.extent, iter.domain);
  });
}

// Returns whether a loop feeds variable i and another one: rfactor's partial results have a
// variable for a loop of the reduction.
bool SharesLoop(const Block& block, size_t i, const std::vector<Ref<For>>& own) {
  return std::ranges::any_of(own, [&](const Ref<For>& loop) {
    auto uses = [&](const IterVar& iter) { return UsesVar(iter.binding, loop->var); };
    return uses(block.iters[i]) && std::ranges::count_if(block.iters, uses) > 1;
  });
}

// Sets the boxes of the block's other variables whose bindings use loops around the nest: it runs
// over a tile of a reduction, which the fresh nest must not exceed.
Status KeepTiles(const Path& path, Plan& plan) {
  const Block& block = *plan.block;
  std::vector<Ref<For>> own = LoopsOf(path, plan.nest);
  std::vector<Ref<For>> around = LoopsOn(path);
  around.resize(around.size() - own.size());
  auto uses = [](const Expr& binding) {
    return [&](const Ref<For>& loop) { return UsesVar(binding, loop->var); };
  };
  for (size_t i = 0; i < block.iters.size(); ++i) {
    const IterVar& iter = block.iters[i];
    if (plan.boxes[i].size) continue;
    if (SharesLoop(block, i, own)) {
      return InvalidInput("compute_at: a loop of block '{}' feeds '{}' and another variable",
                          block.name, iter.var->name);
    }
    if (std::ranges::none_of(around, uses(iter.binding))) continue;
    bool is_plain = std::ranges::count_if(own, uses(iter.binding)) <= 1 &&
                    std::ranges::all_of(block.guards, [&](const LoopGuard& guard) {
                      return IsDomainOf(guard, block);
                    });
    if (!is_plain) {
      return InvalidInput(
          "compute_at: '{}' of block '{}' runs over a part of its domain that several loops make; "
          "place it before splitting",
          iter.var->name, block.name);
    }
    TCC_ASSIGN_OR_RETURN(Box box, RegionOf(block, {iter.var, {iter.var}}, own));
    plan.boxes[i] = {box.origin[0], box.size[0]};
  }
  return OkStatus();
}

// The buffers that live around both the block and the loop: the moved block uses the same windows.
std::vector<Var> LivingAround(const Path& path, const Path& loop_path) {
  std::vector<Var> around;
  for (size_t i = 0; i < std::min(path.size(), loop_path.size()); ++i) {
    if (!path[i].same_as(loop_path[i])) break;
    if (const auto* allocate = path[i].as<Allocate>()) around.push_back(allocate->buffer.var);
  }
  return around;
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
  Plan plan{BlockAt(path), NestOf(path), nullptr, {}, {}, {}, {}};
  if (const Block* init = InitialisationOf(fn, *plan.block)) {
    TCC_ASSIGN_OR_RETURN(Path init_path, FindBlock(fn, init->name));
    TCC_RETURN_IF_ERROR(ExpectWholeNest("compute_at", init_path));
    plan.init = init;
    plan.init_nest = NestOf(init_path);
  }
  plan.boxes.resize(plan.block->iters.size());
  for (const Access& write : WritesOf(*plan.block)) {
    TCC_RETURN_IF_ERROR(ExpectOnlyWriter(fn, plan, write.buffer));
    TCC_ASSIGN_OR_RETURN(std::vector<size_t> order, PlainIndices(*plan.block, write));
    TCC_ASSIGN_OR_RETURN(Buffer buffer, BufferNamed(fn, write.buffer->name));
    TCC_RETURN_IF_ERROR(ExpectMovable("compute_at", buffer));
    TCC_RETURN_IF_ERROR(ExpectUnversioned("compute_at", buffer));
    TCC_ASSIGN_OR_RETURN(Box region, RegionRead(fn, buffer, step.block, step.loop));
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
  TCC_RETURN_IF_ERROR(KeepTiles(path, plan));
  std::vector<Var> windows_stay = LivingAround(path, loop_path);
  windows_stay.insert(windows_stay.end(), plan.buffers.begin(), plan.buffers.end());
  TCC_RETURN_IF_ERROR(ExpectVisible(fn, *plan.block, loop_path, windows_stay));
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
  if (plan.init)
    nest = SeqOf({NestOver(*plan.init, SpatialBoxes(*plan.block, plan.boxes), {}), nest});
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
  if (plan.init) body = Replace(body, plan.init_nest.get(), Nothing());
  for (const Var& buffer : plan.buffers) body = RemoveAllocation(body, buffer);
  Function result = fn;
  result.body = MapBodyOf(body, step.loop, place);
  return result;
}

}  // namespace tcc
