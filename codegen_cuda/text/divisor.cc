#include "codegen_cuda/text/divisor.h"

#include <cstdlib>
#include <numeric>

#include "ir/expr/visitor.h"

namespace tcc {

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
