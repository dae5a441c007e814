// A sketch rule of one's own: schedules the kernels of a network with it, says which rules made
// each and writes the schedules for `tcc compile --schedule FOLDER`.
//
//   sketch_rule MODEL.onnx TARGET FOLDER
#include <fmt/core.h>

#include <algorithm>

#include "compiler/kernels.h"
#include "compiler/schedule_folder.h"
#include "models/onnx/import_onnx.h"
#include "schedule/analysis/reduction_nest.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/default_tiles.h"
#include "schedule/sketches/parts/operand_panels.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/decompose_reduction.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/prefetch.h"
#include "schedule/steps/reorder.h"
#include "schedule/steps/split.h"

namespace {

using namespace tcc;

// Products of few rows and a constant matrix, as in a linear layer at a small batch. Reading the
// matrix takes the time, so it is read once, from front to back: all rows are in one tile, and the
// panel that comes next is fetched ahead.
//
//   columns.0 parallel { k { prefetch; rows columns.1 columns.2: tile += ... }
//                        the consumer, or the write-back, of the tile }
constexpr int64_t kMaxRows = 8;

bool IsSkinnyProduct(const Block& block) {
  std::vector<size_t> spatial = ItersOf(block, IterKind::kSpatial);
  return IsReduction(block) && WritesPlainly(block) && spatial.size() == 2 &&
         ItersOf(block, IterKind::kReduce).size() == 1 && ExtentOf(block, spatial[0]) <= kMaxRows;
}

std::vector<SketchState> SkinnyRule(const SketchState& state, const Block& block,
                                    const Target& target) {
  if (!IsSkinnyProduct(block)) return {};
  size_t column = ItersOf(block, IterKind::kSpatial)[1];
  std::vector<PanelOperand> matrix = ConstantOperands(state.fn(), block, column);
  if (matrix.size() != 1 || !matrix[0].is_parameter) return {};

  SketchState next = state;
  LoopRef rows = KeysOf(block, ItersOf(block, IterKind::kSpatial))[0];
  LoopRef columns = BaseKey(block.name, block.iters[column]);
  LoopRef depth = KeysOf(block, ItersOf(block, IterKind::kReduce))[0];

  // Two sizes are left free. The search may choose others than those that it starts from.
  Expr lanes = next.Size(LevelKey(columns, 2), 2 * target.FloatLanes(),
                         {DomainKind::kChoice, {4, 8, 16, 32}}, target.FloatLanes());
  Expr registers = next.Size(LevelKey(columns, 1), 8, {}, 2);

  ResultReader reader = KeepResultLocal(next, block);
  std::vector<std::string> copies;
  for (const Step& step : PackingSteps(matrix[0], block.name, registers, lanes, copies)) {
    next.Do(step);
  }
  next.MarkDone(copies[0]);
  next.Do(Split{columns, {registers, lanes}});
  LoopRef panel = LevelKey(columns, 0);
  next.Do(Reorder{{panel, depth, rows, LevelKey(columns, 1), LevelKey(columns, 2)}});
  next.Do(ReverseComputeAt{reader.block, panel});
  next.Do(DecomposeReduction{block.name, depth});
  for (const std::string& name : {block.name, block.name + ".init"}) {
    next.Do(Unroll{Rekeyed(rows, name)});
    next.Do(Unroll{LevelKey(Rekeyed(columns, name), 1)});
    next.Do(Vectorize{LevelKey(Rekeyed(columns, name), 2)});
  }
  next.Do(Split{reader.loops[1], {lanes}});
  next.Do(Unroll{LevelKey(reader.loops[1], 0)});
  next.Do(Vectorize{LevelKey(reader.loops[1], 1)});
  next.Do(Prefetch{block.name, copies[0], panel, depth, 1});
  next.Do(Parallel{panel});
  return {next};
}

// Ours stands before the rule "tile", which takes these products otherwise, and leaves the rest to
// it.
std::vector<SketchRule> Rules(const Target& target) {
  std::span<const SketchRule> known = SketchRules(target);
  std::vector<SketchRule> rules(known.begin(), known.end());
  auto tile = std::find_if(rules.begin(), rules.end(),
                           [](const SketchRule& rule) { return rule.name == "tile"; });
  rules.insert(tile, {"skinny", SkinnyRule, "products of few rows and a constant matrix"});
  return rules;
}

Status Run(const std::string& model, const std::string& target_name, const std::string& folder) {
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget(target_name));
  TCC_ASSIGN_OR_RETURN(Graph graph, ImportOnnx(model));
  CompileOptions options{.target = target, .sketch_rules = Rules(target)};
  TCC_ASSIGN_OR_RETURN(KernelSet kernels, KernelsOf(std::move(graph), options));
  for (const KernelStages& kernel : kernels.kernels) {
    fmt::print("{}: {}\n", kernel.symbol, kernel.sketch);
  }
  return WriteSchedules(folder, kernels);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: sketch_rule MODEL.onnx TARGET FOLDER\n");
    return 2;
  }
  Status status = Run(argv[1], argv[2], argv[3]);
  if (status.ok()) return 0;
  fmt::print(stderr, "{}\n", Message(status));
  return 1;
}
