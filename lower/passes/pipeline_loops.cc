#include <algorithm>
#include <cmath>
#include <functional>

#include "ir/analysis/affine.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/expr/warp_instruction.h"
#include "ir/simplify/simplify.h"
#include "lower/passes/passes.h"

namespace tcc {
namespace {

bool WritesTo(const Stmt& stmt, const std::vector<Buffer>& buffers) {
  return Contains(stmt, [&](const Stmt& s) {
    const auto* store = s.as<Store>();
    const auto* copy = s.as<AsyncCopy>();
    return std::ranges::any_of(buffers, [&](const Buffer& buffer) {
      return (store && store->buffer == buffer.var) ||
             (copy && copy->destination.buffer == buffer.var);
    });
  });
}

bool WritesAnything(const Stmt& stmt) {
  return Contains(stmt, [&](const Stmt& s) { return s.as<Store>() != nullptr; });
}

// The statements of a pipelined loop's body. CheckSoftwarePipeline has ensured this order.
struct Body {
  std::vector<Buffer> staged;  // the buffers with versions
  std::vector<Buffer> others;  // the other buffers that live in the body
  std::vector<Stmt> loads;     // loads into `others`, which only `stores` use
  std::vector<Stmt> stores;    // stores into `staged`
  std::vector<Stmt> uses;      // the rest, barriers between them included
};

Body BodyOf(const For& loop) {
  Body body;
  std::vector<Stmt> stmts;
  std::function<void(const Stmt&)> collect = [&](const Stmt& stmt) {
    if (const auto* allocate = stmt.as<Allocate>()) {
      (allocate->buffer.versions ? body.staged : body.others).push_back(allocate->buffer);
      collect(allocate->body);
    } else if (const auto* seq = stmt.as<Seq>()) {
      for (const Stmt& child : seq->stmts) collect(child);
    } else {
      stmts.push_back(stmt);
    }
  };
  collect(loop.body);
  bool used = false;
  for (const Stmt& stmt : stmts) {
    // Barriers round the copies go: the pipeline has its own.
    if (!used && stmt.as<Barrier>()) continue;
    if (WritesTo(stmt, body.staged)) {
      TCC_CHECK(!used) << "a copy after a use in loop " << loop.key;
      body.stores.push_back(stmt);
    } else if (!used && body.stores.empty() && WritesTo(stmt, body.others)) {
      body.loads.push_back(stmt);
    } else {
      body.uses.push_back(stmt);
      // Hints may stand anywhere.
      used = used || WritesAnything(stmt);
    }
  }
  return body;
}

// Returns whether one instruction of a GPU can copy so many bytes without registers.
bool IsAsyncWidth(int64_t bytes) {
  return bytes == 4 || bytes == 8 || bytes == 16;
}

bool IsNumber(const Expr& expr) {
  return expr.as<FloatImm>() || expr.as<IntImm>();
}

// Returns whether the number's bits are all 0.
bool IsZero(const Expr& expr) {
  const auto* real = expr.as<FloatImm>();
  return real ? real->value == 0 && !std::signbit(real->value) : IsConstant(expr, 0);
}

// Turns the stores of plain copies into asynchronous ones, one vector loop at a time. Their sources
// must outlive the loop: the hardware may fetch the data as late as at the wait.
class AsyncCopies final : public Mutator {
 public:
  AsyncCopies(const std::vector<Buffer>& staged, const For& loop) : staged_(staged) {
    PreOrder(loop.body, [&](const Stmt& stmt) {
      if (const auto* allocate = stmt.as<Allocate>()) inside_.insert(allocate->buffer.var.get());
    });
  }

 private:
  using Mutator::Rewrite;

  Stmt Rewrite(const For& loop) override {
    if (loop.for_kind != ForKind::kVectorized) return RewriteChildren(loop);
    std::optional<int64_t> lanes = AsConstant(loop.extent);
    const auto* guard = loop.body.as<If>();
    // A guard that all lanes have in common is one of their copy.
    Expr even = guard && !guard->else_body && lanes
                    ? SameInLanes(guard->condition, &loop.var, *lanes)
                    : Expr();
    const auto* store = (even ? guard->then_body : loop.body).as<Store>();
    Stmt copy = store && lanes ? Copy(*store, &loop, *lanes) : Stmt();
    if (!copy) return Stmt(loop);
    return even ? MakeStmt<If>(even, copy) : copy;
  }

