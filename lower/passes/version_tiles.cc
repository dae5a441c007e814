#include <algorithm>

#include "ir/analysis/affine.h"
#include "ir/expr/compare.h"
#include "ir/expr/substitute.h"
#include "ir/simplify/simplify.h"
#include "lower/passes/loop_bounds.h"
#include "lower/passes/passes.h"
#include "lower/passes/rewrite_statements.h"

namespace tcc {
namespace {

// Stores of a tile once its loops are unrolled, beyond which two versions are too long.
constexpr int64_t kMaxVersionStores = 1024;
// Conditions of the version without them, beyond which they cost more than they save.
constexpr size_t kMaxConditions = 8;
// Rows of a short tail: what a core does in the time in which it loads a row of the other operand.
constexpr int64_t kShortRows = 4;
// Rows from which on a tile has a version for short tails.
constexpr int64_t kLeastLongRows = 8;

int64_t CountUnrolledStores(const Stmt& stmt) {
  int64_t count = stmt.as<Store>() != nullptr || stmt.as<Reduce>() != nullptr;
  ForEachChild(stmt, [&](const Stmt& child) { count += CountUnrolledStores(child); });
  const auto* loop = stmt.as<For>();
  bool copies = loop && loop->for_kind == ForKind::kUnrolled;
  return copies ? count * std::max<int64_t>(AsConstant(loop->extent).value_or(1), 1) : count;
}

// Returns the allocations directly in the body of a loop, not in loops inside.
std::vector<const Allocate*> AllocatedIn(const Stmt& body) {
  std::vector<const Allocate*> found;
  if (body.as<For>() != nullptr || body.as<Block>() != nullptr) return found;
  if (const auto* allocate = body.as<Allocate>()) found.push_back(allocate);
  ForEachChild(body, [&](const Stmt& child) {
    for (const Allocate* inner : AllocatedIn(child)) found.push_back(inner);
  });
  return found;
}

bool IsOneOf(const std::vector<const Buffer*>& buffers, const Var& var) {
  return std::ranges::any_of(buffers, [&](const Buffer* buffer) { return buffer->var == var; });
}

// Returns whether the expression is a division of integers, which fails for some of them.
bool DividesIntegers(const Expr& expr) {
  const auto* call = expr.as<Call>();
  return expr.as<FloorDiv>() || expr.as<FloorMod>() || expr.as<CeilDiv>() ||
         (call && (call->op == ScalarOp::kTruncDiv || call->op == ScalarOp::kTruncMod));
}

// A condition value < extent of a block in the tile, with the most that `value` is there.
struct TailCondition {
  Expr value;
  Expr extent;
  Expr least;
  Expr most;
  bool across_lanes = false;  // differs between the lanes of a vector
  // The one loop by whose iterations the value grows one by one; null: there is no such loop.
  const For* rows = nullptr;
};

// The loops of a tile around one of its blocks.
using Loops = std::vector<const For*>;

// Rows of a tile, of which the last tile may have few.
struct ShortTail {
  Expr is_short;                 // at most kShortRows are left
  std::vector<const For*> rows;  // the loops over them, one around each group of blocks
};

// The conditions of a tile's blocks that may end within it.
class TailConditions {
 public:
  TailConditions(const Stmt& tile, const Bounds& around) : around_(around) { Visit(tile); }

  bool HasFree() const {
    return std::ranges::any_of(conditions_,
                               [](const TailCondition& c) { return !AsConstant(c.extent); });
  }

  // Returns the condition of a guard or an iteration variable; nullptr for others.
  const TailCondition* Find(const Expr& value, const Expr& extent) const {
    for (const TailCondition& known : conditions_) {
      if (Equal(known.value, value) && Equal(known.extent, extent)) return &known;
    }
    return nullptr;
  }

  // Returns the conditions under which all hold in the whole tile, each once.
  std::vector<Expr> Whole() const {
    std::vector<Expr> result;
    for (const TailCondition& condition : conditions_) {
      Expr whole = Simplify(condition.most < condition.extent);
      bool known = std::ranges::any_of(result, [&](const Expr& e) { return Equal(e, whole); });
      if (!known) result.push_back(whole);
    }
    return result;
  }

