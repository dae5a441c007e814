#include "graph/variants/task.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "graph/ops/build_loop_nest.h"
#include "graph/ops/op_lowering.h"
#include "graph/passes/to_tensor_exprs.h"
#include "graph/variants/implicit_gemm.h"
#include "graph/variants/merged_axes.h"
#include "graph/variants/moved_bytes.h"
#include "graph/variants/round_operands.h"
#include "graph/variants/separable_window.h"
#include "graph/variants/split_reduction.h"
#include "graph/variants/winograd.h"
#include "graph/variants/zero_padding.h"
#include "ir/expr/compare.h"
#include "ir/expr/visitor.h"

namespace tcc {
namespace {

bool IsArithmetic(const Expr& expr) {
  switch (expr.kind()) {
    case ExprKind::kAdd:
    case ExprKind::kSub:
    case ExprKind::kMul:
    case ExprKind::kDiv:
    case ExprKind::kMin:
    case ExprKind::kMax:
    case ExprKind::kCall:
      return expr.dtype().is_float();
    default:
      return false;
  }
}

double OperationsIn(const std::vector<Expr>& exprs) {
  double count = 0;
  for (const Expr& expr : exprs) {
    PreOrder(expr, [&](const Expr& node) { count += IsArithmetic(node); });
  }
  return count;
}

double FlopsOf(const ComputeExpr& stage) {
  double points = 1;
  for (const auto* axes : {&stage.axes, &stage.reduce_axes}) {
    for (const Axis& axis : *axes) {
      points *= static_cast<double>(AsConstant(axis.extent).value_or(0));
    }
  }
  double per_point = OperationsIn(stage.values);
  if (stage.combiner) per_point += OperationsIn(stage.combiner->results);
  return points * per_point;
}

double FlopsOf(const OrderedExpr& stage) {
  double points = 1;
  for (const Axis& axis : stage.axes) {
    points *= static_cast<double>(AsConstant(axis.extent).value_or(0));
  }
  return points * OperationsIn({stage.value});
}

void LayOutParts(const std::vector<ValueId>& ids, const PlacedParts& parts,
                 std::vector<Buffer>& buffers) {
  for (size_t i = 0; i < ids.size(); ++i) {
    auto part = parts.find(ids[i]);
    if (part != parts.end()) buffers[i].layout.strides = ToExprs(part->second.strides);
  }
}

using Buffers = std::unordered_set<Var, VarHash>;

void EraseValues(std::vector<ValueId>& ids, std::vector<Buffer>& buffers,
                 const std::set<ValueId>& values, Buffers& erased) {
  for (size_t i = ids.size(); i > 0; --i) {
    if (!values.contains(ids[i - 1])) continue;
    erased.insert(buffers[i - 1].var);
    ids.erase(ids.begin() + static_cast<int64_t>(i) - 1);
    buffers.erase(buffers.begin() + static_cast<int64_t>(i) - 1);
  }
}

bool Reads(const ComputeExpr& stage, const Buffers& buffers) {
  bool reads = false;
  for (const Expr& value : stage.values) {
    PreOrder(value, [&](const Expr& node) {
      const auto* load = node.as<Load>();
      reads = reads || (load && buffers.contains(load->buffer));
    });
  }
  return reads;
}

// Removes the stages of a Concat, Split or Slice that copy from or to `values`, and the buffers of
// `values`.
void DropStages(LoweredNode& lowered, const std::set<ValueId>& values) {
  if (values.empty()) return;
  Buffers erased;
  EraseValues(lowered.inputs, lowered.program.inputs, values, erased);
  EraseValues(lowered.outputs, lowered.program.outputs, values, erased);
  std::erase_if(lowered.program.stages, [&](const TensorExpr& expr) {
    const auto* stage = std::get_if<ComputeExpr>(&expr);
    return stage && (Reads(*stage, erased) ||
                     std::all_of(stage->outputs.begin(), stage->outputs.end(),
                                 [&](const Buffer& out) { return erased.contains(out.var); }));
  });
}

bool HasContraction(const Graph& graph, const Subgraph& subgraph) {
  return std::any_of(subgraph.nodes.begin(), subgraph.nodes.end(),
                     [&](int n) { return FormOf(graph.nodes[n]) == OpForm::kContraction; });
}

bool HasAttention(const Graph& graph, const Subgraph& subgraph) {
  return std::any_of(subgraph.nodes.begin(), subgraph.nodes.end(),
                     [&](int n) { return graph.nodes[n].op == OpKind::kAttention; });
}

// Other ways to compute a program, in the order of a task's variants.
constexpr std::optional<TensorProgram> (*kVariants[])(const TensorProgram& program) = {
    WinogradVariant,     ZeroPaddingVariant,    PaddedPoolVariant, SeparableWindowVariant,
    ImplicitGemmVariant, SplitReductionVariant, MergedAxesVariant,
};

// The inputs in the order of `ids`; false where they are not the same.
bool OrderInputs(const std::vector<ValueId>& ids, LoweredNode& lowered) {
  std::vector<Buffer> ordered;
  for (ValueId id : ids) {
    auto found = std::find(lowered.inputs.begin(), lowered.inputs.end(), id);
    if (found == lowered.inputs.end()) return false;
    ordered.push_back(lowered.program.inputs[found - lowered.inputs.begin()]);
  }
  if (ids.size() != lowered.inputs.size()) return false;
  lowered.program.inputs = std::move(ordered);
  lowered.inputs = ids;
  return std::set<ValueId>(ids.begin(), ids.end()).size() == ids.size();
}

// The subgraph's function with the cores of its attentions as one reduction each; nullopt where one
// cannot be that.
std::optional<Function> OnePassAttention(const Graph& graph, const Subgraph& subgraph,
                                         const PlacedParts& parts, const Task& task) {
  if (!HasAttention(graph, subgraph)) return std::nullopt;
  StatusOr<LoweredNode> lowered = ToTensorExprs(graph, subgraph, AttentionCore::kTuple);
  if (!lowered.ok()) return std::nullopt;
  DropStages(*lowered, subgraph.done_elsewhere);
  if (lowered->outputs != task.outputs || !OrderInputs(task.inputs, *lowered)) return std::nullopt;
  LayOutParts(lowered->inputs, parts, lowered->program.inputs);
  LayOutParts(lowered->outputs, parts, lowered->program.outputs);
  return BuildLoopNest(lowered->program);
}

}  // namespace

StatusOr<Task> BuildTask(const Graph& graph, const Subgraph& subgraph, const PlacedParts& parts,
                         NumericMode numeric, bool winograd) {
  TCC_ASSIGN_OR_RETURN(LoweredNode lowered, ToTensorExprs(graph, subgraph));
  DropStages(lowered, subgraph.done_elsewhere);
  LayOutParts(lowered.inputs, parts, lowered.program.inputs);
  LayOutParts(lowered.outputs, parts, lowered.program.outputs);
  Task task;
  task.name = subgraph.name;
  task.inputs = lowered.inputs;
  task.outputs = lowered.outputs;
  for (size_t i = 0; i < task.inputs.size(); ++i) {
    if (graph.ConstantOf(task.inputs[i])) lowered.program.inputs[i].scope = Scope::kConstant;
  }
  if (!HasContraction(graph, subgraph)) numeric = NumericMode::kStrict;
  if (HasAttention(graph, subgraph)) {
    task.stays_strict = numeric != NumericMode::kStrict && HasF32Contraction(lowered.program);
    numeric = NumericMode::kStrict;
  }
  auto function_of = [&](const TensorProgram& program) {
    std::optional<TensorProgram> rounded = RoundOperands(program, numeric);
    if (rounded) task.numeric = numeric;
    return BuildLoopNest(rounded ? *rounded : program);
  };
  task.variants = {function_of(lowered.program)};
  if (std::optional<Function> fn = OnePassAttention(graph, subgraph, parts, task)) {
    for (size_t i = 0; i < task.inputs.size(); ++i) {
      fn->params[i].scope = task.variants[0].params[i].scope;
    }
    task.variants.push_back(*std::move(fn));
  }
  winograd = winograd && numeric == NumericMode::kStrict;
  for (const auto& variant : kVariants) {
    if (variant == WinogradVariant && !winograd) continue;
    if (std::optional<TensorProgram> program = variant(lowered.program)) {
      InlineMaps(*program);
      if (variant == WinogradVariant && SavesByWinograd(lowered.program)) {
        task.winograd = task.variants.size();
      }
      if (variant == ZeroPaddingVariant) task.zero_padded = task.variants.size();
      if (variant == SeparableWindowVariant) task.separable = task.variants.size();
      if (variant == MergedAxesVariant) task.merged = task.variants.size();
      task.variants.push_back(function_of(*program));
    }
  }
  for (int n : subgraph.nodes) task.nodes.push_back(graph.nodes[n].name);
  for (const TensorExpr& stage : lowered.program.stages) {
    task.flops += std::visit([](const auto& expr) { return FlopsOf(expr); }, stage);
  }
  task.moved_bytes = MovedBytes(lowered.program);
  return task;
}

}  // namespace tcc
