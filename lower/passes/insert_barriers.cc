#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/analysis/accesses.h"
#include "ir/analysis/affine.h"
#include "ir/expr/behind_blocks.h"
#include "ir/expr/compare.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/interval.h"
#include "ir/simplify/simplify.h"
#include "lower/passes/passes.h"

namespace tcc {
namespace {

// The thread along an axis that owns a cell, from the cell's place in dimension `dim`: its number
// is (place div step) mod count, or place div step if count is 0. Threads that fill a row together
// and read it again in the same steps each access their own cells only.
struct CellOwner {
  size_t dim = 0;
  ForKind axis = ForKind::kThreadIdxX;
  int64_t step = 1, count = 0;
  bool operator==(const CellOwner&) const = default;
};

struct Term {
  int64_t coefficient;  // 1 or more
  const For* loop;
};

// `place` as a sum of loops; nullopt where it is none or has another term.
std::optional<std::vector<Term>> TermsOf(const Expr& place, const std::vector<const For*>& loops) {
  std::vector<Var> vars;
  for (const For* loop : loops) vars.push_back(loop->var);
  std::optional<AffineForm> form = ToAffine(place, vars);
  if (!form || !IsConstant(Simplify(form->rest), 0)) return std::nullopt;
  std::vector<Term> terms;
  for (size_t i = 0; i < form->vars.size(); ++i) {
    std::optional<int64_t> coefficient = AsConstant(Simplify(form->coefficients[i]));
    if (!coefficient || *coefficient < 1) return std::nullopt;
    auto loop = std::ranges::find_if(loops, [&](const For* l) { return l->var == form->vars[i]; });
    terms.push_back({*coefficient, *loop});
  }
  return terms;
}

// Returns the owner of `place`, which counts from the first stored index of the dimension. Matches
// c * (the only threadIdx variable in `place`) + other terms, where each other term is a multiple
// of c * (the extent of that threadIdx loop) or all the rest together stay below c; else nullopt.
// `loops` are the loops round the access.
std::optional<CellOwner> OwnerOf(const Expr& place, size_t dim,
                                 const std::vector<const For*>& loops) {
  std::optional<std::vector<Term>> terms = TermsOf(place, loops);
  if (!terms) return std::nullopt;
  auto is_thread = [](const Term& term) { return IsThreadIdx(term.loop->for_kind); };
  auto thread = std::ranges::find_if(*terms, is_thread);
  if (std::ranges::count_if(*terms, is_thread) != 1) return std::nullopt;
  CellOwner owner{dim, thread->loop->for_kind, thread->coefficient, 0};
  // Alone it says so whatever its extent is.
  if (terms->size() == 1) return owner;
  std::optional<int64_t> threads = AsConstant(thread->loop->extent);
  int64_t within = 0;
  for (const Term& term : *terms) {
    if (is_thread(term)) continue;
    std::optional<int64_t> extent = AsConstant(term.loop->extent);
    if (!threads || *threads < 1 || !extent) return std::nullopt;
    if (term.coefficient % (owner.step * *threads) != 0) {
      within += term.coefficient * (*extent - 1);
    } else if (*extent > 1) {
      owner.count = *threads;
    }
  }
  return within < owner.step ? std::optional(owner) : std::nullopt;
}

// An access by a leaf of a buffer that threads share, with the facts that decide whether two
// accesses can conflict.
struct SharedAccess {
  Var buffer;
  bool writes = false;
  const Block* leaf = nullptr;
  // The number of times that the buffer had been allocated.
  int lifetime = 0;
  std::vector<CellOwner> owners;
  // The owners by the vthread loops round the leaf; a vthread counts as a thread.
  std::vector<std::pair<size_t, Var>> vthread_owners;
  std::vector<Var> vthreads;
  std::vector<Var> threads;  // the thread loops round the leaf
  std::set<ForKind> axes;    // the axes of `threads`
  // Whether the leaf stores to memory that threads share. Then one thread of each axis that is not
  // round it runs it, else all of them do.
  bool once = false;
};

using Pending = std::vector<SharedAccess>;

// Inserts the barriers of one launch.
class BarrierInserter {
 public:
  BarrierInserter(const std::vector<Buffer>& buffers, const Stmt& launch) {
    for (const Buffer& buffer : buffers) {
      buffers_.emplace(buffer.var.get(), &buffer);
      if (buffer.scope == Scope::kShared) shared_.insert(buffer.var.get());
      if (buffer.scope == Scope::kGlobal) global_.insert(buffer.var.get());
      if (IsPrivate(buffer.scope)) private_.insert(buffer.var.get());
    }
    PreOrder(launch, [&](const Stmt& stmt) {
      const auto* loop = stmt.as<For>();
      if (loop && IsThreadIdx(loop->for_kind)) axes_.insert(loop->for_kind);
      has_threads_ = has_threads_ ||
                     (loop && (IsThreadIdx(loop->for_kind) || loop->for_kind == ForKind::kVthread));
    });
  }

  // Returns whether the launch has threads, virtual ones included.
  bool has_threads() const { return has_threads_; }

