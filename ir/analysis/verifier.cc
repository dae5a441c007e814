#include "ir/analysis/verifier.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "ir/analysis/cross_thread.h"
#include "ir/analysis/products_in_flight.h"
#include "ir/expr/layout.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/interval.h"

namespace tcc {
namespace {

// Returns a name for messages: the key, if there is one.
std::string NameOf(const For& loop) {
  return loop.key.empty() ? loop.var->name : loop.key;
}

bool ReadsData(const Expr& expr) {
  return Contains(expr, [&](const Expr& e) { return e.as<Load>() || e.as<Call>(); });
}

class Verifier {
 public:
  explicit Verifier(const Function& fn) : fn_(fn) {}

  Status Run() {
    for (const Var& var : fn_.vars) {
      if (var->role != VarRole::kTile && var->role != VarRole::kShape) {
        return Error("variable '{}' is listed as free; expected a Tile or Shape variable",
                     var->name);
      }
      if (lowered() && var->role == VarRole::kTile) {
        return Error("Tile variable '{}' is free in a lowered function", var->name);
      }
      TCC_RETURN_IF_ERROR(Define(var));
    }
    for (const Buffer& param : fn_.params) {
      TCC_RETURN_IF_ERROR(DefineBuffer(param, Declared::kParameter));
    }
    TCC_RETURN_IF_ERROR(Check(fn_.body));
    Status products = lowered() ? CheckProductsInFlight(fn_.body) : OkStatus();
    return products.ok() ? OkStatus() : Error("{}", Message(products));
  }

 private:
  template <typename... Args>
  Status Error(fmt::format_string<Args...> format, Args&&... args) const {
    return InvalidInput("function '{}': {}", fn_.name,
                        fmt::format(format, std::forward<Args>(args)...));
  }
  bool lowered() const { return fn_.level == Level::kLowered; }

  Status Define(const Var& var) {
    if (!ever_defined_.insert(var.get()).second) {
      return Error("variable '{}' is defined twice", var->name);
    }
    in_scope_.insert(var.get());
    return OkStatus();
  }
  void Leave(const Var& var) { in_scope_.erase(var.get()); }

  enum class Declared { kParameter, kAllocated };

  Status DefineBuffer(const Buffer& buffer, Declared declared) {
    const std::string& name = buffer.var->name;
    if (buffer.var->role != VarRole::kBuffer) return Error("'{}' is no buffer variable", name);
    TCC_RETURN_IF_ERROR(CheckSizes(buffer));
    bool whole = buffer.window.size.empty() && buffer.window.origin.empty();
    bool once = whole && !buffer.versions && buffer.circular < 0;
    bool plain = once && IsRowMajor(buffer.layout);
    if (lowered() && !plain && !(once && IsFlat(buffer))) {
      return Error("buffer '{}' has a window or layout in a lowered function", name);
    }
    size_t stored_rank = buffer.rank() + buffer.layout.blocks.size();
    if (!buffer.layout.strides.empty() && buffer.layout.strides.size() != stored_rank) {
      return Error("buffer '{}' has {} strides; expected one for each of {} stored dimensions",
                   name, buffer.layout.strides.size(), stored_rank);
    }
    if (fn_.level == Level::kTensor) {
      // A parameter may be part of a larger tensor.
      Layout rest = buffer.layout;
      if (declared == Declared::kParameter) rest.strides.clear();
      plain = whole && !buffer.versions && buffer.circular < 0 && IsRowMajor(rest);
      bool global = buffer.scope == Scope::kGlobal || buffer.scope == Scope::kConstant;
      if (!global || !plain) {
        return Error("buffer '{}' is not global and whole; expected that of a tensor function",
                     name);
      }
    }
    if (!whole && (buffer.window.origin.size() != buffer.rank() ||
                   buffer.window.size.size() != buffer.rank())) {
      return Error("buffer '{}' has a window of another rank than its {} dimensions", name,
                   buffer.rank());
    }
    if (buffer.circular >= static_cast<int>(buffer.rank())) {
      return Error("buffer '{}' is circular in dimension {} of {}", name, buffer.circular,
                   buffer.rank());
    }
    if (buffer.scope == Scope::kShared) TCC_RETURN_IF_ERROR(CheckSharedOrigin(buffer));
    TCC_RETURN_IF_ERROR(Define(buffer.var));
    buffers_.emplace(buffer.var, &buffer);
    return OkStatus();
  }

