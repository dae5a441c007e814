#include "ir/text/expr_parser.h"

#include <bit>
#include <charconv>

#include "ir/expr/operators.h"

namespace tcc {
namespace {

// An infix operator; `>` and `>=` are `<` and `<=` with the operands swapped.
struct Infix {
  const BinaryOperator* row = nullptr;
  bool swapped = false;
};

Infix InfixAt(const TokenCursor& cursor) {
  const Token& token = cursor.Peek();
  if (token.kind != TokenKind::kPunct && token.kind != TokenKind::kName) return {};
  if (token.text == ">") return {OperatorOf(ExprKind::kLt), true};
  if (token.text == ">=") return {OperatorOf(ExprKind::kLe), true};
  const BinaryOperator* row = FindOperator(token.text);
  if (!row || row->precedence == kPrimaryPrecedence) return {};
  return {row, false};
}

constexpr int kMaxLanes = 4096;

bool FitsInteger(DType dtype, bool negative, uint64_t magnitude) {
  if (dtype.is_bool()) return !negative && magnitude <= 1;
  if (dtype.bits() == 64 && !dtype.is_signed_integer()) return !negative || magnitude == 0;
  uint64_t most = static_cast<uint64_t>(MaxValue(dtype));
  if (!negative) return magnitude <= most;
  return magnitude <= (dtype.is_signed_integer() ? most + 1 : 0);
}

}  // namespace

Var NameScope::Find(const std::string& name) const {
  auto found = visible_.find(name);
  return found == visible_.end() || found->second.empty() ? Var() : found->second.back();
}

void NameScope::Define(const std::string& name, const Var& var) {
  visible_[name].push_back(var);
  order_.push_back(name);
}

void NameScope::Leave(size_t mark) {
  for (; order_.size() > mark; order_.pop_back()) visible_[order_.back()].pop_back();
}

StatusOr<Expr> ExprParser::Parse(TypeHint hint, int precedence) {
  TCC_ASSIGN_OR_RETURN(Operand operand, Binary(hint, precedence));
  TCC_RETURN_IF_ERROR(Settle(operand, hint));
  return operand.expr;
}

StatusOr<Expr> ExprParser::ParseTyped(DType dtype, int precedence) {
  Token at = cursor_.Peek();
  TCC_ASSIGN_OR_RETURN(Expr expr, Parse(dtype, precedence));
  if (expr.dtype() == dtype) return expr;
  return InvalidInput("{}expected {}, found a value of type {}", Position(at), ToString(dtype),
                      ToString(expr.dtype()));
}

StatusOr<std::vector<Expr>> ExprParser::Indices() {
  int depth = 0;
  return List(false, depth);
}

StatusOr<std::vector<Expr>> ExprParser::Sizes() {
  int depth = 0;
  return List(true, depth);
}

StatusOr<std::vector<Expr>> ExprParser::List(bool scalars, int& depth) {
  TCC_RETURN_IF_ERROR(cursor_.Expect("["));
  std::vector<Expr> exprs;
  while (!cursor_.At("]")) {
    if (!exprs.empty()) TCC_RETURN_IF_ERROR(cursor_.Expect(","));
    TCC_ASSIGN_OR_RETURN(Operand operand, Binary(kInt64, 0));
    TCC_RETURN_IF_ERROR(Settle(operand, kInt64));
    DType dtype = operand.expr.dtype();
    if ((scalars ? dtype : dtype.element()) != kInt64) {
      return InvalidInput("{}expected i64, found a value of type {}", Position(operand.at),
                          ToString(dtype));
    }
    depth = std::max(depth, operand.depth);
    exprs.push_back(operand.expr);
  }
  TCC_RETURN_IF_ERROR(cursor_.Expect("]"));
  return exprs;
}

StatusOr<Var> ExprParser::BufferName() {
  TCC_ASSIGN_OR_RETURN(Token name, cursor_.Name("a buffer"));
  Var var = scope_.Find(name.text);
  if (!var) return InvalidInput("{}{} is not defined", Position(name), Describe(name));
  if (var->role != VarRole::kBuffer) {
    return InvalidInput("{}expected a buffer, found the variable {}", Position(name),
                        Describe(name));
  }
  return var;
}

StatusOr<ExprParser::Operand> ExprParser::Binary(TypeHint hint, int precedence) {
  // Nothing below a bool takes its type: operands of comparisons have types of their own.
  if (hint && hint->is_bool()) hint = std::nullopt;
  TCC_ASSIGN_OR_RETURN(Operand left, Unary(hint));
  int strongest = kPrimaryPrecedence;
  for (;;) {
    Infix infix = InfixAt(cursor_);
    if (!infix.row || infix.row->precedence < precedence || infix.row->precedence > strongest) {
      return left;
    }
    Token at = cursor_.Take();
    bool compares = infix.row->precedence == kComparePrecedence;
    TypeHint operand_hint = compares ? std::nullopt : hint;
    TypeHint right_hint = left.expr ? TypeHint(left.expr.dtype()) : operand_hint;
    TCC_ASSIGN_OR_RETURN(Operand right, Binary(right_hint, infix.row->precedence + 1));
    std::vector<Operand> operands = {std::move(left), std::move(right)};
    TCC_RETURN_IF_ERROR(Unify(operand_hint, operands));
    if (infix.swapped) std::swap(operands[0], operands[1]);
    TCC_ASSIGN_OR_RETURN(left, Combine(infix.row->kind, at, operands[0], operands[1]));
    strongest = compares ? kComparePrecedence - 1 : infix.row->precedence;
  }
}

// Gives the numbers among the operands the type of the first operand that is no number; else the
// type of `hint`, else f32 if one is written as a float, else i64.
Status ExprParser::Unify(TypeHint hint, std::vector<Operand>& operands) {
  TypeHint type;
  bool any_float = false;
  for (const Operand& operand : operands) {
    if (operand.expr && !type) type = operand.expr.dtype();
    any_float = any_float || (!operand.expr && operand.number.is_float);
  }
  if (!type) type = hint ? hint : TypeHint(any_float ? kFloat32 : kInt64);
  for (Operand& operand : operands) TCC_RETURN_IF_ERROR(Settle(operand, type));
  for (const Operand& operand : operands) {
    if (operand.expr.dtype() == operands[0].expr.dtype()) continue;
    return InvalidInput("{}expected {}, as the first operand, found a value of type {}",
                        Position(operand.at), ToString(operands[0].expr.dtype()),
                        ToString(operand.expr.dtype()));
  }
  return OkStatus();
}

// Expects settled operands of one type.
StatusOr<ExprParser::Operand> ExprParser::Combine(ExprKind kind, const Token& at, const Operand& a,
                                                  const Operand& b) {
  const BinaryOperator& row = *OperatorOf(kind);
  if (!Accepts(row.rule, a.expr.dtype())) {
    return InvalidInput("{}'{}' expects {}, found a value of type {}", Position(at), row.text,
                        Describe(row.rule), ToString(a.expr.dtype()));
  }
  int depth = std::max(a.depth, b.depth);
  Expr expr = MakeBinary(kind, a.expr, b.expr);
  return Built(At(at), expr, depth);
}

StatusOr<ExprParser::Operand> ExprParser::Built(Operand operand, Expr expr, int child_depth) {
  operand.expr = std::move(expr);
  operand.depth = child_depth + 1;
  if (operand.depth <= kMaxDepth) return operand;
  return InvalidInput("{}expected an expression at most {} levels deep", Position(operand.at),
                      kMaxDepth);
}

StatusOr<ExprParser::Operand> ExprParser::Unary(TypeHint hint) {
  if (!cursor_.At("!")) return Primary(hint);
  Nesting nesting(cursor_);
  TCC_RETURN_IF_ERROR(nesting.Check());
  Operand operand = At(cursor_.Take());
  TCC_ASSIGN_OR_RETURN(Operand value, Unary(std::nullopt));
  TCC_RETURN_IF_ERROR(Settle(value, std::nullopt));
  if (!value.expr.dtype().is_bool()) {
    return InvalidInput("{}'!' expects bool, found a value of type {}", Position(operand.at),
                        ToString(value.expr.dtype()));
  }
  return Built(operand, Make<Not>(value.expr), value.depth);
}

StatusOr<ExprParser::Operand> ExprParser::Primary(TypeHint hint) {
  Nesting nesting(cursor_);
  TCC_RETURN_IF_ERROR(nesting.Check());
  Token token = cursor_.Peek();
  if (cursor_.Accept("(")) {
    TCC_ASSIGN_OR_RETURN(Operand operand, Binary(hint, 0));
    TCC_RETURN_IF_ERROR(cursor_.Expect(")"));
    return operand;
  }
  bool number = token.kind == TokenKind::kInteger || token.kind == TokenKind::kFloat;
  if (number || cursor_.At("-") || cursor_.At("inf") || cursor_.At("nan")) return NumberOperand();
  if (cursor_.At("true") || cursor_.At("false")) {
    Operand operand = At(cursor_.Take());
    operand.expr = IntConst(kBool, operand.at.text == "true");
    return operand;
  }
  if (TokenCursor::Matches(cursor_.PeekNext(), "[")) return LoadOperand();
  bool called = TokenCursor::Matches(cursor_.PeekNext(), "(");
  if (called && token.kind == TokenKind::kName) return Function(hint);
  return Variable();
}

StatusOr<ExprParser::Operand> ExprParser::Variable() {
  TCC_ASSIGN_OR_RETURN(Token name, cursor_.Name("an expression"));
  Var var = scope_.Find(name.text);
  if (!var) return InvalidInput("{}{} is not defined", Position(name), Describe(name));
  if (var->role == VarRole::kBuffer) {
    return InvalidInput("{}expected a value, found the buffer {}; its cells are written {}[...]",
                        Position(name), Describe(name), name.text);
  }
  Operand operand = At(name);
  operand.expr = var;
  return operand;
}

StatusOr<ExprParser::Operand> ExprParser::LoadOperand() {
  Operand operand = At(cursor_.Peek());
  TCC_ASSIGN_OR_RETURN(Var buffer, BufferName());
  int depth = 0;
  TCC_ASSIGN_OR_RETURN(std::vector<Expr> indices, List(false, depth));
  return Built(operand, Make<Load>(buffer, std::move(indices)), depth);
}

StatusOr<ExprParser::Operand> ExprParser::NumberOperand() {
  Operand operand = At(cursor_.Peek());
  Number& number = operand.number;
  number.negative = cursor_.Accept("-");
  if (cursor_.At("nan")) {
    TCC_ASSIGN_OR_RETURN(operand, NanOperand(operand));
  } else if (cursor_.Accept("inf")) {
    number.is_float = true;
    number.value = __builtin_inf();
  } else {
    Token token = cursor_.Peek();
    number.is_float = token.kind == TokenKind::kFloat;
    if (token.kind != TokenKind::kInteger && !number.is_float) {
      return cursor_.Unexpected("a number");
    }
    cursor_.Take();
    const char* end = token.text.data() + token.text.size();
    auto error = std::from_chars(token.text.data(), end, number.value).ec;
    if (error == std::errc() && !number.is_float) {
      error = std::from_chars(token.text.data(), end, number.magnitude).ec;
    }
    if (error != std::errc()) {
      return InvalidInput("{}expected a number in range, found {}", Position(token),
                          Describe(token));
    }
  }
  if (number.negative) {
    number.value = std::bit_cast<double>(std::bit_cast<uint64_t>(number.value) ^ 1ull << 63);
  }
  if (!cursor_.Accept(":")) return operand;
  std::optional<DType> dtype = ParseDType(cursor_.Peek().text);
  if (!dtype || cursor_.Peek().kind != TokenKind::kName) return cursor_.Unexpected("a type");
  cursor_.Take();
  TCC_RETURN_IF_ERROR(Settle(operand, dtype));
  return operand;
}

// Parses nan or nan(BITS), the bits of a float64 in decimal.
StatusOr<ExprParser::Operand> ExprParser::NanOperand(Operand operand) {
  cursor_.Take();
  operand.number.is_float = true;
  operand.number.value = std::bit_cast<double>(uint64_t{0x7ff8000000000000});
  if (!cursor_.Accept("(")) return operand;
  TCC_ASSIGN_OR_RETURN(
      int64_t bits, cursor_.Integer("the bits of a NaN", 0x7ff0000000000001, 0x7fffffffffffffff));
  TCC_RETURN_IF_ERROR(cursor_.Expect(")"));
  operand.number.value = std::bit_cast<double>(bits);
  return operand;
}

// Turns a number into a constant of type `hint`.
Status ExprParser::Settle(Operand& operand, TypeHint hint) {
  if (operand.expr) return OkStatus();
  const Number& number = operand.number;
  DType dtype = hint.value_or(number.is_float ? kFloat32 : kInt64);
  if (dtype.is_float()) {
    operand.expr = FloatConst(dtype, number.value);
    return OkStatus();
  }
  bool integral = dtype.is_integer() || dtype.is_bool();
  if (number.is_float || !integral || !FitsInteger(dtype, number.negative, number.magnitude)) {
    std::string text = number.is_float
                           ? fmt::format("{}", number.value)
                           : fmt::format("{}{}", number.negative ? "-" : "", number.magnitude);
    return InvalidInput("{}expected a value of type {}, found {}", Position(operand.at),
                        ToString(dtype), text);
  }
  uint64_t bits = number.negative ? -number.magnitude : number.magnitude;
  operand.expr = IntConst(dtype, static_cast<int64_t>(bits));
  return OkStatus();
}

StatusOr<std::vector<ExprParser::Operand>> ExprParser::Operands(TypeHint hint, size_t count) {
  std::vector<Operand> operands;
  TypeHint type = hint;
  bool settled = false;
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) TCC_RETURN_IF_ERROR(cursor_.Expect(","));
    TCC_ASSIGN_OR_RETURN(Operand operand, Binary(type, 0));
    if (operand.expr && !settled) {
      type = operand.expr.dtype();
      settled = true;
    }
    operands.push_back(std::move(operand));
  }
  TCC_RETURN_IF_ERROR(Unify(hint, operands));
  return operands;
}

