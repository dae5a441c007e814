#include <algorithm>
#include <cmath>

#include "compiler/check/compare_tensors.h"
#include "compiler/compile_graph.h"
#include "graph/passes/infer_shapes.h"
#include "graph/variants/interpret_graph.h"
#include "models/onnx/import_onnx.h"
#include "runtime/executor/executor.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/random/random_model.h"
#include "tests/fuzz/watchdog.h"
#include "tests/fuzz/write_case.h"

namespace tcc {
namespace {

StatusOr<std::vector<Tensor>> RunNative(const Graph& graph, const std::vector<Tensor>& inputs) {
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget("native"));
  CompileOptions options{.target = target, .threads = 1, .verify = true, .progress = {}};
  TCC_ASSIGN_OR_RETURN(Artefact artefact, CompileGraph(graph, options));
  LoadOptions load;
  load.threads = 2;
  TCC_ASSIGN_OR_RETURN(Module module, Module::FromArtefact(std::move(artefact), load));
  return Executor(module).Run(inputs);
}

// The model as it is written: no pass but shape inference has touched it.
StatusOr<std::vector<Tensor>> RunReference(Graph graph, const std::vector<Tensor>& inputs) {
  TCC_RETURN_IF_ERROR(InferShapes(graph));
  return InterpretGraph(graph, inputs);
}

// What was order 1 on the way may have cancelled to nothing.
constexpr double kMinScale = 0.05;

// An element may be off by a share of the largest one too: differences of large sums are small.
Status Compare(const std::vector<Tensor>& got, const std::vector<Tensor>& expected,
               const std::vector<std::string>& names, double tolerance) {
  for (size_t i = 0; i < got.size() && i < expected.size(); ++i) {
    double largest = 0;
    int64_t count = ElementCount(expected[i].shape).value();
    for (int64_t e = 0; e < count; ++e) {
      double size = std::fabs(ElementAsDouble(expected[i], e));
      if (std::isfinite(size)) largest = std::max(largest, size);
    }
    Tolerance allowed{.rtol = tolerance, .atol = tolerance * 0.1 * std::max(largest, kMinScale)};
    TCC_RETURN_IF_ERROR(CompareOutputs({got[i]}, {expected[i]}, {names[i]}, allowed));
  }
  if (got.size() == expected.size()) return OkStatus();
  return WrongResult("{} outputs; expected {}", got.size(), expected.size());
}

// What the interpreter says stands in for the outputs where the compiler fails.
Status CheckPoint(uint64_t seed, const std::string& emit, Histogram& histogram) {
  Random random(seed);
  RandomModel model = MakeRandomModel(random);
  for (const std::string& op : model.ops) ++histogram[op];
  std::string folder = fmt::format("{}/{}", emit, seed);
  if (!emit.empty()) TCC_RETURN_IF_ERROR(WriteCase(folder, model, {}));
  TCC_ASSIGN_OR_RETURN(Graph graph, ImportOnnxBytes(onnx_bytes::AsSpan(model.bytes)));
  std::vector<std::string> names;
  for (ValueId id : graph.outputs) names.push_back(graph.value(id).name);
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, RunNative(graph, model.inputs));
  if (!emit.empty()) TCC_RETURN_IF_ERROR(WriteCase(folder, model, outputs));
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> expected, RunReference(graph, model.inputs));
  return Compare(outputs, expected, names, model.tolerance);
}

}  // namespace

FuzzResult FuzzModel(const FuzzOptions& options) {
  StartWatchdog({.seconds = 60});
  return RunPoints("model", options, [&](uint64_t seed, Histogram& histogram) {
    Status status = CheckPoint(seed, options.emit, histogram);
    if (status.code() != absl::StatusCode::kUnimplemented) return status;
    // A type or form that the operator's row takes and its lowering does not: honest, but to be
    // seen.
    ++histogram["refused: " + Message(status)];
    return OkStatus();
  });
}

}  // namespace tcc
