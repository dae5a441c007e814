#include "compiler/describe_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>
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

// Describes an output over all listed sizes.
StatusOr<TensorInfo> InfoOfOutput(std::span<const FusedGraph> graphs, const ListedSizes& listed,
                                  size_t output) {
  std::vector<TensorInfo> infos;
  for (const FusedGraph& fused : graphs) {
    const Value& value = fused.graph.value(fused.graph.outputs[output]);
    TCC_ASSIGN_OR_RETURN(TensorInfo info, InfoOf(value));
    infos.push_back(std::move(info));
  }
  TensorInfo& info = infos[0];
  for (const TensorInfo& other : infos) {
    if (other.shape.size() == info.shape.size()) continue;
    return Unsupported("output '{}' has rank {} at one listed size and {} at another; expected one",
                       info.name, info.shape.size(), other.shape.size());
  }
  if (listed.sizes.empty()) return info;
  for (size_t axis = 0; axis < info.shape.size(); ++axis) {
    std::vector<int64_t> extents;
    for (const TensorInfo& at : infos) extents.push_back(*at.shape[axis].AsConstant());
    info.shape[axis] = ExtentBySize(listed.sizes, extents);
  }
  return info;
}

// Describes the listed sizes, and which dimensions of the inputs they are.
void DescribeSizes(const ListedSizes& listed, Metadata& metadata) {
  for (size_t d = 0; d < listed.dims.size(); ++d) {
    auto [low, high] = std::ranges::minmax(
        std::views::transform(listed.sizes, [d](const auto& size) { return size[d]; }));
    metadata.shape_variables.push_back({listed.dims[d], low, high, listed.sizes[0][d]});
  }
  metadata.sizes = listed.sizes;
  for (size_t i = 0; i < listed.dim_of.size(); ++i) {
    for (size_t axis = 0; axis < listed.dim_of[i].size(); ++axis) {
      std::optional<size_t> dim = listed.dim_of[i][axis];
      if (!dim) continue;
      metadata.inputs[i].shape[axis] = SizeExpr::Variable(static_cast<int64_t>(*dim));
    }
  }
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

StatusOr<Metadata> DescribeModel(std::span<const FusedGraph> graphs, const ListedSizes& listed,
                                 const std::vector<std::string>& output_names,
                                 const KernelSet& kernels, const CompiledModule& code,
                                 const Target& target, NumericMode numeric) {
  const Graph& graph = graphs[0].graph;
  Metadata metadata;
  metadata.model = graph.name;
  for (ValueId id : graph.inputs) {
    TCC_ASSIGN_OR_RETURN(TensorInfo info, InfoOf(graph.value(id)));
    metadata.inputs.push_back(std::move(info));
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    TCC_ASSIGN_OR_RETURN(TensorInfo info, InfoOfOutput(graphs, listed, i));
    info.name = output_names[i];
    metadata.outputs.push_back(std::move(info));
  }
  DescribeSizes(listed, metadata);
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