  // Returns the rows that a free extent ends; nullopt if they are few in whole tiles, too, or a
  // loop over them has blocks without that end.
  std::optional<ShortTail> Short() const {
    const TailCondition* first = nullptr;
    ShortTail result;
    for (const TailCondition& condition : conditions_) {
      if (condition.rows == nullptr || AsConstant(condition.extent)) continue;
      if (first == nullptr) first = &condition;
      if (!Equal(condition.extent, first->extent) || !Equal(condition.least, first->least))
        continue;
      if (AsConstant(condition.rows->extent).value_or(0) < kLeastLongRows) return std::nullopt;
      if (std::ranges::find(result.rows, condition.rows) == result.rows.end())
        result.rows.push_back(condition.rows);
    }
    if (first == nullptr) return std::nullopt;
    auto ends = [&](const Stmt& block) { return EndsWith(block, *first, result.rows); };
    bool all_end = std::ranges::all_of(result.rows, [&](const For* loop) {
      return !Contains(loop->body, [&](const Stmt& s) { return s.as<Block>() && !ends(s); });
    });
    if (!all_end) return std::nullopt;
    result.is_short = Simplify(first->extent <= first->least + Expr(kShortRows));
    return result;
  }

 private:
  // Returns whether a block in one of the loops is left out where `end` does not hold.
  bool EndsWith(const Stmt& stmt, const TailCondition& end, const Loops& rows) const {
    const auto* block = stmt.as<Block>();
    auto is_end = [&](const Expr& value, const Expr& extent) {
      const TailCondition* found = Find(value, extent);
      return found && Equal(found->extent, end.extent) && Equal(found->least, end.least) &&
             std::ranges::find(rows, found->rows) != rows.end();
    };
    return std::ranges::any_of(block->iters,
                               [&](const auto& i) { return is_end(i.binding, i.domain); }) ||
           std::ranges::any_of(block->guards,
                               [&](const auto& g) { return is_end(g.value, g.extent); });
  }

  void Visit(const Stmt& stmt) {
    if (const auto* loop = stmt.as<For>()) {
      loops_.push_back(loop);
      Visit(loop->body);
      loops_.pop_back();
      return;
    }
    if (const auto* block = stmt.as<Block>()) {
      for (const IterVar& iter : block->iters) Add(iter.binding, iter.domain);
      for (const LoopGuard& guard : block->guards) Add(guard.value, guard.extent);
      return;
    }
    ForEachChild(stmt, [&](const Stmt& child) { Visit(child); });
  }

  void Add(const Expr& value, const Expr& extent) {
    if (Find(value, extent) != nullptr) return;
    std::vector<Var> inner;
    for (const For* loop : loops_) inner.push_back(loop->var);
    std::optional<AffineForm> form = ToAffine(Simplify(value), inner);
    if (!form || form->vars.empty()) return;
    TailCondition condition{value, extent, form->rest, form->rest};
    for (size_t i = 0; i < form->vars.size(); ++i) {
      auto loop = std::ranges::find(loops_, form->vars[i], [](const For* l) { return l->var; });
      std::optional<int64_t> count = AsConstant((*loop)->extent);
      std::optional<int64_t> slope = AsConstant(Simplify(form->coefficients[i]));
      if (!count || !slope || *slope < 0 || *count < 1) return;
      condition.most = condition.most + Expr(*slope * (*count - 1));
      condition.across_lanes |= (*loop)->for_kind == ForKind::kVectorized && *slope != 0;
      if (form->vars.size() == 1 && *slope == 1 && !condition.across_lanes) condition.rows = *loop;
    }
    condition.most = Simplify(condition.most);
    condition.least = Simplify(condition.least);
    if (Prove(condition.most < extent, around_) == Proof::kTrue) return;
    conditions_.push_back(std::move(condition));
  }

