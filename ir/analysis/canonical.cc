#include "ir/analysis/canonical.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "ir/expr/operators.h"
#include "ir/expr/visitor.h"
#include "support/sha256.h"

namespace tcc {
namespace {

// Returns whether a op b and b op a are the same for every a and b. And and Or stop at the operand
// that decides, so a Load in one operand may rely on the other being evaluated first. Sums and
// products of floats commute too, but nothing reorders floats.
bool Commutes(ExprKind kind, const Expr& a, const Expr& b) {
  if (kind == ExprKind::kAdd || kind == ExprKind::kMul) return a.dtype().is_integer();
  if (kind == ExprKind::kAnd || kind == ExprKind::kOr) return !HasLoad(a) && !HasLoad(b);
  return IsCommutative(kind);
}

// A writer of nodes as (Kind field ...), from the nodes' Fields(), with every type spelled out.
class CanonicalWriter {
 public:
  std::string operator()(const Expr& expr) {
    if (!expr) return "-";
    return VisitExpr(expr, [this](const auto& node) { return Node(node); });
  }

  std::string operator()(const Stmt& stmt) {
    if (!stmt) return "-";
    return VisitStmt(stmt, [this](const auto& node) { return Listed(KindName(node.kind), node); });
  }

  // A combiner's name is a hint, too; only its function counts.
  std::string operator()(const Combiner& combiner) {
    if (!combiner) return "-";
    CanonicalWriter inner;
    for (const Var& var : combiner->lhs) inner(var);
    for (const Var& var : combiner->rhs) inner(var);
    std::string text = fmt::format("(Combiner {} {} {}", inner(combiner->identities),
                                   inner(combiner->results), inner(combiner->direct));
    for (const auto& op : combiner->direct_ops) text += " " + inner(Combiner(op.get()));
    return text + ")";
  }

  template <typename T>
  std::string operator()(const std::vector<T>& values) {
    std::string text = "[";
    for (size_t i = 0; i < values.size(); ++i) text += (i > 0 ? " " : "") + (*this)(values[i]);
    return text + "]";
  }

  template <typename T>
    requires requires(const T& value) { value.Fields(); }
  std::string operator()(const T& value) {
    return Listed("", value);
  }

  // The strings in nodes are names of blocks and keys of loops.
  std::string operator()(const std::string&) { return "_"; }
  std::string operator()(DType dtype) { return ToString(dtype); }
  std::string operator()(double value) {
    return fmt::format("{:016x}", __builtin_bit_cast(uint64_t, value));
  }
  std::string operator()(ScalarOp op) { return std::string(RowOf(op).text); }
  std::string operator()(ForKind kind) { return std::string(ToString(kind)); }
  std::string operator()(Scope scope) { return std::string(ToString(scope)); }
  std::string operator()(IterKind kind) {
    return kind == IterKind::kSpatial ? "spatial" : "reduce";
  }
  std::string operator()(ReduceInit init) {
    return init == ReduceInit::kFirstInstance ? "init" : "decomposed";
  }
  std::string operator()(AsyncKind kind) {
    return kind == AsyncKind::kCopies ? "copies" : "products";
  }
  template <typename T>
    requires std::is_integral_v<T>
  std::string operator()(T value) {
    return std::to_string(value);
  }

 private:
  template <typename T>
  std::string Listed(std::string_view kind, const T& value) {
    std::string text = "(" + std::string(kind);
    // The comma fold writes fields, and numbers variables, first to last.
    std::apply([&](const auto&... field) { ((text += ' ', text += (*this)(field)), ...); },
               value.Fields());
    return text + ")";
  }

  template <typename T>
  std::string Node(const T& node) {
    if constexpr (std::is_base_of_v<Binary<T::kKind>, T>) {
      if (Commutes(T::kKind, node.a, node.b)) return Sorted(KindName(T::kKind), node.a, node.b);
    }
    return Listed(KindName(T::kKind), node);
  }

  std::string Node(const VarNode& var) {
    auto [found, first] = numbers_.emplace(&var, numbers_.size());
    std::string text = fmt::format("v{}", found->second);
    return first ? text + ":" + ToString(var.dtype) : text;
  }

  std::string Sorted(std::string_view kind, const Expr& first, const Expr& second) {
    std::string a = (*this)(first);
    std::string b = (*this)(second);
    if (b < a) std::swap(a, b);
    return fmt::format("({} {} {})", kind, a, b);
  }

  static std::string_view KindName(ExprKind kind) {
    static constexpr std::string_view kNames[] = {
#define TCC_EXPR_NAME(node) #node,
        TCC_EXPR_KINDS(TCC_EXPR_NAME)
#undef TCC_EXPR_NAME
    };
    return kNames[static_cast<int>(kind)];
  }
  static std::string_view KindName(StmtKind kind) {
    static constexpr std::string_view kNames[] = {
#define TCC_STMT_NAME(node) #node,
        TCC_STMT_KINDS(TCC_STMT_NAME)
#undef TCC_STMT_NAME
    };
    return kNames[static_cast<int>(kind)];
  }

  std::unordered_map<const ExprNode*, size_t> numbers_;
};

}  // namespace

std::string CanonicalText(const Function& fn) {
  CanonicalWriter write;
  std::string text = "(Function " + std::string(ToString(fn.level)) + " [";
  for (const Var& var : fn.vars) {
    bool shape = var->role == VarRole::kShape;
    text += fmt::format("({} {} {} {}{})", shape ? "shape" : "tile", write(Expr(var)), var->low,
                        var->high, shape ? fmt::format(" {}", var->usual) : "");
  }
  // Separate statements, so that parameters are numbered before the body.
  text += "] " + write(fn.params);
  text += " " + write(fn.body);
  return text + ")";
}

std::string FunctionKey(const Function& fn) {
  return ToHex(Sha256(CanonicalText(fn)));
}

}  // namespace tcc
