#include "lower/split_prepare.h"

#include <algorithm>
#include <unordered_set>

#include "ir/expr/compare.h"
#include "ir/expr/visitor.h"

namespace tcc {
namespace {

using VarSet = std::unordered_set<Var, VarHash>;

// A root statement and the buffers that it uses.
struct Nest {
  Stmt stmt;
  VarSet touched;
  VarSet writes;  // the written ones among `touched`
};

Nest NestOf(const Stmt& stmt) {
  Nest nest{stmt, {}, {}};
  PreOrder(stmt, [&](const Stmt& s) {
    if (const auto* store = s.as<Store>()) nest.writes.insert(store->buffer);
    if (const auto* reduce = s.as<Reduce>()) {
      for (const Access& output : reduce->outputs) nest.writes.insert(output.buffer);
    }
    if (const auto* copy = s.as<AsyncCopy>()) {
      nest.writes.insert(copy->destination.buffer);
      nest.touched.insert(copy->source.buffer);
    }
  });
  nest.touched.insert(nest.writes.begin(), nest.writes.end());
  PreOrderExprs(stmt, [&](const Expr& expr) {
    if (const auto* load = expr.as<Load>()) nest.touched.insert(load->buffer);
  });
  return nest;
}

// Removes prefetch hints at buffers that are not in `present`.
Stmt WithoutHints(const Stmt& stmt, const VarSet& present) {
  auto remove = [&](const Stmt& s) -> Stmt {
    const auto* hint = s.as<PrefetchLine>();
    if (hint && !present.contains(hint->cell.buffer)) return Nothing();
    if (const auto* loop = s.as<For>(); loop && IsNothing(loop->body)) return Nothing();
    if (const auto* test = s.as<If>(); test && IsNothing(test->then_body) && !test->else_body) {
      return Nothing();
    }
    if (const auto* seq = s.as<Seq>()) return SeqOf(seq->stmts);
    return s;
  };
  return RewriteBottomUp(stmt, remove, [](const Expr& expr) { return expr; });
}

bool IsBound(ForKind kind) {
  return IsBlockIdx(kind) || IsThreadIdx(kind) || kind == ForKind::kVthread;
}

// Splits one function into the allocations at its root and the nests inside them.
class Splitter {
 public:
  explicit Splitter(const Function& fn) : fn_(fn) {
    Stmt body = fn.body;
    while (const auto* allocate = body.as<Allocate>()) {
      allocated_.push_back(allocate->buffer);
      body = allocate->body;
    }
    std::vector<Stmt> stmts = {body};
    if (const auto* seq = body.as<Seq>()) stmts = seq->stmts;
    for (const Stmt& stmt : stmts) nests_.push_back(NestOf(stmt));
  }

  StatusOr<PreparedFunction> Split() {
    std::vector<Buffer> constants;
    std::vector<NestSet> nests_for;
    NestSet rest(nests_.size(), true);
    for (const Buffer& buffer : allocated_) {
      if (buffer.scope != Scope::kConstant) continue;
      constants.push_back(buffer);
      TCC_ASSIGN_OR_RETURN(nests_for.emplace_back(), NestsFor(buffer));
      for (size_t n = 0; n < nests_.size(); ++n) rest[n] = rest[n] && !nests_for.back()[n];
    }
    TCC_RETURN_IF_ERROR(AddShared(rest));

    VarSet used = TouchedBy(rest);
    PreparedFunction result{fn_, {}};
    std::erase_if(result.main.params, [&](const Buffer& param) {
      return param.scope == Scope::kConstant && !used.contains(param.var);
    });
    for (size_t i = 0; i < constants.size(); ++i) {
      if (!used.contains(constants[i].var)) continue;
      result.main.params.push_back(constants[i]);
      result.prepare.push_back(PrepareFor(constants[i], nests_for[i]));
    }
    result.main.body = BodyOf(rest, result.main.params);
    return result;
  }

 private:
  using NestSet = std::vector<bool>;  // which of nests_