  const Bounds& around_;
  Loops loops_;
  std::vector<TailCondition> conditions_;
};

// Replaces iteration variables in a block's body, but for the indices of buffers that the tile has
// for itself.
class ReplaceOutside final : public Mutator {
 public:
  ReplaceOutside(const Substitution& values, const std::vector<const Buffer*>& own)
      : values_(values), own_(own) {}

 private:
  using Mutator::Rewrite;

  Expr Rewrite(const VarNode& var) override {
    auto found = values_.find(Var(var));
    return found == values_.end() ? Expr(var) : found->second;
  }
  Expr Rewrite(const Load& load) override {
    return IsOneOf(own_, load.buffer) ? Expr(load) : RewriteChildren(load);
  }
  Stmt Rewrite(const Store& store) override {
    return MakeStmt<Store>(store.buffer, store.indices, Mutate(store.value), store.mask);
  }
  Stmt Rewrite(const Reduce& reduce) override {
    std::vector<Expr> inputs;
    for (const Expr& input : reduce.inputs) inputs.push_back(Mutate(input));
    return MakeStmt<Reduce>(reduce.combiner, reduce.outputs, inputs, reduce.init);
  }

  const Substitution& values_;
  const std::vector<const Buffer*>& own_;
};

// Writes the versions of a tile.
class TileVersion final : public BoundedMutator {
 public:
  enum class Kind : uint8_t { kWhole, kTail, kShortTail };
  // `short_rows` are the loops that a short tail has kShortRows iterations of.
  TileVersion(Kind kind, const TailConditions& conditions, std::vector<const Buffer*> own,
              Bounds around, Loops short_rows = {})
      : BoundedMutator(std::move(around)),
        kind_(kind),
        conditions_(conditions),
        own_(std::move(own)),
        short_rows_(std::move(short_rows)) {}

 private:
  using BoundedMutator::Rewrite;

  Stmt Rewrite(const Block& block) override {
    return kind_ == Kind::kWhole ? Whole(block) : Tail(block);
  }

  // Names are unique in a scheduled function.
  std::string Suffix() const {
    switch (kind_) {
      case Kind::kWhole:
        return "";
      case Kind::kTail:
        return ".tail";
      case Kind::kShortTail:
        return ".short";
    }
    TCC_UNREACHABLE();
  }

  Stmt RewriteLoop(const For& loop) override {
    bool is_short = std::ranges::find(short_rows_, &loop) != short_rows_.end();
    const Expr extent = is_short ? Expr(kShortRows) : loop.extent;
    return MakeStmt<For>(loop.var, extent, loop.for_kind, loop.key + Suffix(), Mutate(loop.body));
  }
  // A domain that ends behind the binding always holds it.
  static void Drop(IterVar& iter) { iter.domain = Simplify(iter.binding + Expr(1)); }

  Stmt Whole(const Block& block) const {
    std::vector<IterVar> iters = block.iters;
    for (IterVar& iter : iters) {
      if (conditions_.Find(iter.binding, iter.domain) != nullptr) Drop(iter);
    }
    std::vector<LoopGuard> guards = block.guards;
    std::erase_if(guards, [&](const LoopGuard& guard) {
      return conditions_.Find(guard.value, guard.extent) != nullptr;
    });
    return MakeStmt<Block>(block.name, iters, guards, block.predicate, block.body);
  }

