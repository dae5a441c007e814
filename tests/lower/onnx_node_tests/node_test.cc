#include "tests/lower/onnx_node_tests/node_test.h"

#include <cmath>
#include <filesystem>
#include <map>

#include "lower/graph/graph_pipeline.h"
#include "lower/interpret_graph.h"
#include "models/import_onnx.h"
#include "models/onnx_tensor_file.h"
#include "tests/lower/onnx_node_tests/known_unsupported.h"

namespace tcc {
namespace {

// Operands that shapes depend on: those from `first` on.
struct ShapeOperands {
  OpKind op;
  size_t first;
};

constexpr ShapeOperands kShapeOperands[] = {
    {OpKind::kConstantOfShape, 0}, {OpKind::kReshape, 1},    {OpKind::kSlice, 1},
    {OpKind::kExpand, 1},          {OpKind::kSqueeze, 1},    {OpKind::kUnsqueeze, 1},
    {OpKind::kReduceMax, 1},       {OpKind::kReduceMin, 1},  {OpKind::kReduceMean, 1},
    {OpKind::kReduceSum, 1},       {OpKind::kReduceProd, 1}, {OpKind::kPad, 1},
};

StatusOr<std::vector<Tensor>> ReadTensors(const std::string& folder, const std::string& prefix) {
  std::vector<Tensor> tensors;
  for (int i = 0;; ++i) {
    std::string path = fmt::format("{}/test_data_set_0/{}_{}.pb", folder, prefix, i);
    if (!std::filesystem::exists(path)) return tensors;
    TCC_ASSIGN_OR_RETURN(Tensor tensor, ReadOnnxTensorFile(path));
    tensors.push_back(tensor);
  }
}

// By name, those inputs of the graph that shapes depend on.
std::map<std::string, Tensor> ShapeInputs(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::map<std::string, Tensor> binds;
  for (const Node& node : graph.nodes) {
    for (const ShapeOperands& row : kShapeOperands) {
      for (size_t i = row.first; node.op == row.op && i < node.inputs.size(); ++i) {
        for (size_t g = 0; g < std::min(inputs.size(), graph.inputs.size()); ++g) {
          if (graph.inputs[g] == node.inputs[i]) {
            binds.emplace(graph.value(node.inputs[i]).name, inputs[g]);
          }
        }
      }
    }
  }
  return binds;
}

// ONNX 1.12 wrote the bits of bfloat16 as u16, as numpy has no such type.
void ReadBitsAs(DType dtype, Tensor& tensor) {
  bool bits = tensor.dtype == DType(DTypeCode::kUInt16);
  if (bits && dtype == DType(DTypeCode::kBFloat16)) tensor.dtype = dtype;
}

Status CompareOutput(const Tensor& got, Tensor expected, size_t output) {
  ReadBitsAs(got.dtype, expected);
  if (got.dtype != expected.dtype || got.shape != expected.shape) {
    return WrongResult("output {} is {}; expected {}", output, ToString(got), ToString(expected));
  }
  TCC_ASSIGN_OR_RETURN(int64_t count, ElementCount(expected.shape));
  for (int64_t i = 0; i < count; ++i) {
    if (got.dtype.is_integer() || got.dtype.is_bool()) {
      if (ElementAsInt(got, i) == ElementAsInt(expected, i)) continue;
    }
    double a = ElementAsDouble(got, i);
    double b = ElementAsDouble(expected, i);
    bool both_nan = std::isnan(a) && std::isnan(b);
    if (both_nan || a == b || std::fabs(a - b) <= 1e-7 + 1e-3 * std::fabs(b)) continue;
    return WrongResult("output {} has {} at element {}; expected {}", output, a, i, b);
  }
  return OkStatus();
}

Status RunImported(Graph graph, const std::vector<Tensor>& inputs,
                   const std::vector<Tensor>& expected) {
  TCC_RETURN_IF_ERROR(RunGraphPasses(graph));
  TCC_RETURN_IF_ERROR(VerifyGraph(graph));
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, InterpretGraph(graph, inputs));
  if (outputs.size() != expected.size()) {
    return WrongResult("{} outputs; expected {}", outputs.size(), expected.size());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    TCC_RETURN_IF_ERROR(CompareOutput(outputs[i], expected[i], i));
  }
  return OkStatus();
}

Status RunModel(const std::string& folder) {
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> inputs, ReadTensors(folder, "input"));
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> expected, ReadTensors(folder, "output"));
  std::string model = folder + "/model.onnx";
  TCC_ASSIGN_OR_RETURN(Graph unbound, ImportOnnx(model));
  ImportOptions options;
  options.binds = ShapeInputs(unbound, inputs);
  if (unbound.inputs.size() != inputs.size()) {
    return InvalidInput("{} files of inputs; the model has {}", inputs.size(),
                        unbound.inputs.size());
  }
  std::vector<Tensor> arguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = unbound.value(unbound.inputs[i]).name;
    if (!options.binds.contains(name)) {
      ReadBitsAs(unbound.value(unbound.inputs[i]).dtype, inputs[i]);
      arguments.push_back(inputs[i]);
      options.shapes[name] = inputs[i].shape;
    }
  }
  TCC_ASSIGN_OR_RETURN(Graph graph, ImportOnnx(model, options));
  return RunImported(std::move(graph), arguments, expected);
}

}  // namespace

NodeTestResult RunNodeTest(const std::string& folder) {
  std::string name = std::filesystem::path(folder).filename();
  if (const char* reason = ReasonNotToRun(name)) return {Verdict::kSkip, reason};
  StatusOr<OnnxSurvey> survey = SurveyOnnx(folder + "/model.onnx");
  if (!survey.ok()) return {Verdict::kFail, Message(survey.status())};
  if (!survey->unsupported.empty()) {
    return {Verdict::kSkip, "operator " + survey->unsupported[0].what};
  }
  Status status = RunModel(folder);
  if (status.ok()) return {Verdict::kPass, ""};
  return {Verdict::kFail, Message(status)};
}

}  // namespace tcc
