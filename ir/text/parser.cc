#include "ir/text/parser.h"

#include <limits>

#include "ir/expr/combiner.h"
#include "ir/expr/compare.h"
#include "ir/text/expr_parser.h"
#include "ir/text/stmt_parser.h"

namespace tcc {
namespace {

using Combiners = std::map<std::string, Combiner>;

// The parser of `combiner NAME(a: f32 = 0.0; b: f32) = (a + b) direct (...)`.
class CombinerParser {
 public:
  // Adds the standard combiners that the text uses to `known`, so that no later definition takes
  // their names.
  CombinerParser(TokenCursor& cursor, Combiners& known)
      : cursor_(cursor), known_(known), exprs_(cursor, scope_) {}

  StatusOr<Combiner> Parse() {
    Combiner combiner(node_);
    TCC_ASSIGN_OR_RETURN(Token name, cursor_.Name("the name of a combiner"));
    if (known_.contains(name.text)) {
      return InvalidInput("{}the combiner {} is defined already", Position(name), Describe(name));
    }
    node_->name = name.text;
    TCC_RETURN_IF_ERROR(Parameters());
    TCC_RETURN_IF_ERROR(cursor_.Expect("="));
    TCC_RETURN_IF_ERROR(Results());
    if (cursor_.Accept("direct")) TCC_RETURN_IF_ERROR(Direct());
    // Equal combiners are mostly the same object: see combiner.h.
    Combiner standard = FindStandardCombiner(name.text);
    return standard && Equal(standard, combiner) ? standard : combiner;
  }

 private:
  size_t arity() const { return node_->identities.size(); }
  DType TypeOf(size_t element) const { return node_->identities[element].dtype(); }

  StatusOr<Var> Parameter() {
    TCC_ASSIGN_OR_RETURN(Token name, cursor_.Name("a parameter"));
    if (scope_.Find(name.text)) {
      return InvalidInput("{}{} is defined already", Position(name), Describe(name));
    }
    TCC_RETURN_IF_ERROR(cursor_.Expect(":"));
    std::optional<DType> dtype = ParseDType(cursor_.Peek().text);
    if (!dtype || cursor_.Peek().kind != TokenKind::kName) return cursor_.Unexpected("a type");
    cursor_.Take();
    Var var = IterationVar(name.text, *dtype);
    scope_.Define(name.text, var);
    return var;
  }

  Status Parameters() {
    TCC_RETURN_IF_ERROR(cursor_.Expect("("));
    do {
      TCC_ASSIGN_OR_RETURN(Var var, Parameter());
      node_->lhs.push_back(var);
      TCC_RETURN_IF_ERROR(cursor_.Expect("="));
      // Identities are constants, so their scope is empty.
      NameScope nothing;
      TCC_ASSIGN_OR_RETURN(Expr identity, ExprParser(cursor_, nothing).ParseTyped(var.dtype()));
      node_->identities.push_back(identity);
    } while (cursor_.Accept(","));
    TCC_RETURN_IF_ERROR(cursor_.Expect(";"));
    for (size_t i = 0; i < arity(); ++i) {
      if (i > 0) TCC_RETURN_IF_ERROR(cursor_.Expect(","));
      Token at = cursor_.Peek();
      TCC_ASSIGN_OR_RETURN(Var var, Parameter());
      if (var.dtype() != TypeOf(i)) {
        return InvalidInput("{}expected a parameter of type {}, found {}", Position(at),
                            ToString(TypeOf(i)), ToString(var.dtype()));
      }
      node_->rhs.push_back(var);
    }
    return cursor_.Expect(")");
  }

  Status Results() {
    TCC_RETURN_IF_ERROR(cursor_.Expect("("));
    for (size_t i = 0; i < arity(); ++i) {
      if (i > 0) TCC_RETURN_IF_ERROR(cursor_.Expect(","));
      TCC_ASSIGN_OR_RETURN(Expr result, exprs_.ParseTyped(TypeOf(i)));
      node_->results.push_back(result);
    }
    return cursor_.Expect(")");
  }

  Status Direct() {
    TCC_RETURN_IF_ERROR(cursor_.Expect("("));
    for (size_t i = 0; i < arity(); ++i) {
      if (i > 0) TCC_RETURN_IF_ERROR(cursor_.Expect(","));
      TCC_ASSIGN_OR_RETURN(Expr value, exprs_.ParseTyped(TypeOf(i)));
      TCC_RETURN_IF_ERROR(cursor_.Expect("by"));
      TCC_ASSIGN_OR_RETURN(Token name, cursor_.Name("a combiner"));
      auto found = known_.find(name.text);
      Combiner op = found != known_.end() ? found->second : FindStandardCombiner(name.text);
      if (!op || op.arity() != 1 || op->identities[0].dtype() != TypeOf(i)) {
        return InvalidInput("{}expected a combiner of one {}, found {}", Position(name),
                            ToString(TypeOf(i)), Describe(name));
      }
      known_.emplace(name.text, op);
      node_->direct.push_back(value);
      node_->direct_ops.push_back(op);
    }
    return cursor_.Expect(")");
  }

  TokenCursor& cursor_;
  Combiners& known_;
  NameScope scope_;
  ExprParser exprs_;
  CombinerNode* node_ = new CombinerNode;  // owned by the handle in Parse
};

class FunctionParser {
 public:
  explicit FunctionParser(std::vector<Token> tokens)
      : cursor_(std::move(tokens)), stmts_(cursor_, scope_, combiners_) {}

