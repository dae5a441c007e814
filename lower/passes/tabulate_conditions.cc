#include <algorithm>
#include <set>

#include "ir/expr/compare.h"
#include "ir/expr/evaluate.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "lower/passes/passes.h"
#include "lower/passes/rewrite_statements.h"

namespace tcc {
namespace {

constexpr int64_t kBits = 32;  // of a number
// A table costs what its conditions cost in one iteration of each group.
constexpr int64_t kMinIterationsOfEach = 2;
constexpr int64_t kMaxIterations = 4096;  // a pass evaluates each

// The number (i + shift) div length of iteration i's group: conditions are the same throughout it.
struct Groups {
  int64_t shift = 0;
  int64_t length = 1;
  int64_t Of(int64_t iteration) const { return (iteration + shift) / length; }
  Expr Of(const Var& iteration) const {
    return Simplify(FloorDivide(Expr(iteration) + Expr(shift), Expr(length)));
  }
};

// Checks whether the statement is a copy with a condition.
bool IsKeptSomewhere(const Stmt& stmt) {
  const auto* copy = stmt.as<AsyncCopy>();
  return copy && copy->keep;
}

// Adds the largest parts of an expression that the variable decides by itself.
void AddOwnParts(const Expr& expr, const Var& var, std::vector<Expr>& parts) {
  if (!UsesVar(expr, var)) return;
  if (VarsOf(expr).size() == 1) {
    parts.push_back(expr);
  } else {
    ForEachChild(expr, [&](const Expr& child) { AddOwnParts(child, var, parts); });
  }
}

// Returns the longest groups of a loop's iterations in which the condition is the same whatever its
// other variables are; nullopt if the bits of a number are too few for them.
std::optional<Groups> GroupsOf(const Expr& condition, const Var& var, int64_t extent) {
  std::vector<Expr> parts;
  AddOwnParts(condition, var, parts);
  std::vector<Groups> candidates = {{}};
  for (const Expr& part : parts) {
    PreOrder(part, [&](const Expr& expr) {
      const auto* division = expr.as<FloorDiv>();
      std::optional<int64_t> length = division ? AsConstant(division->b) : std::nullopt;
      std::optional<int64_t> shift =
          length ? AsConstant(Simplify(division->a - Expr(var))) : std::nullopt;
      if (shift && *shift >= 0) candidates.push_back({*shift, *length});
    });
  }
  auto values = [&](int64_t iteration) {
    std::vector<std::optional<int64_t>> result;
    for (const Expr& part : parts) result.push_back(EvaluateInt(part, {{var, iteration}}));
    return result;
  };
  std::vector<std::optional<int64_t>> before;
  for (int64_t i = 0; i < extent; ++i) {
    std::vector<std::optional<int64_t>> now = values(i);
    if (std::ranges::any_of(now, [](const auto& value) { return !value; })) return std::nullopt;
    std::erase_if(candidates, [&](const Groups& groups) {
      return i > 0 && now != before && groups.Of(i) == groups.Of(i - 1);
    });
    before = std::move(now);
  }
  const Groups longest = *std::ranges::max_element(candidates, {}, &Groups::length);
  int64_t groups = longest.Of(extent - 1) - longest.Of(0) + 1;
  bool fits = longest.Of(extent - 1) < kBits && kMinIterationsOfEach * groups <= extent;
  return fits ? std::optional<Groups>(longest) : std::nullopt;
}

// The conditions of one loop's copies as numbers: bit g says whether a copy of group g is kept.
class LoopTables {
 public:
  LoopTables(const For& loop, int64_t extent) : loop_(loop), extent_(extent) {
    PreOrder(loop.body, [&](const Stmt& stmt) {
      if (const auto* inner = stmt.as<For>()) inside_.insert(inner->var.get());
      if (const auto* let = stmt.as<Let>()) inside_.insert(let->var.get());
    });
  }

  Stmt Run() {
    Stmt body = RewriteStatements(loop_.body, [&](const Stmt& stmt) { return Tabulated(stmt); });
    if (tables_.empty()) return loop_;
    Stmt result = MakeStmt<For>(loop_.var, loop_.extent, loop_.for_kind, loop_.key, body);
    for (const Table& table : tables_) {
      result = MakeStmt<Let>(table.bits, BitsOf(table), result);
    }
    return result;
  }

 private:
  struct Table {
    Expr condition;
    Groups groups;
    Var bits;
  };

  Stmt Tabulated(const Stmt& stmt) {
    const auto* copy = stmt.as<AsyncCopy>();
    const Table* table = copy && copy->keep ? TableOf(copy->keep) : nullptr;
    if (!table) return stmt;
    Expr group = CastTo(table->bits.dtype(), table->groups.Of(loop_.var));
    Expr one = IntConst(table->bits.dtype(), 1);
    auto call = [](ScalarOp op, const Expr& a, const Expr& b) {
      return Make<Call>(op, std::vector<Expr>{a, b});
    };
    Expr bit = call(ScalarOp::kBitAnd, call(ScalarOp::kShiftRight, table->bits, group), one);
    return MakeStmt<AsyncCopy>(copy->destination, copy->source, copy->count, Make<Eq>(bit, one));
  }

  // Returns the table of a condition that the loop and what is outside of it decide; null if it
  // needs none or has too many groups.
  const Table* TableOf(const Expr& condition) {
    auto known = std::ranges::find_if(
        tables_, [&](const Table& table) { return Equal(table.condition, condition); });
    if (known != tables_.end()) return &*known;
    std::vector<Var> vars = VarsOf(condition);
    bool outside =
        std::ranges::none_of(vars, [&](const Var& var) { return inside_.contains(var.get()); });
    if (!outside || vars.size() < 2 || !UsesVar(condition, loop_.var) || HasLoad(condition)) {
      return nullptr;
    }
    std::optional<Groups> groups = GroupsOf(condition, loop_.var, extent_);
    if (!groups) return nullptr;
    tables_.push_back({condition, *groups, IterationVar("kept", DType(DTypeCode::kUInt32))});
    return &tables_.back();
  }

  // Returns the number; the groups' bits are added, since they differ.
  Expr BitsOf(const Table& table) const {
    Expr bits;
    const DType type = table.bits.dtype();
    for (int64_t i = 0; i < extent_; ++i) {
      if (i > 0 && table.groups.Of(i) == table.groups.Of(i - 1)) continue;
      Expr kept = Simplify(Substitute(table.condition, loop_.var, Expr(i)));
      Expr bit =
          SelectOf(kept, IntConst(type, int64_t{1} << table.groups.Of(i)), IntConst(type, 0));
      bits = bits ? bits + bit : bit;
    }
    return bits;
  }

  const For& loop_;
  int64_t extent_;
  std::set<const ExprNode*> inside_;  // the variables that the loop's body binds
  std::vector<Table> tables_;
};

}  // namespace

Function TabulateConditions(const Function& fn) {
  Function result = fn;
  result.body = RewriteStatements(fn.body, [](const Stmt& stmt) -> Stmt {
    const auto* loop = stmt.as<For>();
    std::optional<int64_t> extent = loop ? AsConstant(loop->extent) : std::nullopt;
    bool asked = extent && *extent > 1 && *extent <= kMaxIterations && IsInOrder(loop->for_kind) &&
                 Contains(loop->body, IsKeptSomewhere);
    return asked ? LoopTables(*loop, *extent).Run() : stmt;
  });
  return result;
}

}  // namespace tcc
