#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/expr/evaluate.h"
#include "ir/expr/stmt.h"
#include "support/status.h"

namespace tcc {

// The values of loop and let variables at a point of a function's run, and of expressions of them.
class LoopValues {
 public:
  // Sets a variable that is in scope. The reference stays valid.
  int64_t& operator[](const Var& var) { return values_[var]; }

  // Returns the value of an integer or bool; nullopt where EvaluateInt gives none.
  std::optional<int64_t> Of(const Expr& expr);
  // Returns the value of an expression in a statement. Unsupported, naming both: it has none.
  StatusOr<int64_t> ValueOf(const Expr& expr, const Stmt& in);

 private:
  // rest + sum factor * *value. Indices are evaluated once per vector, and most are affine.
  struct Affine {
    struct Term {
      const int64_t* value;
      int64_t factor;
    };
    int64_t rest = 0;
    std::vector<Term> terms;
  };
  struct Known {
    Expr expr;  // kept alive, since a freed node's address could be reused
    std::optional<Affine> form;
  };

  std::optional<Affine> FormOf(const Expr& expr);
  std::optional<int64_t> OfCondition(const Expr& expr);

  Assignment values_;  // whose elements never move
  std::unordered_map<const ExprNode*, Known> known_;
};

}  // namespace tcc
