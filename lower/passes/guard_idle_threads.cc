#include <set>
#include <utility>

#include "ir/expr/visitor.h"
#include "lower/passes/passes.h"
#include "support/target.h"

namespace tcc {
namespace {

bool IsThreadLoop(const For& loop) {
  return IsThreadIdx(loop.for_kind) || loop.for_kind == ForKind::kVthread;
}

// The axes of every launch: nests of thread loops that are not inside another one.
std::set<ForKind> AxesIn(const Stmt& stmt) {
  std::set<ForKind> axes;
  PreOrder(stmt, [&](const Stmt& s) {
    const auto* loop = s.as<For>();
    if (loop && IsThreadIdx(loop->for_kind)) axes.insert(loop->for_kind);
  });
  return axes;
}

// The axes that number the lanes of a warp in a launch: x alone if it has as many threads.
std::set<ForKind> LaneAxesIn(const Stmt& launch) {
  bool whole = false;
  PreOrder(launch, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    whole = whole || (loop && loop->for_kind == ForKind::kThreadIdxX &&
                      AsConstant(loop->extent).value_or(0) >= Target::kWarp);
  });
  if (whole) return {ForKind::kThreadIdxX};
  return {ForKind::kThreadIdxX, ForKind::kThreadIdxY};
}

class IdleThreadGuard final : public Mutator {
 public:
  explicit IdleThreadGuard(const Function& fn) {
    for (const Buffer& buffer : DeclaredBuffers(fn)) {
      if (buffer.scope == Scope::kLocal) local_.insert(buffer.var.get());
      if (buffer.scope == Scope::kWarp) warp_.insert(buffer.var.get());
    }
  }

 private:
  using Mutator::Rewrite;

  // A launch begins where the interpreter begins it: below sequences and global buffers.
  Stmt Rewrite(const Seq& seq) override { return RewriteChildren(seq); }

  Stmt Rewrite(const For& loop) override {
    return InLaunch(loop, [&] { return Inside(loop); });
  }

  Stmt Rewrite(const Allocate& allocate) override {
    if (allocate.buffer.scope == Scope::kGlobal) return RewriteChildren(allocate);
    return InLaunch(allocate, [&] { return RewriteChildren(allocate); });
  }

  Stmt InLaunch(const Stmt& stmt, const std::function<Stmt()>& rewrite) {
    if (!axes_.empty()) return rewrite();
    axes_ = AxesIn(stmt);
    lane_axes_ = LaneAxesIn(stmt);
    Stmt result = rewrite();
    axes_.clear();
    return result;
  }

  Stmt Inside(const For& loop) {
    loops_.push_back(&loop);
    Stmt result = RewriteChildren(loop);
    loops_.pop_back();
    return result;
  }

  Stmt Rewrite(const Block& block) override {
    bool outside = StoresTo(block, [&](const Var& buffer) {
      return !local_.contains(buffer.get()) && !warp_.contains(buffer.get());
    });
    bool warp = StoresTo(block, [&](const Var& buffer) { return warp_.contains(buffer.get()); });
    // A warp's intrinsic is done once a warp as it is.
    if (!outside && (!warp || in_call_)) return block;
    auto ignores = [&](const For* loop) {
      for (const IterVar& iter : block.iters) {
        if (UsesVar(iter.binding, loop->var)) return false;
      }
      return true;
    };
    std::vector<LoopGuard> guards = block.guards;
    // Each warp has its own memory, which its lanes share.
    std::set<ForKind> missing = axes_;
    if (!outside) std::erase_if(missing, [&](ForKind kind) { return !lane_axes_.contains(kind); });
    for (size_t i = loops_.size(); i-- > 0;) {
      const For* loop = loops_[i];
      if (!IsThreadLoop(*loop)) continue;
      if (!outside && !lane_axes_.contains(loop->for_kind)) continue;
      bool innermost = loop->for_kind == ForKind::kVthread || missing.erase(loop->for_kind) > 0;
      if (innermost && ignores(loop)) guards.push_back({loop->var, Expr(1)});
    }
    Stmt result = block;
    if (guards.size() != block.guards.size()) {
      result = MakeStmt<Block>(block.name, block.iters, guards, block.predicate, block.body);
    }
    for (ForKind axis : missing) {
      result = MakeStmt<For>(LoopVar("one"), Expr(1), axis,
                             block.name + "/" + std::string(ToString(axis)), result);
    }
    return result;
  }

  Stmt Rewrite(const IntrinsicCall& call) override {
    bool was_in_call = std::exchange(in_call_, true);
    Stmt result = RewriteChildren(call);
    in_call_ = was_in_call;
    return result;
  }

  static bool StoresTo(const Block& block, const std::function<bool(const Var&)>& which) {
    bool found = false;
    auto outside = [&](const Var& buffer) { found = found || which(buffer); };
    PreOrder(block.body, [&](const Stmt& stmt) {
      if (const auto* store = stmt.as<Store>()) outside(store->buffer);
      if (const auto* copy = stmt.as<AsyncCopy>()) outside(copy->destination.buffer);
      if (const auto* reduce = stmt.as<Reduce>()) {
        for (const Access& output : reduce->outputs) outside(output.buffer);
      }
    });
    return found;
  }

  std::set<const ExprNode*> local_, warp_;
  std::set<ForKind> axes_, lane_axes_;  // of the launch
  std::vector<const For*> loops_;
  bool in_call_ = false;
};

}  // namespace

Function GuardIdleThreads(const Function& fn) {
  return IdleThreadGuard(fn).Mutate(fn);
}

}  // namespace tcc