StatusOr<ExprParser::Operand> ExprParser::Function(TypeHint hint) {
  Operand operand = At(cursor_.Take());
  const std::string& name = operand.at.text;
  TCC_RETURN_IF_ERROR(cursor_.Expect("("));
  StatusOr<Operand> result = operand;
  const BinaryOperator* binary = FindOperator(name);
  if (std::optional<DType> dtype = ParseDType(name)) {
    result = CastOperand(*dtype, operand);
  } else if (name == "select") {
    result = SelectOperand(hint, operand);
  } else if (name == "ramp") {
    result = RampOperand(operand);
  } else if (name == "broadcast") {
    result = BroadcastOperand(hint, operand);
  } else if (binary && binary->precedence == kPrimaryPrecedence) {
    TCC_ASSIGN_OR_RETURN(std::vector<Operand> operands, Operands(hint, 2));
    result = Combine(binary->kind, operand.at, operands[0], operands[1]);
  } else if (std::optional<ScalarOp> op = FindScalarOp(name)) {
    result = CallOperand(*op, hint, operand);
  } else {
    return InvalidInput("{}expected a function, found {}", Position(operand.at),
                        Describe(operand.at));
  }
  if (result.ok()) TCC_RETURN_IF_ERROR(cursor_.Expect(")"));
  return result;
}