  Stmt Rewrite(const Store& store) override {
    Stmt copy = Copy(store, nullptr, 1);
    return copy ? copy : Stmt(store);
  }

  // Returns a copy, which zeros may stand in for where a condition fails, or a copy under a
  // condition with another constant elsewhere; null if the store is neither.
  Stmt Copy(const Store& store, const For* lanes, int64_t count) const {
    const Var* lane = lanes ? &lanes->var : nullptr;
    Expr value = store.value, condition, elsewhere;
    while (const auto* choice = value.as<Select>()) {
      Expr even = SameInLanes(choice->condition, lane, count);
      bool one =
          IsNumber(choice->else_value) && (!elsewhere || Equal(elsewhere, choice->else_value));
      if (store.mask || !even || !one) return {};
      elsewhere = choice->else_value;
      condition = condition ? BothOf(condition, even) : even;
      value = choice->then_value;
    }
    Stmt copy = PlainCopy(Store(store.buffer, store.indices, value, store.mask), lane, count);
    if (!copy || !condition) return copy;
    if (IsZero(elsewhere)) {
      const auto& plain = *copy.as<AsyncCopy>();
      return MakeStmt<AsyncCopy>(plain.destination, plain.source, plain.count, condition);
    }
    Stmt otherwise = MakeStmt<Store>(store.buffer, store.indices, elsewhere);
    if (lanes) {
      otherwise = MakeStmt<For>(*lane, Expr(count), ForKind::kVectorized, lanes->key, otherwise);
    }
    return MakeStmt<If>(condition, copy, otherwise);
  }

  // Returns the condition of all lanes, null if it differs between lanes. If e is a multiple of
  // their number, e + lane < 0 holds exactly where e < 0 does, and e - lane <= 0 exactly where e <=
  // 0 does.
  static Expr SameInLanes(const Expr& condition, const Var* lane, int64_t count) {
    if (!lane || !UsesVar(condition, *lane)) return condition;
    if (const auto* both = condition.as<And>()) {
      Expr a = SameInLanes(both->a, lane, count);
      Expr b = SameInLanes(both->b, lane, count);
      return a && b ? BothOf(a, b) : Expr();
    }
    const auto* less = condition.as<Lt>();
    const auto* at_most = condition.as<Le>();
    if (!less && !at_most) return {};
    Expr gap = less ? less->a - less->b : at_most->a - at_most->b;
    if (gap.dtype() != kInt64) return {};
    std::optional<AffineForm> form = ToAffine(gap, {*lane});
    if (!form || form->vars.empty()) return {};
    bool even = IsConstant(Simplify(form->coefficients[0]), less ? 1 : -1) &&
                IsConstant(Simplify(FloorModulo(form->rest, Expr(count))), 0);
    return even ? Substitute(condition, *lane, Expr(0)) : Expr();
  }

  // Returns null if the store is not a copy that the hardware can do by itself.
  Stmt PlainCopy(const Store& store, const Var* lane, int64_t count) const {
    const auto* load = store.value.as<Load>();
    bool copies = load && !store.mask && store.buffer.dtype() == load->buffer.dtype();
    if (!copies || !IsStaged(store.buffer) || inside_.contains(load->buffer.get())) return {};
    if (!IsAsyncWidth(count * store.buffer.dtype().bits() / 8)) return {};
    Access to{store.buffer, store.indices};
    Access from{load->buffer, load->indices};
    for (Access* access : {&to, &from}) {
      if (!lane) break;
      std::optional<AffineForm> form = ToAffine(access->indices[0], {*lane});
      if (!form) return {};
      bool steps = !form->vars.empty() && IsConstant(Simplify(form->coefficients[0]), 1);
      if (count > 1 && !steps) return {};
      access->indices[0] = form->rest;
    }
    return MakeStmt<AsyncCopy>(to, from, static_cast<int>(count));
  }

  bool IsStaged(const Var& var) const {
    for (const Buffer& buffer : staged_) {
      if (buffer.var == var) return true;
    }
    return false;
  }

