#include "compiler/describe_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "runtime/cpu/cpu_features.h"
#include "support/version.h"
#include "support/wanted_option.h"

namespace tcc {
namespace {

StatusOr<TensorInfo> InfoOf(const Value& value) {
  std::optional<std::vector<int64_t>> shape = StaticShape(value);
  if (!shape) {
    Status status = Unsupported("'{}' has free dimensions ({}); expected each to be given a value",
                                value.name, fmt::join(FreeDimensions(value), ", "));
    return WithOption(WithOption(std::move(status), Option::kDims), Option::kShapes);
  }
  return StaticTensor(value.name, value.dtype, *shape);
}

// Describes the mode, the number of kernels that round by it, and the kernels that stay strict.
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

// Describes the number of kernels whose schedule was found by measuring.
void DescribeTuning(const KernelSet& kernels, Metadata& metadata) {
  auto tuned = std::ranges::count_if(kernels.kernels, &KernelStages::tuned);
  if (tuned > 0) metadata.properties.emplace_back("tuned_kernels", std::to_string(tuned));
}

// Describes the external compilers that made machine code of tcc's text.
void DescribeCompilers(const CompiledModule& code, Metadata& metadata) {
  std::set<std::string> compilers;
  for (const CompiledKernel& kernel : code.kernels) compilers.insert(kernel.compiler);
  compilers.erase("");
  if (compilers.empty()) return;
  metadata.properties.emplace_back("code_compiler", fmt::format("{}", fmt::join(compilers, "; ")));
}

}  // namespace

std::vector<std::string> FreeDimensions(const Value& value) {
  std::vector<std::string> names;
  for (const Expr& dim : value.shape) {
    const auto* var = dim.as<VarNode>();
    if (var && std::ranges::find(names, var->name) == names.end()) names.push_back(var->name);
  }
  return names;
}

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

StatusOr<Metadata> DescribeModel(const Graph& graph, const std::vector<std::string>& output_names,
                                 const KernelSet& kernels, const CompiledModule& code,
                                 const Target& target, NumericMode numeric) {
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
    // The int64 holds no more, and no machine could run it.
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
  DescribeNumeric(kernels, numeric, metadata);
  DescribeTuning(kernels, metadata);
  metadata.properties.insert(metadata.properties.end(), graph.properties.begin(),
                             graph.properties.end());
  metadata.cpu_features = RequiredCpuFeatures(target);
  return metadata;
}

}  // namespace tcc