  // Computes in place of an instance behind the end what the last instance computes: the result
  // goes to a cell of the tile that only instances behind the end read. Where one of the tile's
  // blocks keeps its guard, such cells stay unwritten. What is read there may thus be anything, and
  // no block may do more with it than compute a value that is dropped as well.
  Stmt Tail(const Block& block) const {
    const std::string name = block.name + Suffix();
    Stmt same = MakeStmt<Block>(name, block.iters, block.guards, block.predicate, block.body);
    if (!WritesOwnCells(block) || DependsOnOwnCells(block)) return same;
    std::vector<IterVar> iters = block.iters;
    std::vector<IterVar> clamped;
    std::vector<LoopGuard> guards = block.guards;
    Substitution values;
    auto clamp = [&](const Expr& value, const Expr& extent) {
      const TailCondition* condition = conditions_.Find(value, extent);
      if (condition == nullptr || condition->across_lanes) return false;
      auto iter = std::ranges::find_if(iters, [&](const IterVar& i) {
        return i.kind == IterKind::kSpatial && Equal(Simplify(i.binding), Simplify(value)) &&
               Equal(i.domain, extent);
      });
      if (iter == iters.end()) return false;
      if (values.contains(iter->var)) return true;
      clamped.push_back({.var = IterationVar(iter->var->name + "_in"),
                         .binding = MinOf(iter->binding, Simplify(extent - Expr(1))),
                         .domain = extent});
      Drop(clamped.back());
      values.emplace(iter->var, clamped.back().var);
      return true;
    };
    std::erase_if(guards, [&](const LoopGuard& g) { return clamp(g.value, g.extent); });
    for (IterVar& iter : iters) clamp(iter.binding, iter.domain);
    if (values.empty()) return same;
    for (IterVar& iter : iters) {
      if (values.contains(iter.var)) Drop(iter);
    }
    iters.insert(iters.end(), clamped.begin(), clamped.end());
    ReplaceOutside outside(values, own_);
    return MakeStmt<Block>(name, iters, guards, outside.Mutate(block.predicate),
                           outside.Mutate(block.body));
  }

  // Returns whether the block writes only to buffers of the tile, each instance in cells that are
  // stored whether or not the instance exists.
  bool WritesOwnCells(const Block& block) const {
    Substitution bindings;
    for (const IterVar& iter : block.iters) bindings.emplace(iter.var, iter.binding);
    auto stays = [&](const Var& buffer, const std::vector<Expr>& indices) {
      auto own = std::ranges::find(own_, buffer, [](const Buffer* b) { return b->var; });
      if (own == own_.end() || (*own)->window.size.empty()) return false;
      for (size_t d = 0; d < indices.size(); ++d) {
        const Window& window = (*own)->window;
        Expr cell = Simplify(Substitute(indices[d], bindings) - window.origin[d], bounds());
        std::optional<int64_t> size = AsConstant(Simplify(window.size[d]));
        Interval range = BoundsOf(cell, bounds());
        if (HasLoad(cell) || !size || range.low < 0 || range.high >= *size) return false;
      }
      return true;
    };
    if (const auto* store = block.body.as<Store>()) return stays(store->buffer, store->indices);
    const auto* reduce = block.body.as<Reduce>();
    return reduce != nullptr && std::ranges::all_of(reduce->outputs, [&](const Access& output) {
             return stays(output.buffer, output.indices);
           });
  }

  bool ReadsOwn(const Expr& expr) const {
    return Contains(expr, [&](const Expr& e) {
      const auto* load = e.as<Load>();
      return load && IsOneOf(own_, load->buffer);
    });
  }

  // Returns whether cells of the tile decide where or whether other memory is read, or what is
  // divided by, or whether the instance exists.
  bool DependsOnOwnCells(const Block& block) const {
    auto may_fail = [&](const Expr& expr) {
      return Contains(expr, [&](const Expr& e) {
        const auto* load = e.as<Load>();
        return (load && !IsOneOf(own_, load->buffer)) || DividesIntegers(e);
      });
    };
    auto reads_own = [&](const Expr& expr) { return ReadsOwn(expr); };
    bool depends = ReadsOwn(block.predicate);
    PreOrderExprs(block.body, [&](const Expr& expr) {
      if (const auto* load = expr.as<Load>()) {
        depends |= std::ranges::any_of(load->indices, reads_own);
      } else if (const auto* select = expr.as<Select>()) {
        bool arms = may_fail(select->then_value) || may_fail(select->else_value);
        depends |= arms && ReadsOwn(select->condition);
      } else if (const auto* both = expr.as<And>()) {
        depends |= may_fail(both->b) && ReadsOwn(both->a);
      } else if (const auto* either = expr.as<Or>()) {
        depends |= may_fail(either->b) && ReadsOwn(either->a);
      } else if (DividesIntegers(expr)) {
        depends |= ReadsOwn(expr);
      }
    });
    return depends;
  }