  // Returns the nests that compute `buffer`, and transitively the nests that compute their inputs.
  StatusOr<NestSet> NestsFor(const Buffer& buffer) const {
    NestSet chosen(nests_.size());
    std::vector<Var> wanted = {buffer.var};
    VarSet seen = {buffer.var};
    while (!wanted.empty()) {
      Var var = wanted.back();
      wanted.pop_back();
      for (size_t n = 0; n < nests_.size(); ++n) {
        if (chosen[n] || !nests_[n].writes.contains(var)) continue;
        chosen[n] = true;
        for (const Var& other : nests_[n].touched) {
          if (seen.insert(other).second) wanted.push_back(other);
        }
      }
    }
    for (const Buffer& param : fn_.params) {
      if (param.scope == Scope::kConstant || !seen.contains(param.var)) continue;
      return InvalidInput("constant buffer '{}' is computed with '{}', which is not constant",
                          buffer.var->name, param.var->name);
    }
    for (size_t n = 0; n < nests_.size(); ++n) {
      if (chosen[n]) TCC_RETURN_IF_ERROR(ExpectUnbound(nests_[n].stmt));
    }
    return chosen;
  }

  static Status ExpectUnbound(const Stmt& nest) {
    Status status;
    PreOrder(nest, [&](const Stmt& stmt) {
      const auto* loop = stmt.as<For>();
      if (!loop || !IsBound(loop->for_kind)) return;
      status = InvalidInput("loop '{}' of a constant is bound to {}; the host runs it", loop->key,
                            ToString(loop->for_kind));
    });
    return status;
  }

  // Adds the nests of non-constant buffers that both sides use: main computes them once more.
  Status AddShared(NestSet& rest) const {
    for (size_t n = 0; n < nests_.size(); ++n) {
      if (rest[n] || !WritesOneOf(nests_[n], TouchedBy(rest))) continue;
      for (const Buffer& buffer : allocated_) {
        if (buffer.scope != Scope::kConstant || !nests_[n].writes.contains(buffer.var)) continue;
        return InvalidInput("constant '{}' is computed in one nest with what is none",
                            buffer.var->name);
      }
      rest[n] = true;
      return AddShared(rest);
    }
    return OkStatus();
  }

  // Returns whether the nest writes a non-constant buffer in `used`.
  bool WritesOneOf(const Nest& nest, const VarSet& used) const {
    return std::ranges::any_of(allocated_, [&](const Buffer& buffer) {
      return buffer.scope != Scope::kConstant && used.contains(buffer.var) &&
             nest.writes.contains(buffer.var);
    });
  }

  static const Buffer* Find(const std::vector<Buffer>& buffers, const Var& var) {
    for (const Buffer& buffer : buffers) {
      if (buffer.var == var) return &buffer;
    }
    return nullptr;
  }

  VarSet TouchedBy(const NestSet& chosen) const {
    VarSet touched;
    for (size_t n = 0; n < nests_.size(); ++n) {
      if (chosen[n]) touched.insert(nests_[n].touched.begin(), nests_[n].touched.end());
    }
    return touched;
  }

  Function PrepareFor(const Buffer& buffer, const NestSet& nests) const {
    Function prepare;
    prepare.name = fn_.name + "_" + buffer.var->name;
    prepare.level = fn_.level;
    VarSet used = TouchedBy(nests);
    for (const Buffer& param : fn_.params) {
      if (used.contains(param.var)) prepare.params.push_back(param);
    }
    prepare.params.push_back(buffer);
    prepare.params.back().scope = Scope::kGlobal;
    prepare.body = BodyOf(nests, prepare.params);
    return prepare;
  }

  // Returns the nests inside the allocations of the buffers that they need and do not get as
  // parameters.
  Stmt BodyOf(const NestSet& chosen, const std::vector<Buffer>& params) const {
    std::vector<Stmt> stmts;
    for (size_t n = 0; n < nests_.size(); ++n) {
      if (chosen[n]) stmts.push_back(nests_[n].stmt);
    }
    VarSet used = TouchedBy(chosen);
    Stmt body = WithoutHints(SeqOf(stmts), used);
    for (size_t i = allocated_.size(); i-- > 0;) {
      Buffer buffer = allocated_[i];
      if (!used.contains(buffer.var) || Find(params, buffer.var)) continue;
      if (buffer.scope == Scope::kConstant) buffer.scope = Scope::kGlobal;
      body = MakeStmt<Allocate>(buffer, body);
    }
    return body;
  }

  const Function& fn_;
  std::vector<Buffer> allocated_;
  std::vector<Nest> nests_;
};

}  // namespace

StatusOr<PreparedFunction> SplitPrepare(const Function& fn) {
  return Splitter(fn).Split();
}

}  // namespace tcc
