#include "ir/expr/match.h"

#include <array>

#include "ir/expr/compare.h"
#include "ir/expr/operators.h"
#include "ir/expr/visitor.h"

namespace tcc {
namespace {

bool Fits(const VarNode& var, const Expr& expr) {
  switch (static_cast<PatternVar>(var.low)) {
    case PatternVar::kBool:
      return expr.dtype().is_bool();
    case PatternVar::kInteger:
      return expr.dtype().is_integer();
    case PatternVar::kNumber:
      return expr.dtype().is_integer() || expr.dtype().is_float();
  }
  return false;
}

// The operands in order, without heap memory; operands beyond the most that a pattern has are only
// counted.
struct Operands {
  explicit Operands(const Expr& expr) {
    ForEachChild(expr, [this](const Expr& child) {
      if (count < list.size()) list[count] = &child;
      ++count;
    });
  }
  std::array<const Expr*, 4> list{};
  size_t count = 0;
};

class Matcher {
 public:
  bool Matches(const Expr& pattern, const Expr& expr) {
    if (const auto* var = pattern.as<VarNode>()) return Bind(*var, expr);
    if (pattern.kind() != expr.kind()) return false;
    if (const auto* imm = pattern.as<IntImm>()) {
      bool fits = imm->dtype == kInt32 ? expr.dtype().is_integer() : expr.dtype() == imm->dtype;
      return fits && imm->value == expr.as<IntImm>()->value;
    }
    if (const auto* imm = pattern.as<FloatImm>()) {
      double value = expr.as<FloatImm>()->value;
      return __builtin_memcmp(&imm->value, &value, sizeof value) == 0;
    }
    if (const auto* call = pattern.as<Call>(); call && call->op != expr.as<Call>()->op)
      return false;
    Operands a(pattern), b(expr);
    if (a.count != b.count || a.count > a.list.size()) return false;
    if (!IsCommutative(pattern.kind())) return AllMatch(a, b);
    Bindings before = bindings;
    if (AllMatch(a, b)) return true;
    bindings = std::move(before);
    std::swap(b.list[0], b.list[1]);
    return AllMatch(a, b);
  }

  Bindings bindings;

 private:
  bool AllMatch(const Operands& patterns, const Operands& exprs) {
    // Compare kinds first: most patterns fail there.
    for (size_t i = 0; i < patterns.count; ++i) {
      const Expr& pattern = *patterns.list[i];
      if (!pattern.as<VarNode>() && pattern.kind() != exprs.list[i]->kind()) return false;
    }
    for (size_t i = 0; i < patterns.count; ++i) {
      if (!Matches(*patterns.list[i], *exprs.list[i])) return false;
    }
    return true;
  }

  bool Bind(const VarNode& var, const Expr& expr) {
    if (!Fits(var, expr)) return false;
    auto [bound, added] = bindings.emplace(&var, expr);
    return added || Equal(bound->second, expr);
  }
};

}  // namespace

Var MakePatternVar(PatternVar kind, std::string name) {
  DType type = kind == PatternVar::kBool ? kBool : kind == PatternVar::kInteger ? kInt32 : kFloat32;
  auto tag = static_cast<int64_t>(kind);
  Expr node = Make<VarNode>(std::move(name), VarRole::kIter, type, tag, tag, tag);
  return Var(node.as<VarNode>());
}

std::optional<Bindings> Match(const Expr& pattern, const Expr& expr) {
  Matcher matcher;
  if (!matcher.Matches(pattern, expr)) return std::nullopt;
  return std::move(matcher.bindings);
}

Expr Instantiate(const Expr& pattern, const Bindings& bindings, DType type) {
  if (pattern.as<VarNode>()) return bindings.at(pattern.get());
  if (const auto* imm = pattern.as<IntImm>()) {
    return imm->dtype == kInt32 ? IntConst(type, imm->value) : pattern;
  }
  if (const auto* imm = pattern.as<FloatImm>()) return FloatConst(type, imm->value);
  return VisitExpr(pattern, [&](const auto& node) -> Expr {
    using Node = std::decay_t<decltype(node)>;
    if constexpr (requires { Make<Node>(node.a, node.b); }) {
      return Make<Node>(Instantiate(node.a, bindings, type), Instantiate(node.b, bindings, type));
    } else if constexpr (std::is_same_v<Node, Not>) {
      return Make<Not>(Instantiate(node.a, bindings, type));
    } else if constexpr (std::is_same_v<Node, Select>) {
      return SelectOf(Instantiate(node.condition, bindings, type),
                      Instantiate(node.then_value, bindings, type),
                      Instantiate(node.else_value, bindings, type));
    } else if constexpr (std::is_same_v<Node, Call>) {
      std::vector<Expr> args;
      for (const Expr& arg : node.args) args.push_back(Instantiate(arg, bindings, type));
      return Make<Call>(node.op, std::move(args));
    } else {
      TCC_CHECK(false) << "no part of a pattern";
      return pattern;
    }
  });
}

}  // namespace tcc
