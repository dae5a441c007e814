#include "compiler/compile_graph.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "codegen_cuda/cuda_backend.h"
#include "codegen_llvm/llvm_backend.h"
#include "compiler/compile_kernels.h"
#include "compiler/execution_plan.h"
#include "compiler/memory_need.h"
#include "compiler/prepare_weights.h"
#include "ir/support/cache_folder.h"
#include "ir/support/check.h"
#include "ir/support/stop.h"
#include "ir/support/version.h"
#include "ir/support/wanted_option.h"
#include "lower/graph/declared_shapes.h"
#include "lower/graph/graph_pipeline.h"
#include "lower/variants/place_parts.h"
#include "runtime/cpu/cpu_features.h"

namespace tcc {
namespace {

std::vector<std::string> FreeDimensions(const Value& value) {
  std::vector<std::string> names;
  for (const Expr& dim : value.shape) {
    const auto* var = dim.as<VarNode>();
    if (var && std::ranges::find(names, var->name) == names.end()) names.push_back(var->name);
  }
  return names;
}

StatusOr<TensorInfo> InfoOf(const Value& value) {
  std::optional<std::vector<int64_t>> shape = StaticShape(value);
  if (!shape) {
    Status status = Unsupported("'{}' has free dimensions ({}); expected each to be given a value",
                                value.name, fmt::join(FreeDimensions(value), ", "));
    return WithOption(WithOption(std::move(status), Option::kDims), Option::kShapes);
  }
  return StaticTensor(value.name, value.dtype, *shape);
}

// The model's own names, which graph passes lose where an output turns out to be another value. A
// value that is an output twice gets a second name.
std::vector<std::string> OutputNames(const Graph& graph) {
  std::vector<std::string> names;
  std::unordered_set<std::string> taken;
  for (ValueId id : graph.outputs) {
    std::string name = graph.value(id).name;
    for (int i = 1; !taken.insert(name).second; ++i) {
      name = graph.value(id).name + "_" + std::to_string(i);
    }
    names.push_back(name);
  }
  return names;
}

// Which mode, how many kernels round by it, and those that should and do not.
void DescribeNumeric(const KernelSet& kernels, NumericMode numeric, Metadata& metadata) {
  metadata.properties.emplace_back("numeric", RowOf(numeric).name);
  if (numeric == NumericMode::kStrict) return;
  std::set<size_t> rounded, strict;
  for (size_t t = 0; t < kernels.tasks.size(); ++t) {
    if (kernels.tasks[t].numeric != NumericMode::kStrict) rounded.insert(kernels.kernel_of_task[t]);
    if (kernels.tasks[t].stays_strict) strict.insert(kernels.kernel_of_task[t]);
  }
  std::vector<std::string> names;
  for (size_t k : strict) names.push_back(kernels.kernels[k].symbol);
  metadata.properties.emplace_back("rounded_kernels", std::to_string(rounded.size()));
  if (!names.empty()) {
    metadata.properties.emplace_back("strict_kernels", fmt::format("{}", fmt::join(names, ", ")));
  }
}

// The compilers that tcc had make machine code of its text.
void DescribeCompilers(const CompiledModule& code, Metadata& metadata) {
  std::set<std::string> compilers;
  for (const CompiledKernel& kernel : code.kernels) compilers.insert(kernel.compiler);
  compilers.erase("");
  if (compilers.empty()) return;
  metadata.properties.emplace_back("code_compiler", fmt::format("{}", fmt::join(compilers, "; ")));
}

StatusOr<Metadata> DescribeModel(const Graph& graph, const std::vector<std::string>& output_names,
                                 const KernelSet& kernels, const CompiledModule& code,
                                 const CompileOptions& options) {
  Metadata metadata;
  metadata.model = graph.name;
  for (ValueId id : graph.inputs) {
    TCC_ASSIGN_OR_RETURN(TensorInfo info, InfoOf(graph.value(id)));
    metadata.inputs.push_back(std::move(info));
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    TCC_ASSIGN_OR_RETURN(TensorInfo info, InfoOf(graph.value(graph.outputs[i])));
    info.name = output_names[i];
    metadata.outputs.push_back(std::move(info));
  }
  for (const KernelStages& kernel : kernels.kernels) {
    // More fits no integer, and no machine runs it.
    auto flops = static_cast<int64_t>(std::min(kernel.flops, 9e18));
    metadata.kernels.push_back({kernel.symbol, kernel.nodes, flops});
  }
  // Kernels that the interpreter runs have no machine code.
  for (size_t i = 0; i < code.kernels.size(); ++i) {
    metadata.kernels[i].statistics = code.kernels[i].statistics;
    metadata.kernels[i].ratios = code.kernels[i].ratios;
  }
  for (size_t i = 0; i < kernels.kernels.size(); ++i) {
    if (!kernels.kernels[i].moved_bytes) continue;
    auto& statistics = metadata.kernels[i].statistics;
    statistics.emplace_back("moved_bytes", *kernels.kernels[i].moved_bytes);
    std::ranges::sort(statistics);
  }
  DescribeCompilers(code, metadata);
  metadata.properties.emplace_back("compiler", kVersion);
  DescribeNumeric(kernels, options.numeric, metadata);
  metadata.cpu_features = RequiredCpuFeatures(options.target);
  return metadata;
}

std::string DeviceOf(TargetKind kind) {
  switch (kind) {
    case TargetKind::kCpu:
      return "cpu";
    case TargetKind::kCuda:
      return "cuda";
    case TargetKind::kReference:
      return "reference";
  }
  TCC_UNREACHABLE();
}

}  // namespace

Status ExpectBoundInputs(const Graph& graph) {
  std::vector<std::string> inputs, dims, shapes;
  for (ValueId id : graph.inputs) {
    const Value& value = graph.value(id);
    std::vector<std::string> names = FreeDimensions(value);
    if (names.empty()) continue;
    inputs.push_back(fmt::format("'{}' ({})", value.name, fmt::join(names, ", ")));
    shapes.push_back(value.name);
    for (const std::string& name : names) {
      if (std::ranges::find(dims, name) == dims.end()) dims.push_back(name);
    }
  }
  if (inputs.empty()) return OkStatus();
  Status status = Unsupported("inputs have free dimensions: {}; expected each to be given a value",
                              fmt::join(inputs, ", "));
  for (const std::string& dim : dims) status = WithOption(status, Option::kDims, dim);
  for (const std::string& input : shapes) status = WithOption(status, Option::kShapes, input);
  return status;
}

KernelOptions KernelOptionsOf(const CompileOptions& options) {
  return {options.target, options.threads,   options.verify,       options.progress,
          options.stop,   options.schedules, options.sketch_rules, options.numeric};
}

StatusOr<std::unique_ptr<Backend>> MakeBackend(const Target& target, GpuCode gpu_code) {
  switch (target.kind) {
    case TargetKind::kCpu:
      return MakeLlvmBackend(target);
    case TargetKind::kCuda:
      return MakeCudaBackend(target, {.code = gpu_code, .cache_folder = CacheFolder()});
    case TargetKind::kReference:
      break;
  }
  return Unsupported("target '{}' has no code generator", target.name);
}

StatusOr<Artefact> CompileGraph(Graph graph, const CompileOptions& options) {
  auto report = [&](const char* stage) {
    if (options.progress) options.progress(stage, 0, 1);
  };
  report("graph");
  TCC_RETURN_IF_ERROR(ExpectBoundInputs(graph));
  std::vector<std::string> output_names = OutputNames(graph);
  std::vector<std::vector<Expr>> declared = DeclaredShapes(graph);
  TCC_RETURN_IF_ERROR(RunGraphPasses(graph, options.stop));
  if (options.warn) {
    for (const std::string& line : ContradictedShapes(graph, output_names, declared)) {
      options.warn(line);
    }
  }
  TCC_RETURN_IF_ERROR(CheckMemoryNeed(graph, options.target));
  std::vector<Subgraph> subgraphs = FuseGraph(graph);
  PlacedParts parts = PlaceParts(graph, subgraphs, options.target.BufferAlignment());

  TCC_ASSIGN_OR_RETURN(KernelSet kernels,
                       MakeKernels(graph, subgraphs, parts, KernelOptionsOf(options)));
  TCC_ASSIGN_OR_RETURN(CompiledModule code, CompileKernels(kernels, options));
  report("plan");
  TCC_RETURN_IF_ERROR(StopIfRequested(options.stop));
  TCC_ASSIGN_OR_RETURN(ExecutionPlan plan,
                       BuildExecutionPlan(graph, subgraphs, kernels, options.target));

  TCC_RETURN_IF_ERROR(PrepareWeights(kernels, plan.prepared, options.threads, options.stop));

  Artefact artefact;
  artefact.target = options.target.name;
  artefact.device = DeviceOf(options.target.kind);
  artefact.environment = Sha256(fmt::format("tcc {} {}", kVersion, options.target.name));
  artefact.kernels = OwnBytes(std::move(code.image));
  artefact.weights = plan.weights;
  artefact.plan = std::move(plan.plan);
  TCC_ASSIGN_OR_RETURN(artefact.metadata,
                       DescribeModel(graph, output_names, kernels, code, options));
  return artefact;
}

}  // namespace tcc
