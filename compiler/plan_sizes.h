#pragma once

#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/kernels.h"
#include "compiler/sized_model.h"
#include "ir/expr/compare.h"
#include "runtime/artefact/plan.h"

// The sizes of a plan: formulas over a graph's Shape variables as code over the plan's variables.
namespace tcc {

// The code of each Shape variable of a model's graphs.
using VariableCodes = std::unordered_map<Var, SizeExpr, VarHash>;

// The free dimensions of a compiled model: the Shape variables that are dimensions of the first
// graph's inputs. The variables of a further graph, the model at a listed size, are dimensions of
// the same inputs.
struct FreeDims {
  std::vector<Var> vars;  // the plan's shape variables, by first occurrence in the inputs
  VariableCodes codes;
};
FreeDims FreeDimsOf(std::span<const FusedGraph> graphs);

// Returns the code of the dimensions that the listed sizes give.
std::vector<SizeExpr> CodesOfListedDims(std::span<const FusedGraph> graphs,
                                        const ListedSizes& listed, const FreeDims& dims);

// Encodes a formula in one piece, for the metadata, which have no lets. nullopt where it has no
// code, or a very long one.
std::optional<SizeExpr> WholeSizeCode(const Expr& formula, const VariableCodes& codes);

// The formulas of a plan. A formula that is more than a number or a variable becomes a let of the
// plan, and so do long operands; equal formulas are one let.
class PlanSizes {
 public:
  PlanSizes(Plan& plan, VariableCodes codes) : plan_(&plan), codes_(std::move(codes)) {}

  // Returns whether a formula has code over the variables.
  bool Has(const Expr& formula) const;
  // Returns the number, variable or let that has the value of a formula. Expects that it has code.
  SizeExpr Of(const Expr& formula) { return Let(CodeOf(formula)); }
  // Returns the number, variable or let that has the value of the code. Expects no loop counter.
  SizeExpr Let(const SizeExpr& code);
  // Returns a variable for the maximum of several formulas that are not negative, so that formulas
  // over it stay small.
  Var Maximum(const std::vector<Expr>& formulas);
  // Returns a loop's counter, which is a variable behind all lets: there must be no further ones.
  SizeExpr Counter(uint32_t counter) const {
    return SizeExpr::Variable(static_cast<int64_t>(plan_->fixed_variables() + counter));
  }

 private:
  SizeExpr CodeOf(const Expr& formula);

  Plan* plan_;
  VariableCodes codes_;
  std::unordered_map<Expr, SizeExpr, ExprHash, ExprEqual> known_;
  std::map<std::vector<std::pair<SizeOp, int64_t>>, SizeExpr> lets_;  // by code
  std::map<int64_t, Var> maxima_;                                     // by let
};

}  // namespace tcc