  const std::vector<Buffer>& staged_;
  std::unordered_set<const ExprNode*> inside_;  // the buffers that live in the loop
};

// Pipelines one loop and emits its prologue.
class LoopPipeliner {
 public:
  struct Place {
    bool repeats = false;  // inside an outer serial loop
    bool threads = false;  // in a function with threads
  };
  LoopPipeliner(const For& loop, Place place) : loop_(loop), body_(BodyOf(loop)), place_(place) {}

  // Returns null if no buffer has several versions.
  Stmt Run() {
    std::optional<int64_t> stages;
    for (const Buffer& buffer : body_.staged) stages = AsConstant(Simplify(buffer.versions));
    if (!stages || *stages < 2) return {};
    stages_ = *stages;
    lags_ = stages_ > 2 && Contains(loop_.body, IsGroupProduct);
    const int64_t reach = lags_ ? stages_ - 2 : stages_ - 1;
    bool async = loop_.for_kind == ForKind::kPipelinedAsync;
    if (async) {
      AsyncCopies copies(body_.staged, loop_);
      for (Stmt& stmt : body_.stores) stmt = copies.Mutate(stmt);
    }
    // Only threads that share the buffers need a barrier.
    Stmt barrier = place_.threads && IsShared() ? MakeStmt<Barrier>(Scope::kShared) : Nothing();
    std::vector<Stmt> stmts;
    // An earlier run of the loop may still be reading its copies.
    if (place_.repeats) stmts.push_back(barrier);
    for (int64_t s = 0; s < reach; ++s) {
      stmts.push_back(Ahead(body_.loads, Expr(s)));
      stmts.push_back(Ahead(body_.stores, Expr(s)));
      if (async) stmts.push_back(MakeStmt<AsyncCommit>(AsyncKind::kCopies));
    }

    // One barrier per iteration: all threads have then written what it reads, and read what it
    // overwrites.
    Expr ahead = Expr(loop_.var) + Expr(reach);
    std::vector<Stmt> steady;
    if (async) {
      steady.push_back(MakeStmt<AsyncWait>(AsyncKind::kCopies, static_cast<int>(reach - 1)));
    }
    steady.push_back(barrier);
    AddInOrder(ahead, steady);
    // Partitioned, because the last iterations have nothing to copy.
    stmts.push_back(
        MakeStmt<For>(loop_.var, loop_.extent, ForKind::kPartitioned, loop_.key, SeqOf(steady)));
    if (lags_) stmts.push_back(MakeStmt<AsyncWait>(AsyncKind::kProducts, 0));
    if (async) stmts.push_back(MakeStmt<AsyncWait>(AsyncKind::kCopies, 0));
    return Allocated(SeqOf(stmts));
  }

 private:
  // Adds the copies before the uses. If values go through registers, their loads come before the
  // uses and their stores after them, so that the uses hide the latency. Products that lag come
  // before the copies, too, and end in the next iteration.
  void AddInOrder(const Expr& ahead, std::vector<Stmt>& steady) {
    steady.push_back(Ahead(body_.loads, ahead));
    Stmt uses = Versioned(SeqOf(body_.uses), Expr(loop_.var));
    bool uses_first = lags_ || !body_.loads.empty();
    if (uses_first) steady.push_back(uses);
    if (lags_) steady.push_back(MakeStmt<AsyncCommit>(AsyncKind::kProducts));
    steady.push_back(Ahead(body_.stores, ahead));
    AddCommit(steady);
    if (!uses_first) steady.push_back(uses);
    if (lags_) steady.push_back(MakeStmt<AsyncWait>(AsyncKind::kProducts, 1));
  }

  void AddCommit(std::vector<Stmt>& steady) const {
    if (loop_.for_kind == ForKind::kPipelinedAsync)
      steady.push_back(MakeStmt<AsyncCommit>(AsyncKind::kCopies));
  }

  bool IsShared() const {
    return std::ranges::any_of(body_.staged,
                               [](const Buffer& buffer) { return buffer.scope == Scope::kShared; });
  }

  Stmt Allocated(Stmt stmt) const {
    for (const Buffer& buffer : body_.others) stmt = MakeStmt<Allocate>(buffer, stmt);
    for (Buffer buffer : body_.staged) {
      buffer.shape[0] = Simplify(buffer.shape[0] * buffer.versions);
      buffer.versions = {};
      stmt = MakeStmt<Allocate>(buffer, stmt);
    }
    return stmt;
  }

