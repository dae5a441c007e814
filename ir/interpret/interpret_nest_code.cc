#include "ir/interpret/interpret_nest_code.h"

#include <algorithm>

#include "ir/expr/visitor.h"

namespace tcc::interpret {
namespace {

// The least useful chunk: with fewer lanes, dispatch takes more time than arithmetic.
constexpr int64_t kWorthwhileLanes = 64;

bool CanMerge(ForKind kind, bool merge_parallel) {
  return IsInOrder(kind) || kind == ForKind::kVectorized ||
         (kind == ForKind::kParallel && merge_parallel);
}

std::vector<Access> OutputsOf(const Chain& chain) {
  if (chain.reduce) return chain.reduce->outputs;
  return {{chain.store->buffer, chain.store->indices}};
}

// Returns c where expr == c * var + (something without var).
std::optional<int64_t> Coefficient(const Expr& expr, const Var& var) {
  if (!UsesVar(expr, var)) return 0;
  if (expr.same_as(var)) return 1;
  if (const auto* add = expr.as<Add>()) {
    auto a = Coefficient(add->a, var);
    auto b = Coefficient(add->b, var);
    return a && b ? std::optional(*a + *b) : std::nullopt;
  }
  if (const auto* sub = expr.as<Sub>()) {
    auto a = Coefficient(sub->a, var);
    auto b = Coefficient(sub->b, var);
    return a && b ? std::optional(*a - *b) : std::nullopt;
  }
  if (const auto* mul = expr.as<Mul>()) {
    bool right = AsConstant(mul->b).has_value();
    auto factor = AsConstant(right ? mul->b : mul->a);
    auto rest = Coefficient(right ? mul->a : mul->b, var);
    return factor && rest ? std::optional(*factor * *rest) : std::nullopt;
  }
  return std::nullopt;
}

std::vector<Access> OutputsInLoops(const Chain& chain) {
  std::vector<Access> outputs = OutputsOf(chain);
  if (!chain.block) return outputs;
  Substitution bindings;
  for (const IterVar& iter : chain.block->iters) bindings.emplace(iter.var, iter.binding);
  for (Access& output : outputs) {
    for (Expr& index : output.indices) index = Substitute(index, bindings);
  }
  return outputs;
}

// Returns whether two iterations of `together` never write the same cell: each of these loops has a
// dimension to itself that no loop of `inside` shares.
bool WriteApart(const std::vector<Access>& outputs, const std::vector<Var>& together,
                const std::vector<Var>& inside) {
  auto owns = [&](const Expr& index, const Var& var) {
    if (Coefficient(index, var).value_or(0) == 0) return false;
    auto disturbs = [&](const Var& other) { return !(other == var) && UsesVar(index, other); };
    return std::ranges::none_of(together, disturbs) && std::ranges::none_of(inside, disturbs);
  };
  for (const Access& output : outputs) {
    for (const Var& var : together) {
      auto is_own = [&](const Expr& index) { return owns(index, var); };
      if (std::ranges::none_of(output.indices, is_own)) return false;
    }
  }
  return true;
}

bool IsLane(const std::vector<int>& lanes, int loop) {
  return std::ranges::find(lanes, loop) != lanes.end();
}

bool CanBeLanes(const Chain& chain, const std::vector<Access>& outputs,
                const std::vector<int>& lanes) {
  int first = *std::ranges::min_element(lanes);
  std::vector<Var> together;
  std::vector<Var> inside;
  for (int i = first; i < static_cast<int>(chain.loops.size()); ++i) {
    (IsLane(lanes, i) ? together : inside).push_back(chain.loops[i]->var);
  }
  return WriteApart(outputs, together, inside);
}

bool HasVectors(const Chain& chain) {
  if (!chain.store) return false;
  const std::vector<Expr>& indices = chain.store->indices;
  return chain.store->value.dtype().lanes() > 1 ||
         std::ranges::any_of(indices, [](const Expr& index) { return index.dtype().lanes() > 1; });
}

}  // namespace

std::optional<Chain> FindChain(const Stmt& stmt, bool merge_parallel) {
  Chain chain;
  Stmt at = stmt;
  while (const auto* loop = at.as<For>()) {
    auto in_extent = [&](const For* outer) { return UsesVar(loop->extent, outer->var); };
    if (!CanMerge(loop->for_kind, merge_parallel)) return std::nullopt;
    if (std::ranges::any_of(chain.loops, in_extent)) return std::nullopt;
    chain.loops.push_back(loop);
    at = loop->body;
  }
  while (const auto* branch = at.as<If>()) {
    if (branch->else_body) return std::nullopt;
    chain.conditions.push_back(branch->condition);
    at = branch->then_body;
  }
  chain.block = at.as<Block>();
  if (chain.block) at = chain.block->body;
  chain.store = at.as<Store>();
  chain.reduce = at.as<Reduce>();
  if (!chain.store && !(chain.reduce && chain.block)) return std::nullopt;
  return chain;
}

LoopOrder KeepOrder(const Chain& chain) {
  LoopOrder order;
  for (size_t i = 0; i < chain.loops.size(); ++i) order.outer.push_back(static_cast<int>(i));
  return order;
}

LoopOrder OrderLoops(const Chain& chain, const std::vector<int64_t>& extents) {
  LoopOrder order;
  std::vector<Access> outputs = OutputsInLoops(chain);
  if (HasVectors(chain)) return KeepOrder(chain);
  int64_t count = 1;
  int loops = static_cast<int>(chain.loops.size());
  for (int i = loops - 1; i >= 0 && count < kWorthwhileLanes; --i) {
    std::vector<int> tried = order.lanes;
    tried.insert(tried.begin(), i);
    if (!CanBeLanes(chain, outputs, tried)) continue;
    order.lanes = tried;
    count *= std::max<int64_t>(1, extents[i]);
  }
  for (int i = 0; i < loops; ++i) {
    if (IsLane(order.lanes, i)) continue;
    bool inside = !order.lanes.empty() && i > order.lanes[0];
    (inside ? order.inner : order.outer).push_back(i);
  }
  std::vector<int> all = order.outer;
  all.insert(all.end(), order.lanes.begin(), order.lanes.end());
  order.independent = !all.empty() && CanBeLanes(chain, outputs, all);
  return order;
}

namespace {

class LeafCompiler {
 public:
  LeafCompiler(const Chain& chain, const LoopOrder& order,
               const std::unordered_map<Var, int, VarHash>& buffers,
               const std::unordered_map<Var, int, VarHash>& slots, Nest& nest)
      : chain_(chain), nest_(nest), compiler_(nest.code, buffers) {
    nest.code.lane_depth = static_cast<int>(order.outer.size()) + 1;
    nest.code.max_depth = nest.code.lane_depth + static_cast<int>(order.inner.size());
    for (const auto& [var, slot] : slots) compiler_.Bind(var, {Meaning::kSlot, slot, 0});
    int depth = 0;
    for (int i : order.outer) BindLoop(i, slots, ++depth);
    for (size_t i = 0; i < order.lanes.size(); ++i) {
      compiler_.Bind(chain.loops[order.lanes[i]]->var,
                     {Meaning::kLane, static_cast<int>(i), nest.code.lane_depth});
    }
    depth = nest.code.lane_depth;
    for (int i : order.inner) BindLoop(i, slots, ++depth);
    for (const Access& output : OutputsOf(chain)) compiler_.MarkWritten(output.buffer);
  }