  Status CheckSizes(const Buffer& buffer) {
    std::vector<Expr> sizes = buffer.shape;
    for (const auto* part : {&buffer.window.origin, &buffer.window.size, &buffer.layout.strides}) {
      sizes.insert(sizes.end(), part->begin(), part->end());
    }
    for (const BlockFactor& block : buffer.layout.blocks) sizes.push_back(block.factor);
    if (buffer.versions) sizes.push_back(buffer.versions);
    if (buffer.layout.offset) sizes.push_back(buffer.layout.offset);
    for (const Expr& size : sizes) {
      if (size.dtype() != kInt64) {
        return Error("a size of buffer '{}' is {}; expected i64", buffer.var->name,
                     ToString(size.dtype()));
      }
      TCC_RETURN_IF_ERROR(Check(size));
    }
    if (lowered() && (buffer.scope == Scope::kLocal || buffer.scope == Scope::kWarp)) {
      for (const Expr& size : buffer.shape) {
        if (!AsConstant(size)) {
          return Error("{} buffer '{}' has a size that is no constant", ToString(buffer.scope),
                       buffer.var->name);
        }
      }
    }
    return OkStatus();
  }

  // Checks that a shared buffer's origin does not depend on a thread, since the consumer's threads
  // share the copy.
  Status CheckSharedOrigin(const Buffer& buffer) const {
    for (const For* loop : loops_) {
      if (!IsThreadIdx(loop->for_kind) && loop->for_kind != ForKind::kVthread) continue;
      for (const Expr& origin : buffer.window.origin) {
        if (UsesVar(origin, loop->var)) {
          return Error(
              "the window of shared buffer '{}' begins at an index that depends on {} loop '{}'",
              buffer.var->name, ToString(loop->for_kind), NameOf(*loop));
        }
      }
    }
    return OkStatus();
  }

  Status Check(const Expr& expr) {
    Status status;
    PreOrder(expr, [&](const Expr& node) {
      if (status.ok()) status = CheckNode(node);
    });
    return status;
  }

  Status CheckNode(const Expr& node) {
    if (const auto* var = node.as<VarNode>()) return CheckVar(*var);
    if (const auto* e = node.as<FloorDiv>()) return CheckDivisor(e->b);
    if (const auto* e = node.as<FloorMod>()) return CheckDivisor(e->b);
    if (const auto* e = node.as<CeilDiv>()) return CheckDivisor(e->b);
    if (const auto* load = node.as<Load>()) return CheckAccess(load->buffer, load->indices);
    if (!lowered() && node.dtype().lanes() > 1) {
      return Error("a vector ({}) stands in a {} function; expected scalars{}",
                   ToString(node.dtype()), ToString(fn_.level), Where());
    }
    return OkStatus();
  }

  Status CheckVar(const VarNode& var) {
    if (!in_scope_.contains(&var)) {
      bool free = var.role == VarRole::kTile || var.role == VarRole::kShape;
      return free ? Error("free variable '{}' is not among the function's vars", var.name)
                  : Error("variable '{}' is used where it is not defined{}", var.name, Where());
    }
    if (lowered() && var.role == VarRole::kTile) {
      return Error("Tile variable '{}' is used in a lowered function", var.name);
    }
    if (hidden_.contains(&var)) {
      return Error("block '{}' reads loop variable '{}'; expected iteration variables only",
                   block_name_, var.name);
    }
    return OkStatus();
  }