  Kind kind_;
  const TailConditions& conditions_;
  const std::vector<const Buffer*> own_;
  const Loops short_rows_;
};

class TileVersioner final : public BoundedMutator {
 private:
  using BoundedMutator::Rewrite;

  Stmt RewriteLoop(const For& loop) override {
    size_t before = versions_;
    Stmt body = Mutate(loop.body);
    bool repeats = IsInOrder(loop.for_kind) || loop.for_kind == ForKind::kParallel;
    if (versions_ == before && repeats) body = WithVersions(body);
    return MakeStmt<For>(loop.var, loop.extent, loop.for_kind, loop.key, body);
  }

  Stmt WithVersions(const Stmt& tile) {
    std::vector<const Buffer*> own;
    for (const Allocate* allocate : AllocatedIn(tile)) {
      if (allocate->buffer.circular < 0) own.push_back(&allocate->buffer);
    }
    if (own.empty() || CountUnrolledStores(tile) > kMaxVersionStores) return tile;
    TailConditions conditions(tile, bounds());
    std::vector<Expr> terms = conditions.Whole();
    if (!conditions.HasFree() || terms.size() > kMaxConditions) return tile;
    ++versions_;
    Expr is_whole = terms[0];
    for (size_t i = 1; i < terms.size(); ++i) is_whole = BothOf(is_whole, terms[i]);
    using Kind = TileVersion::Kind;
    Stmt whole = TileVersion(Kind::kWhole, conditions, own, bounds()).Mutate(tile);
    Stmt tail = WithFreshVars(TileVersion(Kind::kTail, conditions, own, bounds()).Mutate(tile));
    if (std::optional<ShortTail> few = conditions.Short()) {
      TileVersion version(Kind::kShortTail, conditions, own, bounds(), few->rows);
      tail = MakeStmt<If>(few->is_short, WithFreshVars(version.Mutate(tile)), tail);
    }
    if (Expr begins = BeginsBefore(tile, conditions, own)) tail = MakeStmt<If>(begins, tail);
    return MakeStmt<If>(is_whole, whole, tail);
  }

  // Returns a condition without which the tile writes nothing that is read outside; null: it knows
  // none.
  static Expr BeginsBefore(const Stmt& tile, const TailConditions& conditions,
                           const std::vector<const Buffer*>& own) {
    Expr begins;
    bool known = true;
    PreOrder(tile, [&](const Stmt& stmt) {
      const auto* block = stmt.as<Block>();
      if (!block || !known) return;
      bool inside = true;
      PreOrder(block->body, [&](const Stmt& s) {
        if (const auto* store = s.as<Store>()) inside &= IsOneOf(own, store->buffer);
        if (const auto* reduce = s.as<Reduce>()) {
          for (const Access& output : reduce->outputs) inside &= IsOneOf(own, output.buffer);
        }
      });
      if (inside) return;
      Expr own_begin;
      auto look_at = [&](const Expr& value, const Expr& extent) {
        const TailCondition* found = conditions.Find(value, extent);
        if (found == nullptr || AsConstant(found->extent)) return;
        Expr condition = Simplify(found->least < found->extent);
        if (!own_begin || (begins && Equal(condition, begins))) own_begin = condition;
      };
      for (const IterVar& iter : block->iters) look_at(iter.binding, iter.domain);
      for (const LoopGuard& guard : block->guards) look_at(guard.value, guard.extent);
      known = own_begin && (!begins || Equal(begins, own_begin));
      begins = own_begin;
    });
    return known ? begins : Expr();
  }

  size_t versions_ = 0;
};

}  // namespace

Function VersionTiles(const Function& fn) {
  if (fn.vars.empty() || IsOverThreads(fn.body)) return fn;
  Function result = fn;
  result.body = TileVersioner().Mutate(fn.body);
  return result;
}

}  // namespace tcc
