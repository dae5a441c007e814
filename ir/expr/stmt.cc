#include "ir/expr/stmt.h"

#include "support/check.h"

namespace tcc {
namespace {

constexpr std::string_view kForKindText[] = {
#define TCC_FOR_KIND_TEXT(text, kind) text,
    TCC_FOR_KINDS(TCC_FOR_KIND_TEXT)
#undef TCC_FOR_KIND_TEXT
};

constexpr std::string_view kScopeText[] = {
#define TCC_SCOPE_TEXT(text, scope, meaning) text,
    TCC_SCOPES(TCC_SCOPE_TEXT)
#undef TCC_SCOPE_TEXT
};

void CheckAccess(const Var& buffer, const std::vector<Expr>& indices) {
  TCC_CHECK(static_cast<bool>(buffer)) << "access without a buffer";
  TCC_CHECK(buffer->role == VarRole::kBuffer) << buffer->name << " is no buffer";
  for (const Expr& index : indices) TCC_CHECK(index.dtype().element() == kInt64) << buffer->name;
}

void AppendFlat(const Stmt& stmt, std::vector<Stmt>& flat) {
  if (!stmt) return;
  if (const auto* seq = stmt.as<Seq>()) {
    for (const Stmt& child : seq->stmts) AppendFlat(child, flat);
  } else {
    flat.push_back(stmt);
  }
}

}  // namespace

std::string_view ToString(ForKind kind) {
  return kForKindText[static_cast<int>(kind)];
}

std::optional<ForKind> ParseForKind(std::string_view text) {
  for (size_t i = 0; i < std::size(kForKindText); ++i) {
    if (kForKindText[i] == text) return static_cast<ForKind>(i);
  }
  return std::nullopt;
}

bool IsBlockIdx(ForKind kind) {
  return kind >= ForKind::kBlockIdxX && kind <= ForKind::kBlockIdxZ;
}
bool IsThreadIdx(ForKind kind) {
  return kind >= ForKind::kThreadIdxX && kind <= ForKind::kThreadIdxZ;
}

bool IsInOrder(ForKind kind) {
  return kind == ForKind::kSerial || kind == ForKind::kUnrolled || kind == ForKind::kPartitioned ||
         kind == ForKind::kPipelined || kind == ForKind::kPipelinedAsync;
}

std::string_view ToString(Scope scope) {
  return kScopeText[static_cast<int>(scope)];
}

std::optional<Scope> ParseScope(std::string_view text) {
  for (size_t i = 0; i < std::size(kScopeText); ++i) {
    if (kScopeText[i] == text) return static_cast<Scope>(i);
  }
  return std::nullopt;
}

Store::Store(Var buffer, std::vector<Expr> indices, Expr value, Expr mask)
    : StmtNode(kKind),
      buffer(std::move(buffer)),
      indices(std::move(indices)),
      value(std::move(value)),
      mask(std::move(mask)) {
  CheckAccess(this->buffer, this->indices);
  TCC_CHECK(this->value.dtype().element() == this->buffer.dtype())
      << this->buffer->name << " holds " << ToString(this->buffer.dtype()) << ", not "
      << ToString(this->value.dtype());
}

Reduce::Reduce(Combiner combiner, std::vector<Access> outputs, std::vector<Expr> inputs,
               ReduceInit init)
    : StmtNode(kKind),
      combiner(std::move(combiner)),
      outputs(std::move(outputs)),
      inputs(std::move(inputs)),
      init(init) {
  size_t arity = this->combiner.arity();
  TCC_CHECK(this->outputs.size() == arity && this->inputs.size() == arity) << this->combiner->name;
  for (size_t i = 0; i < arity; ++i) {
    CheckAccess(this->outputs[i].buffer, this->outputs[i].indices);
    DType type = this->combiner->identities[i].dtype();
    TCC_CHECK(this->inputs[i].dtype() == type && this->outputs[i].buffer.dtype() == type)
        << this->combiner->name << " element " << i;
  }
}

Seq::Seq(std::vector<Stmt> stmts) : StmtNode(kKind), stmts(std::move(stmts)) {}

For::For(Var var, Expr extent, ForKind for_kind, std::string key, Stmt body)
    : StmtNode(kKind),
      var(std::move(var)),
      extent(std::move(extent)),
      for_kind(for_kind),
      key(std::move(key)),
      body(std::move(body)) {
  TCC_CHECK(this->var->role == VarRole::kLoop) << this->var->name;
  TCC_CHECK(this->extent.dtype() == kInt64) << this->var->name;
}

Block::Block(std::string name, std::vector<IterVar> iters, std::vector<LoopGuard> guards,
             Expr predicate, Stmt body)
    : StmtNode(kKind),
      name(std::move(name)),
      iters(std::move(iters)),
      guards(std::move(guards)),
      predicate(std::move(predicate)),
      body(std::move(body)) {
  TCC_CHECK(this->predicate.dtype() == kBool) << this->name;
}

If::If(Expr condition, Stmt then_body, Stmt else_body)
    : StmtNode(kKind),
      condition(std::move(condition)),
      then_body(std::move(then_body)),
      else_body(std::move(else_body)) {
  TCC_CHECK(this->condition.dtype() == kBool) << ToString(this->condition.dtype());
}

Let::Let(Var var, Expr value, Stmt body)
    : StmtNode(kKind), var(std::move(var)), value(std::move(value)), body(std::move(body)) {
  TCC_CHECK(this->var.dtype() == this->value.dtype()) << this->var->name;
}

Allocate::Allocate(Buffer buffer, Stmt body)
    : StmtNode(kKind), buffer(std::move(buffer)), body(std::move(body)) {}

Barrier::Barrier(Scope scope) : StmtNode(kKind), scope(scope) {}

AsyncCopy::AsyncCopy(Access destination, Access source, int count, Expr keep)
    : StmtNode(kKind),
      destination(std::move(destination)),
      source(std::move(source)),
      count(count),
      keep(std::move(keep)) {
  TCC_CHECK(count >= 1 && this->destination.buffer.dtype() == this->source.buffer.dtype()) << count;
  TCC_CHECK(!this->keep || this->keep.dtype() == kBool) << ToString(this->keep.dtype());
}

AsyncCommit::AsyncCommit(AsyncKind what) : StmtNode(kKind), what(what) {}
AsyncWait::AsyncWait(AsyncKind what, int pending) : StmtNode(kKind), what(what), pending(pending) {}

PrefetchLine::PrefetchLine(Access cell) : StmtNode(kKind), cell(std::move(cell)) {}

IntrinsicCall::IntrinsicCall(std::string intrinsic, Stmt body)
    : StmtNode(kKind), intrinsic(std::move(intrinsic)), body(std::move(body)) {}

Stmt SeqOf(const std::vector<Stmt>& stmts) {
  std::vector<Stmt> flat;
  for (const Stmt& stmt : stmts) AppendFlat(stmt, flat);
  if (flat.size() == 1) return flat[0];
  return MakeStmt<Seq>(std::move(flat));
}

bool IsNothing(const Stmt& stmt) {
  const auto* seq = stmt.as<Seq>();
  return !stmt || (seq && seq->stmts.empty());
}

}  // namespace tcc