  // Checks that a divisor is provably positive; divisors that come from data are the model's
  // responsibility.
  Status CheckDivisor(const Expr& divisor) {
    if (divisor.dtype() != kInt64 || ReadsData(divisor)) return OkStatus();
    if (BoundsOf(divisor, bounds_).low >= 1) return OkStatus();
    return Error("a divisor is not provably at least 1{}", Where());
  }

  std::string Where() const {
    if (!block_name_.empty()) return " in block '" + block_name_ + "'";
    return loops_.empty() ? "" : " in loop '" + NameOf(*loops_.back()) + "'";
  }

  Status CheckAccess(const Var& buffer, const std::vector<Expr>& indices) const {
    auto found = buffers_.find(buffer);
    if (found == buffers_.end() || !in_scope_.contains(buffer.get())) {
      return Error("buffer '{}' is not declared where it is used{}", buffer->name, Where());
    }
    size_t expected = lowered() ? 1 : found->second->rank();
    if (indices.size() != expected) {
      return Error("buffer '{}' has {} indices in an access; expected {}", buffer->name,
                   indices.size(), expected);
    }
    for (const Expr& index : indices) {
      if (!lowered() && index.dtype() != kInt64) {
        return Error("an index of buffer '{}' is {}; expected i64", buffer->name,
                     ToString(index.dtype()));
      }
    }
    return OkStatus();
  }

  // Checks a write. A function may write constants that it computes itself (Prepack), but no
  // constant parameter, which belongs to the model.
  Status CheckWrite(const Var& buffer, const std::vector<Expr>& indices) const {
    TCC_RETURN_IF_ERROR(CheckAccess(buffer, indices));
    for (const Buffer& param : fn_.params) {
      if (!(param.var == buffer) || param.scope != Scope::kConstant) continue;
      return Error("constant parameter '{}' is written{}", buffer->name, Where());
    }
    return OkStatus();
  }

  Status CheckAll(const std::vector<Expr>& exprs) {
    for (const Expr& expr : exprs) TCC_RETURN_IF_ERROR(Check(expr));
    return OkStatus();
  }

  Status Check(const Stmt& stmt) {
    return VisitStmt(stmt, [&](const auto& node) { return CheckStmt(node); });
  }

  Status CheckStmt(const Store& store) {
    const std::string& name = store.buffer->name;
    TCC_RETURN_IF_ERROR(CheckWrite(store.buffer, store.indices));
    TCC_RETURN_IF_ERROR(CheckAll(store.indices));
    TCC_RETURN_IF_ERROR(Check(store.value));
    if (!lowered()) {
      return store.mask ? Error("a store to '{}' has a mask; expected a predicate or guard", name)
                        : OkStatus();
    }
    int lanes = store.indices[0].dtype().lanes();
    if (store.value.dtype().lanes() != lanes) {
      return Error("a store to '{}' has {} lanes of values; expected {} as of its index", name,
                   store.value.dtype().lanes(), lanes);
    }
    if (!store.mask) return OkStatus();
    if (store.mask.dtype() != kBool.WithLanes(lanes)) {
      return Error("the mask of a store to '{}' is {}; expected {}", name,
                   ToString(store.mask.dtype()), ToString(kBool.WithLanes(lanes)));
    }
    return Check(store.mask);
  }

  Status CheckStmt(const Reduce& reduce) {
    if (lowered()) {
      return Error("a reduction by '{}' stands in a lowered function", reduce.combiner->name);
    }
    if (block_name_.empty())
      return Error("a reduction by '{}' stands in no block", reduce.combiner->name);
    for (const Access& output : reduce.outputs) {
      TCC_RETURN_IF_ERROR(CheckWrite(output.buffer, output.indices));
      TCC_RETURN_IF_ERROR(CheckAll(output.indices));
      for (const Var& var : reduce_vars_) {
        for (const Expr& index : output.indices) {
          if (!UsesVar(index, var)) continue;
          return Error(
              "block '{}' reduces into a cell of '{}' that depends on reduce variable '{}'",
              block_name_, output.buffer->name, var->name);
        }
      }
    }
    return CheckAll(reduce.inputs);
  }

