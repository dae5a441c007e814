#include "ir/text/stmt_parser.h"

#include <algorithm>
#include <limits>

#include "ir/expr/combiner.h"
#include "ir/expr/operators.h"
#include "ir/text/expr_printer.h"

namespace tcc {
namespace {

constexpr int kMaxInt = std::numeric_limits<int>::max();  // of values that are stored as int

// A body of one statement is that statement.
Stmt BodyOf(std::vector<Stmt> stmts) {
  if (stmts.size() == 1) return stmts[0];
  return MakeStmt<Seq>(std::move(stmts));
}

}  // namespace

StatusOr<Stmt> StmtParser::Body() {
  TCC_ASSIGN_OR_RETURN(std::vector<Stmt> stmts, Braces());
  return BodyOf(std::move(stmts));
}

StatusOr<std::vector<Stmt>> StmtParser::Braces() {
  Nesting nesting(cursor_);
  TCC_RETURN_IF_ERROR(nesting.Check());
  TCC_RETURN_IF_ERROR(cursor_.Expect("{"));
  TCC_ASSIGN_OR_RETURN(std::vector<Stmt> stmts, List());
  TCC_RETURN_IF_ERROR(cursor_.Expect("}"));
  return stmts;
}

StatusOr<std::vector<Stmt>> StmtParser::List() {
  size_t mark = scope_.Mark();
  int outer_binders = open_binders_;
  std::vector<OpenList> open;
  std::vector<Stmt> stmts;
  while (!cursor_.At("}") && cursor_.Peek().kind != TokenKind::kEnd) {
    if (cursor_.At("let") || cursor_.At("alloc")) {
      size_t inner = scope_.Mark();
      TCC_ASSIGN_OR_RETURN(Binder binder, BinderHeader());
      if (cursor_.Accept("in")) {
        TCC_ASSIGN_OR_RETURN(Stmt body, Body());
        stmts.push_back(Close(binder, body));
        scope_.Leave(inner);
      } else {
        open.push_back({std::move(stmts), binder});
        stmts.clear();
        if (++open_binders_ > kMaxDepth) {
          return cursor_.Unexpected(fmt::format("at most {} open lets and allocs", kMaxDepth));
        }
      }
    } else {
      TCC_ASSIGN_OR_RETURN(Stmt stmt, Statement());
      stmts.push_back(std::move(stmt));
    }
    cursor_.Accept(";");
  }
  for (; !open.empty(); open.pop_back()) {
    Stmt bound = Close(open.back().binder, BodyOf(std::move(stmts)));
    stmts = std::move(open.back().before);
    stmts.push_back(std::move(bound));
  }
  scope_.Leave(mark);
  open_binders_ = outer_binders;
  return stmts;
}

StatusOr<StmtParser::Binder> StmtParser::BinderHeader() {
  Binder binder;
  if (cursor_.Accept("alloc")) {
    TCC_ASSIGN_OR_RETURN(binder.buffer, Declaration());
    return binder;
  }
  TCC_RETURN_IF_ERROR(cursor_.Expect("let"));
  TCC_ASSIGN_OR_RETURN(Token name, FreshName("a variable"));
  TCC_RETURN_IF_ERROR(cursor_.Expect("="));
  TCC_ASSIGN_OR_RETURN(binder.value, exprs_.Parse(std::nullopt));
  Expr var = Make<VarNode>(name.text, VarRole::kLoop, binder.value.dtype(), 0,
                           std::numeric_limits<int64_t>::max(), 0);
  binder.var = Var(var.as<VarNode>());
  scope_.Define(name.text, binder.var);
  return binder;
}

Stmt StmtParser::Close(const Binder& binder, Stmt body) {
  if (binder.value) return MakeStmt<Let>(binder.var, binder.value, std::move(body));
  return MakeStmt<Allocate>(binder.buffer, std::move(body));
}

StatusOr<Stmt> StmtParser::Statement() {
  struct Row {
    std::string_view word;
    StatusOr<Stmt> (StmtParser::*parse)();
  };
  static constexpr Row kRows[] = {
      {"for", &StmtParser::ForStatement},
      {"block", &StmtParser::BlockStatement},
      {"if", &StmtParser::IfStatement},
      {"reduce", &StmtParser::ReduceStatement},
      {"barrier", &StmtParser::BarrierStatement},
      {"async_copy", &StmtParser::AsyncCopyStatement},
      {"async_wait", &StmtParser::WaitStatement<AsyncKind::kCopies>},
      {"product_wait", &StmtParser::WaitStatement<AsyncKind::kProducts>},
      {"prefetch", &StmtParser::PrefetchStatement},
      {"intrinsic", &StmtParser::IntrinsicStatement},
  };
  for (const Row& row : kRows) {
    if (cursor_.Accept(row.word)) return (this->*row.parse)();
  }
  if (cursor_.Accept("async_commit")) return MakeStmt<AsyncCommit>(AsyncKind::kCopies);
  if (cursor_.Accept("product_commit")) return MakeStmt<AsyncCommit>(AsyncKind::kProducts);
  if (!cursor_.At("{")) return StoreStatement();
  // Braces that stand as a statement are a Seq, even of one statement.
  TCC_ASSIGN_OR_RETURN(std::vector<Stmt> stmts, Braces());
  return MakeStmt<Seq>(std::move(stmts));
}

StatusOr<Stmt> StmtParser::ForStatement() {
  TCC_ASSIGN_OR_RETURN(Token name, FreshName("a loop variable"));
  TCC_RETURN_IF_ERROR(cursor_.Expect("in"));
  TCC_RETURN_IF_ERROR(cursor_.Integer("the start of a loop", 0, 0).status());
  TCC_RETURN_IF_ERROR(cursor_.Expect(".."));
  TCC_ASSIGN_OR_RETURN(Expr extent, Size());
  ForKind kind = ForKind::kSerial;
  if (cursor_.Peek().kind == TokenKind::kName) {
    std::optional<ForKind> parsed = ParseForKind(cursor_.Peek().text);
    if (!parsed) return cursor_.Unexpected("a kind of loop, its key or '{'");
    kind = *parsed;
    cursor_.Take();
  }
  std::string key;
  if (cursor_.Peek().kind == TokenKind::kKey) key = cursor_.Take().text;
  Var var = LoopVar(name.text);
  size_t mark = scope_.Mark();
  scope_.Define(name.text, var);
  TCC_ASSIGN_OR_RETURN(Stmt body, Body());
  scope_.Leave(mark);
  return MakeStmt<For>(var, extent, kind, key, body);
}

StatusOr<Stmt> StmtParser::BlockStatement() {
  TCC_ASSIGN_OR_RETURN(Token name, cursor_.Name("the name of a block"));
  std::vector<std::string> names;
  TCC_ASSIGN_OR_RETURN(std::vector<IterVar> iters, Iterations(names));
  std::vector<LoopGuard> guards;
  if (cursor_.Accept("guard")) {
    TCC_ASSIGN_OR_RETURN(guards, Guards());
  }
  size_t mark = scope_.Mark();
  for (size_t i = 0; i < iters.size(); ++i) scope_.Define(names[i], iters[i].var);
  Expr predicate = True();
  if (cursor_.Accept("where")) {
    TCC_ASSIGN_OR_RETURN(predicate, exprs_.ParseTyped(kBool));
  }
  TCC_ASSIGN_OR_RETURN(Stmt body, Body());
  scope_.Leave(mark);
  return MakeStmt<Block>(name.text, std::move(iters), std::move(guards), predicate, body);
}

StatusOr<std::vector<IterVar>> StmtParser::Iterations(std::vector<std::string>& names) {
  std::vector<IterVar> iters;
  TCC_RETURN_IF_ERROR(cursor_.Expect("("));
  while (!cursor_.At(")")) {
    if (!iters.empty()) TCC_RETURN_IF_ERROR(cursor_.Expect(","));
    TCC_ASSIGN_OR_RETURN(Token name, cursor_.Name("an iteration variable"));
    if (std::ranges::find(names, name.text) != names.end()) {
      return InvalidInput("{}{} is defined twice", Position(name), Describe(name));
    }
    TCC_RETURN_IF_ERROR(cursor_.Expect(":"));
    IterVar iter{.var = IterationVar(name.text), .binding = {}, .domain = {}};
    if (cursor_.At("reduce")) {
      iter.kind = IterKind::kReduce;
    } else if (!cursor_.At("spatial")) {
      return cursor_.Unexpected("'spatial' or 'reduce'");
    }
    cursor_.Take();
    TCC_ASSIGN_OR_RETURN(iter.domain, Size());
    TCC_RETURN_IF_ERROR(cursor_.Expect("="));
    TCC_ASSIGN_OR_RETURN(iter.binding, Size());
    names.push_back(name.text);
    iters.push_back(std::move(iter));
  }
  TCC_RETURN_IF_ERROR(cursor_.Expect(")"));
  return iters;
}

StatusOr<std::vector<LoopGuard>> StmtParser::Guards() {
  std::vector<LoopGuard> guards;
  TCC_RETURN_IF_ERROR(cursor_.Expect("("));
  while (guards.empty() || !cursor_.At(")")) {
    if (!guards.empty()) TCC_RETURN_IF_ERROR(cursor_.Expect(","));
    LoopGuard guard;
    TCC_ASSIGN_OR_RETURN(guard.value, exprs_.ParseTyped(kInt64, kSumPrecedence));
    TCC_RETURN_IF_ERROR(cursor_.Expect("<"));
    TCC_ASSIGN_OR_RETURN(guard.extent, exprs_.ParseTyped(kInt64, kSumPrecedence));
    guards.push_back(std::move(guard));
  }
  TCC_RETURN_IF_ERROR(cursor_.Expect(")"));
  return guards;
}

StatusOr<Stmt> StmtParser::IfStatement() {
  TCC_ASSIGN_OR_RETURN(Expr condition, exprs_.ParseTyped(kBool));
  TCC_ASSIGN_OR_RETURN(Stmt then_body, Body());
  Stmt else_body;
  if (cursor_.Accept("else")) {
    TCC_ASSIGN_OR_RETURN(else_body, Body());
  }
  return MakeStmt<If>(condition, then_body, else_body);
}

StatusOr<Access> StmtParser::AccessOf() {
  Access access;
  TCC_ASSIGN_OR_RETURN(access.buffer, exprs_.BufferName());
  TCC_ASSIGN_OR_RETURN(access.indices, exprs_.Indices());
  return access;
}

StatusOr<Stmt> StmtParser::StoreStatement() {
  bool names_cell = TokenCursor::Matches(cursor_.PeekNext(), "[");
  if (!names_cell) return cursor_.Unexpected("a statement");
  TCC_ASSIGN_OR_RETURN(Access access, AccessOf());
  TCC_RETURN_IF_ERROR(cursor_.Expect("="));
  Token at = cursor_.Peek();
  DType stored = StoredType(access.buffer, access.indices);
  TCC_ASSIGN_OR_RETURN(Expr value, exprs_.Parse(stored));
  if (value.dtype().element() != access.buffer.dtype()) {
    return InvalidInput("{}expected {}, found a value of type {}", Position(at), ToString(stored),
                        ToString(value.dtype()));
  }
  Expr mask;
  if (cursor_.Accept("mask")) {
    Token mask_at = cursor_.Peek();
    TCC_ASSIGN_OR_RETURN(mask, exprs_.Parse(std::nullopt));
    if (!mask.dtype().is_bool()) {
      return InvalidInput("{}expected a bool, found a value of type {}", Position(mask_at),
                          ToString(mask.dtype()));
    }
  }
  return MakeStmt<Store>(access.buffer, access.indices, value, mask);
}

StatusOr<Combiner> StmtParser::CombinerNamed() {
  TCC_ASSIGN_OR_RETURN(Token name, cursor_.Name("a combiner"));
  auto found = combiners_.find(name.text);
  if (found != combiners_.end()) return found->second;
  Combiner standard = FindStandardCombiner(name.text);
  if (standard) return standard;
  return InvalidInput("{}the combiner {} is not defined", Position(name), Describe(name));
}

StatusOr<Stmt> StmtParser::ReduceStatement() {
  TCC_ASSIGN_OR_RETURN(Combiner combiner, CombinerNamed());
  ReduceInit init = cursor_.At("init") ? ReduceInit::kFirstInstance : ReduceInit::kDecomposed;
  cursor_.Accept("init");
  std::vector<Access> outputs;
  std::vector<Expr> inputs;
  TCC_RETURN_IF_ERROR(cursor_.Expect("("));
  for (size_t i = 0; i < combiner.arity(); ++i) {
    if (i > 0) TCC_RETURN_IF_ERROR(cursor_.Expect(","));
    Token at = cursor_.Peek();
    TCC_ASSIGN_OR_RETURN(Access output, AccessOf());
    DType dtype = combiner->identities[i].dtype();
    if (output.buffer.dtype() != dtype) {
      return InvalidInput("{}expected a buffer of {}, found one of {}", Position(at),
                          ToString(dtype), ToString(output.buffer.dtype()));
    }
    outputs.push_back(std::move(output));
  }
  TCC_RETURN_IF_ERROR(cursor_.Expect(")"));
  TCC_RETURN_IF_ERROR(cursor_.Expect("with"));
  TCC_RETURN_IF_ERROR(cursor_.Expect("("));
  for (size_t i = 0; i < combiner.arity(); ++i) {
    if (i > 0) TCC_RETURN_IF_ERROR(cursor_.Expect(","));
    TCC_ASSIGN_OR_RETURN(Expr input, exprs_.ParseTyped(combiner->identities[i].dtype()));
    inputs.push_back(std::move(input));
  }
  TCC_RETURN_IF_ERROR(cursor_.Expect(")"));
  return MakeStmt<Reduce>(combiner, std::move(outputs), std::move(inputs), init);
}

StatusOr<Stmt> StmtParser::BarrierStatement() {
  TCC_RETURN_IF_ERROR(cursor_.Expect("("));
  std::optional<Scope> scope = ParseScope(cursor_.Peek().text);
  if (!scope) return cursor_.Unexpected("a scope");
  cursor_.Take();
  TCC_RETURN_IF_ERROR(cursor_.Expect(")"));
  return MakeStmt<Barrier>(*scope);
}

StatusOr<Stmt> StmtParser::AsyncCopyStatement() {
  TCC_ASSIGN_OR_RETURN(Access destination, AccessOf());
  TCC_RETURN_IF_ERROR(cursor_.Expect("from"));
  Token at = cursor_.Peek();
  TCC_ASSIGN_OR_RETURN(Access source, AccessOf());
  if (source.buffer.dtype() != destination.buffer.dtype()) {
    return InvalidInput("{}expected a buffer of {}, found one of {}", Position(at),
                        ToString(destination.buffer.dtype()), ToString(source.buffer.dtype()));
  }
  TCC_RETURN_IF_ERROR(cursor_.Expect("count"));
  TCC_ASSIGN_OR_RETURN(int64_t count, cursor_.Integer("a count", 1, kMaxInt));
  Expr keep;
  if (cursor_.Accept("where")) {
    TCC_ASSIGN_OR_RETURN(keep, exprs_.ParseTyped(kBool));
  }
  return MakeStmt<AsyncCopy>(destination, source, static_cast<int>(count), keep);
}

template <AsyncKind what>
StatusOr<Stmt> StmtParser::WaitStatement() {
  TCC_RETURN_IF_ERROR(cursor_.Expect("("));
  TCC_ASSIGN_OR_RETURN(int64_t pending, cursor_.Integer("a count", -kMaxInt, kMaxInt));
  TCC_RETURN_IF_ERROR(cursor_.Expect(")"));
  return MakeStmt<AsyncWait>(what, static_cast<int>(pending));
}

StatusOr<Stmt> StmtParser::PrefetchStatement() {
  TCC_ASSIGN_OR_RETURN(Access cell, AccessOf());
  return MakeStmt<PrefetchLine>(cell);
}

StatusOr<Stmt> StmtParser::IntrinsicStatement() {
  TCC_ASSIGN_OR_RETURN(Token name, cursor_.Name("an intrinsic"));
  TCC_ASSIGN_OR_RETURN(Stmt body, Body());
  return MakeStmt<IntrinsicCall>(name.text, body);
}

StatusOr<Token> StmtParser::FreshName(std::string_view what) {
  TCC_ASSIGN_OR_RETURN(Token name, cursor_.Name(what));
  if (!scope_.Find(name.text)) return name;
  return InvalidInput("{}{} is defined already", Position(name), Describe(name));
}

StatusOr<Buffer> StmtParser::Declaration() {
  TCC_ASSIGN_OR_RETURN(Token name, FreshName("the name of a buffer"));
  TCC_RETURN_IF_ERROR(cursor_.Expect(":"));
  std::optional<DType> dtype = ParseDType(cursor_.Peek().text);
  if (!dtype || cursor_.Peek().kind != TokenKind::kName) return cursor_.Unexpected("a type");
  cursor_.Take();
  Buffer buffer;
  buffer.var = BufferVar(name.text, *dtype);
  TCC_ASSIGN_OR_RETURN(buffer.shape, exprs_.Sizes());
  for (bool found = true; found;) TCC_RETURN_IF_ERROR(Attribute(buffer, found));
  scope_.Define(name.text, buffer.var);
  return buffer;
}

// Parses one attribute, if there is one.
Status StmtParser::Attribute(Buffer& buffer, bool& found) {
  found = true;
  Layout& layout = buffer.layout;
  if (cursor_.Accept("window")) {
    TCC_ASSIGN_OR_RETURN(buffer.window.origin, exprs_.Sizes());
    TCC_RETURN_IF_ERROR(cursor_.Expect("size"));
    TCC_ASSIGN_OR_RETURN(buffer.window.size, exprs_.Sizes());
  } else if (cursor_.Accept("versions")) {
    TCC_ASSIGN_OR_RETURN(buffer.versions, Size());
  } else if (cursor_.Accept("circular")) {
    TCC_ASSIGN_OR_RETURN(int64_t dim, cursor_.Integer("a dimension", 0, kMaxInt));
    buffer.circular = static_cast<int>(dim);
  } else if (cursor_.Accept("strides")) {
    TCC_ASSIGN_OR_RETURN(layout.strides, exprs_.Sizes());
  } else if (cursor_.Accept("offset")) {
    TCC_ASSIGN_OR_RETURN(layout.offset, Size());
  } else if (cursor_.Accept("blocks")) {
    return Blocks(layout);
  } else if (cursor_.Accept("swizzle")) {
    return Swizzle(layout.swizzle);
  } else {
    bool word = cursor_.Peek().kind == TokenKind::kName;
    std::optional<Scope> scope = word ? ParseScope(cursor_.Peek().text) : std::nullopt;
    found = scope.has_value();
    if (!found) return OkStatus();
    buffer.scope = *scope;
    cursor_.Take();
  }
  return OkStatus();
}

Status StmtParser::Blocks(Layout& layout) {
  TCC_RETURN_IF_ERROR(cursor_.Expect("["));
  layout.blocks.clear();
  while (!cursor_.At("]")) {
    if (!layout.blocks.empty()) TCC_RETURN_IF_ERROR(cursor_.Expect(","));
    TCC_ASSIGN_OR_RETURN(int64_t dim, cursor_.Integer("a dimension", 0, kMaxInt));
    TCC_RETURN_IF_ERROR(cursor_.Expect("by"));
    TCC_ASSIGN_OR_RETURN(Expr factor, Size());
    layout.blocks.push_back({.dim = static_cast<int>(dim), .factor = factor});
  }
  return cursor_.Expect("]");
}

Status StmtParser::Swizzle(XorSwizzle& swizzle) {
  TCC_RETURN_IF_ERROR(cursor_.Expect("("));
  TCC_ASSIGN_OR_RETURN(int64_t bits, cursor_.Integer("bits", 0, 64));
  TCC_RETURN_IF_ERROR(cursor_.Expect(","));
  TCC_ASSIGN_OR_RETURN(int64_t base, cursor_.Integer("the lowest bit", 0, 64));
  TCC_RETURN_IF_ERROR(cursor_.Expect(","));
  TCC_ASSIGN_OR_RETURN(int64_t shift, cursor_.Integer("a shift", 0, 64));
  swizzle = {static_cast<int>(bits), static_cast<int>(base), static_cast<int>(shift)};
  return cursor_.Expect(")");
}

}  // namespace tcc
