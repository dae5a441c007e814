#include "ir/text/expr_printer.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "ir/expr/operators.h"
#include "ir/expr/visitor.h"
#include "ir/text/lexer.h"

namespace tcc {
namespace {

// Returns whether `expr` is a number, which may take its type from its surroundings; a bool may
// not.
bool IsNumber(const Expr& expr) {
  return expr.as<FloatImm>() || (expr.as<IntImm>() && !expr.dtype().is_bool());
}

// Returns, for operands of one type, the type that each may take from its surroundings or from
// another operand.
std::vector<TypeHint> OperandHints(const std::vector<Expr>& operands, TypeHint hint) {
  bool all_numbers = true;
  for (const Expr& operand : operands) all_numbers = all_numbers && IsNumber(operand);
  std::vector<TypeHint> hints;
  bool settled = false;
  for (const Expr& operand : operands) {
    bool settles = all_numbers || !IsNumber(operand);
    hints.push_back(settles && !settled ? hint : TypeHint(operand.dtype()));
    settled = settled || settles;
  }
  return hints;
}

std::string FloatText(double value) {
  constexpr uint64_t kQuietNan = 0x7ff8000000000000;
  uint64_t bits = std::bit_cast<uint64_t>(value);
  if (std::isnan(value)) {
    uint64_t positive = bits & ~(uint64_t{1} << 63);
    std::string text = positive == kQuietNan ? "nan" : fmt::format("nan({})", positive);
    return positive == bits ? text : "-" + text;
  }
  // fmt prints the shortest decimal that reads back as the same double.
  std::string text = fmt::format("{}", value);
  bool whole = text.find_first_not_of("-0123456789") == std::string::npos;
  return whole ? text + ".0" : text;
}

std::string WithType(const std::string& text, DType dtype, DType unhinted, TypeHint hint) {
  return dtype == hint.value_or(unhinted) ? text : text + ":" + ToString(dtype);
}

std::string WithSuffix(const std::string& hint, int suffix) {
  return suffix == 0 ? hint : hint + "_" + std::to_string(suffix);
}

}  // namespace

const std::string& Namer::Define(const Var& var) {
  int& suffix = next_suffix_[var->name];
  std::string name = WithSuffix(var->name, suffix);
  while (taken_.contains(name) || visible_iters_.contains(name)) {
    name = WithSuffix(var->name, ++suffix);
  }
  taken_.insert(name);
  return names_[var.get()] = name;
}

void Namer::EnterBlock(const Block& block) {
  std::unordered_set<std::string> used;
  auto note = [&](const Expr& expr) {
    auto found = names_.find(expr.get());
    if (found != names_.end()) used.insert(found->second);
  };
  PreOrder(block.predicate, note);
  PreOrderExprs(block.body, note);
  for (const IterVar& iter : block.iters) {
    int suffix = 0;
    std::string name = iter.var->name;
    while (used.contains(name)) name = WithSuffix(iter.var->name, ++suffix);
    used.insert(name);
    ++visible_iters_[name];
    names_[iter.var.get()] = name;
  }
}

void Namer::LeaveBlock(const Block& block) {
  for (const IterVar& iter : block.iters) {
    auto found = visible_iters_.find(NameOf(iter.var));
    if (--found->second == 0) visible_iters_.erase(found);
  }
}

const std::string& Namer::NameOf(const Var& var) {
  auto found = names_.find(var.get());
  return found != names_.end() ? found->second : Define(var);
}

struct ExprPrinter::NodePrinter {
  ExprPrinter& self;
  TypeHint hint;
  int precedence;
  std::string& out;

  void operator()(const IntImm& imm) const {
    if (imm.dtype == kBool && (imm.value == 0 || imm.value == 1)) {
      out += imm.value ? "true" : "false";
    } else if (imm.dtype.is_bool()) {
      out += fmt::format("{}:{}", imm.value, ToString(imm.dtype));
    } else {
      bool huge = imm.dtype.code() == DTypeCode::kUInt64;
      std::string text =
          huge ? std::to_string(static_cast<uint64_t>(imm.value)) : std::to_string(imm.value);
      out += WithType(text, imm.dtype, kInt64, hint);
    }
  }

