#include "codegen_cuda/text/size_code.h"

#include <vector>

#include "ir/expr/visitor.h"
#include "ir/simplify/interval.h"
#include "ir/text/printer.h"
#include "support/check.h"

namespace tcc {
namespace {

// The nodes that are one operation on sizes. Bools are 1 and 0.
struct SizeRow {
  ExprKind kind;
  SizeOp op;
  bool is_negated = false;  // the bool 1 - op
  bool is_swapped = false;  // op takes the operands the other way round
};
constexpr SizeRow kSizeRows[] = {
    {ExprKind::kAdd, SizeOp::kAdd},
    {ExprKind::kSub, SizeOp::kSub},
    {ExprKind::kMul, SizeOp::kMul},
    {ExprKind::kFloorDiv, SizeOp::kFloorDiv},
    {ExprKind::kFloorMod, SizeOp::kMod},
    {ExprKind::kCeilDiv, SizeOp::kCeilDiv},
    {ExprKind::kMin, SizeOp::kMin},
    {ExprKind::kMax, SizeOp::kMax},
    {ExprKind::kEq, SizeOp::kEqual},
    {ExprKind::kNe, SizeOp::kEqual, /*is_negated=*/true},
    {ExprKind::kLt, SizeOp::kLess},
    {ExprKind::kLe, SizeOp::kLess, /*is_negated=*/true, /*is_swapped=*/true},
    {ExprKind::kAnd, SizeOp::kMin},
    {ExprKind::kOr, SizeOp::kMax},
};

const SizeRow* FindRow(ExprKind kind) {
  for (const SizeRow& row : kSizeRows) {
    if (row.kind == kind) return &row;
  }
  return nullptr;
}

bool IsSize(DType dtype) {
  return dtype == kInt64 || dtype.is_bool();
}

bool Divides(SizeOp op) {
  return op == SizeOp::kFloorDiv || op == SizeOp::kCeilDiv || op == SizeOp::kMod;
}

}  // namespace

bool HasSizeCode(const Expr& formula) {
  return !Contains(formula, [](const Expr& node) {
    if (!IsSize(node.dtype())) return true;
    if (const auto* var = node.as<VarNode>()) return var->role != VarRole::kShape;
    bool widens = node.as<Cast>() && !node.dtype().is_bool();
    return !(node.as<IntImm>() || widens || node.as<Not>() || node.as<Select>() ||
             FindRow(node.kind()));
  });
}

SizeExpr SizeCodeOf(const Expr& formula, const OperandCode& code_of) {
  if (std::optional<int64_t> constant = AsConstant(formula)) return *constant;
  std::vector<Expr> operands;
  ForEachChild(formula, [&](const Expr& operand) { operands.push_back(operand); });
  std::vector<SizeExpr> code;
  for (const Expr& operand : operands) code.push_back(code_of(operand));
  if (formula.as<Cast>()) return code[0];
  if (formula.as<Not>()) return Combine(SizeOp::kSub, 1, code[0]);
  if (formula.as<Select>()) return SelectSize(code[0], code[1], code[2]);
  const SizeRow* row = FindRow(formula.kind());
  TCC_CHECK(row != nullptr) << "no size: " << Print(formula);
  if (Divides(row->op) && BoundsOf(operands[1], {}).low < 1) {
    code[1] = Combine(SizeOp::kMax, code[1], 1);
  }
  if (row->is_swapped) std::swap(code[0], code[1]);
  SizeExpr result = Combine(row->op, code[0], code[1]);
  return row->is_negated ? Combine(SizeOp::kSub, 1, result) : result;
}

SizeExpr SizeCodeOf(const Expr& formula, std::span<const Var> shapes) {
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (formula.same_as(shapes[i])) return SizeExpr::Variable(static_cast<int64_t>(i));
  }
  return SizeCodeOf(formula, [&](const Expr& operand) { return SizeCodeOf(operand, shapes); });
}

}  // namespace tcc
