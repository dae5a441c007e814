#include "graph/ops/normal_form.h"

#include "ir/simplify/simplify.h"

namespace tcc {
namespace {

void Normalize(const Graph& graph, Buffer& buffer) {
  for (Expr& dim : buffer.shape) dim = NormalForm(graph, dim);
}

void Normalize(const Graph& graph, std::vector<Axis>& axes) {
  for (Axis& axis : axes) axis.extent = NormalForm(graph, axis.extent);
}

void Normalize(const Graph& graph, std::vector<Buffer>& buffers) {
  for (Buffer& buffer : buffers) Normalize(graph, buffer);
}

}  // namespace

Expr NormalForm(const Graph& graph, const Expr& formula) {
  if (AsConstant(formula)) return formula;
  Expr simple = formula.kind() == ExprKind::kVarNode ? formula : Simplify(formula);
  for (const Agreement& pair : graph.agreements) {
    if (SameExtent(simple, pair.b)) return pair.a;
  }
  return simple;
}

void NormalizeShapes(const Graph& graph, TensorProgram& program) {
  if (graph.shape_vars.empty()) return;
  Normalize(graph, program.outputs);
  Normalize(graph, program.intermediates);
  for (TensorExpr& stage : program.stages) {
    if (auto* compute = std::get_if<ComputeExpr>(&stage)) {
      Normalize(graph, compute->axes);
      Normalize(graph, compute->reduce_axes);
      Normalize(graph, compute->outputs);
    } else if (auto* ordered = std::get_if<OrderedExpr>(&stage)) {
      Normalize(graph, ordered->axes);
      Normalize(graph, ordered->output);
    }
  }
}

}  // namespace tcc
