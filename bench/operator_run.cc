#include "bench/operator_run.h"

#include <absl/strings/str_split.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "autodiff_features/features/sketch_formulas.h"
#include "bench/operator/operator.h"
#include "compiler/check/random_inputs.h"
#include "compiler/compile_graph.h"
#include "compiler/kernels.h"
#include "support/random.h"
#include "support/stopwatch.h"

namespace tcc {
namespace {

Tensor Uniform(const TensorInfo& info, Random& random) {
  Tensor tensor = MakeZeroTensor(info.dtype, *StaticShape(info));
  auto* values = reinterpret_cast<float*>(MutableBytes(tensor).data());
  size_t count = tensor.bytes.size() / sizeof(float);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(random.Unit() * 2 - 1);
  return tensor;
}

// Adds the float operations of a network's kernels, and counts those of kernels that stay strict.
void AddFlopsOfKernels(const CompiledOperator& compiled, OperatorResult& result) {
  const Metadata& metadata = compiled.artefact.metadata;
  const std::string names(PropertyOf(metadata, "strict_kernels"));
  const std::set<std::string> strict = absl::StrSplit(names, ", ");
  for (const KernelInfo& kernel : metadata.kernels) {
    auto flops = static_cast<double>(kernel.flops);
    result.flops += flops;
    if (strict.contains(kernel.name)) result.strict_flops += flops;
  }
}

// Returns the mode if some kernel rounds by it, else strict.
NumericMode RoundsIn(const Metadata& metadata, NumericMode mode) {
  std::string_view rounded = PropertyOf(metadata, "rounded_kernels");
  return rounded.empty() || rounded == "0" ? NumericMode::kStrict : mode;
}

// Returns the seconds that the target's prior expects of a kernel. Error: formulas do not describe
// it.
StatusOr<double> PredictedSeconds(const KernelStages& kernel, const OperatorOptions& options,
                                  const RunSettings& settings) {
  const Target& target = options.target;
  SymbolicProgram program{.fn = kernel.scheduled, .constraints = {}, .trace = {}};
  DeviceProfile profile = DeviceProfileOf(target);
  if (target.kind == TargetKind::kGpu) profile = options.gpu;
  TCC_ASSIGN_OR_RETURN(SketchFormulas formulas,
                       SketchFormulas::Create(program, target, profile, settings));
  const Point no_sizes;
  return std::exp(formulas.LnSecondsAt({&no_sizes, 1})[0]);
}

// Returns the sum over all calls of kernels; nullopt if a kernel has no prediction. A GPU's caches
// are cold, except for what one kernel leaves to the next; a CPU's are warm.
std::optional<double> PredictedSeconds(const KernelSet& set, const OperatorOptions& options) {
  bool cold = options.target.kind == TargetKind::kGpu;
  RunSettings settings{.threads = options.threads,
                       .cold_weights = cold,
                       .cold_activations = cold && set.tasks.size() == 1};
  double sum = 0;
  std::vector<double> of_kernel;
  for (const KernelStages& kernel : set.kernels) {
    StatusOr<double> seconds = PredictedSeconds(kernel, options, settings);
    if (!seconds.ok()) return std::nullopt;
    of_kernel.push_back(*seconds);
  }
  for (size_t t = 0; t < set.tasks.size(); ++t) {
    sum += set.runs_of_task[t] * of_kernel[set.kernel_of_task[t]];
  }
  return sum;
}

}  // namespace

bool OperatorOptions::Wants(std::string_view peer) const {
  return peers.empty() || std::ranges::find(peers, peer) != peers.end();
}

StatusOr<CompiledOperator> CompileOperator(const BenchOperator& op,
                                           const OperatorOptions& options) {
  CompiledOperator compiled;
  compiled.op = op;
  TCC_ASSIGN_OR_RETURN(Graph graph, GraphOf(op));
  compiled.constants = ConstantsOf(op, graph);
  Stopwatch stopwatch;
  CompileOptions compile{.target = options.target, .threads = options.compile_threads};
  compile.numeric = options.numeric;
  compile.gpu_code = options.code;
  compile.warn = [&](const std::string& message) { compiled.warnings.push_back(message); };
  double predicting = 0;
  compile.watch = [&](const KernelSet& kernels) {
    Stopwatch watch;
    compiled.predicted_seconds = PredictedSeconds(kernels, options);
    predicting = watch.Seconds();
  };
  TCC_ASSIGN_OR_RETURN(compiled.artefact, CompileGraph(std::move(graph), compile));
  compiled.seconds = stopwatch.Seconds() - predicting;
  const Metadata& metadata = compiled.artefact.metadata;
  compiled.numeric = RoundsIn(metadata, options.numeric);
  if (std::holds_alternative<NetworkOp>(op.kind)) {
    TCC_ASSIGN_OR_RETURN(compiled.inputs, RandomInputs(metadata, 0));
    return compiled;
  }
  Random random(1);
  for (const TensorInfo& info : metadata.inputs) {
    Tensor input = Uniform(info, random);
    compiled.inputs.push_back(IsChannelsLast(op) ? FromChannelsLast(input) : input);
  }
  return compiled;
}

OperatorResult ResultOf(const CompiledOperator& compiled, const OperatorOptions& options) {
  OperatorResult result;
  result.name = compiled.op.name;
  result.target = options.target.name;
  result.numeric = RowOf(compiled.numeric).name;
  result.warnings = compiled.warnings;
  OperatorWork work = WorkOf(compiled.op);
  result.flops = work.flops;
  result.bytes = work.bytes;
  if (work.flops == 0) AddFlopsOfKernels(compiled, result);
  result.kernels = compiled.artefact.metadata.kernels.size();
  result.compile_seconds = compiled.seconds;
  if (compiled.predicted_seconds) result.predicted_microseconds = *compiled.predicted_seconds * 1e6;
  return result;
}

StatusOr<std::vector<Tensor>> OutputsOf(const Artefact& artefact) {
  std::vector<Tensor> outputs;
  for (const TensorInfo& info : artefact.metadata.outputs) {
    std::optional<std::vector<int64_t>> shape = StaticShape(info);
    if (!shape) return Unsupported("output '{}' has no static shape", info.name);
    outputs.push_back(MakeZeroTensor(info.dtype, *shape));
  }
  return outputs;
}

void ApplyCeiling(const Ceiling& ceiling, OperatorResult& result) {
  if (result.flops == 0 || ceiling.gflops == 0 || ceiling.gbytes == 0) return;
  double computing = (result.flops - result.strict_flops) / ceiling.gflops;
  if (result.strict_flops > 0) computing += result.strict_flops / ceiling.fma_gflops;
  double moving = result.bytes / ceiling.gbytes;
  result.ceiling_microseconds = std::max(computing, moving) * 1e-3;
  result.ceiling = computing >= moving ? ceiling.instructions : "copy";
  result.peak_gflops = ceiling.gflops;
  result.peak_gbytes = ceiling.gbytes;
}

}  // namespace tcc
