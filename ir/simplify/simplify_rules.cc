#include <array>
#include <vector>

#include "ir/expr/evaluate.h"
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
    {"p and not p",             BothOf(p, !p),                    no,                  yes},
    {"p or not p",              EitherOf(p, !p),                  yes,                 yes},
    {"p and (p and q)",         BothOf(p, BothOf(p, q)),          BothOf(p, q),        yes},
    {"p or (p or q)",           EitherOf(p, EitherOf(p, q)),      EitherOf(p, q),      yes},
    {"p and (p or q)",          BothOf(p, EitherOf(p, q)),        p,                   yes},
    {"p or (p and q)",          EitherOf(p, BothOf(p, q)),        p,                   yes},
    {"not not p",               !!p,                              p,                   yes},
    {"p == true",               Same(p, yes),                     p,                   yes},
    {"p == false",              Same(p, no),                      !p,                  yes},
    {"p != true",               Differ(p, yes),                   !p,                  yes},
    {"p != false",              Differ(p, no),                    p,                   yes},
    {"p == p",                  Same(p, p),                       yes,                 yes},
    {"p != p",                  Differ(p, p),                     no,                  yes},
    {"not (f == g)",            !Same(f, g),                      Differ(f, g),        yes},
    {"not (f != g)",            !Differ(f, g),                    Same(f, g),          yes},
    // Rules for integers only: with a NaN both comparisons are false.
    {"not (n < m)",             !(n < m),                         m <= n,              yes},
    {"not (n <= m)",            !(n <= m),                        m < n,               yes},

    // Choices.
    {"p ? f : f",               SelectOf(p, f, f),                f,                   yes},
    {"not p ? f : g",           SelectOf(!p, f, g),               SelectOf(p, g, f),   yes},
    {"p ? (p ? f : g) : h",     SelectOf(p, SelectOf(p, f, g), h), SelectOf(p, f, h),  yes},
    {"p ? f : (p ? g : h)",     SelectOf(p, f, SelectOf(p, g, h)), SelectOf(p, f, h),  yes},
    {"p ? true : q",            SelectOf(p, yes, q),              EitherOf(p, q),      yes},
    {"p ? q : false",           SelectOf(p, q, no),               BothOf(p, q),        yes},
    {"p ? false : q",           SelectOf(p, no, q),               BothOf(!p, q),       yes},
    {"p ? q : true",            SelectOf(p, q, yes),              EitherOf(!p, q),     yes},

    // Integers of every width; they wrap, so nothing about order survives addition.
    {"n + 0",                   n + zero,                         n,                   yes},
    {"n - 0",                   n - zero,                         n,                   yes},
    {"n - n",                   n - n,                            zero,                yes},
    {"n * 0",                   n * zero,                         zero,                yes},
    {"n * 1",                   n * one,                          n,                   yes},
    {"n div 1",                 FloorDivide(n, one),              n,                   yes},
    {"n mod 1",                 FloorModulo(n, one),              zero,                yes},
    {"ceildiv(n, 1)",           CeilDivide(n, one),               n,                   yes},
    {"n == n",                  Same(n, n),                       yes,                 yes},
    {"n != n",                  Differ(n, n),                     no,                  yes},
    {"n < n",                   n < n,                            no,                  yes},
    {"n <= n",                  n <= n,                           yes,                 yes},
    {"min(n, max(n, m))",       MinOf(n, MaxOf(n, m)),            n,                   yes},
    {"max(n, min(n, m))",       MaxOf(n, MinOf(n, m)),            n,                   yes},

    {"min(n, min(n, m))",       MinOf(n, MinOf(n, m)),            MinOf(n, m),         yes},
    {"max(n, max(n, m))",       MaxOf(n, MaxOf(n, m)),            MaxOf(n, m),         yes},

    // These rules are exact for floats too, NaN, infinities and both zeros included. f + 0 is not:
    // -0 + 0 is 0. Minima of floats must not swap operands either: the zero of min(0, -0) depends
    // on their order.
    {"min(f, f)",               MinOf(f, f),                      f,                   yes},
    {"max(f, f)",               MaxOf(f, f),                      f,                   yes},
    {"f + -0",                  f + real_minus_zero,              f,                   yes},
    {"f - 0",                   f - real_zero,                    f,                   yes},
    {"f * 1.0",                 f * real_one,                     f,                   yes},
    {"f / 1.0",                 Make<Div>(f, real_one),           f,                   yes},
    {"abs(abs(f))",             Call1(ScalarOp::kAbs, Call1(ScalarOp::kAbs, f)),
                                Call1(ScalarOp::kAbs, f),                              yes},
    {"floor(floor(f))",         Call1(ScalarOp::kFloor, Call1(ScalarOp::kFloor, f)),
                                Call1(ScalarOp::kFloor, f),                            yes},
    {"ceil(ceil(f))",           Call1(ScalarOp::kCeil, Call1(ScalarOp::kCeil, f)),
                                Call1(ScalarOp::kCeil, f),                             yes},
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

bool Holds(const Expr& condition, const Bindings& bindings) {
  if (IsConstant(condition, 1)) return true;
  return EvaluateInt(Instantiate(condition, bindings, kBool), {}) == 1;
}

}  // namespace

std::span<const SimplifyRule> SimplifyRules() {
  return Rules();
}

std::optional<Expr> ApplyRules(const Expr& expr) {
  for (const SimplifyRule* rule : ByKind()[static_cast<size_t>(expr.kind())]) {
    std::optional<Bindings> bindings = Match(rule->before, expr);
    if (!bindings || !Holds(rule->condition, *bindings)) continue;
    return Instantiate(rule->after, *bindings, expr.dtype());
  }
  return std::nullopt;
}

}  // namespace tcc