  void Run() {
    for (const Expr& condition : chain_.conditions) AddCondition(condition);
    if (chain_.block) BindBlock(*chain_.block);
    if (chain_.store) {
      CompileStore(*chain_.store);
    } else {
      CompileReduce(*chain_.reduce);
    }
    std::ranges::stable_sort(
        nest_.conditions, [](const Condition& a, const Condition& b) { return a.depth < b.depth; });
  }

  // Returns whether every load from a buffer that the leaf writes is of the lane's own output cell.
  bool LanesAreApart() const {
    for (size_t i = 0; i < nest_.outputs.size(); ++i) {
      int written = nest_.code.accesses[nest_.outputs[i].access].buffer;
      for (size_t a = 0; a < nest_.code.accesses.size(); ++a) {
        bool own = static_cast<int>(a) == nest_.outputs[i].access;
        if (!own && nest_.code.accesses[a].buffer == written) return false;
      }
    }
    return true;
  }

 private:
  void BindLoop(int i, const std::unordered_map<Var, int, VarHash>& slots, int depth) {
    const Var& var = chain_.loops[i]->var;
    compiler_.Bind(var, {Meaning::kSlot, slots.at(var), depth});
  }

  // A condition that may be undefined waits for those before it, which may say that it is defined.
  void AddCondition(const Expr& condition) {
    int node = compiler_.Compile(condition);
    int depth = nest_.code.nodes[node].depth;
    if (!nest_.code.nodes[node].total) {
      for (const Condition& before : nest_.conditions) depth = std::max(depth, before.depth);
    }
    nest_.conditions.push_back({node, depth});
  }

