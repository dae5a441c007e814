#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/analysis/affine.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"
#include "schedule/analysis/guard.h"
#include "schedule/analysis/placement.h"
#include "schedule/analysis/reduction_nest.h"
#include "schedule/steps/compute_at.h"

namespace tcc {
namespace {

struct Plan {
  Ref<Block> block;
  Stmt nest;
  const Block* init = nullptr;  // of a decomposed reduction: moves along
  Stmt init_nest;
  Var buffer;
  Box window;
  bool shrinks = false;  // every access of the buffer ends up under the loop
  std::vector<IterBox> boxes;
  std::vector<LoopGuard> guards;
  Constraints constraints;
};

// The one buffer that `block` reads and some block under `loop` writes.
StatusOr<Access> OperandUnder(const Function& fn, const Block& block, const LoopRef& loop) {
  Stmt body = FindLoop(fn, loop).value().back();
  std::optional<Access> operand;
  for (const Access& read : ReadsOf(block)) {
    if (!Writes(body, read.buffer)) continue;
    bool other = operand && !(operand->buffer == read.buffer);
    bool differs = operand && !other && !SameField(operand->indices, read.indices);
    if (other || differs) {
      return InvalidInput(
          "reverse_compute_at: block '{}' reads several things that are written under "
          "loop '{}'",
          block.name, loop);
    }
    operand = read;
  }
  if (!operand) {
    return InvalidInput(
        "reverse_compute_at: block '{}' reads nothing that is written under loop '{}'", block.name,
        loop);
  }
  return *operand;
}

// The initialisation of a reduction counts as a part of it where it is under the loop, too.
StatusOr<Path> OnlyWriter(const Function& fn, const Var& buffer, const LoopRef& loop) {
  std::vector<Path> writers = PathsOf(fn, [&](const Block& b) { return Writes(b, buffer); });
  if (writers.size() == 2 && IsUnder(writers[0], loop) &&
      InitialisationOf(fn, *BlockAt(writers[1])) == BlockAt(writers[0]).get()) {
    writers.erase(writers.begin());
  }
  if (writers.size() != 1 || !IsUnder(writers[0], loop)) {
    return InvalidInput(
        "reverse_compute_at: buffer '{}' has {} writers; expected one, under loop '{}' "
        "(decompose after placing)",
        buffer->name, writers.size(), loop);
  }
  const Block& block = *BlockAt(writers[0]);
  for (const Ref<For>& above : LoopsOn(writers[0])) {
    LoopRole role = RoleOf(*above, block);
    if (role == LoopRole::kReduce || role == LoopRole::kBoth) {
      return InvalidInput(
          "reverse_compute_at: loop '{}' is at or inside loop '{}' of the reduction "
          "'{}'",
          loop, above->key, block.name);
    }
    if (above->key == loop) break;
  }
  return writers[0];
}

// Returns whether a guard holds at all iterations of the loops: it is that of a split without a
// rest.
bool AlwaysHolds(const LoopGuard& guard, const std::vector<Ref<For>>& loops) {
  std::vector<Expr> value = {guard.value};
  std::vector<Var> vars;
  std::vector<Expr> zeros, extents;
  for (const LoopPart& part : TakeApart(loops, value)) {
    vars.push_back(part.var);
    zeros.emplace_back(0);
    extents.push_back(part.extent);
  }
  std::optional<IndexBox> box = BoxOf(value[0], vars, zeros, extents);
  return box && Prove(box->origin + box->size <= guard.extent, {}) == Proof::kTrue;
}

// The guards of the producer that the consumer must share, or why they cannot be shared.
StatusOr<std::vector<LoopGuard>> GuardsDownTo(const Path& writer, const LoopRef& to) {
  const Block& producer = *BlockAt(writer);
  const std::vector<Ref<For>> inside = LoopsInside(writer, to);
  std::vector<LoopGuard> shared;
  for (const LoopGuard& guard : producer.guards) {
    bool uses_inner = false, only_reduces = true;
    for (const Ref<For>& loop : inside) {
      if (!UsesVar(guard.value, loop->var)) continue;
      uses_inner = true;
      only_reduces = only_reduces && RoleOf(*loop, producer) == LoopRole::kReduce;
    }
    // Which steps of the reduction there are does not matter to its results.
    if (!uses_inner) {
      shared.push_back(guard);
    } else if (!only_reduces && !IsImpliedByDomain(guard, producer) &&
               !AlwaysHolds(guard, LoopsOn(writer))) {
      return InvalidInput(
          "reverse_compute_at: a split inside the loop leaves part of block '{}' "
          "undone; place the consumer first, then split",
          producer.name);
    }
  }
  return shared;
}

// Refuses instances that read nothing, as at the end of a padded tensor: they have no place among
// the cells of `buffer` that `producer` writes. `read` and `written` are the variables that index
// it.
StatusOr<Constraints> ExpectNoneBeyond(const Var& buffer, const Block& block,
                                       const std::vector<size_t>& read, const Block& producer,
                                       const std::vector<size_t>& written) {
  Constraints constraints;
  if (AlwaysReads(block.body, buffer)) return constraints;
  for (size_t d = 0; d < read.size(); ++d) {
    const IterVar& iter = block.iters[read[d]];
    const Expr& most = producer.iters[written[d]].domain;
    Proof fits = Prove(iter.domain <= most, {});
    if (fits == Proof::kTrue) continue;
    Expr beyond = Simplify(iter.domain - most);
    bool at_run = std::ranges::any_of(VarsOf(beyond),
                                      [](const Var& var) { return var->role == VarRole::kShape; });
    if (fits == Proof::kFalse || at_run) {
      return InvalidInput(
          "reverse_compute_at: block '{}' has {} instances along '{}'; expected at most {}, of "
          "which block '{}' writes the operands",
          block.name, Print(iter.domain), iter.var->name, Print(most), producer.name);
    }
    constraints.push_back({beyond, "a block has at most the instances that its operands have"});
  }
  return constraints;
}

// Nothing that `block` reads may be written after the loop's nest begins, other than `operand`.
Status ExpectOperandsBefore(const Function& fn, const Block& block, const Path& loop_path,
                            const Var& operand) {
  // Blocks in textual order: those of the loop and after it come from the first one under it.
  std::string first = BlocksOf(loop_path.back())[0]->name;
  bool reached = false;
  for (const Ref<Block>& writer : BlocksOf(fn.body)) {
    reached = reached || writer->name == first;
    if (!reached) continue;
    for (const Access& read : ReadsOf(block)) {
      if (!(read.buffer == operand) && Writes(*writer, read.buffer)) {
        return InvalidInput(
            "reverse_compute_at: block '{}' reads buffer '{}', which block '{}' writes only later",
            block.name, read.buffer->name, writer->name);
      }
    }
  }
  return OkStatus();
}

// Finds the initialisation of a decomposed reduction, which moves along.
Status FindInitialisation(const Function& fn, Plan& plan) {
  const auto* reduce = plan.block->body.as<Reduce>();
  if (!reduce) {
    if (SpatialIters(*plan.block).size() == plan.block->iters.size()) return OkStatus();
    return InvalidInput("reverse_compute_at: block '{}' runs in order", plan.block->name);
  }
  TCC_RETURN_IF_ERROR(ExpectSharedAxes("reverse_compute_at", *plan.block));
  if (reduce->init == ReduceInit::kFirstInstance) return OkStatus();
  plan.init = InitialisationOf(fn, *plan.block);
  if (!plan.init) {
    return InvalidInput(
        "reverse_compute_at: block '{0}' is decomposed, and no block '{0}.init' just sets the "
        "identities",
        plan.block->name);
  }
  TCC_ASSIGN_OR_RETURN(Path path, FindBlock(fn, plan.init->name));
  TCC_RETURN_IF_ERROR(ExpectWholeNest("reverse_compute_at", path));
  plan.init_nest = NestOf(path);
  return OkStatus();
}

// The fresh nest of a reduction has all terms: its loops must not make a tile of them, and no loop
// may feed another variable as well, as in rfactor's partial results.
Status ExpectWholeReduction(const Path& path) {
  const Block& block = *BlockAt(path);
  for (const Ref<For>& loop : LoopsOn(path)) {
    if (!Feeds(*loop, block, IterKind::kReduce)) continue;
    auto uses = [&](const IterVar& iter) { return UsesVar(iter.binding, loop->var); };
    bool is_own = loop->key.starts_with(block.name + "/");
    if (is_own && std::ranges::count_if(block.iters, uses) == 1) continue;
    return InvalidInput("reverse_compute_at: loop '{}' has a part of the terms of block '{}'",
                        loop->key, block.name);
  }
  return OkStatus();
}

// A reduction takes all values of the variable, or its result would come in pieces.
Status ExpectAllOf(const IterVar& iter, const Expr& origin, const Expr& size, const Plan& plan,
                   const LoopRef& loop) {
  if (IsConstant(Simplify(origin), 0) && EqualUpToAlgebra(size, iter.domain)) return OkStatus();
  return InvalidInput(
      "reverse_compute_at: block '{}' reduces over '{}', of which only a part is written under "
      "loop '{}'",
      plan.block->name, iter.var->name, loop);
}

StatusOr<Plan> MakePlan(const Function& fn, const ReverseComputeAt& step) {
  TCC_ASSIGN_OR_RETURN(Path path, FindBlock(fn, step.block));
  TCC_ASSIGN_OR_RETURN(Path loop_path, FindLoop(fn, step.loop));
  TCC_RETURN_IF_ERROR(ExpectWholeNest("reverse_compute_at", path));
  TCC_RETURN_IF_ERROR(ExpectOutsideVectors("reverse_compute_at", loop_path));
  Ref<Block> block = BlockAt(path);
  if (IsUnder(path, step.loop)) {
    return InvalidInput("reverse_compute_at: block '{}' is under loop '{}' already", step.block,
                        step.loop);
  }
  TCC_ASSIGN_OR_RETURN(Access operand, OperandUnder(fn, *block, step.loop));
  TCC_ASSIGN_OR_RETURN(std::vector<size_t> order, DistinctIndices(*block, operand));
  TCC_ASSIGN_OR_RETURN(Path writer, OnlyWriter(fn, operand.buffer, step.loop));
  Ref<Block> producer = BlockAt(writer);
  TCC_ASSIGN_OR_RETURN(Buffer buffer, BufferNamed(fn, operand.buffer->name));
  TCC_RETURN_IF_ERROR(ExpectMovable("reverse_compute_at", buffer));
  std::vector<Ref<For>> moving = MovingLoops(writer, step.loop, buffer.scope);

  Plan plan{block, NestOf(path), nullptr, {}, operand.buffer, {}, false, {}, {}, {}};
  TCC_RETURN_IF_ERROR(FindInitialisation(fn, plan));
  TCC_RETURN_IF_ERROR(ExpectWholeReduction(path));
  for (const Access& write : WritesOf(*producer)) {
    if (!(write.buffer == operand.buffer)) continue;
    TCC_ASSIGN_OR_RETURN(std::vector<size_t> written, PlainIndices(*producer, write));
    TCC_ASSIGN_OR_RETURN(plan.constraints,
                         ExpectNoneBeyond(plan.buffer, *block, order, *producer, written));
    TCC_ASSIGN_OR_RETURN(plan.window, RegionOf(*producer, write, moving));
  }
  for (const IterVar& iter : producer->iters) {
    if (iter.kind == IterKind::kSpatial && !IsDense(iter, moving)) {
      return InvalidInput("reverse_compute_at: under loop '{}' block '{}' skips values of '{}'",
                          step.loop, producer->name, iter.var->name);
    }
  }
  TCC_ASSIGN_OR_RETURN(plan.guards, GuardsDownTo(writer, step.loop));
  plan.boxes.resize(block->iters.size());
  for (size_t d = 0; d < order.size(); ++d) {
    const IterVar& iter = block->iters[order[d]];
    const Expr& origin = plan.window.origin[d];
    const Expr& size = plan.window.size[d];
    if (iter.kind == IterKind::kSpatial) {
      plan.boxes[order[d]] = {origin, size};
    } else {
      TCC_RETURN_IF_ERROR(ExpectAllOf(iter, origin, size, plan, step.loop));
    }
  }
  plan.shrinks = !IsParameter(fn, plan.buffer);
  for (const Path& reader : PathsOf(fn, [&](const Block& b) { return Reads(b, plan.buffer); })) {
    plan.shrinks &= BlockAt(reader)->name == step.block || IsUnder(reader, step.loop);
  }
  TCC_RETURN_IF_ERROR(ExpectOperandsBefore(fn, *block, loop_path, plan.buffer));
  TCC_RETURN_IF_ERROR(ExpectVisible(fn, *block, loop_path, {plan.buffer}));
  return plan;
}

}  // namespace

StatusOr<Constraints> CheckReverseComputeAt(const Function& fn, const ReverseComputeAt& step) {
  TCC_ASSIGN_OR_RETURN(Plan plan, MakePlan(fn, step));
  return plan.constraints;
}

Function ApplyReverseComputeAt(const Function& fn, const ReverseComputeAt& step) {
  Plan plan = MakePlan(fn, step).value();
  Stmt nest = NestOver(*plan.block, plan.boxes, plan.guards);
  if (plan.init) {
    std::vector<IterBox> boxes = SpatialBoxes(*plan.block, plan.boxes);
    nest = SeqOf({NestOver(*plan.init, boxes, plan.guards), nest});
  }
  auto place = [&](const Stmt& body) {
    Stmt placed = InsertAfterWriters(body, {plan.buffer}, nest);
    if (!plan.shrinks) return placed;
    Buffer buffer = *FindBuffer(fn, plan.buffer);
    buffer.window = {plan.window.origin, plan.window.size};
    return MakeStmt<Allocate>(buffer, placed);
  };
  Stmt body = Replace(fn.body, plan.nest.get(), Nothing());
  if (plan.init) body = Replace(body, plan.init_nest.get(), Nothing());
  if (plan.shrinks) body = RemoveAllocation(body, plan.buffer);
  Function result = fn;
  result.body = MapBodyOf(body, step.loop, place);
  return result;
}

}  // namespace tcc
