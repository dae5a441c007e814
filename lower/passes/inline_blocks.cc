#include "ir/expr/substitute.h"
#include "ir/simplify/simplify.h"
#include "lower/passes/loop_bounds.h"
#include "lower/passes/passes.h"

namespace tcc {
namespace {

// Guards `body` by `condition`, unless the condition is constant.
Stmt Guarded(const Expr& condition, const Stmt& body) {
  if (IsConstant(condition, 1)) return body;
  if (IsConstant(condition, 0)) return Nothing();
  return MakeStmt<If>(condition, body);
}

Stmt InitOf(const Reduce& reduce, const Block& block) {
  Expr first = True();
  for (const IterVar& iter : block.iters) {
    if (iter.kind == IterKind::kReduce) first = BothOf(first, Make<Eq>(iter.var, Expr(0)));
  }
  std::vector<Stmt> stores;
  for (size_t e = 0; e < reduce.outputs.size(); ++e) {
    const Access& output = reduce.outputs[e];
    stores.push_back(
        MakeStmt<Store>(output.buffer, output.indices, reduce.combiner->identities[e]));
  }
  return MakeStmt<If>(first, SeqOf(stores));
}

Var HeldVar(const std::string& name, size_t element, const Expr& value) {
  Expr var = Make<VarNode>(name + std::to_string(element), VarRole::kLoop, value.dtype(), 0, 0, 0);
  return Var(var.as<VarNode>());
}

// Updates all elements of a tuple at once: with several elements, the new values are computed
// before the first one is stored. The inputs are computed before too: the elements use them in
// several places, some under a condition, and a load there would wait for the condition.
Stmt UpdateOf(const Reduce& reduce) {
  std::vector<Expr> old;
  for (const Access& output : reduce.outputs)
    old.push_back(Make<Load>(output.buffer, output.indices));
  bool holds = reduce.outputs.size() > 1;
  std::vector<Expr> inputs = reduce.inputs;
  std::vector<std::pair<Var, Expr>> held;
  for (size_t e = 0; holds && e < inputs.size(); ++e) {
    if (AsConstant(inputs[e]) || inputs[e].as<FloatImm>() || inputs[e].as<VarNode>()) continue;
    held.emplace_back(HeldVar("in", e, inputs[e]), inputs[e]);
    inputs[e] = held.back().first;
  }
  std::vector<Expr> values = Combine(reduce.combiner, old, inputs);
  for (size_t e = 0; holds && e < values.size(); ++e) {
    held.emplace_back(HeldVar("new", e, values[e]), values[e]);
    values[e] = held.back().first;
  }
  std::vector<Stmt> stores;
  for (size_t e = 0; e < values.size(); ++e) {
    stores.push_back(
        MakeStmt<Store>(reduce.outputs[e].buffer, reduce.outputs[e].indices, values[e]));
  }
  Stmt update = SeqOf(stores);
  for (size_t h = held.size(); h-- > 0;) {
    update = MakeStmt<Let>(held[h].first, held[h].second, update);
  }
  return update;
}

class Inliner final : public BoundedMutator {
 private:
  using BoundedMutator::Rewrite;

  Stmt RewriteLoop(const For& loop) override {
    Stmt body = Mutator::Mutate(loop.body);
    if (IsNothing(body)) return body;
    return MakeStmt<For>(loop.var, loop.extent, loop.for_kind, loop.key, body);
  }

  // Drops the blocks that have no instance.
  Stmt Rewrite(const Seq& seq) override {
    std::vector<Stmt> stmts;
    for (const Stmt& stmt : seq.stmts) stmts.push_back(Mutator::Mutate(stmt));
    return SeqOf(stmts);
  }

  Stmt Rewrite(const Block& block) override {
    Expr exists = True();
    Substitution values;
    auto require = [&](const Expr& condition) {
      Proof proof = ProveInLoops(condition);
      if (proof == Proof::kFalse) exists = IntConst(kBool, 0);
      if (proof == Proof::kUnknown)
        exists = IsConstant(exists, 1) ? condition : BothOf(exists, condition);
    };
    for (const IterVar& iter : block.iters) {
      values.emplace(iter.var, iter.binding);
      require(Expr(0) <= iter.binding);
      require(iter.binding < iter.domain);
    }
    for (const LoopGuard& guard : block.guards) require(guard.value < guard.extent);

    std::vector<Stmt> steps;
    Stmt body = block.body;
    if (const auto* reduce = block.body.as<Reduce>()) {
      if (reduce->init == ReduceInit::kFirstInstance) steps.push_back(InitOf(*reduce, block));
      body = UpdateOf(*reduce);
    }
    steps.push_back(Guarded(block.predicate, body));
    Stmt inlined = Substitute(SeqOf(steps), values);
    return Guarded(exists, Simplify(inlined, bounds()));
  }
};

}  // namespace

Function InlineBlocks(const Function& fn) {
  return Inliner().Mutate(fn);
}

}  // namespace tcc
