#include "graph/variants/interpret_graph.h"

#include <algorithm>

#include "graph/passes/edit.h"
#include "graph/variants/task.h"
#include "ir/graph/graph_bodies.h"
#include "ir/interpret/interpreter.h"
#include "support/check.h"

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

// A graph or a body.
class GraphInterpreter {
 public:
  GraphInterpreter(const Graph& graph, const std::vector<Subgraph>& subgraphs,
                   const InterpretGraphOptions& options)
      : graph_(graph), subgraphs_(subgraphs), options_(options) {}

  // Inputs have the graph's types and shapes.
  StatusOr<Tensors> Run(const Tensors& inputs) {
    values_.assign(graph_.values.size(), {});
    for (size_t id = 0; id < graph_.values.size(); ++id) {
      if (graph_.values[id].constant) values_[id] = *graph_.values[id].constant;
    }
    for (size_t i = 0; i < inputs.size(); ++i) Set(graph_.inputs[i], inputs[i]);
    int64_t done = 0;
    for (const Subgraph& subgraph : subgraphs_) {
      TCC_RETURN_IF_ERROR(RunSubgraph(subgraph));
      if (options_.progress) options_.progress(++done, static_cast<int64_t>(subgraphs_.size()));
    }
    Tensors outputs;
    for (ValueId id : graph_.outputs) {
      const Value& value = graph_.value(id);
      TCC_ASSIGN_OR_RETURN(std::vector<int64_t> shape, KnownShape(value.name, value.shape));
      outputs.push_back(ReshapedTensor(values_[id], shape));
    }
    return outputs;
  }

 private:
  void Set(ValueId id, Tensor tensor) {
    values_[id] = std::move(tensor);
    if (options_.observe) options_.observe(graph_, id, values_[id]);
  }

  Status RunTask(const Task& task) {
    const Function& fn = task.variants[0].fn;
    std::vector<Tensor> arguments;
    for (size_t i = 0; i < fn.params.size(); ++i) {
      const Buffer& param = fn.params[i];
      TCC_ASSIGN_OR_RETURN(std::vector<int64_t> shape, KnownShape(param.var->name, param.shape));
      if (i < task.inputs.size()) {
        // The bytes of another storage order that agrees on them are taken as they are.
        arguments.push_back(ReshapedTensor(values_[task.inputs[i]], shape));
      } else {
        arguments.push_back(MakeZeroTensor(param.dtype(), shape));
      }
    }
    InterpretOptions options;
    options.threads = options_.threads;
    options.rounding_seed = options_.rounding_seed;
    Status status = options_.run_task ? options_.run_task(task, arguments)
                                      : Interpret(fn, arguments, options).status();
    TCC_RETURN_IF_ERROR(Annotate(status, task.name));
    for (size_t e = 0; e < task.outputs.size(); ++e) {
      Set(task.outputs[e], arguments[task.inputs.size() + e]);
    }
    return OkStatus();
  }

  Status RunSubgraph(const Subgraph& subgraph) {
    switch (subgraph.kind) {
      case SubgraphKind::kView:
        Set(subgraph.outputs[0], values_[subgraph.inputs[0]]);
        return OkStatus();
      case SubgraphKind::kLoop:
        return RunLoop(graph_.nodes[subgraph.nodes[0]], subgraph);
      case SubgraphKind::kIf:
        return RunIf(graph_.nodes[subgraph.nodes[0]], subgraph);
      case SubgraphKind::kKernel:
      case SubgraphKind::kPart:  // FuseGraph makes none
        break;
    }
    TCC_ASSIGN_OR_RETURN(Task task, BuildTask(graph_, subgraph, {},
                                              {.mode = options_.numeric,
                                               .rounds_attention = options_.rounds_attention}));
    return RunTask(task);
  }