  // `pending` holds the accesses since the last barrier, before and after the call.
  Stmt Insert(const Stmt& stmt, Pending& pending) {
    if (const auto* seq = stmt.as<Seq>()) return InsertInSeq(*seq, pending);
    if (const auto* block = stmt.as<Block>()) {
      Append(pending, AccessesOf(*block));
      return stmt;
    }
    if (const auto* loop = stmt.as<For>()) return InsertInLoop(*loop, pending);
    if (const auto* allocate = stmt.as<Allocate>()) {
      ++lifetimes_[allocate->buffer.var.get()];
      Stmt body = Insert(allocate->body, pending);
      return body.same_as(allocate->body) ? stmt : MakeStmt<Allocate>(allocate->buffer, body);
    }
    if (const auto* call = stmt.as<IntrinsicCall>()) {
      Append(pending, FirstAccesses(call->body));
      return stmt;
    }
    if (IsMeeting(stmt)) pending.clear();
    return stmt;
  }

 private:
  static bool IsPrivate(Scope scope) { return scope == Scope::kLocal || scope == Scope::kWarp; }

  // Returns whether `stmt` is a barrier of all threads; a warp's barrier synchronizes only itself.
  static bool IsMeeting(const Stmt& stmt) {
    const auto* barrier = stmt.as<Barrier>();
    return barrier && barrier->scope == Scope::kShared;
  }

  static void Append(Pending& pending, const Pending& more) {
    pending.insert(pending.end(), more.begin(), more.end());
  }

  Stmt InsertInSeq(const Seq& seq, Pending& pending) {
    std::vector<Stmt> stmts;
    const size_t behind = FirstBehindBlocks(seq);
    for (size_t i = 0; i < seq.stmts.size(); ++i) {
      // The blocks have ended, and with them all their accesses.
      if (i == behind) pending.clear();
      const Stmt& child = seq.stmts[i];
      if (Conflicts(pending, FirstAccesses(child))) {
        stmts.push_back(MakeStmt<Barrier>(Scope::kShared));
        pending.clear();
      }
      stmts.push_back(Insert(child, pending));
    }
    return SeqOf(stmts);
  }

  // Visits a serial body twice: the second time with the accesses that the first one left pending.
  Stmt InsertInLoop(const For& loop, Pending& pending) {
    // Iterations of a loop round a single leaf need no barrier between them. Visiting each loop
    // twice would take a time exponential in their depth.
    if (IsRoundOneLeaf(loop)) {
      Append(pending, FirstAccesses(loop));
      return loop;
    }
    Pending before = pending;
    vars_.push_back(&loop);
    Stmt body = Insert(loop.body, pending);
    if (IsInOrder(loop.for_kind)) {
      Pending carried = pending;
      if (Conflicts(carried, FirstAccesses(body))) {
        body = SeqOf({MakeStmt<Barrier>(Scope::kShared), body});
        carried.clear();
      }
      body = Insert(body, carried);
      pending = carried;
    }
    vars_.pop_back();
    // A loop without iterations executes none of its barriers.
    if (MayBeEmpty(loop)) Append(pending, before);
    if (body.same_as(loop.body)) return loop;
    return MakeStmt<For>(loop.var, loop.extent, loop.for_kind, loop.key, body);
  }

  static bool IsRoundOneLeaf(const For& loop) {
    Stmt body = loop.body;
    while (const auto* inner = body.as<For>()) body = inner->body;
    return body.as<Block>() != nullptr;
  }

  static bool MayBeEmpty(const For& loop) { return BoundsOf(loop.extent, {}).low < 1; }

  // Returns the accesses that can happen in `stmt` before its first barrier.
  Pending FirstAccesses(const Stmt& stmt) {
    Pending accesses;
    CollectFirst(stmt, accesses);
    return accesses;
  }

  // Returns false at the first barrier.
  bool CollectFirst(const Stmt& stmt, Pending& accesses) {
    if (IsMeeting(stmt)) return false;
    if (const auto* block = stmt.as<Block>()) Append(accesses, AccessesOf(*block));
    if (const auto* allocate = stmt.as<Allocate>()) {
      int& lifetime = lifetimes_[allocate->buffer.var.get()];
      ++lifetime;
      bool open = CollectFirst(allocate->body, accesses);
      --lifetime;
      return open;
    }
    if (const auto* call = stmt.as<IntrinsicCall>()) return CollectFirst(call->body, accesses);
    if (const auto* loop = stmt.as<For>()) {
      vars_.push_back(loop);
      bool open = CollectFirst(loop->body, accesses);
      vars_.pop_back();
      return open || MayBeEmpty(*loop);
    }
    if (const auto* seq = stmt.as<Seq>()) {
      const size_t behind = FirstBehindBlocks(*seq);
      for (size_t i = 0; i < seq->stmts.size(); ++i) {
        if (i == behind || !CollectFirst(seq->stmts[i], accesses)) return false;
      }
    }
    return true;
  }

