#include "lower/interpret_graph.h"

#include "ir/interpreter.h"
#include "ir/support/check.h"
#include "lower/graph/edit.h"
#include "lower/task.h"

namespace tcc {
namespace {

StatusOr<std::vector<int64_t>> KnownShape(const std::string& name, const std::vector<Expr>& dims) {
  std::vector<int64_t> shape;
  for (const Expr& dim : dims) {
    std::optional<int64_t> extent = AsConstant(dim);
    if (!extent) return Unsupported("'{}' has a symbolic dimension", name);
    shape.push_back(*extent);
  }
  return shape;
}

using Tensors = std::vector<Tensor>;  // by value id

Status RunTask(const Task& task, int threads, Tensors& values) {
  const Function& fn = task.variants[0];
  std::vector<Tensor> arguments;
  for (size_t i = 0; i < fn.params.size(); ++i) {
    const Buffer& param = fn.params[i];
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> shape, KnownShape(param.var->name, param.shape));
    if (i < task.inputs.size()) {
      // The bytes of another storage order that agrees on them are taken as they are.
      arguments.push_back(ReshapedTensor(values[task.inputs[i]], shape));
    } else {
      arguments.push_back(MakeZeroTensor(param.dtype(), shape));
    }
  }
  InterpretOptions options;
  options.threads = threads;
  TCC_RETURN_IF_ERROR(Annotate(Interpret(fn, arguments, options).status(), task.name));
  for (size_t e = 0; e < task.outputs.size(); ++e) {
    values[task.outputs[e]] = arguments[task.inputs.size() + e];
  }
  return OkStatus();
}

Status CheckInputs(const Graph& graph, const std::vector<Tensor>& inputs) {
  if (inputs.size() != graph.inputs.size()) {
    return InvalidInput("got {} inputs; expected {}", inputs.size(), graph.inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& value = graph.value(graph.inputs[i]);
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> shape, KnownShape(value.name, value.shape));
    if (inputs[i].dtype != value.dtype || inputs[i].shape != shape) {
      return InvalidInput("input '{}' is {}; expected {}[{}]", value.name, ToString(inputs[i]),
                          ToString(value.dtype), ShapeToString(shape));
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::vector<Tensor>> InterpretGraph(const Graph& graph, const std::vector<Tensor>& inputs,
                                             const InterpretGraphOptions& options) {
  TCC_RETURN_IF_ERROR(CheckInputs(graph, inputs));
  Tensors values(graph.values.size());
  for (size_t id = 0; id < graph.values.size(); ++id) {
    if (graph.values[id].constant) values[id] = *graph.values[id].constant;
  }
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs[i]] = inputs[i];

  std::vector<Subgraph> subgraphs = FuseGraph(graph);
  int64_t done = 0;
  for (const Subgraph& subgraph : subgraphs) {
    ++done;
    if (subgraph.kind == SubgraphKind::kView) {
      values[subgraph.outputs[0]] = values[subgraph.inputs[0]];
      continue;
    }
    TCC_ASSIGN_OR_RETURN(Task task, BuildTask(graph, subgraph));
    TCC_RETURN_IF_ERROR(RunTask(task, options.threads, values));
    if (options.progress) options.progress(done, static_cast<int64_t>(subgraphs.size()));
  }

  std::vector<Tensor> outputs;
  for (ValueId id : graph.outputs) {
    const Value& value = graph.value(id);
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> shape, KnownShape(value.name, value.shape));
    outputs.push_back(ReshapedTensor(values[id], shape));
  }
  return outputs;
}

}  // namespace tcc
