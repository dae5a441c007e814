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
#include "tests/runtime/shifted_tensor.h"

namespace tcc {
namespace {

// Moves each tensor to where an array of its type may lie.
std::vector<Tensor> AnywhereAligned(std::span<const Tensor> tensors, Random& random) {
  std::vector<Tensor> moved;
  for (const Tensor& tensor : tensors) {
    size_t element = std::max<size_t>(tensor.dtype.bits() / 8, 1);
    moved.push_back(Shifted(tensor, element * random.Below(64 / element)));
  }
  return moved;
}

// Runs the model on its inputs, then once more on tensors of the caller's at odd places, which must
// be used there and give the same bits.
StatusOr<std::vector<Tensor>> RunAnywhere(const Module& module, const std::vector<Tensor>& inputs,
                                          Random& random) {
  Executor executor(module);
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, executor.Run(inputs));
  std::vector<Tensor> places = AnywhereAligned(outputs, random);
  for (Tensor& place : places) std::ranges::fill(MutableBytes(place), kUntouched);
  TCC_RETURN_IF_ERROR(executor.RunInto(AnywhereAligned(inputs, random), places));
  if (executor.copies().tensors != 0) {
    return WrongResult("{} tensors were copied, though aligned", executor.copies().tensors);
  }
  for (size_t i = 0; i < places.size(); ++i) {
    if (!IsAloneWritten(places[i])) return WrongResult("bytes around output {} were written", i);
    if (!std::ranges::equal(places[i].bytes, outputs[i].bytes)) {
      return WrongResult("output {} differs {} bytes above a multiple of 64", i,
                         reinterpret_cast<uintptr_t>(places[i].bytes.data()) % 64);
    }
  }
  return outputs;
}

StatusOr<std::vector<Tensor>> RunNative(const Graph& graph, const std::vector<Tensor>& inputs,
                                        Random& random) {
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget("native"));
  CompileOptions options{.target = target, .threads = 1, .verify = true, .progress = {}};
  TCC_ASSIGN_OR_RETURN(Artefact artefact, CompileGraph(graph, options));
  LoadOptions load;
  load.threads = 2;
  TCC_ASSIGN_OR_RETURN(Module module, Module::FromArtefact(std::move(artefact), load));
  return RunAnywhere(module, inputs, random);
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
  TCC_ASSIGN_OR_RETURN(Graph graph,
                       ImportOnnxBytes(onnx_bytes::AsSpan(model.bytes), {.shapes = model.shapes}));
  std::vector<std::string> names;
  for (ValueId id : graph.outputs) names.push_back(graph.value(id).name);
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, RunNative(graph, model.inputs, random));
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