  StatusOr<Function> Parse() {
    while (cursor_.Accept("combiner")) {
      TCC_ASSIGN_OR_RETURN(Combiner combiner, CombinerParser(cursor_, combiners_).Parse());
      combiners_.emplace(combiner->name, combiner);
    }
    if (!cursor_.Accept("fn")) return cursor_.Unexpected("'combiner' or 'fn'");
    Function fn;
    TCC_ASSIGN_OR_RETURN(Token name, cursor_.Name("the name of a function"));
    fn.name = name.text;
    TCC_RETURN_IF_ERROR(Vars(fn));
    TCC_RETURN_IF_ERROR(Params(fn));
    std::optional<Level> level;
    if (cursor_.Peek().kind == TokenKind::kName && !cursor_.At("attributes")) {
      level = ParseLevel(cursor_.Peek().text);
      if (!level) return cursor_.Unexpected("'tensor', 'scheduled', 'lowered' or '{'");
      cursor_.Take();
    }
    TCC_RETURN_IF_ERROR(Attributes(fn));
    TCC_ASSIGN_OR_RETURN(fn.body, stmts_.Body());
    if (cursor_.Peek().kind != TokenKind::kEnd) return cursor_.Unexpected("the end of the text");
    fn.level = level.value_or(BlocksOf(fn.body).empty() ? Level::kLowered : Level::kTensor);
    return fn;
  }

 private:
  // Parses <tile f in 1..=64, shape N in 1..=4096 usual 128>.
  Status Vars(Function& fn) {
    if (!cursor_.Accept("<")) return OkStatus();
    do {
      bool tile = cursor_.Accept("tile");
      if (!tile && !cursor_.Accept("shape")) return cursor_.Unexpected("'tile' or 'shape'");
      TCC_ASSIGN_OR_RETURN(Token name, cursor_.Name("a variable"));
      if (scope_.Find(name.text)) {
        return InvalidInput("{}{} is defined already", Position(name), Describe(name));
      }
      TCC_RETURN_IF_ERROR(cursor_.Expect("in"));
      constexpr int64_t kLow = std::numeric_limits<int64_t>::min();
      constexpr int64_t kHigh = std::numeric_limits<int64_t>::max();
      TCC_ASSIGN_OR_RETURN(int64_t low, cursor_.Integer("the lower bound", kLow, kHigh));
      TCC_RETURN_IF_ERROR(cursor_.Expect("..="));
      TCC_ASSIGN_OR_RETURN(int64_t high, cursor_.Integer("the upper bound", low, kHigh));
      Var var = tile ? TileVar(name.text, low, high) : ShapeVar(name.text, low, high);
      if (!tile && cursor_.Accept("usual")) {
        TCC_ASSIGN_OR_RETURN(int64_t usual, cursor_.Integer("the usual value", low, high));
        var = ShapeVar(name.text, low, high, usual);
      }
      scope_.Define(name.text, var);
      fn.vars.push_back(var);
    } while (cursor_.Accept(","));
    return cursor_.Expect(">");
  }

  Status Params(Function& fn) {
    TCC_RETURN_IF_ERROR(cursor_.Expect("("));
    while (!cursor_.At(")")) {
      if (!fn.params.empty()) TCC_RETURN_IF_ERROR(cursor_.Expect(","));
      TCC_ASSIGN_OR_RETURN(Buffer param, stmts_.Declaration());
      fn.params.push_back(std::move(param));
    }
    return cursor_.Expect(")");
  }

  StatusOr<std::string> String() {
    if (cursor_.Peek().kind != TokenKind::kQuoted) return cursor_.Unexpected("a string");
    return cursor_.Take().text;
  }

  Status Attributes(Function& fn) {
    if (!cursor_.Accept("attributes")) return OkStatus();
    TCC_RETURN_IF_ERROR(cursor_.Expect("("));
    do {
      Token at = cursor_.Peek();
      TCC_ASSIGN_OR_RETURN(std::string key, String());
      TCC_RETURN_IF_ERROR(cursor_.Expect("="));
      TCC_ASSIGN_OR_RETURN(std::string value, String());
      if (!fn.attributes.emplace(key, value).second) {
        return InvalidInput("{}the attribute {} is defined already", Position(at), Describe(at));
      }
    } while (cursor_.Accept(","));
    return cursor_.Expect(")");
  }

  TokenCursor cursor_;
  NameScope scope_;
  Combiners combiners_;
  StmtParser stmts_;
};

}  // namespace

StatusOr<Function> ParseFunction(const std::string& text) {
  TCC_ASSIGN_OR_RETURN(std::vector<Token> tokens, Lex(text));
  return FunctionParser(std::move(tokens)).Parse();
}

StatusOr<Expr> ParseExpr(const std::string& text, const std::map<std::string, Var>& vars) {
  TCC_ASSIGN_OR_RETURN(std::vector<Token> tokens, Lex(text));
  TokenCursor cursor(std::move(tokens));
  NameScope scope;
  for (const auto& [name, var] : vars) scope.Define(name, var);
  TCC_ASSIGN_OR_RETURN(Expr expr, ExprParser(cursor, scope).Parse(std::nullopt));
  if (cursor.Peek().kind != TokenKind::kEnd) return cursor.Unexpected("the end of the text");
  return expr;
}

}  // namespace tcc