  Status CheckStmt(const Seq& seq) {
    for (const Stmt& stmt : seq.stmts) TCC_RETURN_IF_ERROR(Check(stmt));
    return OkStatus();
  }

  Status CheckStmt(const For& loop) {
    if (lowered() && !loop.key.empty()) {
      return Error("loop '{}' has a key in a lowered function", loop.key);
    }
    if (!lowered() && loop.key.empty()) return Error("loop '{}' has no key", loop.var->name);
    if (!lowered() && !keys_.insert(loop.key).second) {
      return Error("two loops have the key '{}'", loop.key);
    }
    if (fn_.level == Level::kTensor && loop.for_kind != ForKind::kSerial) {
      return Error("loop '{}' is {} in a tensor function; expected serial", NameOf(loop),
                   ToString(loop.for_kind));
    }
    TCC_RETURN_IF_ERROR(Check(loop.extent));
    TCC_RETURN_IF_ERROR(Define(loop.var));
    int64_t high = BoundsOf(loop.extent, bounds_).high;
    bounds_[loop.var] = {0, high == INT64_MAX ? high : std::max<int64_t>(0, high - 1)};
    loops_.push_back(&loop);
    TCC_RETURN_IF_ERROR(Check(loop.body));
    loops_.pop_back();
    bounds_.erase(loop.var);
    Leave(loop.var);
    return OkStatus();
  }

  Status CheckStmt(const Block& block) {
    if (lowered()) return Error("block '{}' stands in a lowered function", block.name);
    if (block.name.empty()) return Error("a block has no name{}", Where());
    if (!block_name_.empty()) {
      return Error("block '{}' stands in block '{}'", block.name, block_name_);
    }
    if (!blocks_.insert(block.name).second) return Error("two blocks are named '{}'", block.name);
    for (const IterVar& iter : block.iters) TCC_RETURN_IF_ERROR(CheckIter(block, iter));
    for (const LoopGuard& guard : block.guards) {
      TCC_RETURN_IF_ERROR(Check(guard.value));
      TCC_RETURN_IF_ERROR(Check(guard.extent));
    }
    for (const For* loop : loops_) hidden_.insert(loop->var.get());
    block_name_ = block.name;
    for (const IterVar& iter : block.iters) {
      TCC_RETURN_IF_ERROR(Define(iter.var));
      int64_t high = BoundsOf(iter.domain, bounds_).high;
      bounds_[iter.var] = {0, high == INT64_MAX ? high : std::max<int64_t>(0, high - 1)};
      if (iter.kind == IterKind::kReduce) reduce_vars_.push_back(iter.var);
    }
    TCC_RETURN_IF_ERROR(Check(block.predicate));
    TCC_RETURN_IF_ERROR(Check(block.body));
    for (const IterVar& iter : block.iters) Leave(iter.var);
    hidden_.clear();
    reduce_vars_.clear();
    block_name_.clear();
    return OkStatus();
  }

  Status CheckIter(const Block& block, const IterVar& iter) {
    if (iter.binding.dtype() != kInt64 || iter.domain.dtype() != kInt64) {
      return Error("variable '{}' of block '{}' has a binding or domain that is not i64",
                   iter.var->name, block.name);
    }
    TCC_RETURN_IF_ERROR(Check(iter.binding));
    TCC_RETURN_IF_ERROR(Check(iter.domain));
    if (iter.kind != IterKind::kReduce) return OkStatus();
    bool reduces = block.body.as<Reduce>() != nullptr;
    for (const For* loop : loops_) {
      bool in_order = IsInOrder(loop->for_kind);
      bool threads = !in_order && loop->for_kind != ForKind::kParallel &&
                     loop->for_kind != ForKind::kVectorized;
      bool lanes = loop->for_kind == ForKind::kVectorized && MeetsThreads(block);
      bool unordered = !in_order && !((threads || lanes) && reduces);
      if (unordered && UsesVar(iter.binding, loop->var) && !OwnsCells(block, loop->var)) {
        return Error("{} loop '{}' feeds reduce variable '{}' of block '{}'",
                     ToString(loop->for_kind), NameOf(*loop), iter.var->name, block.name);
      }
    }
    return OkStatus();
  }