  // The operand as the graph means it, whatever shape its bytes were last seen under.
  StatusOr<Tensor> Operand(ValueId id) const {
    const Value& value = graph_.value(id);
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> shape, KnownShape(value.name, value.shape));
    return ReshapedTensor(values_[id], shape);
  }

  StatusOr<Tensors> RunBody(const Graph& body, const std::vector<Subgraph>& subgraphs,
                            const Tensors& inputs) const {
    InterpretGraphOptions options = options_;
    options.progress = {};
    return GraphInterpreter(body, subgraphs, options).Run(inputs);
  }

  void SetOutput(const Node& node, size_t output, const Tensor& tensor) {
    if (node.outputs[output] != kNoValue) Set(node.outputs[output], tensor);
  }

  Status RunIf(const Node& node, const Subgraph& subgraph) {
    Tensors inputs;
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      TCC_ASSIGN_OR_RETURN(Tensor tensor, Operand(node.inputs[i]));
      inputs.push_back(std::move(tensor));
    }
    size_t branch = ElementAsInt(values_[node.inputs[0]], 0) != 0 ? 0 : 1;
    TCC_ASSIGN_OR_RETURN(Tensors results,
                         RunBody(node.bodies[branch], subgraph.bodies[branch], inputs));
    for (size_t i = 0; i < results.size(); ++i) SetOutput(node, i, results[i]);
    return OkStatus();
  }

  Status RunLoop(const Node& node, const Subgraph& subgraph) {
    LoopParts parts = PartsOf(node);
    bool condition = node.inputs[1] == kNoValue || ElementAsInt(values_[node.inputs[1]], 0) != 0;
    int64_t trips = INT64_MAX;
    if (node.inputs[0] != kNoValue) trips = ElementAsInt(values_[node.inputs[0]], 0);
    Tensors operands(node.inputs.size());
    for (size_t i = 2; i < node.inputs.size(); ++i) {
      TCC_ASSIGN_OR_RETURN(operands[i], Operand(node.inputs[i]));
      bool scanned = i >= parts.first_scan_input() && i < parts.first_captured();
      if (scanned) trips = std::min(trips, operands[i].shape[0]);
    }
    std::vector<Tensors> stacks(parts.scan_outputs);
    for (int64_t iteration = 0; iteration < trips && condition; ++iteration) {
      Tensors inputs = operands;
      inputs[0] = MakeZeroTensor(kInt64, {});
      SetElementInt(inputs[0], 0, iteration);
      inputs[1] = MakeZeroTensor(kBool, {});
      SetElementInt(inputs[1], 0, 1);
      for (size_t i = 0; i < parts.scan_inputs; ++i) {
        bool backward = RunsBackward(node, "scan_input_directions", i);
        Tensor& slice = inputs[parts.first_scan_input() + i];
        slice = SliceOf(slice, backward ? slice.shape[0] - 1 - iteration : iteration);
      }
      TCC_ASSIGN_OR_RETURN(Tensors results, RunBody(node.bodies[0], subgraph.bodies[0], inputs));
      condition = ElementAsInt(results[0], 0) != 0;
      for (size_t k = 0; k < parts.carried; ++k) operands[2 + k] = results[1 + k];
      for (size_t i = 0; i < parts.scan_outputs; ++i) {
        stacks[i].push_back(results[1 + parts.carried + i]);
      }
    }
    for (size_t k = 0; k < parts.carried; ++k) SetOutput(node, k, operands[2 + k]);
    return SetStacks(node, parts, stacks);
  }

  Status SetStacks(const Node& node, const LoopParts& parts, std::vector<Tensors>& stacks) {
    for (size_t i = 0; i < parts.scan_outputs; ++i) {
      ValueId output = node.outputs[parts.carried + i];
      if (output == kNoValue) continue;
      if (RunsBackward(node, "scan_output_directions", i)) {
        std::ranges::reverse(stacks[i]);
      }
      const Value& value = graph_.value(output);
      TCC_ASSIGN_OR_RETURN(std::vector<int64_t> shape, KnownShape(value.name, value.shape));
      Tensor stacked = MakeZeroTensor(value.dtype, shape);
      uint8_t* to = MutableBytes(stacked).data();
      for (const Tensor& slice : stacks[i]) to = std::ranges::copy(slice.bytes, to).out;
      Set(output, std::move(stacked));
    }
    return OkStatus();
  }

  static Tensor SliceOf(const Tensor& tensor, int64_t index) {
    size_t bytes = tensor.bytes.size() / static_cast<size_t>(tensor.shape[0]);
    return MakeTensor(tensor.dtype, {tensor.shape.begin() + 1, tensor.shape.end()},
                      tensor.bytes.subspan(static_cast<size_t>(index) * bytes, bytes));
  }

  const Graph& graph_;
  const std::vector<Subgraph>& subgraphs_;
  const InterpretGraphOptions& options_;
  Tensors values_;
};

}  // namespace

StatusOr<std::vector<Tensor>> InterpretGraph(const Graph& graph, const std::vector<Tensor>& inputs,
                                             const InterpretGraphOptions& options) {
  TCC_RETURN_IF_ERROR(CheckInputs(graph, inputs));
  std::vector<Subgraph> subgraphs = FuseGraph(graph, options.fusion);
  return GraphInterpreter(graph, subgraphs, options).Run(inputs);
}

}  // namespace tcc
