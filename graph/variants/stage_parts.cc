#include "graph/variants/stage_parts.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "ir/analysis/affine.h"
#include "ir/expr/combiner.h"
#include "ir/expr/evaluate.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/interval.h"
#include "ir/simplify/simplify.h"
#include "ir/simplify/size_arithmetic.h"

namespace tcc {

std::string FreeName(const TensorProgram& program, const std::string& hint) {
  std::set<std::string> taken;
  for (const auto* buffers : {&program.inputs, &program.outputs, &program.intermediates}) {
    for (const Buffer& buffer : *buffers) taken.insert(buffer.var->name);
  }
  for (const TensorExpr& stage : program.stages) {
    taken.insert(std::visit([](const auto& s) { return s.name; }, stage));
  }
  std::string name = hint;
  for (int suffix = 1; taken.contains(name); ++suffix) name = hint + "_" + std::to_string(suffix);
  return name;
}

Buffer AddIntermediate(TensorProgram& program, const std::string& hint, DType dtype,
                       std::vector<Expr> shape) {
  Buffer buffer;
  buffer.var = BufferVar(FreeName(program, hint), dtype);
  buffer.shape = std::move(shape);
  program.intermediates.push_back(buffer);
  return buffer;
}

namespace {

template <typename NameOf>
ComputeExpr StageWithAxes(const Buffer& buffer, const NameOf& name_of) {
  ComputeExpr stage;
  stage.name = buffer.var->name;
  stage.outputs = {buffer};
  stage.indices.emplace_back();
  for (size_t d = 0; d < buffer.rank(); ++d) {
    stage.axes.push_back({IterationVar(name_of(d)), buffer.shape[d]});
    stage.indices[0].emplace_back(stage.axes[d].var);
  }
  return stage;
}

}  // namespace

ComputeExpr StageOver(const Buffer& buffer, const std::vector<const char*>& names) {
  return StageWithAxes(buffer, [&](size_t d) { return names[d]; });
}

void WidenLoads(TensorProgram& program, const Var& wide, const Var& narrow) {
  for (TensorExpr& stage : program.stages) {
    ForEachExpr(stage, [&](Expr& expr) {
      expr = RewriteBottomUp(expr, [&](const Expr& node) -> Expr {
        const auto* load = node.as<Load>();
        if (!load || !(load->buffer == wide)) return node;
        return CastTo(kFloat32, Make<Load>(narrow, load->indices));
      });
    });
  }
}

ComputeExpr StageOver(const Buffer& buffer) {
  return StageWithAxes(buffer, [](size_t d) { return "i" + std::to_string(d); });
}

std::vector<Axis> FreshAxes(const std::vector<Axis>& axes, Substitution& values) {
  std::vector<Axis> fresh;
  for (const Axis& axis : axes) {
    fresh.push_back({IterationVar(axis.var->name), axis.extent});
    values.emplace(axis.var, fresh.back().var);
  }
  return fresh;
}

std::optional<PartialSums> SumPartially(TensorProgram& program, const ComputeExpr& stage,
                                        const Expr& value, const char* suffix) {
  PartialSums sums;
  std::vector<Axis> axes;
  std::vector<Expr> shape;
  for (const Axis& axis : stage.axes) {
    if (!UsesVar(value, axis.var)) continue;
    axes.push_back(axis);
    shape.push_back(axis.extent);
    sums.indices.emplace_back(axis.var);
  }
  for (const Axis& axis : stage.reduce_axes) {
    if (!UsesVar(value, axis.var)) return std::nullopt;
  }
  sums.buffer = AddIntermediate(program, stage.name + suffix, kInt32, std::move(shape));
  program.kept.push_back(sums.buffer.var);
  sums.stage = StageOver(sums.buffer);
  Substitution values;
  for (size_t a = 0; a < axes.size(); ++a) values.emplace(axes[a].var, sums.stage.axes[a].var);
  sums.stage.reduce_axes = FreshAxes(stage.reduce_axes, values);
  sums.stage.combiner = SumCombiner(kInt32);
  sums.stage.values = {Substitute(value, values)};
  return sums;
}

bool IsNeverEmpty(const ComputeExpr& stage) {
  auto has_point = [](const Axis& axis) { return BoundsOf(axis.extent, {}).low >= 1; };
  return std::ranges::all_of(stage.axes, has_point) &&
         std::ranges::all_of(stage.reduce_axes, has_point);
}

int64_t UsualExtent(const Axis& axis) {
  return AtUsual(axis.extent).value_or(0);
}

namespace {

bool UsesShape(const Expr& expr) {
  return Contains(expr, [](const Expr& node) {
    const auto* var = node.as<VarNode>();
    return var && var->role == VarRole::kShape;
  });
}

// Returns the axes of the stage that the index uses.
std::vector<Axis> AxesIn(const ComputeExpr& stage, const Expr& index) {
  std::vector<Axis> used;
  for (const std::vector<Axis>* axes : {&stage.axes, &stage.reduce_axes}) {
    for (const Axis& axis : *axes) {
      if (UsesVar(index, axis.var)) used.push_back(axis);
    }
  }
  return used;
}

std::optional<IndexRange> RangeOfNumbers(const std::vector<Axis>& axes, const Expr& index) {
  Bounds bounds;
  for (const Axis& axis : axes) bounds[axis.var] = {0, *AsConstant(axis.extent) - 1};
  Interval interval = BoundsOf(index, bounds);
  if (interval.low == INT64_MIN || interval.high == INT64_MAX) return std::nullopt;
  return IndexRange{interval.low, Expr(interval.high - interval.low + 1)};
}

// Returns the range of a sum of axes times numbers, where axes of free extents are positive.
std::optional<IndexRange> RangeOfFormulas(const std::vector<Axis>& axes, const Expr& index) {
  std::vector<Var> vars;
  for (const Axis& axis : axes) vars.push_back(axis.var);
  std::optional<AffineForm> form = ToAffine(index, vars);
  std::optional<int64_t> low = form ? AsConstant(Simplify(form->rest)) : std::nullopt;
  if (!low || form->vars.size() != axes.size()) return std::nullopt;
  IndexRange range{*low, 1};
  for (size_t a = 0; a < axes.size(); ++a) {
    std::optional<int64_t> factor = AsConstant(Simplify(form->coefficients[a]));
    std::optional<int64_t> extent = AsConstant(axes[a].extent);
    if (!factor || (*factor < 0 && !extent)) return std::nullopt;
    if (*factor < 0) range.low += *factor * (*extent - 1);
    Expr steps = ProductOf(std::abs(*factor), DifferenceOf(axes[a].extent, 1));
    range.extent = SumOf(range.extent, steps);
  }
  return range;
}

}  // namespace

std::optional<IndexRange> RangeOf(const ComputeExpr& stage, const Expr& index) {
  if (UsesShape(index)) return std::nullopt;
  std::vector<Axis> axes = AxesIn(stage, index);
  bool are_numbers = std::ranges::all_of(
      axes, [](const Axis& axis) { return AsConstant(axis.extent).has_value(); });
  return are_numbers ? RangeOfNumbers(axes, index) : RangeOfFormulas(axes, index);
}

Reach ReachOf(const ComputeExpr& stage, const Load& load) {
  Reach reach;
  for (const Expr& index : load.indices) {
    std::optional<IndexRange> range = RangeOf(stage, index);
    if (!range) return {};
    reach.push_back(*range);
  }
  return reach;
}

bool KeepsInside(const Expr& predicate, const Load& load, const Buffer& buffer) {
  return std::ranges::all_of(ConjunctsOf(predicate), [&](const Expr& term) {
    for (size_t d = 0; d < load.indices.size(); ++d) {
      if (Equal(term, Expr(0) <= load.indices[d])) return true;
      if (Equal(term, load.indices[d] < buffer.shape[d])) return true;
    }
    return false;
  });
}

Expr InsideOf(const Buffer& input, const std::vector<Expr>& places, const Reach& reach) {
  Expr inside = True();
  for (size_t d = 0; d < places.size(); ++d) {
    const auto& [low, reached] = reach[d];
    const Expr& extent = input.shape[d];
    if (low < 0) inside = BothOf(inside, Expr(0) <= places[d]);
    if (!AlwaysHolds(SumOf(low, reached) <= extent)) inside = BothOf(inside, places[d] < extent);
  }
  return inside;
}

Expr ElementOrFill(const Buffer& input, const std::vector<Expr>& places, const Reach& reach,
                   const Expr& fill) {
  Expr inside = InsideOf(input, places, reach);
  Expr element = Make<Load>(input.var, places);
  return IsConstant(inside, 1) ? element : SelectOf(inside, element, fill);
}

bool IsMadeOfConstants(const TensorProgram& program, const Var& var) {
  const Buffer* buffer = FindBuffer(program, var);
  if (!buffer) return false;
  if (buffer->scope == Scope::kConstant) return true;
  bool is_made = false, is_constant = true;
  for (const TensorExpr& expr : program.stages) {
    const auto* stage = std::get_if<ComputeExpr>(&expr);
    if (!stage || std::ranges::find(stage->outputs, var, &Buffer::var) == stage->outputs.end()) {
      continue;
    }
    is_made = true;
    ForEachExpr(expr, [&](const Expr& value) {
      PreOrder(value, [&](const Expr& node) {
        const auto* load = node.as<Load>();
        is_constant = is_constant && (!load || IsMadeOfConstants(program, load->buffer));
      });
    });
  }
  return is_made && is_constant;
}

std::optional<std::pair<Expr, Expr>> FactorsOf(const Expr& value) {
  if (const auto* product = value.as<Mul>()) return std::pair(product->a, product->b);
  const auto* call = value.as<Call>();
  if (!call || !IsDotOfWords(call->op)) return std::nullopt;
  return std::pair(call->args[0], call->args[1]);
}

}  // namespace tcc
