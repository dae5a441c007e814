#include "schedule/steps/decompose_reduction.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "schedule/analysis/guard.h"
#include "schedule/analysis/placement.h"
#include "schedule/analysis/reduction_nest.h"

namespace tcc {
namespace {

// The loops from `from` inwards on the path.
std::vector<Ref<For>> LoopsDownFrom(const Path& path, const LoopRef& from) {
  std::vector<Ref<For>> loops = LoopsOn(path);
  size_t first = 0;
  while (first < loops.size() && loops[first]->key != from) ++first;
  return {loops.begin() + static_cast<std::ptrdiff_t>(first), loops.end()};
}

// The outputs live round the loop, or there would be nothing to initialise before it.
StatusOr<Constraints> ExpectLiveBefore(const Path& path, const LoopRef& loop,
                                       const Reduce& reduce) {
  bool inside = false;
  for (const Stmt& stmt : path) {
    if (const auto* node = stmt.as<For>()) inside = inside || node->key == loop;
    const auto* allocate = stmt.as<Allocate>();
    for (const Access& output : reduce.outputs) {
      if (inside && allocate && output.buffer == allocate->buffer.var) {
        return InvalidInput("decompose_reduction: buffer '{}' lives inside loop '{}'",
                            output.buffer->name, loop);
      }
    }
  }
  return Constraints{};
}

// Cells of a circular buffer are used again by later iterations of the loop that carries it, so an
// initialisation goes no further out than the block's own loops.
Status ExpectInsideCarrier(const Function& fn, const Path& path, const LoopRef& loop,
                           const Reduce& reduce) {
  std::vector<Ref<For>> own = LoopsFrom(path, NestOf(path));
  bool is_own = std::ranges::any_of(own, [&](const Ref<For>& inner) { return inner->key == loop; });
  for (const Access& output : reduce.outputs) {
    if (is_own || FindBuffer(fn, output.buffer)->circular < 0) continue;
    return InvalidInput(
        "decompose_reduction: buffer '{}' is circular, and loop '{}' is not of block '{}'",
        output.buffer->name, loop, BlockAt(path)->name);
  }
  return OkStatus();
}

// The initialisation of a decomposed reduction can be taken away from where it is.
Status ExpectMovable(const Function& fn, const Block& block) {
  const Block* init = InitialisationOf(fn, block);
  if (!init) {
    return InvalidInput(
        "decompose_reduction: block '{}' is decomposed already, and no block '{}' "
        "just sets the identities",
        block.name, block.name + ".init");
  }
  Path path = FindBlock(fn, init->name).value();
  TCC_RETURN_IF_ERROR(ExpectWholeNest("decompose_reduction", path));
  for (const Ref<For>& loop : LoopsFrom(path, NestOf(path))) {
    TCC_RETURN_IF_ERROR(ExpectSerial("decompose_reduction", loop));
  }
  for (const Ref<Block>& other : BlocksOf(fn.body)) {
    if (other->name == block.name) break;
    for (const Access& output : block.body.as<Reduce>()->outputs) {
      if (other->name == init->name || !Accesses(*other, output.buffer)) continue;
      return InvalidInput("decompose_reduction: block '{}' uses '{}' before block '{}' does",
                          other->name, output.buffer->name, block.name);
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<Constraints> CheckDecomposeReduction(const Function& fn, const DecomposeReduction& step) {
  TCC_ASSIGN_OR_RETURN(Path path, FindBlock(fn, step.block));
  TCC_RETURN_IF_ERROR(FindLoop(fn, step.loop).status());
  Ref<Block> block = BlockAt(path);
  const auto* reduce = block->body.as<Reduce>();
  if (!reduce) return InvalidInput("decompose_reduction: block '{}' is no reduction", step.block);
  TCC_RETURN_IF_ERROR(ExpectSharedAxes("decompose_reduction", *block));
  if (reduce->init == ReduceInit::kDecomposed) {
    TCC_RETURN_IF_ERROR(ExpectMovable(fn, *block));
  } else if (IsBlockName(fn, step.block + ".init")) {
    return InvalidInput("decompose_reduction: the name '{}.init' is in use", step.block);
  }
  std::vector<Ref<For>> loops = LoopsOn(path);
  if (std::ranges::none_of(loops, [&](const Ref<For>& loop) { return loop->key == step.loop; })) {
    return InvalidInput("decompose_reduction: loop '{}' is not round block '{}'", step.loop,
                        step.block);
  }
  bool inside = false;
  for (const Ref<For>& loop : loops) {
    inside = inside || loop->key == step.loop;
    LoopRole role = RoleOf(*loop, *block);
    if (!inside && (role == LoopRole::kReduce || role == LoopRole::kBoth)) {
      return InvalidInput("decompose_reduction: loop '{}' is inside loop '{}' of the reduction",
                          step.loop, loop->key);
    }
    if (inside && (role == LoopRole::kBoth || role == LoopRole::kNeither)) {
      return InvalidInput("decompose_reduction: loop '{}' feeds {} spatial and reduce variables",
                          loop->key, role == LoopRole::kBoth ? "both" : "neither of");
    }
  }
  TCC_RETURN_IF_ERROR(ExpectInsideCarrier(fn, path, step.loop, *reduce));
  return ExpectLiveBefore(path, step.loop, *reduce);
}

Function ApplyDecomposeReduction(const Function& fn, const DecomposeReduction& step) {
  Path path = FindBlock(fn, step.block).value();
  Ref<Block> block = BlockAt(path);
  const Reduce& reduce = *block->body.as<Reduce>();

  std::vector<Ref<For>> kept;
  std::vector<Ref<For>> dropped;
  for (const Ref<For>& loop : LoopsDownFrom(path, step.loop)) {
    (RoleOf(*loop, *block) == LoopRole::kSpatial ? kept : dropped).push_back(loop);
  }
  std::string name = step.block + ".init";
  Stmt nest = CopiesRound(kept, name,
                          IdentityBlock(name, SpatialIters(*block), GuardsWithout(*block, dropped),
                                        reduce, AllElements(reduce.combiner)));

  Stmt update = MakeStmt<Block>(
      block->name, block->iters, block->guards, block->predicate,
      MakeStmt<Reduce>(reduce.combiner, reduce.outputs, reduce.inputs, ReduceInit::kDecomposed));
  Function result = fn;
  if (reduce.init == ReduceInit::kDecomposed) {
    Stmt init = NestOf(FindBlock(fn, name).value());
    result.body = Replace(fn.body, init.get(), Nothing());
  }
  Stmt loop = FindLoop(result, step.loop).value().back();
  result.body = Replace(result.body, loop.get(), SeqOf({nest, Replace(loop, block.get(), update)}));
  return result;
}

}  // namespace tcc
