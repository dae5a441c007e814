#include <algorithm>
#include <cmath>

#include "compiler/check/compare_tensors.h"
#include "compiler/compile_graph.h"
#include "compiler/devices/reference_device.h"
#include "graph/passes/infer_shapes.h"
#include "graph/variants/interpret_graph.h"
#include "models/onnx/import_onnx.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/run_sizes.h"
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
StatusOr<std::vector<Tensor>> RunAnywhere(Executor& executor, const std::vector<Tensor>& inputs,
                                          Random& random) {
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, executor.Run(inputs));
  std::vector<Tensor> places = AnywhereAligned(outputs, random);
  for (Tensor& place : places) std::ranges::fill(MutableBytes(place), kUntouched);
  TCC_RETURN_IF_ERROR(executor.RunInto(AnywhereAligned(inputs, random), places));
  bool anywhere = executor.module().artefact().device != "reference";
  if (anywhere && executor.copies().tensors != 0) {
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

StatusOr<Module> Compiled(const Graph& graph, const std::string& name) {
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget(name));
  CompileOptions options{.target = target, .threads = 1, .verify = true, .progress = {}};
  TCC_ASSIGN_OR_RETURN(Artefact artefact, CompileGraph(graph, options));
  LoadOptions load;
  load.threads = 2;
  load.devices = AllDevices();
  return Module::FromArtefact(std::move(artefact), load);
}

// The model as it is written: no pass but shape inference has touched it.
StatusOr<std::vector<Tensor>> RunReference(Graph graph, const std::vector<Tensor>& inputs) {
  TCC_RETURN_IF_ERROR(InferShapes(graph));
  return InterpretGraph(graph, inputs);
}

// Values of order 1 may have cancelled to nothing on the way.
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
Status CheckPoint(uint64_t seed, const std::string& folder, Histogram& histogram) {
  Random random(seed);
  RandomModel model = MakeRandomModel(random);
  for (const std::string& op : model.ops) ++histogram[op];
  if (!folder.empty()) TCC_RETURN_IF_ERROR(WriteCase(folder, model, {}));
  TCC_ASSIGN_OR_RETURN(Graph graph,
                       ImportOnnxBytes(onnx_bytes::AsSpan(model.bytes), {.shapes = model.shapes}));
  std::vector<std::string> names;
  for (ValueId id : graph.outputs) names.push_back(graph.value(id).name);
  TCC_ASSIGN_OR_RETURN(Module module, Compiled(graph, "native"));
  Executor executor(std::move(module));
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, RunAnywhere(executor, model.inputs, random));
  if (!folder.empty()) TCC_RETURN_IF_ERROR(WriteCase(folder, model, outputs));
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> expected, RunReference(graph, model.inputs));
  return Compare(outputs, expected, names, model.tolerance);
}

using Dims = std::map<std::string, int64_t>;

// A range ends where most models end it, or near to where the model was built; the usual
// extent has nothing to do with that.
DimRange AnyRange(const FreeDim& dim, Random& random) {
  constexpr int64_t kUsual[] = {1, 2, 4, 8, 13, 64};
  DimRange range;
  range.low = random.OneIn(4) ? 0 : random.OneIn(4) ? 2 : 1;
  range.high = random.OneIn(2) ? kMaxFreeDim : random.OneIn(2) ? 64 : dim.extent;
  int64_t usual = kUsual[random.Below(std::size(kUsual))];
  range.usual = std::clamp(usual, std::max<int64_t>(*range.low, 1), *range.high);
  return range;
}

// Returns the extents that the model was built at, the least and the usual ones, and random ones.
std::vector<Dims> AnySizes(const RandomModel& model, const std::map<std::string, DimRange>& ranges,
                           Random& random) {
  constexpr int64_t kMostRun = 20;  // the interpreter runs them, too
  std::vector<Dims> sizes(4);
  for (const FreeDim& dim : model.free) {
    const DimRange& range = ranges.at(dim.name);
    sizes[0][dim.name] = dim.extent;
    sizes[1][dim.name] = *range.low;
    sizes[2][dim.name] = std::min(*range.usual, kMostRun);
    sizes[3][dim.name] = random.Between(*range.low, std::min(*range.high, kMostRun));
  }
  std::swap(sizes[0], sizes[random.Below(sizes.size())]);
  return sizes;
}

std::string TextOf(const Dims& dims) {
  std::string text;
  for (const auto& [name, extent] : dims) text += fmt::format(" {}={}", name, extent);
  return text;
}

StatusOr<std::vector<Tensor>> RunBound(const RandomModel& model, const Dims& dims,
                                       const std::vector<Tensor>& inputs) {
  TCC_ASSIGN_OR_RETURN(Graph graph,
                       ImportOnnxBytes(onnx_bytes::AsSpan(model.bytes), {.dims = dims}));
  return RunReference(std::move(graph), inputs);
}

bool HasExtent(const Dims& dims, int64_t extent) {
  return std::ranges::any_of(dims, [&](const auto& dim) { return dim.second == extent; });
}