  void operator()(const FloatImm& imm) const {
    out += WithType(FloatText(imm.value), imm.dtype, kFloat32, hint);
  }

  void operator()(const VarNode& var) const { out += SpellName(self.names_.NameOf(Var(var))); }

  void operator()(const Cast& cast) const {
    out += ToString(cast.dtype) + "(";
    self.Print(cast.value, std::nullopt, 0, out);
    out += ')';
  }

  template <ExprKind K>
  void operator()(const Binary<K>& binary) const {
    const BinaryOperator& row = *OperatorOf(K);
    TypeHint operand_hint = row.rule == OperandRule::kComparison ? std::nullopt : hint;
    if (row.precedence == kPrimaryPrecedence) {
      out += std::string(row.text) + "(";
      self.PrintOperands({binary.a, binary.b}, operand_hint, out);
      out += ')';
      return;
    }
    std::vector<TypeHint> hints = OperandHints({binary.a, binary.b}, operand_hint);
    bool parentheses = row.precedence < precedence;
    bool associates = row.precedence != kComparePrecedence;
    if (parentheses) out += '(';
    self.Print(binary.a, hints[0], row.precedence + !associates, out);
    out += " " + std::string(row.text) + " ";
    self.Print(binary.b, hints[1], row.precedence + 1, out);
    if (parentheses) out += ')';
  }

  void operator()(const Not& node) const {
    out += '!';
    self.Print(node.a, std::nullopt, kPrimaryPrecedence, out);
  }

  void operator()(const Select& select) const {
    out += "select(";
    self.Print(select.condition, std::nullopt, 0, out);
    out += ", ";
    self.PrintOperands({select.then_value, select.else_value}, hint, out);
    out += ')';
  }

  void operator()(const Load& load) const { out += self.AccessText(load.buffer, load.indices); }

  void operator()(const Call& call) const {
    const ScalarOpRow& row = RowOf(call.op);
    out += std::string(row.text) + "(";
    self.PrintOperands(call.args, KeepsType(call.op) ? hint : std::nullopt, out);
    out += ')';
  }

  void operator()(const Ramp& ramp) const {
    out += "ramp(";
    self.Print(ramp.base, kInt64, 0, out);
    out += ", ";
    self.Print(ramp.stride, kInt64, 0, out);
    out += fmt::format(", {})", ramp.lanes);
  }

  void operator()(const Broadcast& broadcast) const {
    out += "broadcast(";
    self.Print(broadcast.value, hint ? TypeHint(hint->element()) : std::nullopt, 0, out);
    out += fmt::format(", {})", broadcast.lanes);
  }
};

void ExprPrinter::Print(const Expr& expr, TypeHint hint, int precedence, std::string& out) {
  if (!expr) {
    out += "<no expression>";
    return;
  }
  VisitExpr(expr, NodePrinter{*this, hint, precedence, out});
}

void ExprPrinter::PrintOperands(const std::vector<Expr>& operands, TypeHint hint,
                                std::string& out) {
  std::vector<TypeHint> hints = OperandHints(operands, hint);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (i > 0) out += ", ";
    Print(operands[i], hints[i], 0, out);
  }
}

std::string ExprPrinter::Text(const Expr& expr, TypeHint hint, int precedence) {
  std::string out;
  Print(expr, hint, precedence, out);
  return out;
}

std::string ExprPrinter::Brackets(const std::vector<Expr>& exprs) {
  std::string out = "[";
  for (size_t i = 0; i < exprs.size(); ++i) {
    if (i > 0) out += ", ";
    Print(exprs[i], kInt64, 0, out);
  }
  return out + "]";
}

std::string ExprPrinter::AccessText(const Var& buffer, const std::vector<Expr>& indices) {
  return SpellName(names_.NameOf(buffer)) + Brackets(indices);
}

DType StoredType(const Var& buffer, const std::vector<Expr>& indices) {
  int lanes = 1;
  for (const Expr& index : indices) lanes = std::max(lanes, index.dtype().lanes());
  return buffer.dtype().WithLanes(lanes);
}

}  // namespace tcc
