#include "compiler/check/onnx_conformance.h"

#include <algorithm>
#include <filesystem>

#include "compiler/check/compare_tensors.h"
#include "compiler/compile_graph.h"
#include "compiler/partial_evaluator.h"
#include "graph/ops/shape_operands.h"
#include "models/onnx/import_onnx.h"
#include "runtime/executor/executor.h"

namespace tcc {
namespace {

// The tolerance of ONNX's own test runner.
constexpr Tolerance kTolerance = {.rtol = 1e-3, .atol = 1e-7};

StatusOr<std::vector<Tensor>> ReadTensors(const std::string& folder, const std::string& prefix) {
  std::vector<Tensor> tensors;
  for (int i = 0;; ++i) {
    std::string path = fmt::format("{}/{}_{}.pb", folder, prefix, i);
    if (!std::filesystem::exists(path)) return tensors;
    TCC_ASSIGN_OR_RETURN(Tensor tensor, ReadOnnxTensorFile(path));
    tensors.push_back(std::move(tensor));
  }
}

std::vector<std::string> DataSets(const std::string& folder) {
  std::vector<std::string> sets;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("test_data_set_")) {
      sets.push_back(entry.path());
    }
  }
  std::ranges::sort(sets);
  return sets;
}

// Turns u16 into bfloat16: numpy has no bfloat16, so ONNX up to 1.16 wrote its bits as u16.
void ReadBitsAs(DType dtype, Tensor& tensor) {
  bool bits = tensor.dtype == DType(DTypeCode::kUInt16);
  if (bits && dtype == DType(DTypeCode::kBFloat16)) tensor.dtype = dtype;
}

// The inputs of a test, split into the ones that the model is compiled with and the run's
// arguments.
struct Feed {
  ImportOptions options;
  std::vector<Tensor> arguments;
};

StatusOr<Feed> SplitFeed(const Graph& graph, const std::vector<Tensor>& inputs) {
  if (graph.inputs.size() != inputs.size()) {
    return InvalidInput("{} files of inputs; the model has {}", inputs.size(), graph.inputs.size());
  }
  std::vector<ValueId> bound = ShapeInputs(graph);
  Feed feed;
  feed.options.facts_of = PartialEvaluator();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& value = graph.value(graph.inputs[i]);
    Tensor tensor = inputs[i];
    ReadBitsAs(value.dtype, tensor);
    if (std::ranges::find(bound, graph.inputs[i]) != bound.end()) {
      feed.options.binds.emplace(value.name, std::move(tensor));
    } else {
      feed.options.shapes[value.name] = tensor.shape;
      feed.arguments.push_back(std::move(tensor));
    }
  }
  return feed;
}

StatusOr<std::vector<Tensor>> CompileAndRun(Graph graph, const std::vector<Tensor>& arguments,
                                            const Target& target, Execution execution) {
  CompileOptions options{.target = target, .threads = 1, .verify = false, .progress = {}};
  bool emulated = execution == Execution::kEmulator;
  options.gpu_code = emulated ? GpuCode::kCudaText : GpuCode::kCubin;
  TCC_ASSIGN_OR_RETURN(LoadOptions load, LoadOptionsFor(target, execution));
  TCC_ASSIGN_OR_RETURN(Artefact artefact, CompileGraph(std::move(graph), options));
  load.threads = 1;
  TCC_ASSIGN_OR_RETURN(Module module, Module::FromArtefact(std::move(artefact), load));
  return Executor(module).Run(arguments);
}

Status RunDataSet(const std::string& model, const std::string& data_set, const Target& target,
                  Execution execution) {
  TCC_ASSIGN_OR_RETURN(Graph unbound, ImportOnnx(model, {.facts_of = PartialEvaluator()}));
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> inputs, ReadTensors(data_set, "input"));
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> expected, ReadTensors(data_set, "output"));
  TCC_ASSIGN_OR_RETURN(Feed feed, SplitFeed(unbound, inputs));
  TCC_ASSIGN_OR_RETURN(Graph graph, ImportOnnx(model, feed.options));
  std::vector<std::string> names;
  for (ValueId id : graph.outputs) names.push_back(graph.value(id).name);
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> outputs,
                       CompileAndRun(std::move(graph), feed.arguments, target, execution));
  for (size_t i = 0; i < std::min(outputs.size(), expected.size()); ++i) {
    ReadBitsAs(outputs[i].dtype, expected[i]);
  }
  return CompareOutputs(outputs, expected, names, kTolerance);
}

Status RunDataSets(const std::string& folder, const Target& target, Execution execution) {
  std::string model = folder + "/model.onnx";
  // An unsupported model is refused first, since its files may hold other things than tensors.
  TCC_ASSIGN_OR_RETURN(OnnxSurvey survey, SurveyOnnx(model));
  TCC_RETURN_IF_ERROR(RefuseUnsupported(survey));
  std::vector<std::string> sets = DataSets(folder);
  if (sets.empty()) return InvalidInput("'{}' has no test_data_set_0", folder);
  for (const std::string& set : sets)
    TCC_RETURN_IF_ERROR(RunDataSet(model, set, target, execution));
  return OkStatus();
}

}  // namespace

ConformanceResult RunConformanceTest(const std::string& folder, const Target& target,
                                     Execution execution) {
  Status status = RunDataSets(folder, target, execution);
  if (status.ok()) return {Verdict::kPass};
  std::string reason = Message(status);
  std::string path = folder + "/model.onnx: ";
  if (reason.starts_with(path)) reason.erase(0, path.size());
  std::ranges::replace_if(reason, [](unsigned char c) { return c < ' '; }, ' ');
  bool skip = status.code() == absl::StatusCode::kUnimplemented;
  return {skip ? Verdict::kSkip : Verdict::kFail, reason};
}

}  // namespace tcc
