#include "codegen_cuda/text/size_code.h"

#include "ir/text/printer.h"
#include "support/check.h"

namespace tcc {
namespace {

template <typename Node>
bool CombineAs(SizeOp op, const Expr& expr, std::span<const Var> shapes, SizeExpr& result) {
  const auto* node = expr.as<Node>();
  if (node) result = Combine(op, SizeCodeOf(node->a, shapes), SizeCodeOf(node->b, shapes));
  return node != nullptr;
}

// x mod y == x - floor(x / y) * y
SizeExpr Remainder(const FloorMod& mod, std::span<const Var> shapes) {
  SizeExpr a = SizeCodeOf(mod.a, shapes), b = SizeCodeOf(mod.b, shapes);
  SizeExpr multiple = Combine(SizeOp::kMul, Combine(SizeOp::kFloorDiv, a, b), b);
  return Combine(SizeOp::kSub, a, multiple);
}

}  // namespace

SizeExpr SizeCodeOf(const Expr& expr, std::span<const Var> shapes) {
  if (std::optional<int64_t> constant = AsConstant(expr)) return *constant;
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (expr.get() == shapes[i].get()) return SizeExpr::Variable(static_cast<int64_t>(i));
  }
  SizeExpr result;
  bool known = CombineAs<CeilDiv>(SizeOp::kCeilDiv, expr, shapes, result) ||
               CombineAs<Add>(SizeOp::kAdd, expr, shapes, result) ||
               CombineAs<Sub>(SizeOp::kSub, expr, shapes, result) ||
               CombineAs<Mul>(SizeOp::kMul, expr, shapes, result) ||
               CombineAs<FloorDiv>(SizeOp::kFloorDiv, expr, shapes, result) ||
               CombineAs<Min>(SizeOp::kMin, expr, shapes, result) ||
               CombineAs<Max>(SizeOp::kMax, expr, shapes, result);
  if (known) return result;
  const auto* mod = expr.as<FloorMod>();
  TCC_CHECK(mod != nullptr) << "no size: " << Print(expr);
  return Remainder(*mod, shapes);
}

}  // namespace tcc
