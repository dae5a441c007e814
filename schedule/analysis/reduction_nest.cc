#include "schedule/analysis/reduction_nest.h"

#include <algorithm>
#include <numeric>

#include "ir/expr/compare.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/guard.h"

namespace tcc {
namespace {

// Returns whether an output of the reduction lives through all iterations of `loop`, which encloses
// it.
bool LivesThrough(const ReductionNest& found, const For& loop) {
  return std::ranges::any_of(found.reduce->outputs, [&](const Access& output) {
    return !IsInsideLoop(found, loop, output);
  });
}

Status ExpectPlainLoops(const char* step, const ReductionNest& found) {
  Stmt body = found.nest;
  while (const auto* loop = body.as<For>()) body = loop->body;
  if (!body.same_as(found.path.back())) {
    return InvalidInput("{}: the loops of block '{}' hold more than the block", step,
                        found.block->name);
  }
  for (const Ref<For>& loop : found.above) {
    LoopRole role = RoleOf(*loop, *found.block);
    bool reduces = role == LoopRole::kReduce || role == LoopRole::kBoth;
    if (reduces && LivesThrough(found, *loop)) {
      return InvalidInput("{}: loop '{}' of the reduction '{}' holds other blocks as well", step,
                          loop->key, found.block->name);
    }
  }
  for (const Ref<For>& loop : found.loops) {
    LoopRole role = RoleOf(*loop, *found.block);
    if (role == LoopRole::kBoth || role == LoopRole::kNeither) {
      return InvalidInput("{}: loop '{}' feeds {} spatial and reduce variables", step, loop->key,
                          role == LoopRole::kBoth ? "both" : "neither of");
    }
  }
  return OkStatus();
}

// Returns the number of leading spatial loops down to the last bound one. The work of a thread or
// thread block stays with it, and its partial results are its own.
size_t BoundPrefix(const std::vector<Ref<For>>& loops, const Block& block) {
  size_t prefix = 0;
  for (size_t i = 0; i < loops.size() && RoleOf(*loops[i], block) == LoopRole::kSpatial; ++i) {
    ForKind kind = loops[i]->for_kind;
    bool bound = IsBlockIdx(kind) || IsThreadIdx(kind) || kind == ForKind::kVthread ||
                 kind == ForKind::kParallel;
    if (bound) prefix = i + 1;
  }
  return prefix;
}

// Returns whether `stmt` sets the output of the reduction's element to its identity.
bool SetsIdentity(const Stmt& stmt, const Reduce& reduce, size_t element, const Substitution& at) {
  const auto* store = stmt.as<Store>();
  const Access& output = reduce.outputs[element];
  if (!store || !(store->buffer == output.buffer)) return false;
  for (size_t d = 0; d < output.indices.size(); ++d) {
    if (!Equal(store->indices[d], Substitute(output.indices[d], at))) return false;
  }
  return Equal(store->value, reduce.combiner->identities[element]);
}

}  // namespace

LoopRole RoleOf(const For& loop, const Block& block) {
  bool spatial = Feeds(loop, block, IterKind::kSpatial);
  bool reduce = Feeds(loop, block, IterKind::kReduce);
  if (spatial && reduce) {
    return OwnsCells(block, loop.var) ? LoopRole::kSpatial : LoopRole::kBoth;
  }
  if (spatial) return LoopRole::kSpatial;
  return reduce ? LoopRole::kReduce : LoopRole::kNeither;
}

std::vector<Ref<For>> LoopsFrom(const Path& path, const Stmt& nest) {
  auto first = std::ranges::find_if(path, [&](const Stmt& stmt) { return stmt.same_as(nest); });
  return LoopsOn(Path(first, path.end()));
}

bool IsInsideLoop(const ReductionNest& found, const For& loop, const Access& output) {
  bool reached = false;
  for (const Stmt& stmt : found.path) {
    reached = reached || stmt.get() == &loop;
    const auto* allocate = stmt.as<Allocate>();
    if (reached && allocate && output.buffer == allocate->buffer.var) return true;
  }
  return false;
}

StatusOr<ReductionNest> FindReduction(const char* step, const Function& fn,
                                      const std::string& block) {
  ReductionNest found;
  TCC_ASSIGN_OR_RETURN(found.path, FindBlock(fn, block));
  found.block = BlockAt(found.path);
  found.reduce = found.block->body.as<Reduce>();
  if (!found.reduce) return InvalidInput("{}: block '{}' is no reduction", step, block);
  found.nest = NestOf(found.path);
  found.loops = LoopsFrom(found.path, found.nest);
  for (size_t i = BoundPrefix(found.loops, *found.block); i > 0; --i) {
    found.nest = found.loops[0]->body;
    found.loops.erase(found.loops.begin());
  }
  found.above = LoopsOn(found.path);
  found.above.resize(found.above.size() - found.loops.size());
  TCC_RETURN_IF_ERROR(ExpectPlainLoops(step, found));
  return found;
}

Status ExpectFree(const char* step, const Function& fn, const std::string& name) {
  if (!name.empty() && !IsBlockName(fn, name) && !BufferNamed(fn, name).ok()) return OkStatus();
  return InvalidInput("{}: the name '{}' is empty or in use", step, name);
}

bool Indexes(const Access& access, const Var& iter) {
  return std::ranges::any_of(access.indices,
                             [&](const Expr& index) { return UsesVar(index, iter); });
}

std::vector<Var> UnsharedAxes(const Block& block) {
  std::vector<Var> axes;
  const auto* reduce = block.body.as<Reduce>();
  if (!reduce) return axes;
  for (const IterVar& iter : block.iters) {
    auto has = [&](const Access& output) { return Indexes(output, iter.var); };
    bool any = std::ranges::any_of(reduce->outputs, has);
    bool all = std::ranges::all_of(reduce->outputs, has);
    if (any && !all) axes.push_back(iter.var);
  }
  return axes;
}

bool IsUnshared(const Block& block, const IterVar& iter) {
  std::vector<Var> axes = UnsharedAxes(block);
  return std::ranges::find(axes, iter.var) != axes.end();
}

bool FeedsUnsharedAxis(const For& loop, const Block& block) {
  return std::ranges::any_of(block.iters, [&](const IterVar& iter) {
    return UsesVar(iter.binding, loop.var) && IsUnshared(block, iter);
  });
}

Status ExpectSharedAxes(const char* step, const Block& block) {
  if (UnsharedAxes(block).empty()) return OkStatus();
  return InvalidInput("{}: block '{}' updates outputs of different axes; rfactor_tile it first",
                      step, block.name);
}

const Block* InitialisationOf(const Function& fn, const Block& block) {
  const auto* reduce = block.body.as<Reduce>();
  StatusOr<Path> path = FindBlock(fn, block.name + ".init");
  if (!reduce || reduce->init != ReduceInit::kDecomposed || !path.ok()) return nullptr;
  const auto* init = path->back().as<Block>();
  std::vector<IterVar> iters = SpatialIters(block);
  if (init->iters.size() != iters.size() || !IsConstant(init->predicate, 1)) return nullptr;
  Substitution at;
  for (size_t i = 0; i < iters.size(); ++i) {
    bool same =
        init->iters[i].kind == IterKind::kSpatial && Equal(init->iters[i].domain, iters[i].domain);
    if (!same) return nullptr;
    at.emplace(iters[i].var, init->iters[i].var);
  }
  std::vector<Stmt> stores = {init->body};
  if (const auto* seq = init->body.as<Seq>()) stores = seq->stmts;
  if (stores.size() != reduce->outputs.size()) return nullptr;
  for (size_t e = 0; e < stores.size(); ++e) {
    if (!SetsIdentity(stores[e], *reduce, e, at)) return nullptr;
  }
  return init;
}

LoopRef Rekeyed(const LoopRef& key, const std::string& name) {
  return name + key.substr(key.find('/'));
}

Stmt CopiesRound(const std::vector<Ref<For>>& loops, const std::string& name, const Stmt& body) {
  Stmt nest = body;
  for (size_t i = loops.size(); i-- > 0;) {
    const For& loop = *loops[i];
    nest = MakeStmt<For>(loop.var, loop.extent, loop.for_kind, Rekeyed(loop.key, name), nest);
  }
  return WithFreshVars(nest);
}

std::vector<LoopGuard> GuardsWithout(const Block& block, const std::vector<Ref<For>>& loops) {
  std::vector<LoopGuard> guards;
  for (const LoopGuard& guard : block.guards) {
    bool uses = std::ranges::any_of(
        loops, [&](const Ref<For>& loop) { return UsesVar(guard.value, loop->var); });
    if (!uses) guards.push_back(guard);
  }
  return guards;
}

std::vector<IterVar> SpatialIters(const Block& block) {
  std::vector<IterVar> iters;
  for (const IterVar& iter : block.iters) {
    if (iter.kind == IterKind::kSpatial) iters.push_back(iter);
  }
  return iters;
}

Stmt IdentityBlock(const std::string& name, const std::vector<IterVar>& iters,
                   const std::vector<LoopGuard>& guards, const Reduce& reduce,
                   const std::vector<size_t>& elements) {
  std::vector<Stmt> stores;
  for (size_t e : elements) {
    const Access& output = reduce.outputs[e];
    stores.push_back(
        MakeStmt<Store>(output.buffer, output.indices, reduce.combiner->identities[e]));
  }
  return MakeStmt<Block>(name, iters, guards, True(), SeqOf(stores));
}

std::vector<size_t> AllElements(const Combiner& combiner) {
  std::vector<size_t> elements(combiner.arity());
  std::iota(elements.begin(), elements.end(), size_t{0});
  return elements;
}

std::string PartialName(const std::string& name, const Reduce& reduce, size_t e) {
  return reduce.outputs.size() == 1 ? name : name + "." + std::to_string(e);
}

Expr MakeLoad(const Var& buffer, const std::vector<Expr>& indices) {
  return Make<Load>(buffer, indices);
}

Path PathAbove(const ReductionNest& found) {
  auto nest =
      std::ranges::find_if(found.path, [&](const Stmt& stmt) { return stmt.same_as(found.nest); });
  return Path(found.path.begin(), nest);
}

std::vector<Ref<For>> MovingWithThreads(const std::vector<Ref<For>>& moving,
                                        const ReductionNest& found,
                                        const std::vector<Ref<For>>& outer, Scope scope) {
  std::vector<Ref<For>> all;
  for (const auto* loops : {&found.above, &outer}) {
    for (const Ref<For>& loop : *loops) {
      bool thread = IsThreadIdx(loop->for_kind) || loop->for_kind == ForKind::kVthread;
      if (scope == Scope::kShared && thread) all.push_back(loop);
    }
  }
  all.insert(all.end(), moving.begin(), moving.end());
  return all;
}

}  // namespace tcc
