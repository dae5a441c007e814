#include <unordered_map>

#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "lower/passes/passes.h"

namespace tcc {
namespace {

// Returns whether all virtual threads of a thread execute the statement together, once.
bool IsMeetingPoint(const Stmt& stmt) {
  return stmt.as<Barrier>() || stmt.as<AsyncCommit>() || stmt.as<AsyncWait>();
}

bool HoldsMeetingPoint(const Stmt& stmt) {
  return Contains(stmt, [&](const Stmt& s) { return IsMeetingPoint(s); });
}

bool HoldsThreads(const Stmt& stmt) {
  return Contains(stmt, [](const Stmt& s) {
    const auto* loop = s.as<For>();
    return loop && IsThreadIdx(loop->for_kind);
  });
}

bool HoldsIntrinsic(const Stmt& stmt) {
  return Contains(stmt, [](const Stmt& s) { return s.as<IntrinsicCall>() != nullptr; });
}

// Returns whether statements follow one another in the statement, or buffers begin.
bool HasParts(const Stmt& stmt) {
  return Contains(stmt, [](const Stmt& s) { return s.as<Seq>() || s.as<Allocate>(); });
}

// Distributes one vthread loop over its body.
//
// Virtual threads of a GPU's thread run one after the other between meeting points. The ones of an
// accelerator's program, a function without threads that calls an intrinsic, take turns at calls,
// and at what is done between them: its units work for one while the others work for another.
class Distributor {
 public:
  Distributor(const For& vthread, const std::unordered_set<const ExprNode*>& locals,
              bool has_threads)
      : vthread_(vthread),
        locals_(locals),
        by_nests_(!has_threads && HoldsIntrinsic(vthread.body)) {}

  Stmt Distribute(const Stmt& stmt) {
    if (IsMeetingPoint(stmt)) return stmt;
    if (by_nests_ && !HasParts(stmt)) return Copied(stmt);
    if (const auto* allocate = stmt.as<Allocate>(); allocate && IsTakenApart(stmt)) {
      return Allocated(*allocate);
    }
    if (const auto* seq = stmt.as<Seq>(); seq && IsTakenApart(stmt)) return InSeq(*seq);
    // Virtual threads are independent between barriers, so a loop or condition may move outside;
    // the copies then stand side by side in its body.
    if (const auto* loop = stmt.as<For>(); loop && !UsesVar(loop->extent, vthread_.var)) {
      return MakeStmt<For>(loop->var, loop->extent, loop->for_kind, loop->key,
                           Distribute(loop->body));
    }
    const auto* test = stmt.as<If>();
    if (test && !test->else_body && IsSame(test->condition)) {
      return MakeStmt<If>(test->condition, Distribute(test->then_body));
    }
    return Copied(stmt);
  }

 private:
  bool IsTakenApart(const Stmt& stmt) const {
    return by_nests_ ? HoldsIntrinsic(stmt) : HoldsMeetingPoint(stmt);
  }

  Stmt InSeq(const Seq& seq) {
    std::vector<Stmt> stmts;
    std::vector<Stmt> segment;
    auto close = [&] {
      if (!segment.empty()) {
        const Stmt together = SeqOf(segment);
        stmts.push_back(by_nests_ ? Copied(together) : Distribute(together));
      }
      segment.clear();
    };
    for (const Stmt& child : seq.stmts) {
      if (!IsTakenApart(child)) {
        segment.push_back(child);
        continue;
      }
      close();
      stmts.push_back(Distribute(child));
    }
    close();
    return SeqOf(stmts);
  }

  // Gives a local buffer that lives across parts one version per virtual thread.
  Stmt Allocated(const Allocate& allocate) {
    if (allocate.buffer.scope != Scope::kLocal) {
      return MakeStmt<Allocate>(allocate.buffer, Distribute(allocate.body));
    }
    TCC_CHECK(allocate.buffer.rank() == 1) << allocate.buffer.var->name << " is not flat yet";
    Buffer versions = allocate.buffer;
    Expr size = versions.shape[0];
    versions.shape[0] = Simplify(vthread_.extent * size);
    versions_.emplace(versions.var, size);
    return MakeStmt<Allocate>(versions, Distribute(allocate.body));
  }

  // Repeats `stmt` per virtual thread, or keeps it once if it is the same for all of them.
  Stmt Copied(const Stmt& stmt) {
    if (!Differs(stmt)) return stmt;
    Var var = LoopVar(vthread_.var->name);
    Stmt body = Substitute(WithVersions(stmt), vthread_.var, var);
    std::string key = vthread_.key + "." + std::to_string(copies_++);
    return MakeStmt<For>(var, vthread_.extent, ForKind::kUnrolled, key, body);
  }

  // Returns whether `stmt` differs between virtual threads: it uses their variable or local
  // buffers.
  bool Differs(const Stmt& stmt) const {
    bool found = UsesVar(stmt, vthread_.var);
    PreOrderExprs(stmt, [&](const Expr& e) { found = found || locals_.contains(e.get()); });
    return found;
  }

  // Returns whether `expr` is the same for all virtual threads, whatever they have stored.
  bool IsSame(const Expr& expr) const { return !HasLoad(expr) && !UsesVar(expr, vthread_.var); }

  std::vector<Expr> Shifted(const Var& buffer, const std::vector<Expr>& indices) const {
    auto found = versions_.find(buffer);
    if (found == versions_.end()) return indices;
    return {Expr(vthread_.var) * found->second + indices[0]};
  }

  Stmt WithVersions(const Stmt& stmt) const {
    return RewriteBottomUp(
        stmt,
        [&](const Stmt& s) -> Stmt {
          const auto* store = s.as<Store>();
          if (!store) return s;
          return MakeStmt<Store>(store->buffer, Shifted(store->buffer, store->indices),
                                 store->value, store->mask);
        },
        [&](const Expr& e) -> Expr {
          const auto* load = e.as<Load>();
          return load ? Make<Load>(load->buffer, Shifted(load->buffer, load->indices)) : e;
        });
  }

  const For& vthread_;
  const std::unordered_set<const ExprNode*>& locals_;
  const bool by_nests_;
  std::unordered_map<Var, Expr, VarHash> versions_;  // buffer to the size of one version
  int copies_ = 0;
};

}  // namespace

Function DistributeVthreads(const Function& fn) {
  std::unordered_set<const ExprNode*> locals;
  for (const Buffer& buffer : DeclaredBuffers(fn)) {
    if (buffer.scope == Scope::kLocal) locals.insert(buffer.var.get());
  }
  const bool has_threads = HoldsThreads(fn.body);
  auto distribute = [&](const Stmt& stmt) -> Stmt {
    const auto* loop = stmt.as<For>();
    if (!loop || loop->for_kind != ForKind::kVthread) return stmt;
    return Distributor(*loop, locals, has_threads).Distribute(loop->body);
  };
  Function result = fn;
  result.body = RewriteBottomUp(fn.body, distribute, [](const Expr& expr) { return expr; });
  return result;
}

}  // namespace tcc
