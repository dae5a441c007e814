#include "schedule/steps/rfactor_tile.h"

#include <algorithm>

#include "ir/expr/compare.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/guard.h"
#include "schedule/analysis/region.h"
#include "schedule/steps/tuple_update.h"

namespace tcc {
namespace {

constexpr const char* kStep = "rfactor_tile";

constexpr std::string_view kFormTexts[] = {
#define TCC_TILE_FORM_TEXT(text, form, meaning) text,
    TCC_TILE_FORMS(TCC_TILE_FORM_TEXT)
#undef TCC_TILE_FORM_TEXT
};

// A part of a direct element that is computed in a block of its own.
struct SharedMap {
  Expr value;  // over the block's variables and the partial results
  Buffer buffer;
  std::vector<Expr> indices;  // over the block's variables
};

struct Plan {
  ReductionNest found;
  std::vector<TupleGroup> groups;
  std::vector<Ref<For>> outer;  // of the nest, before the tile's loop
  Ref<For> tile;
  std::vector<Ref<For>> round;     // after it, around a whole tile, nested form
  std::vector<Ref<For>> inner;     // after `round`; axes that some outputs lack come last
  std::vector<Ref<For>> reducing;  // the reduce loops among `inner`
  std::vector<Buffer> partials;    // of each element
  std::vector<Expr> inputs;        // of each element's partial reduction, direct form
  std::vector<SharedMap> maps;
  OldValues old;
};

Status SortLoops(const RFactorTile& step, Plan& plan) {
  const Block& block = *plan.found.block;
  const std::vector<Ref<For>>& loops = plan.found.loops;
  if (std::ranges::none_of(loops, [&](const Ref<For>& loop) { return loop->key == step.loop; })) {
    return InvalidInput("{}: loop '{}' does not go round block '{}' alone", kStep, step.loop,
                        step.block);
  }
  std::vector<Ref<For>> moved;
  for (const Ref<For>& loop : loops) {
    bool reduces = RoleOf(*loop, block) == LoopRole::kReduce;
    if (loop->key == step.loop) {
      plan.tile = loop;
      if (!reduces) {
        return InvalidInput("{}: loop '{}' feeds no reduce variable of block '{}'", kStep,
                            step.loop, step.block);
      }
      continue;
    }
    if (reduces && !plan.tile) {
      return InvalidInput(
          "{}: loop '{}' of the reduction goes round loop '{}'; expected the "
          "outermost",
          kStep, loop->key, step.loop);
    }
    if (IsLacking(*loop, block, plan.groups[0])) {
      moved.push_back(loop);
    } else {
      (plan.tile ? plan.inner : plan.outer).push_back(loop);
    }
    if (reduces) plan.reducing.push_back(loop);
  }
  plan.inner.insert(plan.inner.end(), moved.begin(), moved.end());
  if (step.form == TileForm::kNested) {
    auto reduces = std::ranges::find_if(plan.inner, [&](const Ref<For>& loop) {
      return RoleOf(*loop, block) == LoopRole::kReduce;
    });
    plan.round.assign(plan.inner.begin(), reduces);
    plan.inner.erase(plan.inner.begin(), reduces);
  }
  return OkStatus();
}

Status ExpectForm(const RFactorTile& step, const Plan& plan) {
  const Combiner& combiner = plan.found.reduce->combiner;
  if (step.form == TileForm::kDirect && combiner->direct.empty()) {
    return InvalidInput("{}: combiner '{}' has no direct form", kStep, combiner->name);
  }
  if (step.form != TileForm::kDirect && plan.groups.size() > 1) {
    return InvalidInput("{}: the outputs of block '{}' differ in their axes; expected form direct",
                        kStep, step.block);
  }
  for (const std::vector<Ref<For>>* loops : {&plan.outer, &plan.round, &plan.inner}) {
    for (const Ref<For>& loop : *loops) {
      if (loop->for_kind != ForKind::kVectorized) continue;
      return InvalidInput("{}: loop '{}' is vectorized", kStep, loop->key);
    }
  }
  TCC_RETURN_IF_ERROR(ExpectOutsideVectors(kStep, PathAbove(plan.found)));
  return ExpectOutsidePipelines(kStep, PathAbove(plan.found));
}

bool IsCall(const Expr& expr) {
  return expr.as<Call>() != nullptr;
}

// Returns whether the expression is a load in a narrower type.
bool NarrowsLoad(const Expr& expr) {
  const auto* cast = expr.as<Cast>();
  return cast && cast->value.as<Load>() && cast->dtype.bits() < cast->value.dtype().bits();
}

// Collects the outermost expressions in `expr` that are wanted and use none of the variables.
void CollectShared(const Expr& expr, const std::vector<Var>& unshared, bool (*wanted)(const Expr&),
                   std::vector<Expr>& values) {
  auto uses = [&](const Var& var) { return UsesVar(expr, var); };
  if (wanted(expr) && std::ranges::none_of(unshared, uses)) {
    auto same = [&](const Expr& value) { return Equal(value, expr); };
    if (std::ranges::none_of(values, same)) values.push_back(expr);
    return;
  }
  ForEachChild(expr, [&](const Expr& child) { CollectShared(child, unshared, wanted, values); });
}

// Returns a shared map; its indices are the block's variables that the first group has.
SharedMap MapOf(const RFactorTile& step, const Plan& plan, const Expr& value, size_t number) {
  SharedMap map{value, {}, {}};
  Var var = BufferVar(step.name + ".map" + std::to_string(number), value.dtype());
  map.buffer = {var, {}, step.scope, {}, {}, -1, {}};
  for (const IterVar& iter : ItersOfGroup(*plan.found.block, plan.groups[0])) {
    map.buffer.shape.push_back(iter.domain);
    map.indices.push_back(iter.var);
  }
  return map;
}

// Makes a map of the value, which the inputs load from then on.
void ShareValue(const RFactorTile& step, const Expr& value, Plan& plan) {
  plan.maps.push_back(MapOf(step, plan, value, plan.maps.size()));
  const SharedMap& map = plan.maps.back();
  for (Expr& input : plan.inputs) {
    input = RewriteBottomUp(input, [&](const Expr& expr) -> Expr {
      return Equal(expr, value) ? MakeLoad(map.buffer.var, map.indices) : expr;
    });
  }
}

// Sets the input of each element's partial reduction.
void MakeDirectInputs(const RFactorTile& step, Plan& plan) {
  const Reduce& reduce = *plan.found.reduce;
  Substitution values;
  for (size_t e = 0; e < reduce.outputs.size(); ++e) {
    values.emplace(reduce.combiner->lhs[e],
                   MakeLoad(plan.partials[e].var, reduce.outputs[e].indices));
    values.emplace(reduce.combiner->rhs[e], reduce.inputs[e]);
  }
  for (const Expr& direct : reduce.combiner->direct) {
    plan.inputs.push_back(Substitute(direct, values));
  }
  if (plan.groups.size() == 1) return;
  for (bool (*wanted)(const Expr&) : {IsCall, NarrowsLoad}) {
    std::vector<Expr> values;
    for (const Expr& input : plan.inputs) {
      CollectShared(input, plan.groups[0].lacking, wanted, values);
    }
    for (const Expr& value : values) ShareValue(step, value, plan);
  }
}

Status ExpectNames(const Function& fn, const RFactorTile& step, const Plan& plan) {
  std::vector<std::string> names = {step.name, step.name + ".init"};
  for (const TupleGroup& group : plan.groups) {
    if (group.name != step.block) names.push_back(group.name);
    names.push_back(group.name + ".init");
  }
  for (const Buffer& partial : plan.partials) {
    names.push_back(partial.var->name);
    names.push_back(partial.var->name + ".init");
  }
  for (const SharedMap& map : plan.maps) names.push_back(map.buffer.var->name);
  for (const Buffer& old : plan.old.buffers) names.push_back(old.var->name);
  for (const std::string& name : names) TCC_RETURN_IF_ERROR(ExpectFree(kStep, fn, name));
  return OkStatus();
}

Status PlaceInTile(const Plan& plan, const std::vector<Expr>& indices, Buffer& buffer) {
  std::vector<Ref<For>> outer = plan.outer;
  outer.push_back(plan.tile);
  outer.insert(outer.end(), plan.round.begin(), plan.round.end());
  TCC_ASSIGN_OR_RETURN(Box box,
                       RegionOf(*plan.found.block, Access{buffer.var, indices},
                                MovingWithThreads(plan.inner, plan.found, outer, buffer.scope)));
  buffer.window = {box.origin, box.size};
  return OkStatus();
}

// Places every buffer of the step in the tile.
Status PlaceAll(Plan& plan) {
  const std::vector<Access>& outputs = plan.found.reduce->outputs;
  for (size_t e = 0; e < outputs.size(); ++e) {
    TCC_RETURN_IF_ERROR(PlaceInTile(plan, outputs[e].indices, plan.partials[e]));
  }
  for (SharedMap& map : plan.maps) {
    TCC_RETURN_IF_ERROR(PlaceInTile(plan, map.indices, map.buffer));
  }
  for (Buffer& buffer : plan.old.buffers) {
    size_t e = 0;
    while (!(plan.old.of_element[e] == buffer.var)) ++e;
    TCC_RETURN_IF_ERROR(PlaceInTile(plan, outputs[e].indices, buffer));
  }
  return OkStatus();
}

StatusOr<Plan> MakePlan(const Function& fn, const RFactorTile& step) {
  TCC_ASSIGN_OR_RETURN(Path loop_path, FindLoop(fn, step.loop));
  TCC_RETURN_IF_ERROR(ExpectSerial(kStep, LoopAt(loop_path)));
  Plan plan;
  TCC_ASSIGN_OR_RETURN(plan.found, FindReduction(kStep, fn, step.block));
  const Reduce& reduce = *plan.found.reduce;
  if (reduce.init == ReduceInit::kDecomposed) {
    return InvalidInput("{}: block '{}' is decomposed already", kStep, step.block);
  }
  TCC_ASSIGN_OR_RETURN(plan.groups, GroupsOf(kStep, plan.found));
  TCC_RETURN_IF_ERROR(CheckLoops(kStep, plan.found, plan.groups));
  TCC_RETURN_IF_ERROR(SortLoops(step, plan));
  TCC_RETURN_IF_ERROR(ExpectForm(step, plan));
  for (size_t e = 0; e < reduce.outputs.size(); ++e) {
    Buffer output = *FindBuffer(fn, reduce.outputs[e].buffer);
    Var var = BufferVar(PartialName(step.name, reduce, e), output.dtype());
    plan.partials.push_back({var, output.shape, step.scope, {}, {}, -1, {}});
  }
  if (step.form == TileForm::kDirect) MakeDirectInputs(step, plan);
  if (plan.groups.size() > 1) plan.old = OldValuesOf(fn, plan.found, plan.groups);
  TCC_RETURN_IF_ERROR(ExpectNames(fn, step, plan));
  TCC_RETURN_IF_ERROR(PlaceAll(plan));
  return plan;
}

const TupleGroup& GroupOf(const Plan& plan, size_t e) {
  for (const TupleGroup& group : plan.groups) {
    if (std::ranges::find(group.elements, e) != group.elements.end()) {
      return group;
    }
  }
  TCC_CHECK(false) << "an element is in no group";
  return plan.groups[0];
}

std::vector<Access> PartialAccesses(const Plan& plan) {
  std::vector<Access> accesses;
  for (size_t e = 0; e < plan.partials.size(); ++e) {
    accesses.push_back({plan.partials[e].var, plan.found.reduce->outputs[e].indices});
  }
  return accesses;
}

// Returns the nest that stores the identities of one element, or of all, in the tile's buffers.
Stmt PartialInit(const Plan& plan, const std::string& name, const TupleGroup& group,
                 const std::vector<size_t>& elements) {
  const Reduce& reduce = *plan.found.reduce;
  Stmt into = MakeStmt<Reduce>(reduce.combiner, PartialAccesses(plan), reduce.inputs,
                               ReduceInit::kDecomposed);
  ReductionNest tile = plan.found;
  tile.reduce = into.as<Reduce>();
  TupleGroup renamed{name, elements, group.lacking};
  return InitOfGroup(tile, renamed, plan.inner);
}

// Returns the nests of the partial results, in which the block keeps its own combiner.
std::vector<Stmt> CombinedNests(const RFactorTile& step, const Plan& plan) {
  const Reduce& reduce = *plan.found.reduce;
  const Block& block = *plan.found.block;
  Stmt leaf = MakeStmt<Reduce>(reduce.combiner, PartialAccesses(plan), reduce.inputs,
                               ReduceInit::kDecomposed);
  Stmt partial = MakeStmt<Block>(step.name, block.iters, block.guards, block.predicate, leaf);
  return {PartialInit(plan, step.name, plan.groups[0], AllElements(reduce.combiner)),
          CopiesRound(plan.inner, step.name, partial)};
}

// Returns the nest of a shared map, which also runs over the reduction's variables.
Stmt MapNest(const Plan& plan, const SharedMap& map) {
  const TupleGroup& group = plan.groups[0];
  const Block& block = *plan.found.block;
  std::vector<IterVar> iters = ItersOfGroup(block, group);
  for (IterVar& iter : iters) iter.kind = IterKind::kSpatial;
  const std::string& name = map.buffer.var->name;
  Stmt leaf = MakeStmt<Store>(map.buffer.var, map.indices, map.value);
  return CopiesRound(
      LoopsOfGroup(plan.inner, block, group), name,
      MakeStmt<Block>(name, iters, GuardsOfGroup(plan.found, group), block.predicate, leaf));
}

bool ReadsMap(const Plan& plan, size_t e, const SharedMap& map) {
  return UsesVar(plan.inputs[e], map.buffer.var);
}

// Returns the nests of the partial results, element after element; a map precedes its first reader.
std::vector<Stmt> DirectNests(const Plan& plan) {
  const Reduce& reduce = *plan.found.reduce;
  const Block& block = *plan.found.block;
  std::vector<Stmt> nests;
  for (size_t e = 0; e < reduce.outputs.size(); ++e) {
    for (const SharedMap& map : plan.maps) {
      bool read_before = false;
      for (size_t f = 0; f < e; ++f) read_before = read_before || ReadsMap(plan, f, map);
      if (ReadsMap(plan, e, map) && !read_before) nests.push_back(MapNest(plan, map));
    }
    const TupleGroup& group = GroupOf(plan, e);
    const Access output = PartialAccesses(plan)[e];
    const std::string& name = output.buffer->name;
    nests.push_back(PartialInit(plan, name, group, {e}));
    Stmt leaf = MakeStmt<Reduce>(Combiner(reduce.combiner->direct_ops[e].get()),
                                 std::vector<Access>{output}, std::vector<Expr>{plan.inputs[e]},
                                 ReduceInit::kDecomposed);
    Stmt partial = MakeStmt<Block>(name, ItersOfGroup(block, group),
                                   GuardsOfGroup(plan.found, group), block.predicate, leaf);
    nests.push_back(CopiesRound(LoopsOfGroup(plan.inner, block, group), name, partial));
  }
  return nests;
}

// Combines the tile's result with the output.
Stmt CombinationOf(const Plan& plan, const TupleGroup& group) {
  const Reduce& reduce = *plan.found.reduce;
  const Block& block = *plan.found.block;
  std::vector<Expr> inputs;
  for (const Access& access : PartialAccesses(plan)) {
    inputs.push_back(MakeLoad(access.buffer, access.indices));
  }
  std::vector<IterVar> iters;
  for (const IterVar& iter : ItersOfGroup(block, group)) {
    if (iter.kind == IterKind::kSpatial) iters.push_back(iter);
  }
  iters.push_back({IterationVar("tile"), IterKind::kReduce, plan.tile->var, plan.tile->extent});
  bool one = plan.groups.size() == 1;
  Stmt leaf =
      one ? MakeStmt<Reduce>(reduce.combiner, reduce.outputs, inputs, ReduceInit::kDecomposed)
          : UpdateOfGroup(reduce, group, plan.old, inputs);
  std::vector<Ref<For>> absent = plan.reducing;
  std::vector<Ref<For>> loops;
  for (const Ref<For>& loop : plan.inner) {
    bool reduces = RoleOf(*loop, block) == LoopRole::kReduce;
    bool lacking = IsLacking(*loop, block, group);
    if (lacking) absent.push_back(loop);
    if (!lacking && !reduces) loops.push_back(loop);
  }
  return CopiesRound(
      loops, group.name,
      MakeStmt<Block>(group.name, iters, GuardsWithout(block, absent), True(), leaf));
}

Stmt Tile(const RFactorTile& step, const Plan& plan) {
  std::vector<Stmt> nests =
      step.form == TileForm::kDirect ? DirectNests(plan) : CombinedNests(step, plan);
  for (const TupleGroup& group : plan.groups) nests.push_back(CombinationOf(plan, group));
  Stmt body = SeqOf(nests);
  std::vector<Buffer> buffers = plan.partials;
  for (const SharedMap& map : plan.maps) buffers.push_back(map.buffer);
  buffers.insert(buffers.end(), plan.old.buffers.begin(), plan.old.buffers.end());
  for (size_t i = buffers.size(); i-- > 0;) body = MakeStmt<Allocate>(buffers[i], body);
  std::vector<Ref<For>> loops = {plan.tile};
  loops.insert(loops.end(), plan.round.begin(), plan.round.end());
  return InLoops(loops, std::move(body));
}

}  // namespace

std::string_view ToString(TileForm form) {
  return kFormTexts[static_cast<int>(form)];
}

std::optional<TileForm> ParseTileForm(std::string_view text) {
  for (size_t i = 0; i < std::size(kFormTexts); ++i) {
    if (kFormTexts[i] == text) return static_cast<TileForm>(i);
  }
  return std::nullopt;
}

StatusOr<Constraints> CheckRFactorTile(const Function& fn, const RFactorTile& step) {
  TCC_RETURN_IF_ERROR(MakePlan(fn, step).status());
  return Constraints{};
}

Function ApplyRFactorTile(const Function& fn, const RFactorTile& step) {
  Plan plan = MakePlan(fn, step).value();
  std::vector<Ref<For>> inside = plan.round;
  inside.insert(inside.end(), plan.inner.begin(), plan.inner.end());
  std::vector<Stmt> nests;
  for (const TupleGroup& group : plan.groups) {
    nests.push_back(InitOfGroup(plan.found, group, inside));
  }
  nests.push_back(Tile(step, plan));
  Function result = fn;
  result.body = Replace(fn.body, plan.found.nest.get(), InLoops(plan.outer, SeqOf(nests)));
  return result;
}

}  // namespace tcc
