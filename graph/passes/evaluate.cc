#include "graph/passes/evaluate.h"

#include <algorithm>

#include "graph/ops/build_loop_nest.h"
#include "graph/ops/op_lowering.h"
#include "graph/passes/dequantize_constant.h"
#include "graph/passes/edit.h"
#include "ir/interpret/interpreter.h"

namespace tcc {
namespace {

StatusOr<std::vector<int64_t>> KnownShape(const Buffer& buffer) {
  std::vector<int64_t> shape;
  for (const Expr& dim : buffer.shape) {
    std::optional<int64_t> extent = AsConstant(dim);
    if (!extent) return Unsupported("buffer '{}' has a symbolic dimension", buffer.var->name);
    shape.push_back(*extent);
  }
  return shape;
}

// Weights are often transposed or reshaped: millions of elements, too many for the interpreter.
std::optional<Tensor> MovedConstant(const Graph& graph, const Node& node,
                                    const std::vector<int64_t>& shape) {
  const Tensor* constant = node.inputs.empty() ? nullptr : graph.ConstantOf(node.inputs[0]);
  if (!constant) return std::nullopt;
  if (FormOf(node) == OpForm::kView) return ReshapedTensor(*constant, shape);
  std::vector<int64_t> perm = node.Ints("perm");
  bool transposes = node.op == OpKind::kTranspose && !perm.empty();
  return transposes ? std::optional(TransposedTensor(*constant, perm)) : std::nullopt;
}

// Checks the outputs' sizes on the way.
StatusOr<std::vector<Tensor>> ZeroOutputs(const Node& node, const TensorProgram& program,
                                          int64_t max_bytes) {
  std::vector<Tensor> outputs;
  for (const Buffer& output : program.outputs) {
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> shape, KnownShape(output));
    TCC_ASSIGN_OR_RETURN(int64_t bytes, ByteCount(output.dtype(), shape));
    if (bytes > max_bytes) {
      return absl::ResourceExhaustedError(
          fmt::format("node '{}' gives {} bytes; the limit is {}", node.name, bytes, max_bytes));
    }
    outputs.push_back(MakeZeroTensor(output.dtype(), shape));
  }
  return outputs;
}

}  // namespace

bool IsComputable(const Graph& graph, const Node& node) {
  bool is_moved = node.op == OpKind::kRepack ||
                  (node.op == OpKind::kTranspose && node.attributes.contains("to"));
  if (node.layout == DataLayout::kChannelsLast || is_moved) return false;
  if (!node.bodies.empty()) return false;
  if (node.op == OpKind::kShape || node.op == OpKind::kSize) {
    return StaticShape(graph.value(node.inputs[0])).has_value();
  }
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
    return input == kNoValue || graph.ConstantOf(input) != nullptr;
  });
}

StatusOr<std::vector<Tensor>> EvaluateNode(const Graph& graph, const Node& node,
                                           const EvaluationLimits& limits) {
  TCC_ASSIGN_OR_RETURN(LoweredNode lowered, LowerNode(graph, node));
  std::vector<Tensor> arguments;
  for (size_t i = 0; i < lowered.inputs.size(); ++i) {
    const Tensor* constant = graph.ConstantOf(lowered.inputs[i]);
    if (!constant) return Unsupported("node '{}' reads what is not constant", node.name);
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> stored, KnownShape(lowered.program.inputs[i]));
    if (stored != constant->shape) {
      return Unsupported("node '{}' reads constants in another storage order", node.name);
    }
    arguments.push_back(*constant);
  }
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> outputs,
                       ZeroOutputs(node, lowered.program, limits.max_bytes));
  if (std::optional<Tensor> moved = MovedConstant(graph, node, outputs[0].shape)) {
    return std::vector<Tensor>{*moved};
  }
  if (std::optional<Tensor> weights = DequantizedConstant(graph, node)) {
    return std::vector<Tensor>{*weights};
  }
  arguments.insert(arguments.end(), outputs.begin(), outputs.end());
  outputs.clear();  // the interpreter writes to tensors that nobody else holds

  Function fn = BuildLoopNest(lowered.program);
  InterpretOptions options;
  options.max_instances = limits.max_instances;
  StatusOr<InterpretReport> report = Interpret(fn, arguments, options);
  if (limits.issued != nullptr) {
    *limits.issued += report.ok() ? report->instances_issued : limits.max_instances;
  }
  if (!report.ok()) return Annotate(report.status(), fmt::format("node '{}'", node.name));

  std::vector<Tensor> results(node.outputs.size());
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    for (size_t e = 0; e < lowered.outputs.size(); ++e) {
      if (lowered.outputs[e] == node.outputs[i]) {
        results[i] = arguments[lowered.inputs.size() + e];
      }
    }
  }
  return results;
}

}  // namespace tcc
