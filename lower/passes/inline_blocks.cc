#include "ir/simplify.h"
#include "ir/substitute.h"
#include "lower/passes/loop_bounds.h"
#include "lower/passes/passes.h"

namespace tcc {
namespace {

// `condition` in front of `body`, unless it is known.
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

// All elements change at once, so with several the new values are held before the first is stored.
Stmt UpdateOf(const Reduce& reduce) {
  std::vector<Expr> old;
  for (const Access& output : reduce.outputs)
    old.push_back(Make<Load>(output.buffer, output.indices));
  std::vector<Expr> values = Combine(reduce.combiner, old, reduce.inputs);
  std::vector<Var> held;
  if (values.size() > 1) {
    for (size_t e = 0; e < values.size(); ++e) {
      Expr var = Make<VarNode>("new" + std::to_string(e), VarRole::kLoop, values[e].dtype(), 0, 0);
      held.push_back(Var(var.as<VarNode>()));
    }
  }
  std::vector<Stmt> stores;
  for (size_t e = 0; e < values.size(); ++e) {
    Expr value = held.empty() ? values[e] : Expr(held[e]);
    stores.push_back(MakeStmt<Store>(reduce.outputs[e].buffer, reduce.outputs[e].indices, value));
  }
  Stmt update = SeqOf(stores);
  for (size_t e = held.size(); e-- > 0;) update = MakeStmt<Let>(held[e], values[e], update);
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

  // Blocks that never exist leave no statement.
  Stmt Rewrite(const Seq& seq) override {
    std::vector<Stmt> stmts;
    for (const Stmt& stmt : seq.stmts) stmts.push_back(Mutator::Mutate(stmt));
    return SeqOf(stmts);
  }

  Stmt Rewrite(const Block& block) override {
    Expr exists = True();
    Substitution values;
    auto require = [&](const Expr& condition) {
      Proof proof = Prove(condition, bounds());
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
