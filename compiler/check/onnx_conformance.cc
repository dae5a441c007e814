#include "compiler/check/onnx_conformance.h"

#include <algorithm>
#include <filesystem>

#include "compiler/check/compare_tensors.h"
#include "compiler/session.h"

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

StatusOr<std::unique_ptr<Session>> OpenModel(const std::string& model, const Target& target,
                                             Execution execution) {
  bool emulated = execution == Execution::kEmulator;
  CompileOptions compile{.target = target, .threads = 1, .verify = false, .progress = {}};
  compile.gpu_code = emulated ? GpuCode::kCudaText : GpuCode::kCubin;
  TCC_ASSIGN_OR_RETURN(LoadOptions load, LoadOptionsFor(target, execution));
  load.threads = 1;
  return Session::Open(model, {.compile = compile, .load = load, .sizes = SessionSizes::kEach});
}

Status RunDataSet(Session& session, const std::string& data_set) {
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> inputs, ReadTensors(data_set, "input"));
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> expected, ReadTensors(data_set, "output"));
  const Metadata& signature = session.signature();
  for (size_t i = 0; i < std::min(inputs.size(), signature.inputs.size()); ++i) {
    ReadBitsAs(signature.inputs[i].dtype, inputs[i]);
  }
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, session.Run(inputs));
  for (size_t i = 0; i < std::min(outputs.size(), expected.size()); ++i) {
    ReadBitsAs(outputs[i].dtype, expected[i]);
  }
  std::vector<std::string> names;
  for (const TensorInfo& output : signature.outputs) names.push_back(output.name);
  return CompareOutputs(outputs, expected, names, kTolerance);
}

Status RunDataSets(const std::string& folder, const Target& target, Execution execution) {
  std::string model = folder + "/model.onnx";
  // An unsupported model is refused first, since its files may hold other things than tensors.
  TCC_ASSIGN_OR_RETURN(OnnxSurvey survey, SurveyOnnx(model));
  TCC_RETURN_IF_ERROR(RefuseUnsupported(survey));
  std::vector<std::string> sets = DataSets(folder);
  if (sets.empty()) return InvalidInput("'{}' has no test_data_set_0", folder);
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, OpenModel(model, target, execution));
  for (const std::string& set : sets) TCC_RETURN_IF_ERROR(RunDataSet(*session, set));
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
