#include "lower/pipeline.h"

#include "ir/analysis/privatize.h"
#include "ir/analysis/verifier.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "lower/passes/passes.h"
#include "lower/passes/rewrite_statements.h"
#include "support/stop.h"

namespace tcc {
namespace {

Function SimplifyAll(const Function& fn) {
  return Simplify(fn);
}

Function PrivatizeAll(const Function& fn) {
  Function result = fn;
  result.body = PrivatizeBuffers(fn.body);
  return result;
}

Function MarkLowered(const Function& fn) {
  auto without_key = [](const Stmt& stmt) -> Stmt {
    const auto* loop = stmt.as<For>();
    if (!loop || loop->key.empty()) return stmt;
    return MakeStmt<For>(loop->var, loop->extent, loop->for_kind, "", loop->body);
  };
  Function result = fn;
  result.level = Level::kLowered;
  result.body = RewriteStatements(fn.body, without_key);
  return result;
}

constexpr Pass kPipeline[] = {
    // name                run              holds after it                     why here
    {"simplify", SimplifyAll, "sizes are plain numbers", "schedules leave raw algebra"},
    {"drop_predicates", DropPredicates, "no guard is redundant", "blocks still know their domains"},
    {"reduce_across_threads", ReduceAcrossThreads, "no loop over threads feeds a reduction",
     "threads are bound; what it adds needs barriers"},
    {"drop_cells_of_others", PrivatizeAll, "what a thread keeps to itself is at its own index",
     "bindings still say which thread is meant"},
    {"insert_barriers", InsertBarriers, "no shared-memory hazard is open",
     "threads are bound, accesses are logical"},
    {"guard_idle_threads", GuardIdleThreads, "each cell outside local memory has one writer",
     "blocks still know which threads they ignore"},
    {"roll_cut_loops", RollCutLoops, "no copy of a tile is under a condition of its own",
     "windows still say which cells are a loop's; versions would be copied"},
    {"version_tiles", VersionTiles, "tiles that a free extent ends have a version without guards",
     "blocks still know which cells they write"},
    {"inline_blocks", InlineBlocks, "no Block is left", "regions were needed until now"},
    {"hoist_conditions", HoistConditions,
     "conditions stand at the outermost loop that decides them", "before loops are copied"},
    {"flatten_buffers", FlattenBuffers, "one index an access, no window",
     "indices are still affine in the loops"},
    {"hoist_workspaces", HoistWorkspaces, "no global buffer is inside a launch",
     "one index an access is what there is to move"},
    {"distribute_vthreads", DistributeVthreads, "no vthread loop is left",
     "barriers stand, and flat buffers are easily multiplied"},
    {"pipeline", PipelineLoops, "no loop is pipelined, no buffer has versions",
     "vthreads would each wait and copy"},
    {"lowered", MarkLowered, "the function is kLowered", "nothing logical is left"},
    {"partition", PartitionLoops, "interiors of partitioned loops have no condition on the loop",
     "before vectors, which would carry masks, and before loops are copied"},
    {"hoist_partitioned", HoistConditions, "so do those of interiors",
     "a guard of the edges kept them inside"},
    {"vectorize", VectorizeLoops, "vectorized loops are Ramps",
     "before unrolling, which copies them"},
    {"unroll", UnrollLoops, "indices of local buffers are constants",
     "after vectors, whose loops are inside"},
    {"commit_products", CommitProducts, "a wait covers each product of a group of warps",
     "the products of a step are neighbours"},
    {"simplify_lowered", SimplifyAll, "indices are in normal form",
     "vectors and copies left arithmetic"},
    {"resolve_conditions", ResolveConditions, "no condition is known from the loops' bounds",
     "copies of loops know their indices"},
    {"merge_conditions", MergeConditions, "no neighbours have the same condition",
     "copies of a statement are neighbours, and those decided are gone"},
    {"unswitch_sequences", UnswitchSequences,
     "versions of statements by one condition stand together",
     "copies of a statement are neighbours; loops in a version have its conditions decided"},
    {"unswitch", UnswitchLoops, "innermost loops have a version without conditions",
     "conditions are simplest now"},
    {"name_divisions", NameDivisions, "no division by a shape is computed twice",
     "proofs see through no name"},
};

}  // namespace

std::span<const Pass> Pipeline() {
  return kPipeline;
}

StatusOr<Function> RunPipeline(const Function& fn, const PipelineOptions& options) {
  if (options.verify) TCC_RETURN_IF_ERROR(Verify(fn));
  Function current = fn;
  int number = 0;
  for (const Pass& pass : kPipeline) {
    if (++number > options.last_pass) break;
    TCC_RETURN_IF_ERROR(StopIfRequested(options.stop));
    current = pass.run(current);
    if (options.after_pass) options.after_pass(number, pass.name, current);
    if (!options.verify) continue;
    Status status = Verify(current);
    if (!status.ok()) {
      return absl::InternalError(
          fmt::format("after pass {} of '{}': {}", pass.name, fn.name, Message(status)));
    }
  }
  return current;
}

}  // namespace tcc