  Pending AccessesOf(const Block& block) {
    Pending accesses;
    auto add = [&](const Var& buffer, const std::vector<Expr>& indices, bool writes) {
      if (shared_.contains(buffer.get()) || global_.contains(buffer.get())) {
        accesses.push_back(Describe(block, buffer, indices, writes));
      }
    };
    for (const Access& read : ReadsOf(block)) add(read.buffer, read.indices, false);
    for (const Access& write : WritesOf(block)) add(write.buffer, write.indices, true);
    return accesses;
  }

  SharedAccess Describe(const Block& block, const Var& buffer, const std::vector<Expr>& indices,
                        bool writes) {
    SharedAccess access{buffer, writes, &block, lifetimes_[buffer.get()], {}, {}, {}, {}, {}};
    for (const Access& output : WritesOf(block)) {
      access.once = access.once || !private_.contains(output.buffer.get());
    }
    for (const For* loop : vars_) {
      bool vthread = loop->for_kind == ForKind::kVthread;
      if (vthread) access.vthreads.push_back(loop->var);
      if (!vthread && !IsThreadIdx(loop->for_kind)) continue;
      access.threads.push_back(loop->var);
      if (!vthread) access.axes.insert(loop->for_kind);
      for (size_t d = 0; d < indices.size(); ++d) {
        for (const IterVar& iter : block.iters) {
          bool is_thread = indices[d].same_as(iter.var) && iter.binding.same_as(loop->var);
          if (is_thread && vthread) access.vthread_owners.emplace_back(d, loop->var);
        }
      }
    }
    Substitution bindings;
    for (const IterVar& iter : block.iters) bindings.emplace(iter.var, iter.binding);
    const std::vector<Expr>& origin = buffers_.at(buffer.get())->window.origin;
    for (size_t d = 0; d < indices.size(); ++d) {
      Expr place = Substitute(indices[d], bindings);
      if (!origin.empty()) place = Simplify(place - origin[d]);
      if (auto owner = OwnerOf(place, d, vars_)) access.owners.push_back(*owner);
    }
    return access;
  }

  // Returns whether both accesses belong to the same thread: every axis of the launch, and every
  // vthread loop round both, fixes the same dimension in both.
  bool SameOwner(const SharedAccess& a, const SharedAccess& b) const {
    auto contains = [](const auto& list, const auto& item) {
      return std::ranges::find(list, item) != list.end();
    };
    std::set<ForKind> fixed;
    for (const CellOwner& owner : a.owners) {
      if (contains(b.owners, owner)) fixed.insert(owner.axis);
    }
    if (fixed != axes_) return false;
    auto fixes = [&](const Var& vthread) {
      return std::ranges::any_of(a.vthread_owners, [&](const auto& owner) {
        return owner.second == vthread && contains(b.vthread_owners, owner);
      });
    };
    return std::ranges::all_of(a.vthreads, [&](const Var& vthread) {
      return !contains(b.vthreads, vthread) || fixes(vthread);
    });
  }

  // Returns whether both accesses belong to the same thread. In global buffers, which live outside
  // the bound loops, iterations of those loops carry no dependences.
  bool InSameThread(const SharedAccess& a, const SharedAccess& b) const {
    if (SameOwner(a, b)) return true;
    return global_.contains(a.buffer.get()) && a.threads == b.threads &&
           (a.once == b.once || a.axes == axes_);
  }

  bool Conflicts(const Pending& earlier, const Pending& later) const {
    for (const SharedAccess& a : earlier) {
      for (const SharedAccess& b : later) {
        if (!(a.buffer == b.buffer) || !(a.writes || b.writes)) continue;
        // A leaf in a later iteration of a loop inside the buffer's lifetime touches its own cells.
        bool itself = a.leaf->name == b.leaf->name && a.lifetime == b.lifetime;
        if (!itself && !InSameThread(a, b)) return true;
      }
    }
    return false;
  }

  std::map<const ExprNode*, const Buffer*> buffers_;
  std::set<const ExprNode*> shared_, global_, private_;
  std::set<ForKind> axes_;
  bool has_threads_ = false;
  std::vector<const For*> vars_;
  std::map<const ExprNode*, int> lifetimes_;
};

// Visits the launches, which lie below sequences and allocations of global buffers.
Stmt InsertInLaunches(const Stmt& stmt, const std::vector<Buffer>& buffers) {
  if (const auto* seq = stmt.as<Seq>()) {
    std::vector<Stmt> stmts;
    for (const Stmt& child : seq->stmts) stmts.push_back(InsertInLaunches(child, buffers));
    return SeqOf(stmts);
  }
  const auto* allocate = stmt.as<Allocate>();
  bool outside = allocate && (allocate->buffer.scope == Scope::kGlobal ||
                              allocate->buffer.scope == Scope::kConstant);
  if (outside) {
    return MakeStmt<Allocate>(allocate->buffer, InsertInLaunches(allocate->body, buffers));
  }
  Pending pending;
  BarrierInserter inserter(buffers, stmt);
  return inserter.has_threads() ? inserter.Insert(stmt, pending) : stmt;
}

}  // namespace

Function InsertBarriers(const Function& fn) {
  Function result = fn;
  result.body = InsertInLaunches(fn.body, DeclaredBuffers(fn));
  return result;
}

}  // namespace tcc