StatusOr<ExprParser::Operand> ExprParser::CallOperand(ScalarOp op, TypeHint hint, Operand operand) {
  const ScalarOpRow& row = RowOf(op);
  TypeHint operand_hint = KeepsType(op) ? hint : std::nullopt;
  TCC_ASSIGN_OR_RETURN(std::vector<Operand> operands, Operands(operand_hint, row.arity));
  std::vector<Expr> args;
  int depth = 0;
  for (Operand& arg : operands) {
    args.push_back(arg.expr);
    depth = std::max(depth, arg.depth);
  }
  if (!ResultType(op, args[0].dtype())) {
    return InvalidInput("{}{} is not defined for {}", Position(operand.at), row.text,
                        ToString(args[0].dtype()));
  }
  return Built(std::move(operand), CallOf(op, std::move(args)), depth);
}

StatusOr<ExprParser::Operand> ExprParser::CastOperand(DType dtype, Operand operand) {
  TCC_ASSIGN_OR_RETURN(Operand value, Binary(std::nullopt, 0));
  TCC_RETURN_IF_ERROR(Settle(value, std::nullopt));
  if (value.expr.dtype().lanes() != dtype.lanes()) {
    return InvalidInput("{}a cast keeps the lanes; found {} of a value of type {}",
                        Position(operand.at), ToString(dtype), ToString(value.expr.dtype()));
  }
  return Built(std::move(operand), Make<Cast>(dtype, value.expr), value.depth);
}