  // Returns whether the block is a reduction across threads, each of which may have lanes
  // (cross_thread.h).
  bool MeetsThreads(const Block& block) const {
    return std::ranges::any_of(loops_, [&](const For* loop) {
      return IsThreadIdx(loop->for_kind) && MeetsIn(*loop, block);
    });
  }

  Status CheckStmt(const If& branch) {
    TCC_RETURN_IF_ERROR(Check(branch.condition));
    ++conditions_;
    TCC_RETURN_IF_ERROR(Check(branch.then_body));
    if (branch.else_body) TCC_RETURN_IF_ERROR(Check(branch.else_body));
    --conditions_;
    return OkStatus();
  }

  Status CheckStmt(const Let& let) {
    TCC_RETURN_IF_ERROR(Check(let.value));
    TCC_RETURN_IF_ERROR(Define(let.var));
    if (let.value.dtype() == kInt64) bounds_[let.var] = BoundsOf(let.value, bounds_);
    TCC_RETURN_IF_ERROR(Check(let.body));
    bounds_.erase(let.var);
    Leave(let.var);
    return OkStatus();
  }

  Status CheckStmt(const Allocate& allocate) {
    TCC_RETURN_IF_ERROR(DefineBuffer(allocate.buffer, Declared::kAllocated));
    TCC_RETURN_IF_ERROR(Check(allocate.body));
    Leave(allocate.buffer.var);
    return OkStatus();
  }

  Status CheckStmt(const Barrier&) {
    bool conditional = conditions_ > 0 || !block_name_.empty();
    return conditional ? Error("a barrier stands under a condition{}", Where()) : OkStatus();
  }

  Status CheckStmt(const AsyncCopy& copy) {
    TCC_RETURN_IF_ERROR(CheckWrite(copy.destination.buffer, copy.destination.indices));
    TCC_RETURN_IF_ERROR(CheckAccess(copy.source.buffer, copy.source.indices));
    for (const Access* access : {&copy.destination, &copy.source}) {
      TCC_RETURN_IF_ERROR(CheckAll(access->indices));
    }
    return copy.keep ? Check(copy.keep) : OkStatus();
  }
  Status CheckStmt(const AsyncCommit&) { return OkStatus(); }
  Status CheckStmt(const AsyncWait&) { return OkStatus(); }
  Status CheckStmt(const PrefetchLine& prefetch) {
    TCC_RETURN_IF_ERROR(CheckAccess(prefetch.cell.buffer, prefetch.cell.indices));
    return CheckAll(prefetch.cell.indices);
  }
  Status CheckStmt(const IntrinsicCall& call) { return Check(call.body); }

  const Function& fn_;
  std::unordered_set<const ExprNode*> ever_defined_;
  std::unordered_set<const ExprNode*> in_scope_;
  std::unordered_set<const ExprNode*> hidden_;  // loops round the current block
  std::unordered_map<Var, const Buffer*, VarHash> buffers_;
  std::set<std::string> keys_;
  std::set<std::string> blocks_;
  std::vector<const For*> loops_;
  std::vector<Var> reduce_vars_;
  Bounds bounds_;
  std::string block_name_;  // of the current block; empty outside
  int conditions_ = 0;
};

}  // namespace

Status Verify(const Function& fn) {
  if (!fn.body) return InvalidInput("function '{}' has no body", fn.name);
  return Verifier(fn).Run();
}

}  // namespace tcc
