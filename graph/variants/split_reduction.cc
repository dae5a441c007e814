#include "graph/variants/variants.h"

#include <algorithm>

#include "graph/ops/node_lowering.h"
#include "graph/variants/stage_parts.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

// A part has at least so many steps, or adding them up costs what the parts save.
constexpr int64_t kMinPart = 32;
constexpr int64_t kMinParts = 4;
// More threads share a part in other ways.
constexpr int64_t kMaxParts = 64;

// Returns the number of points at the usual sizes.
int64_t PointsOf(const std::vector<Axis>& axes) {
  double points = 1;
  for (const Axis& axis : axes) points *= static_cast<double>(UsualExtent(axis));
  return static_cast<int64_t>(std::min(points, 9e15));
}

size_t LongestAxis(const std::vector<Axis>& axes) {
  size_t longest = 0;
  for (size_t a = 1; a < axes.size(); ++a) {
    if (UsualExtent(axes[a]) > UsualExtent(axes[longest])) longest = a;
  }
  return longest;
}

// Returns whether every output has a cell for each point of the axes.
bool HasCellPerPoint(const ComputeExpr& stage) {
  for (const std::vector<Expr>& indices : stage.indices) {
    for (const Axis& axis : stage.axes) {
      bool used =
          std::ranges::any_of(indices, [&](const Expr& index) { return UsesVar(index, axis.var); });
      if (!used && !IsConstant(axis.extent, 1)) return false;
    }
  }
  return true;
}

bool Fits(const ComputeExpr& stage) {
  if (!stage.combiner || stage.reduce_axes.empty() || !HasCellPerPoint(stage)) return false;
  if (!IsNeverEmpty(stage) || PointsOf(stage.reduce_axes) < PointsOf(stage.axes)) return false;
  const Expr& extent = stage.reduce_axes[LongestAxis(stage.reduce_axes)].extent;
  return AsConstant(extent).value_or(0) >= kMinParts * kMinPart;
}

TensorProgram Build(const TensorProgram& program, size_t s) {
  TensorProgram result = program;
  const auto& whole = std::get<ComputeExpr>(program.stages[s]);
  size_t split = LongestAxis(whole.reduce_axes);
  int64_t extent = *AsConstant(whole.reduce_axes[split].extent);
  int64_t length = CeilDivision(extent, std::min(extent / kMinPart, kMaxParts));
  Expr parts(CeilDivision(extent, length));

  ComputeExpr part = whole;
  part.name = FreeName(program, whole.name + "_part");
  Axis p{IterationVar("part"), parts};
  Substitution at;
  for (auto* axes : {&part.axes, &part.reduce_axes}) {
    for (Axis& axis : *axes) {
      Var own = IterationVar(axis.var->name);
      at.emplace(axis.var, own);
      axis.var = own;
    }
  }
  part.axes.push_back(p);
  part.reduce_axes[split].extent = Expr(length);
  Expr step = Expr(p.var) * Expr(length) + Expr(part.reduce_axes[split].var);
  at[whole.reduce_axes[split].var] = step;
  for (Expr& value : part.values) value = Substitute(value, at);
  part.predicate = Substitute(whole.predicate, at);
  if (extent % length != 0) {
    Expr exists = step < Expr(extent);
    part.predicate = IsConstant(part.predicate, 1) ? exists : BothOf(part.predicate, exists);
  }

  ComputeExpr combined = whole;
  Axis q{IterationVar("part"), parts};
  combined.reduce_axes = {q};
  combined.predicate = True();
  std::vector<Expr> cell, own;
  for (const Axis& axis : part.axes) cell.emplace_back(axis.var);
  for (const Axis& axis : whole.axes) own.emplace_back(axis.var);
  own.emplace_back(q.var);
  for (size_t e = 0; e < whole.outputs.size(); ++e) {
    std::string suffix = whole.outputs.size() == 1 ? "" : std::to_string(e);
    Buffer buffer =
        AddIntermediate(result, part.name + suffix, whole.outputs[e].dtype(), ExtentsOf(part.axes));
    part.outputs[e] = buffer;
    part.indices[e] = cell;
    combined.values[e] = Make<Load>(buffer.var, own);
  }
  result.stages[s] = combined;
  result.stages.insert(result.stages.begin() + static_cast<std::ptrdiff_t>(s), part);
  return result;
}

}  // namespace

std::optional<TensorProgram> SplitReductionVariant(const TensorProgram& program) {
  for (size_t s = 0; s < program.stages.size(); ++s) {
    const auto* stage = std::get_if<ComputeExpr>(&program.stages[s]);
    if (stage && Fits(*stage)) return Build(program, s);
  }
  return std::nullopt;
}

}  // namespace tcc