  // Returns whether the variable is bound to a loop over its whole domain, so that it needs no
  // test.
  bool CoversDomain(const IterVar& iter) const {
    for (const For* loop : chain_.loops) {
      if (iter.binding.same_as(loop->var)) return Equal(loop->extent, iter.domain);
    }
    return false;
  }

  void BindBlock(const Block& block) {
    for (const IterVar& iter : block.iters) {
      if (!CoversDomain(iter)) {
        AddCondition(Expr(0) <= iter.binding);
        AddCondition(iter.binding < iter.domain);
      }
    }
    for (const LoopGuard& guard : block.guards) AddCondition(guard.value < guard.extent);
    for (const IterVar& iter : block.iters) {
      int node = compiler_.Compile(iter.binding);
      compiler_.Bind(iter.var, {Meaning::kNode, node, 0});
      if (iter.kind == IterKind::kReduce) nest_.reduce_values.push_back(node);
    }
    if (!IsConstant(block.predicate, 1)) nest_.predicate = compiler_.Compile(block.predicate);
  }

  void CompileStore(const Store& store) {
    nest_.vector_lanes = store.value.dtype().lanes();
    for (const Expr& index : store.indices) {
      nest_.vector_lanes = std::max(nest_.vector_lanes, index.dtype().lanes());
    }
    if (store.mask) AddCondition(store.mask);
    int value = compiler_.Compile(store.value);
    nest_.inputs.push_back(value);
    nest_.outputs.push_back({compiler_.CompileAccess(store.buffer, store.indices), value, -1});
  }

  void CompileReduce(const Reduce& reduce) {
    const CombinerNode& combiner = *reduce.combiner;
    nest_.init = reduce.init == ReduceInit::kFirstInstance;
    for (size_t e = 0; e < reduce.outputs.size(); ++e) {
      const Access& output = reduce.outputs[e];
      int input = compiler_.Compile(reduce.inputs[e]);
      int access = compiler_.CompileAccess(output.buffer, output.indices);
      int before = compiler_.LoadOf(access, output.buffer.dtype());
      compiler_.Bind(combiner.rhs[e], {Meaning::kNode, input, 0});
      compiler_.Bind(combiner.lhs[e], {Meaning::kNode, before, 0});
      nest_.inputs.push_back(input);
      nest_.outputs.push_back({access, 0, compiler_.Compile(combiner.identities[e])});
    }
    for (size_t e = 0; e < reduce.outputs.size(); ++e) {
      nest_.outputs[e].value = compiler_.Compile(combiner.results[e]);
    }
  }

  const Chain& chain_;
  Nest& nest_;
  ExprCompiler compiler_;
};

}  // namespace

bool CompileLeaf(const Chain& chain, const LoopOrder& order,
                 const std::unordered_map<Var, int, VarHash>& buffers,
                 const std::unordered_map<Var, int, VarHash>& slots, Nest& nest) {
  LeafCompiler compiler(chain, order, buffers, slots, nest);
  compiler.Run();
  return order.lanes.empty() || compiler.LanesAreApart();
}

}  // namespace tcc::interpret
