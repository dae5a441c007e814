#include "tests/graph/one_node.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "graph/passes/graph_pipeline.h"
#include "graph/passes/infer_shapes.h"
#include "graph/variants/interpret_graph.h"
#include "support/random.h"

namespace tcc {

Tensor Of(DType dtype, std::vector<int64_t> shape, const std::vector<double>& values) {
  Tensor tensor = MakeZeroTensor(dtype, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) SetElement(tensor, i, values[i]);
  return tensor;
}

Tensor F32(std::vector<int64_t> shape, const std::vector<double>& values) {
  return Of(kFloat32, std::move(shape), values);
}

Tensor I64(std::vector<int64_t> shape, const std::vector<int64_t>& values) {
  Tensor tensor = MakeZeroTensor(kInt64, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) SetElementInt(tensor, i, values[i]);
  return tensor;
}

Tensor RandomF32(std::vector<int64_t> shape, uint64_t seed) {
  Random random(seed);
  Tensor tensor = MakeZeroTensor(kFloat32, std::move(shape));
  int64_t count = static_cast<int64_t>(tensor.bytes.size()) / 4;
  for (int64_t i = 0; i < count; ++i) {
    SetElement(tensor, i, static_cast<double>(random.Below(33)) / 8 - 2);
  }
  return tensor;
}

std::vector<double> ValuesOf(const Tensor& tensor) {
  std::vector<double> values;
  int64_t count = ElementCount(tensor.shape).value();
  for (int64_t i = 0; i < count; ++i) values.push_back(ElementAsDouble(tensor, i));
  return values;
}

ValueId TestGraph::Input(const std::string& name, DType dtype, const std::vector<int64_t>& shape) {
  Value value;
  value.name = name;
  value.dtype = dtype;
  value.shape = ToExprs(shape);
  graph_.inputs.push_back(graph_.AddValue(value));
  return graph_.inputs.back();
}

ValueId TestGraph::Constant(const std::string& name, const Tensor& tensor) {
  Value value;
  value.name = name;
  value.dtype = tensor.dtype;
  value.shape = ToExprs(tensor.shape);
  value.constant = tensor;
  return graph_.AddValue(value);
}

ValueId TestGraph::Add(const std::string& name, OpKind op, std::vector<ValueId> inputs,
                       Attributes attributes) {
  return AddAll(name, op, std::move(inputs), 1, std::move(attributes))[0];
}

std::vector<ValueId> TestGraph::AddAll(const std::string& name, OpKind op,
                                       std::vector<ValueId> inputs, int results,
                                       Attributes attributes) {
  Node node;
  node.name = name;
  node.op = op;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  for (int i = 0; i < results; ++i) {
    Value value;
    value.name = i == 0 ? name + ".out" : fmt::format("{}.out{}", name, i);
    node.outputs.push_back(graph_.AddValue(value));
  }
  graph_.nodes.push_back(node);
  return node.outputs;
}

namespace {

bool IsConstant(const OneNode& node, size_t input) {
  return std::ranges::count(node.constants, static_cast<int>(input)) > 0;
}

// MakeTensor owns bytes even of an empty tensor.
bool IsLeftOut(const Tensor& tensor) {
  return tensor.owner == nullptr;
}

}  // namespace

Graph GraphOf(const OneNode& node) {
  Graph graph;
  Node made;
  made.name = "node";
  made.op = node.op;
  made.attributes = node.attributes;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Tensor& tensor = node.inputs[i];
    if (IsLeftOut(tensor)) {
      made.inputs.push_back(kNoValue);
      continue;
    }
    Value value;
    value.name = fmt::format("in{}", i);
    value.dtype = tensor.dtype;
    value.shape = ToExprs(tensor.shape);
    if (IsConstant(node, i)) value.constant = tensor;
    made.inputs.push_back(graph.AddValue(value));
    if (!IsConstant(node, i)) graph.inputs.push_back(made.inputs.back());
  }
  for (int i = 0; i < node.outputs; ++i) {
    Value value;
    value.name = fmt::format("out{}", i);
    made.outputs.push_back(graph.AddValue(value));
    graph.outputs.push_back(made.outputs.back());
  }
  graph.nodes.push_back(made);
  return graph;
}

namespace {

std::vector<Tensor> ArgumentsOf(const OneNode& node) {
  std::vector<Tensor> arguments;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!IsConstant(node, i) && !IsLeftOut(node.inputs[i])) arguments.push_back(node.inputs[i]);
  }
  return arguments;
}

}  // namespace

StatusOr<std::vector<Tensor>> Run(const OneNode& node) {
  Graph graph = GraphOf(node);
  TCC_RETURN_IF_ERROR(InferShapes(graph));
  TCC_RETURN_IF_ERROR(VerifyGraph(graph));
  return InterpretGraph(graph, ArgumentsOf(node));
}

StatusOr<std::vector<Tensor>> RunOptimized(const OneNode& node) {
  Graph graph = GraphOf(node);
  TCC_RETURN_IF_ERROR(RunGraphPasses(graph));
  TCC_RETURN_IF_ERROR(VerifyGraph(graph));
  return InterpretGraph(graph, ArgumentsOf(node));
}

Tensor ResultOf(const OneNode& node) {
  StatusOr<std::vector<Tensor>> results = Run(node);
  INFO(Message(results.status()));
  REQUIRE(results.ok());
  return (*results)[0];
}

std::string ErrorOf(const OneNode& node) {
  Graph graph = GraphOf(node);
  return Message(InferShapes(graph));
}

}  // namespace tcc