StatusOr<ExprParser::Operand> ExprParser::SelectOperand(TypeHint hint, Operand operand) {
  TCC_ASSIGN_OR_RETURN(Operand condition, Binary(std::nullopt, 0));
  TCC_RETURN_IF_ERROR(Settle(condition, std::nullopt));
  TCC_RETURN_IF_ERROR(cursor_.Expect(","));
  TCC_ASSIGN_OR_RETURN(std::vector<Operand> arms, Operands(hint, 2));
  DType asked = condition.expr.dtype();
  DType dtype = arms[0].expr.dtype();
  if (!asked.is_bool() || (asked.lanes() != 1 && asked.lanes() != dtype.lanes())) {
    return InvalidInput("{}a select between values of type {} expects a condition of {}, found {}",
                        Position(condition.at), ToString(dtype),
                        ToString(kBool.WithLanes(dtype.lanes())), ToString(asked));
  }
  int depth = std::max({condition.depth, arms[0].depth, arms[1].depth});
  return Built(std::move(operand), SelectOf(condition.expr, arms[0].expr, arms[1].expr), depth);
}

StatusOr<ExprParser::Operand> ExprParser::RampOperand(Operand operand) {
  TCC_ASSIGN_OR_RETURN(Operand base, ScalarIndex());
  TCC_RETURN_IF_ERROR(cursor_.Expect(","));
  TCC_ASSIGN_OR_RETURN(Operand stride, ScalarIndex());
  TCC_RETURN_IF_ERROR(cursor_.Expect(","));
  TCC_ASSIGN_OR_RETURN(int64_t lanes, cursor_.Integer("lanes", 2, kMaxLanes));
  int depth = std::max(base.depth, stride.depth);
  return Built(std::move(operand), Make<Ramp>(base.expr, stride.expr, static_cast<int>(lanes)),
               depth);
}

