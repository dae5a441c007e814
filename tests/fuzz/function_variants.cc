#include "tests/fuzz/function_variants.h"

#include "ir/expr/visitor.h"

namespace tcc {
namespace {

// With a Random also renames blocks and keys and swaps operands.
class Renamer final : public Mutator {
 public:
  explicit Renamer(Random* random) : random_(random) {}

  Function Rename(const Function& fn) {
    Function result = fn;
    for (Var& var : result.vars) var = Var(Mutator::Mutate(Expr(var)).as<VarNode>());
    Function rest = Mutator::Mutate(fn);
    result.params = rest.params;
    result.body = rest.body;
    return result;
  }

 private:
  using Mutator::Rewrite;

  // Called once a variable: results are remembered.
  Expr Rewrite(const VarNode& var) override {
    std::string name = "other" + std::to_string(count_++ % 7);
    return Make<VarNode>(name, var.role, var.dtype, var.low, var.high, var.usual);
  }

  Stmt Rewrite(const For& loop) override {
    Stmt copy = RewriteChildren(loop);
    const For& node = *copy.as<For>();
    std::string key = random_ ? "other/" + node.key : node.key;
    return MakeStmt<For>(node.var, node.extent, node.for_kind, key, node.body);
  }

  Stmt Rewrite(const Block& block) override {
    Stmt copy = RewriteChildren(block);
    const Block& node = *copy.as<Block>();
    std::string name = random_ ? "other " + node.name : node.name;
    return MakeStmt<Block>(name, node.iters, node.guards, node.predicate, node.body);
  }

#define TCC_SWAP(Node, condition)                   \
  Expr Rewrite(const Node& node) override {         \
    Expr copy = RewriteChildren(node);              \
    if (!random_ || random_->OneIn(2)) return copy; \
    const Expr& a = copy.as<Node>()->a;             \
    const Expr& b = copy.as<Node>()->b;             \
    return (condition) ? Make<Node>(b, a) : copy;   \
  }
  TCC_SWAP(Add, a.dtype().is_integer())
  TCC_SWAP(Mul, a.dtype().is_integer())
  TCC_SWAP(Min, true)
  TCC_SWAP(Max, true)
  TCC_SWAP(Eq, true)
  TCC_SWAP(Ne, true)
  TCC_SWAP(And, !HasLoad(a) && !HasLoad(b))
  TCC_SWAP(Or, !HasLoad(a) && !HasLoad(b))
#undef TCC_SWAP

  Random* random_;
  int count_ = 0;
};

bool IsNumber(const Expr& expr) {
  return expr.as<IntImm>() || expr.as<FloatImm>();
}

// Another value of the same type.
Expr OtherConstant(const Expr& constant) {
  if (const auto* imm = constant.as<IntImm>()) return IntConst(imm->dtype, imm->value ^ 1);
  return FloatConst(constant.dtype(), constant.as<FloatImm>()->value == 1.5 ? 2.5 : 1.5);
}

}  // namespace

Function WithOtherVars(const Function& fn) {
  return Renamer(nullptr).Rename(fn);
}

Function WrittenOtherwise(const Function& fn, Random& random) {
  Function result = Renamer(&random).Rename(fn);
  result.name += " otherwise";
  result.attributes["written"] = "otherwise";
  return result;
}

Function Changed(const Function& fn, Random& random) {
  Function result = fn;
  std::vector<Expr> constants;
  PreOrderExprs(fn.body, [&](const Expr& e) {
    if (IsNumber(e)) constants.push_back(e);
  });
  uint64_t choice = random.Below(4);
  if (choice == 0 && !constants.empty()) {
    Expr chosen = constants[random.Below(constants.size())];
    result.body = RewriteExprs(
        fn.body, [&](const Expr& e) { return e.same_as(chosen) ? OtherConstant(e) : e; });
  } else if (choice == 1) {
    bool any = false;
    auto bind = [&](const Stmt& stmt) -> Stmt {
      const auto* loop = stmt.as<For>();
      if (!loop) return stmt;
      any = true;
      ForKind kind = loop->for_kind == ForKind::kSerial ? ForKind::kParallel : ForKind::kSerial;
      return MakeStmt<For>(loop->var, loop->extent, kind, loop->key, loop->body);
    };
    result.body = RewriteBottomUp(fn.body, bind, [](const Expr& e) { return e; });
    if (!any) result.level = fn.level == Level::kTensor ? Level::kLowered : Level::kTensor;
  } else if (choice == 2) {
    result.level = fn.level == Level::kTensor ? Level::kLowered : Level::kTensor;
  } else {
    result.body = SeqOf({fn.body, MakeStmt<AsyncCommit>(AsyncKind::kCopies)});
  }
  return result;
}

void CountKinds(const Function& fn, Histogram& histogram) {
  static constexpr std::string_view kExprNames[] = {
#define TCC_NAME(node) #node,
      TCC_EXPR_KINDS(TCC_NAME)
#undef TCC_NAME
  };
  static constexpr std::string_view kStmtNames[] = {
#define TCC_NAME(node) #node,
      TCC_STMT_KINDS(TCC_NAME)
#undef TCC_NAME
  };
  ++histogram["level " + std::string(ToString(fn.level))];
  PreOrder(fn.body, [&](const Stmt& stmt) {
    ++histogram["Stmt " + std::string(kStmtNames[static_cast<int>(stmt.kind())])];
  });
  PreOrderExprs(fn.body, [&](const Expr& expr) {
    ++histogram["Expr " + std::string(kExprNames[static_cast<int>(expr.kind())])];
  });
}

}  // namespace tcc