// A refusal names a dimension or an input. What the bound model takes is refused only where
// dimensions were taken for equal of which one is 1.
Status CheckRefusal(const Dims& dims, const Status& refusal, const Status& bound) {
  std::string message = Message(refusal);
  bool of_input = message.starts_with("input '");
  bool names = of_input;
  for (const auto& [name, extent] : dims) names |= message.find(name) != std::string::npos;
  if (!absl::IsInvalidArgument(refusal) || !names) {
    return WrongResult("refused as {}", refusal.ToString());
  }
  if (!bound.ok() || (of_input && (HasExtent(dims, 1) || message.ends_with(" is 1"))) ||
      message.find("have to be equal") != std::string::npos) {
    return OkStatus();
  }
  return WrongResult("refused, though the bound model runs: {}", message);
}

// Returns whether known extents are refused where free ones that turn out empty have results: a -1
// without elements, and pads of nothing.
bool IsTakenEmpty(const Status& bound) {
  std::string message = Message(bound);
  return message.find("cannot take the shape") != std::string::npos ||
         message.find("(Pad): mode") != std::string::npos;
}

// Checks that buffers lie within the arena at sizes that are not run, which is cheap.
Status CheckPlaces(const Artefact& artefact, Random& random) {
  constexpr int kTries = 40;
  const Plan& plan = artefact.plan;
  RunSizesByShape by_shape(plan);
  for (int i = 0; i < kTries; ++i) {
    std::vector<int64_t> sizes;
    for (const ShapeVariable& variable : artefact.metadata.shape_variables) {
      sizes.push_back(random.Between(variable.low, std::min<int64_t>(variable.high, 40)));
    }
    StatusOr<std::shared_ptr<const RunSizes>> run = by_shape.For(sizes);
    for (size_t b = 0; run.ok() && b < plan.buffers.size(); ++b) {
      const RunSizes::Extent& extent = (*run)->extents[b];
      if (plan.buffers[b].kind != BufferKind::kArena || extent.bytes == 0 ||
          IsWithin(extent.offset, extent.bytes, (*run)->arena_bytes)) {
        continue;
      }
      return WrongResult("at {}: buffer {} has {} bytes at {} of {}",
                         SizeText(artefact.metadata, sizes), b, extent.bytes, extent.offset,
                         (*run)->arena_bytes);
    }
  }
  return OkStatus();
}

// An artefact at several sizes against the model with its dimensions bound.
class FreeModelPoint {
 public:
  explicit FreeModelPoint(uint64_t seed) : random_(seed), model_(MakeFreeModel(random_)) {}

  Status Check(const std::string& emit, Histogram& histogram) {
    ImportOptions import;
    for (const FreeDim& dim : model_.free) import.ranges[dim.name] = AnyRange(dim, random_);
    if (!emit.empty()) TCC_RETURN_IF_ERROR(WriteCase(emit, model_, {}));
    TCC_ASSIGN_OR_RETURN(Graph graph, ImportOnnxBytes(onnx_bytes::AsSpan(model_.bytes), import));
    for (ValueId id : graph.outputs) names_.push_back(graph.value(id).name);
    for (const char* target : {"reference", "native"}) {
      TCC_ASSIGN_OR_RETURN(Module module, Compiled(graph, target));
      TCC_RETURN_IF_ERROR(CheckPlaces(module.artefact(), random_));
      executors_.emplace_back(std::move(module));
    }
    for (const Dims& dims : AnySizes(model_, import.ranges, random_)) {
      TCC_RETURN_IF_ERROR(Annotate(CheckAt(dims, histogram), "at" + TextOf(dims)));
    }
    return OkStatus();
  }

 private:
  Status CheckAt(const Dims& dims, Histogram& histogram) {
    std::vector<Tensor> inputs = InputsAt(model_, dims, random_);
    StatusOr<std::vector<Tensor>> expected = RunBound(model_, dims, inputs);
    for (Executor& executor : executors_) {
      StatusOr<std::vector<Tensor>> got = RunAnywhere(executor, inputs, random_);
      ++histogram[got.ok() ? "sizes that run" : "sizes that are refused"];
      if (!got.ok()) {
        TCC_RETURN_IF_ERROR(CheckRefusal(dims, got.status(), expected.status()));
      } else if (!expected.ok()) {
        if (IsTakenEmpty(expected.status())) continue;
        return WrongResult("runs, though the bound model is refused: {}",
                           Message(expected.status()));
      } else {
        TCC_RETURN_IF_ERROR(Compare(*got, *expected, names_, model_.tolerance));
      }
    }
    return OkStatus();
  }

  Random random_;
  RandomModel model_;
  std::vector<std::string> names_;
  std::vector<Executor> executors_;
};

}  // namespace

// Every third point is a model with free dimensions.
constexpr uint64_t kFreeShare = 3;

FuzzResult FuzzModel(const FuzzOptions& options) {
  StartWatchdog({.seconds = 60});
  return RunPoints("model", options, [&](uint64_t seed, Histogram& histogram) {
    bool free = seed % kFreeShare == 0;
    std::string folder = options.emit.empty() ? "" : fmt::format("{}/{}", options.emit, seed);
    Status status =
        free ? FreeModelPoint(seed).Check(folder, histogram) : CheckPoint(seed, folder, histogram);
    if (status.code() != absl::StatusCode::kUnimplemented) return status;
    // A type or form that the operator's row takes and its lowering does not: honest, but to be
    // seen.
    ++histogram["refused: " + Message(status)];
    return OkStatus();
  });
}

}  // namespace tcc
