#include "compiler/plan_sizes.h"

#include <algorithm>

#include "codegen_cuda/text/size_code.h"
#include "ir/expr/evaluate.h"
#include "ir/expr/visitor.h"

namespace tcc {
namespace {

// An operand with more instructions becomes a let, so that no code grows long or deep.
constexpr size_t kMostInline = 8;
// The most instructions of a formula in the metadata.
constexpr size_t kMostWhole = 512;
// The high end of an offset in an arena, for proofs.
constexpr int64_t kMostBytes = int64_t{1} << 62;

bool HasCodeOver(const Expr& formula, const VariableCodes& codes) {
  return HasSizeCode(formula) &&
         std::ranges::all_of(VarsOf(formula), [&](const Var& var) { return codes.contains(var); });
}

// Returns the code of a variable; nullptr for other formulas.
const SizeExpr* FindVariable(const Expr& formula, const VariableCodes& codes) {
  if (!formula.as<VarNode>()) return nullptr;
  auto found = codes.find(Var(formula.as<VarNode>()));
  return found == codes.end() ? nullptr : &found->second;
}

// Calls `visit` with the code map and the first graph's dimension for each variable that is a
// dimension of a graph's input.
template <typename Visit>
void ForEachFreeDim(const Graph& graph, const Graph& first, const Visit& visit) {
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const std::vector<Expr>& shape = graph.value(graph.inputs[i]).shape;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const auto* var = shape[axis].as<VarNode>();
      if (var != nullptr) visit(Var(var), first.value(first.inputs[i]).shape[axis]);
    }
  }
}

}  // namespace

FreeDims FreeDimsOf(std::span<const FusedGraph> graphs) {
  const Graph& first = graphs[0].graph;
  FreeDims dims;
  ForEachFreeDim(first, first, [&](const Var& var, const Expr&) {
    auto variable = SizeExpr::Variable(std::ssize(dims.vars));
    if (dims.codes.emplace(var, variable).second) dims.vars.push_back(var);
  });
  for (size_t g = 1; g < graphs.size(); ++g) {
    ForEachFreeDim(graphs[g].graph, first, [&](const Var& var, const Expr& dim) {
      if (auto code = WholeSizeCode(dim, dims.codes)) dims.codes.emplace(var, *std::move(code));
    });
  }
  return dims;
}

std::vector<SizeExpr> CodesOfListedDims(std::span<const FusedGraph> graphs,
                                        const ListedSizes& listed, const FreeDims& dims) {
  std::vector<SizeExpr> codes;
  for (size_t d = 0; d < listed.dims.size(); ++d) {
    codes.push_back(SizeExpr::Variable(static_cast<int64_t>(d)));
  }
  if (graphs.size() == listed.sizes.size()) return codes;  // these are all variables
  const Graph& graph = graphs[0].graph;
  for (size_t i = 0; i < listed.dim_of.size(); ++i) {
    for (size_t axis = 0; axis < listed.dim_of[i].size(); ++axis) {
      std::optional<size_t> dim = listed.dim_of[i][axis];
      if (!dim) continue;
      auto code = WholeSizeCode(graph.value(graph.inputs[i]).shape[axis], dims.codes);
      if (code) codes[*dim] = *std::move(code);
    }
  }
  return codes;
}

std::optional<SizeExpr> WholeSizeCode(const Expr& formula, const VariableCodes& codes) {
  if (!HasCodeOver(formula, codes)) return std::nullopt;
  std::unordered_map<const ExprNode*, SizeExpr> known;
  bool is_long = false;
  OperandCode code_of = [&](const Expr& part) -> SizeExpr {
    if (const SizeExpr* variable = FindVariable(part, codes)) return *variable;
    if (auto found = known.find(part.get()); found != known.end()) return found->second;
    SizeExpr code = SizeCodeOf(part, code_of);
    is_long = is_long || code.code.size() > kMostWhole;
    if (is_long) return 0;
    return known.emplace(part.get(), std::move(code)).first->second;
  };
  SizeExpr code = code_of(formula);
  if (is_long || !CheckSizeExpr(code, INT64_MAX).ok()) return std::nullopt;
  return code;
}

bool PlanSizes::Has(const Expr& formula) const {
  return HasCodeOver(formula, codes_);
}

SizeExpr PlanSizes::CodeOf(const Expr& formula) {
  if (const SizeExpr* variable = FindVariable(formula, codes_)) return *variable;
  if (auto found = known_.find(formula); found != known_.end()) return found->second;
  SizeExpr code = SizeCodeOf(formula, [&](const Expr& operand) {
    SizeExpr part = CodeOf(operand);
    return part.code.size() > kMostInline ? Let(part) : part;
  });
  return known_.emplace(formula, std::move(code)).first->second;
}

Var PlanSizes::Maximum(const std::vector<Expr>& formulas) {
  SizeExpr code = Of(formulas[0]);
  int64_t usual = AtUsual(formulas[0]).value();
  for (const Expr& formula : std::span(formulas).subspan(1)) {
    code = Let(Combine(SizeOp::kMax, code, Of(formula)));
    usual = std::max(usual, AtUsual(formula).value());
  }
  const int64_t let = code.code[0].value;
  auto [known, absent] = maxima_.emplace(let, Var());
  if (absent) {
    known->second = ShapeVar(fmt::format("v{}", let), 0, kMostBytes, usual);
    codes_.emplace(known->second, code);
  }
  return known->second;
}

SizeExpr PlanSizes::Let(const SizeExpr& code) {
  if (code.code.size() == 1) return code;
  std::vector<std::pair<SizeOp, int64_t>> key;
  for (const SizeInstruction& instruction : code.code) {
    key.emplace_back(instruction.op, instruction.value);
  }
  auto variable = SizeExpr::Variable(static_cast<int64_t>(plan_->fixed_variables()));
  auto [let, absent] = lets_.emplace(std::move(key), variable);
  if (absent) plan_->lets.push_back(code);
  return let->second;
}

}  // namespace tcc
