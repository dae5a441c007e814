#include "codegen_cuda/text/lane_of.h"

#include <cstdlib>
#include <numeric>

#include "ir/expr/visitor.h"

namespace tcc {
namespace {

class LaneMutator final : public Mutator {
 public:
  LaneMutator(int lane, const LaneVars& vars) : lane_(lane), vars_(vars) {}

 private:
  using Mutator::Rewrite;
  Expr Rewrite(const Ramp& ramp) override {
    return lane_ == 0 ? ramp.base : ramp.base + Expr(lane_) * ramp.stride;
  }
  Expr Rewrite(const Broadcast& broadcast) override { return broadcast.value; }
  Expr Rewrite(const Cast& cast) override {
    return CastTo(cast.dtype.element(), Mutate(cast.value));
  }
  Expr Rewrite(const VarNode& var) override {
    return var.dtype.lanes() == 1 ? Expr(&var) : Expr(vars_.at(&var)[static_cast<size_t>(lane_)]);
  }
  int lane_;
  const LaneVars& vars_;
};

}  // namespace

Expr LaneOf(const Expr& expr, int lane, const LaneVars& vars) {
  return expr.dtype().lanes() == 1 ? expr : LaneMutator(lane, vars).Mutate(expr);
}

int64_t DivisorOf(const Expr& expr) {
  return VisitExpr(
      expr, Overloaded{
                [](const IntImm& imm) -> int64_t {
                  return imm.value == INT64_MIN ? 1 : std::abs(imm.value);
                },
                [](const Add& node) { return std::gcd(DivisorOf(node.a), DivisorOf(node.b)); },
                [](const Sub& node) { return std::gcd(DivisorOf(node.a), DivisorOf(node.b)); },
                [](const Mul& node) -> int64_t {
                  int64_t product = 0;
                  bool overflow =
                      __builtin_mul_overflow(DivisorOf(node.a), DivisorOf(node.b), &product);
                  return overflow ? 1 : product;
                },
                [](const FloorMod& node) { return std::gcd(DivisorOf(node.a), DivisorOf(node.b)); },
                [](const Min& node) { return std::gcd(DivisorOf(node.a), DivisorOf(node.b)); },
                [](const Max& node) { return std::gcd(DivisorOf(node.a), DivisorOf(node.b)); },
                [](const Select& node) {
                  return std::gcd(DivisorOf(node.then_value), DivisorOf(node.else_value));
                },
                [](const auto&) -> int64_t { return 1; },
            });
}

}  // namespace tcc
