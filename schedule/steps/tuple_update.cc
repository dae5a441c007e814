#include "schedule/steps/tuple_update.h"

#include <algorithm>

#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/guard.h"

namespace tcc {
namespace {

bool Contains(const std::vector<Var>& vars, const Var& var) {
  return std::ranges::find(vars, var) != vars.end();
}

bool UsesAny(const Expr& expr, const std::vector<Var>& vars) {
  return std::ranges::any_of(vars, [&](const Var& var) { return UsesVar(expr, var); });
}

std::vector<Var> LackingOf(const Block& block, const Access& output,
                           const std::vector<Var>& unshared) {
  std::vector<Var> lacking;
  for (const IterVar& iter : block.iters) {
    if (Contains(unshared, iter.var) && !Indexes(output, iter.var)) lacking.push_back(iter.var);
  }
  return lacking;
}

// The group that element e is in.
size_t GroupOfElement(const std::vector<TupleGroup>& groups, size_t e) {
  size_t g = 0;
  while (std::ranges::find(groups[g].elements, e) == groups[g].elements.end()) {
    ++g;
  }
  return g;
}

Status CheckGroup(const char* step, const ReductionNest& found,
                  const std::vector<TupleGroup>& groups, size_t g) {
  const Combiner& combiner = found.reduce->combiner;
  const TupleGroup& group = groups[g];
  const std::string& name = found.block->name;
  if (UsesAny(found.block->predicate, group.lacking)) {
    return InvalidInput("{}: the predicate of block '{}' depends on '{}', which some outputs lack",
                        step, name, group.lacking[0]->name);
  }
  for (size_t e : group.elements) {
    for (size_t f = 0; f < combiner.arity(); ++f) {
      bool reads_old = UsesVar(combiner->results[e], combiner->lhs[f]);
      bool reads_input = UsesVar(combiner->results[e], combiner->rhs[f]);
      if ((reads_old || reads_input) && GroupOfElement(groups, f) > g) {
        return InvalidInput("{}: element {} of '{}' depends on element {}, which has more axes",
                            step, e, combiner->name, f);
      }
      if (reads_input && UsesAny(found.reduce->inputs[f], group.lacking)) {
        return InvalidInput(
            "{}: what element {} of block '{}' takes in depends on '{}', which its "
            "output lacks",
            step, e, name, group.lacking[0]->name);
      }
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::vector<TupleGroup>> GroupsOf(const char* step, const ReductionNest& found) {
  const Block& block = *found.block;
  std::vector<Var> unshared = UnsharedAxes(block);
  std::vector<TupleGroup> groups;
  for (size_t e = 0; e < found.reduce->outputs.size(); ++e) {
    std::vector<Var> lacking = LackingOf(block, found.reduce->outputs[e], unshared);
    auto same = std::ranges::find_if(
        groups, [&](const TupleGroup& group) { return group.lacking == lacking; });
    if (same == groups.end()) same = groups.insert(groups.end(), {"", {}, lacking});
    same->elements.push_back(e);
  }
  std::ranges::sort(groups, [](const TupleGroup& a, const TupleGroup& b) {
    return std::pair(b.lacking.size(), a.elements[0]) < std::pair(a.lacking.size(), b.elements[0]);
  });
  for (size_t g = 0; g < groups.size(); ++g) {
    bool last = g + 1 == groups.size();
    groups[g].name = last ? block.name : block.name + "." + std::to_string(groups[g].elements[0]);
    for (const Var& var : last ? groups[g].lacking : groups[g + 1].lacking) {
      if (last || !Contains(groups[g].lacking, var)) {
        return InvalidInput("{}: the outputs of block '{}' differ in more than the axes they lack",
                            step, block.name);
      }
    }
    TCC_RETURN_IF_ERROR(CheckGroup(step, found, groups, g));
  }
  return groups;
}

bool IsLacking(const For& loop, const Block& block, const TupleGroup& group) {
  return std::ranges::any_of(block.iters, [&](const IterVar& iter) {
    return Contains(group.lacking, iter.var) && UsesVar(iter.binding, loop.var);
  });
}

namespace {

// Whether every output of the group lives inside `loop`, which is round the nest: each iteration
// makes its own.
bool AreInside(const ReductionNest& found, const For& loop, const TupleGroup& group) {
  return std::ranges::all_of(group.elements, [&](size_t e) {
    return IsInsideLoop(found, loop, found.reduce->outputs[e]);
  });
}

}  // namespace

Status CheckLoops(const char* step, const ReductionNest& found,
                  const std::vector<TupleGroup>& groups) {
  const Block& block = *found.block;
  for (const auto* loops : {&found.above, &found.loops}) {
    for (const Ref<For>& loop : *loops) {
      for (const TupleGroup& group : groups) {
        if (!IsLacking(*loop, block, group)) continue;
        if (loops == &found.above) {
          if (AreInside(found, *loop, group)) continue;
          return InvalidInput("{}: loop '{}' of an axis that some outputs lack holds other blocks",
                              step, loop->key);
        }
        for (const IterVar& iter : block.iters) {
          if (!UsesVar(iter.binding, loop->var) || Contains(group.lacking, iter.var)) continue;
          return InvalidInput("{}: loop '{}' feeds an axis that some outputs lack and another one",
                              step, loop->key);
        }
        TCC_RETURN_IF_ERROR(ExpectSerial(step, loop));
      }
    }
  }
  return OkStatus();
}

std::vector<Ref<For>> LoopsOfGroup(const std::vector<Ref<For>>& loops, const Block& block,
                                   const TupleGroup& group) {
  std::vector<Ref<For>> own;
  for (const Ref<For>& loop : loops) {
    if (!IsLacking(*loop, block, group)) own.push_back(loop);
  }
  return own;
}

std::vector<IterVar> ItersOfGroup(const Block& block, const TupleGroup& group) {
  std::vector<IterVar> iters;
  for (const IterVar& iter : block.iters) {
    if (!Contains(group.lacking, iter.var)) iters.push_back(iter);
  }
  return iters;
}

std::vector<LoopGuard> GuardsOfGroup(const ReductionNest& found, const TupleGroup& group) {
  std::vector<Ref<For>> lacking;
  for (const Ref<For>& loop : found.loops) {
    if (IsLacking(*loop, *found.block, group)) lacking.push_back(loop);
  }
  return GuardsWithout(*found.block, lacking);
}

Stmt InitOfGroup(const ReductionNest& found, const TupleGroup& group,
                 const std::vector<Ref<For>>& loops) {
  const Block& block = *found.block;
  std::vector<Ref<For>> spatial;
  std::vector<Ref<For>> others;
  for (const Ref<For>& loop : found.loops) {
    bool own = RoleOf(*loop, block) == LoopRole::kSpatial && !IsLacking(*loop, block, group);
    if (!own) others.push_back(loop);
  }
  for (const Ref<For>& loop : LoopsOfGroup(loops, block, group)) {
    if (RoleOf(*loop, block) == LoopRole::kSpatial) spatial.push_back(loop);
  }
  std::vector<IterVar> iters;
  for (const IterVar& iter : ItersOfGroup(block, group)) {
    if (iter.kind == IterKind::kSpatial) iters.push_back(iter);
  }
  std::string name = group.name + ".init";
  return CopiesRound(
      spatial, name,
      IdentityBlock(name, iters, GuardsWithout(block, others), *found.reduce, group.elements));
}

OldValues OldValuesOf(const Function& fn, const ReductionNest& found,
                      const std::vector<TupleGroup>& groups) {
  const Combiner& combiner = found.reduce->combiner;
  std::vector<size_t> order;
  for (const TupleGroup& group : groups) {
    order.insert(order.end(), group.elements.begin(), group.elements.end());
  }
  OldValues old;
  old.of_element.resize(combiner.arity());
  for (size_t i = 0; i < order.size(); ++i) {
    size_t e = order[i];
    bool read = std::any_of(
        order.begin() + static_cast<std::ptrdiff_t>(i) + 1, order.end(),
        [&](size_t later) { return UsesVar(combiner->results[later], combiner->lhs[e]); });
    if (!read) continue;
    Buffer output = *FindBuffer(fn, found.reduce->outputs[e].buffer);
    Scope scope = output.scope == Scope::kConstant ? Scope::kGlobal : output.scope;
    Var var = BufferVar(found.block->name + ".old" + std::to_string(e), output.dtype());
    old.of_element[e] = var;
    old.buffers.push_back({var, output.shape, scope, {}, {}, -1, {}});
  }
  return old;
}

Stmt UpdateOfGroup(const Reduce& reduce, const TupleGroup& group, const OldValues& old,
                   const std::vector<Expr>& inputs) {
  const Combiner& combiner = reduce.combiner;
  std::vector<Stmt> stmts;
  for (size_t e : group.elements) {
    const Access& output = reduce.outputs[e];
    if (!old.of_element[e]) continue;
    stmts.push_back(MakeStmt<Store>(old.of_element[e], output.indices,
                                    MakeLoad(output.buffer, output.indices)));
  }
  Substitution values;
  for (size_t f = 0; f < combiner.arity(); ++f) {
    const Var& before = old.of_element[f] ? old.of_element[f] : reduce.outputs[f].buffer;
    values.emplace(combiner->lhs[f], MakeLoad(before, reduce.outputs[f].indices));
    values.emplace(combiner->rhs[f], inputs[f]);
  }
  for (size_t e : group.elements) {
    const Access& output = reduce.outputs[e];
    stmts.push_back(
        MakeStmt<Store>(output.buffer, output.indices, Substitute(combiner->results[e], values)));
  }
  return SeqOf(stmts);
}

}  // namespace tcc