  // Returns the work of iteration `at`, guarded by the loop's extent.
  Stmt Ahead(const std::vector<Stmt>& stmts, const Expr& at) {
    if (stmts.empty()) return Nothing();
    Stmt copies = Versioned(SeqOf(stmts), Expr(loop_.var));
    copies = WithOwnKeys(WithFreshVars(Substitute(copies, loop_.var, at)));
    return MakeStmt<If>(at < loop_.extent, copies);
  }

  Stmt WithOwnKeys(const Stmt& stmt) {
    std::string suffix = ".ahead" + std::to_string(copies_++);
    auto rename = [&](const Stmt& s) -> Stmt {
      const auto* loop = s.as<For>();
      if (!loop) return s;
      return MakeStmt<For>(loop->var, loop->extent, loop->for_kind, loop->key + suffix, loop->body);
    };
    return RewriteBottomUp(stmt, rename, [](const Expr& expr) { return expr; });
  }

  // Redirects accesses of staged buffers to the version of iteration `at`.
  Stmt Versioned(const Stmt& stmt, const Expr& at) const {
    auto shift = [&](const Var& var, const std::vector<Expr>& indices) -> std::vector<Expr> {
      for (const Buffer& buffer : body_.staged) {
        if (!(buffer.var == var)) continue;
        return {FloorModulo(at, Expr(stages_)) * buffer.shape[0] + indices[0]};
      }
      return indices;
    };
    return RewriteBottomUp(
        stmt,
        [&](const Stmt& s) -> Stmt {
          if (const auto* store = s.as<Store>()) {
            return MakeStmt<Store>(store->buffer, shift(store->buffer, store->indices),
                                   store->value, store->mask);
          }
          if (const auto* copy = s.as<AsyncCopy>()) {
            const Access& to = copy->destination;
            return MakeStmt<AsyncCopy>(Access{to.buffer, shift(to.buffer, to.indices)},
                                       copy->source, copy->count, copy->keep);
          }
          return s;
        },
        [&](const Expr& e) -> Expr {
          const auto* load = e.as<Load>();
          return load ? Make<Load>(load->buffer, shift(load->buffer, load->indices)) : e;
        });
  }

  const For& loop_;
  Body body_;
  Place place_;
  int64_t stages_ = 1;
  bool lags_ = false;  // whether products of one iteration go on in the next one
  int copies_ = 0;
};

class Pipeliner final : public Mutator {
 public:
  explicit Pipeliner(const Function& fn) {
    PreOrder(fn.body, [&](const Stmt& stmt) {
      const auto* loop = stmt.as<For>();
      threads_ = threads_ || (loop && IsThreadIdx(loop->for_kind));
    });
  }

 private:
  using Mutator::Rewrite;

  Stmt Rewrite(const For& loop) override {
    bool pipelined =
        loop.for_kind == ForKind::kPipelined || loop.for_kind == ForKind::kPipelinedAsync;
    if (pipelined) {
      if (Stmt result = LoopPipeliner(loop, {repeats_ > 0, threads_}).Run()) return result;
    }
    bool in_order = IsInOrder(loop.for_kind);
    repeats_ += in_order;
    Stmt body = Mutate(loop.body);
    repeats_ -= in_order;
    ForKind kind = pipelined ? ForKind::kSerial : loop.for_kind;
    return MakeStmt<For>(loop.var, loop.extent, kind, loop.key, body);
  }

  Stmt Rewrite(const Seq& seq) override {
    std::vector<Stmt> stmts;
    for (const Stmt& stmt : seq.stmts) stmts.push_back(Mutate(stmt));
    return SeqOf(stmts);
  }

  Stmt Rewrite(const Allocate& allocate) override {
    if (!allocate.buffer.versions) return RewriteChildren(allocate);
    Buffer buffer = allocate.buffer;
    buffer.versions = {};
    return MakeStmt<Allocate>(buffer, Mutate(allocate.body));
  }

  bool threads_ = false;
  int repeats_ = 0;  // the number of serial loops round the current statement
};

}  // namespace

Function PipelineLoops(const Function& fn) {
  return Pipeliner(fn).Mutate(fn);
}

}  // namespace tcc