StatusOr<ExprParser::Operand> ExprParser::ScalarIndex() {
  TCC_ASSIGN_OR_RETURN(Operand operand, Binary(kInt64, 0));
  TCC_RETURN_IF_ERROR(Settle(operand, kInt64));
  if (operand.expr.dtype() == kInt64) return operand;
  return InvalidInput("{}expected i64, found a value of type {}", Position(operand.at),
                      ToString(operand.expr.dtype()));
}

StatusOr<ExprParser::Operand> ExprParser::BroadcastOperand(TypeHint hint, Operand operand) {
  if (hint) hint = hint->element();
  TCC_ASSIGN_OR_RETURN(Operand value, Binary(hint, 0));
  TCC_RETURN_IF_ERROR(Settle(value, hint));
  TCC_RETURN_IF_ERROR(cursor_.Expect(","));
  TCC_ASSIGN_OR_RETURN(int64_t lanes, cursor_.Integer("lanes", 2, kMaxLanes));
  if (value.expr.dtype().lanes() != 1) {
    return InvalidInput("{}a broadcast expects a scalar, found a value of type {}",
                        Position(operand.at), ToString(value.expr.dtype()));
  }
  return Built(std::move(operand), Make<Broadcast>(value.expr, static_cast<int>(lanes)),
               value.depth);
}

}  // namespace tcc
