#include <array>
#include <vector>

#include "ir/expr/match.h"
#include "ir/simplify/simplifier.h"
#include "ir/simplify/simplify.h"

namespace tcc {
namespace {

Expr operator!(const Expr& a) {
  return Make<Not>(a);
}
Expr Same(const Expr& a, const Expr& b) {
  return Make<Eq>(a, b);
}
Expr Differ(const Expr& a, const Expr& b) {
  return Make<Ne>(a, b);
}
Expr Call1(ScalarOp op, const Expr& a) {
  return CallOf(op, {a});
}

// Returns the rules that polynomials do not cover. Polynomials handle sums, products, comparisons
// of i64 and multiples under a division.
std::vector<SimplifyRule> MakeRules() {
  const Var p = MakePatternVar(PatternVar::kBool, "p"), q = MakePatternVar(PatternVar::kBool, "q");
  const Var n = MakePatternVar(PatternVar::kInteger, "n");
  const Var m = MakePatternVar(PatternVar::kInteger, "m");
  const Var f = MakePatternVar(PatternVar::kNumber, "f"),
            g = MakePatternVar(PatternVar::kNumber, "g");
  const Var h = MakePatternVar(PatternVar::kNumber, "h");
  const Expr yes = True(), no = IntConst(kBool, 0);
  const Expr zero = IntConst(kInt32, 0), one = IntConst(kInt32, 1);
  const Expr real_zero = FloatConst(kFloat32, 0.0), real_minus_zero = FloatConst(kFloat32, -0.0);
  const Expr real_one = FloatConst(kFloat32, 1.0);

  // NOLINTBEGIN(misc-redundant-expression): n - n is the pattern.
  // clang-format off
  return {
    // Bools.
    {"p and not p",             BothOf(p, !p),                    no},
    {"p or not p",              EitherOf(p, !p),                  yes},
    {"p and (p and q)",         BothOf(p, BothOf(p, q)),          BothOf(p, q)},
    {"p or (p or q)",           EitherOf(p, EitherOf(p, q)),      EitherOf(p, q)},
    {"p and (p or q)",          BothOf(p, EitherOf(p, q)),        p},
    {"p or (p and q)",          EitherOf(p, BothOf(p, q)),        p},
    {"not not p",               !!p,                              p},
    {"p == true",               Same(p, yes),                     p},
    {"p == false",              Same(p, no),                      !p},
    {"p != true",               Differ(p, yes),                   !p},
    {"p != false",              Differ(p, no),                    p},
    {"p == p",                  Same(p, p),                       yes},
    {"p != p",                  Differ(p, p),                     no},
    {"not (f == g)",            !Same(f, g),                      Differ(f, g)},
    {"not (f != g)",            !Differ(f, g),                    Same(f, g)},
    // Rules for integers only: with a NaN both comparisons are false.
    {"not (n < m)",             !(n < m),                         m <= n},
    {"not (n <= m)",            !(n <= m),                        m < n},

    // Choices.
    {"p ? f : f",               SelectOf(p, f, f),                f},
    {"not p ? f : g",           SelectOf(!p, f, g),               SelectOf(p, g, f)},
    {"p ? (p ? f : g) : h",     SelectOf(p, SelectOf(p, f, g), h), SelectOf(p, f, h)},
    {"p ? f : (p ? g : h)",     SelectOf(p, f, SelectOf(p, g, h)), SelectOf(p, f, h)},
    {"p ? true : q",            SelectOf(p, yes, q),              EitherOf(p, q)},
    {"p ? q : false",           SelectOf(p, q, no),               BothOf(p, q)},
    {"p ? false : q",           SelectOf(p, no, q),               BothOf(!p, q)},
    {"p ? q : true",            SelectOf(p, q, yes),              EitherOf(!p, q)},

    // Integers of every width; they wrap, so nothing about order survives addition.
    {"n + 0",                   n + zero,                         n},
    {"n - 0",                   n - zero,                         n},
    {"n - n",                   n - n,                            zero},
    {"n * 0",                   n * zero,                         zero},
    {"n * 1",                   n * one,                          n},
    {"n div 1",                 FloorDivide(n, one),              n},
    {"n mod 1",                 FloorModulo(n, one),              zero},
    {"ceildiv(n, 1)",           CeilDivide(n, one),               n},
    {"n == n",                  Same(n, n),                       yes},
    {"n != n",                  Differ(n, n),                     no},
    {"n < n",                   n < n,                            no},
    {"n <= n",                  n <= n,                           yes},
    {"min(n, max(n, m))",       MinOf(n, MaxOf(n, m)),            n},
    {"max(n, min(n, m))",       MaxOf(n, MinOf(n, m)),            n},

    {"min(n, min(n, m))",       MinOf(n, MinOf(n, m)),            MinOf(n, m)},
    {"max(n, max(n, m))",       MaxOf(n, MaxOf(n, m)),            MaxOf(n, m)},

    // These rules are exact for floats too, NaN, infinities and both zeros included. f + 0 is not:
    // -0 + 0 is 0. Minima of floats must not swap operands either: the zero of min(0, -0) depends
    // on their order.
    {"min(f, f)",               MinOf(f, f),                      f},
    {"max(f, f)",               MaxOf(f, f),                      f},
    {"f + -0",                  f + real_minus_zero,              f},
    {"f - 0",                   f - real_zero,                    f},
    {"f * 1.0",                 f * real_one,                     f},
    {"f / 1.0",                 Make<Div>(f, real_one),           f},
    {"abs(abs(f))",             Call1(ScalarOp::kAbs, Call1(ScalarOp::kAbs, f)),
                                Call1(ScalarOp::kAbs, f)},
    {"floor(floor(f))",         Call1(ScalarOp::kFloor, Call1(ScalarOp::kFloor, f)),
                                Call1(ScalarOp::kFloor, f)},
    {"ceil(ceil(f))",           Call1(ScalarOp::kCeil, Call1(ScalarOp::kCeil, f)),
                                Call1(ScalarOp::kCeil, f)},
  };
  // clang-format on
  // NOLINTEND(misc-redundant-expression)
}

const std::vector<SimplifyRule>& Rules() {
  static const auto* rules = new std::vector<SimplifyRule>(MakeRules());
  return *rules;
}

constexpr size_t kKinds = static_cast<size_t>(ExprKind::kBroadcast) + 1;
using RulesByKind = std::array<std::vector<const SimplifyRule*>, kKinds>;

const RulesByKind& ByKind() {
  static const auto* table = [] {
    auto* by_kind = new RulesByKind;
    for (const SimplifyRule& rule : Rules()) {
      (*by_kind)[static_cast<size_t>(rule.before.kind())].push_back(&rule);
    }
    return by_kind;
  }();
  return *table;
}

}  // namespace

std::span<const SimplifyRule> SimplifyRules() {
  return Rules();
}

std::optional<Expr> ApplyRules(const Expr& expr) {
  for (const SimplifyRule* rule : ByKind()[static_cast<size_t>(expr.kind())]) {
    std::optional<Bindings> bindings = Match(rule->before, expr);
    if (bindings) return Instantiate(rule->after, *bindings, expr.dtype());
  }
  return std::nullopt;
}

}  // namespace tcc
