#include "graph/passes/evaluate.h"

#include <algorithm>

#include "graph/ops/build_loop_nest.h"
#include "graph/ops/node_lowering.h"
#include "graph/ops/op_lowering.h"
#include "graph/passes/edit.h"
#include "ir/interpret/interpreter.h"
#include "support/check.h"

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

// Which scale an element of the flat tensor has: elements fall into `outer` times `extent` runs of
// `inner`, the middle one in blocks.
struct ScaleIndex {
  int64_t extent = 1;
  int64_t inner = 1;
  int64_t block = 1;
  int64_t scales = 1;      // along the axis
  bool same_outer = true;  // the scale does not depend on what is outside the axis
  bool same_inner = true;  // or inside it

  int64_t At(int64_t element) const {
    int64_t within = element % inner;
    int64_t along = element / inner % extent / block;
    int64_t outer = element / inner / extent;
    int64_t index = (same_outer ? 0 : outer * scales) + along;
    return same_inner ? index : index * inner + within;
  }
};

ScaleIndex ScaleIndexOf(const Node& node, const Tensor& x, const Tensor& scale) {
  ScaleIndex index;
  if (ElementCount(scale.shape).value() == 1) {
    index.extent = index.block = std::max<int64_t>(ElementCount(x.shape).value(), 1);
    return index;
  }
  int64_t axis = node.Int("axis", 1);
  if (axis < 0) axis += static_cast<int64_t>(x.shape.size());
  index.extent = x.shape[axis];
  for (size_t d = axis + 1; d < x.shape.size(); ++d) index.inner *= x.shape[d];
  bool blocked = node.Int("block_size", 0) > 0;
  index.block = blocked ? node.Int("block_size", 0) : 1;
  index.scales = blocked ? scale.shape[axis] : index.extent;
  index.same_outer = index.same_inner = !blocked;
  return index;
}

// Evaluates a DequantizeLinear over constants natively: quantized weights have more elements than
// the interpreter handles in reasonable time. nullopt for other nodes. Expects a node that lowers.
std::optional<Tensor> DequantizedConstant(const Graph& graph, const Node& node) {
  if (node.op != OpKind::kDequantizeLinear) return std::nullopt;
  const Tensor* x = graph.ConstantOf(node.inputs[0]);
  const Tensor* scale = graph.ConstantOf(node.inputs[1]);
  const Tensor* zero = node.inputs.size() > 2 ? graph.ConstantOf(node.inputs[2]) : nullptr;
  if (!x || !scale || (node.inputs.size() > 2 && node.inputs[2] != kNoValue && !zero)) {
    return std::nullopt;
  }
  std::optional<DType> dtype = ParseDType(node.String("to", ""));
  TCC_CHECK(dtype.has_value()) << node.name;
  bool is_double = AccumulationType(*dtype) == kFloat64;
  ScaleIndex index = ScaleIndexOf(node, *x, *scale);
  bool one_zero = zero && ElementCount(zero->shape).value() == 1;
  Tensor result = MakeZeroTensor(*dtype, x->shape);
  int64_t count = ElementCount(x->shape).value();
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = index.At(i);
    // Exact in a double: integers have up to 32 bits, the zero point of an f8 is 0. A zero point of
    // floats makes it round here, as in f32.
    double difference =
        ElementAsDouble(*x, i) - (zero ? ElementAsDouble(*zero, one_zero ? 0 : at) : 0);
    double factor = ElementAsDouble(*scale, at);
    double product = is_double ? difference * factor
                               : static_cast<float>(difference) * static_cast<float>(factor);
    SetElement(result, i, product);
  }
  return result;
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
  return std::ranges::all_of(node.inputs, [&](ValueId input) {
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
