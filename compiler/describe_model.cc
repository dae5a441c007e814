#include "compiler/describe_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <unordered_set>

#include "compiler/plan_sizes.h"
#include "graph/ops/node_lowering.h"
#include "ir/expr/substitute.h"
#include "ir/simplify/simplify.h"
#include "runtime/cpu/cpu_features.h"
#include "support/version.h"
#include "support/wanted_option.h"

namespace tcc {
namespace {

// A compiled model's graphs, and the variables that its metadata tells of them.
struct Sized {
  std::span<const FusedGraph> graphs;
  const ListedSizes& listed;
  FreeDims dims;

  bool HasGeneral() const { return graphs.size() > listed.sizes.size(); }
  const Graph& graph(size_t number) const { return graphs[number].graph; }
};

StatusOr<TensorInfo> InfoOf(const Value& value, const VariableCodes& codes) {
  TensorInfo info{value.name, value.dtype, {}};
  for (const Expr& extent : value.shape) {
    std::optional<SizeExpr> code = WholeSizeCode(Simplify(extent), codes);
    if (!code) {
      Status status = Unsupported(
          "'{}' has shape {}, which is no formula over the inputs' dimensions; expected each to be "
          "given a value",
          value.name, ShapeText(value.shape));
      return WithOption(WithOption(std::move(status), Option::kDims), Option::kShapes);
    }
    info.shape.push_back(*std::move(code));
  }
  return info;
}

// Returns a general extent at a listed size, as a formula over the dimensions that it leaves free.
std::optional<SizeExpr> AtListedSize(const Sized& model, const Expr& extent, size_t size) {
  std::unordered_map<Var, Expr, VarHash> values;
  const Graph& general = model.graph(0);
  for (size_t i = 0; i < model.listed.dim_of.size(); ++i) {
    for (size_t axis = 0; axis < model.listed.dim_of[i].size(); ++axis) {
      std::optional<size_t> dim = model.listed.dim_of[i][axis];
      const auto* var = general.value(general.inputs[i]).shape[axis].as<VarNode>();
      if (dim && var) values.emplace(Var(var), Expr(model.listed.sizes[size][*dim]));
    }
  }
  return WholeSizeCode(Simplify(Substitute(extent, values)), model.dims.codes);
}

// Describes an output over all graphs.
StatusOr<TensorInfo> InfoOfOutput(const Sized& model, size_t output) {
  std::vector<TensorInfo> infos;
  for (size_t g = 0; g < model.graphs.size(); ++g) {
    const Graph& graph = model.graph(g);
    TCC_ASSIGN_OR_RETURN(TensorInfo info,
                         InfoOf(graph.value(graph.outputs[output]), model.dims.codes));
    infos.push_back(std::move(info));
  }
  TensorInfo info = infos[0];
  for (const TensorInfo& other : infos) {
    if (other.shape.size() == info.shape.size()) continue;
    return Unsupported("output '{}' has rank {} at one listed size and {} at another; expected one",
                       info.name, info.shape.size(), other.shape.size());
  }
  if (model.listed.sizes.empty()) return info;
  const std::vector<SizeExpr> dims = CodesOfListedDims(model.graphs, model.listed, model.dims);
  const Graph& first = model.graph(0);
  for (size_t axis = 0; axis < info.shape.size(); ++axis) {
    std::vector<SizeExpr> extents;
    for (const TensorInfo& at : infos) extents.push_back(at.shape[axis]);
    const Expr& extent = first.value(first.outputs[output]).shape[axis];
    // The general formula serves the sizes where it agrees.
    for (size_t g = 1; g < extents.size() && model.HasGeneral(); ++g) {
      if (AtListedSize(model, extent, g - 1) == extents[g]) extents[g] = extents[0];
    }
    info.shape[axis] = ExtentBySize(dims, model.listed.sizes, extents);
    if (CheckSizeExpr(info.shape[axis], INT64_MAX).ok()) continue;
    return Unsupported("dimension {} of output '{}' is another formula at each of {} sizes", axis,
                       info.name, infos.size());
  }
  return info;
}

// Describes the free dimensions.
void DescribeFreeDims(const FreeDims& dims, Metadata& metadata) {
  for (const Var& var : dims.vars) {
    metadata.shape_variables.push_back({var->name, var->low, var->high, var->usual});
  }
}

// Describes the listed sizes as the only ones, and which dimensions of the inputs they are.
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
  const Sized model{graphs, listed, FreeDimsOf(graphs)};
  const Graph& graph = graphs[0].graph;
  Metadata metadata;
  metadata.model = graph.name;
  for (ValueId id : graph.inputs) {
    TCC_ASSIGN_OR_RETURN(TensorInfo info, InfoOf(graph.value(id), model.dims.codes));
    metadata.inputs.push_back(std::move(info));
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    TCC_ASSIGN_OR_RETURN(TensorInfo info, InfoOfOutput(model, i));
    info.name = output_names[i];
    metadata.outputs.push_back(std::move(info));
  }
  if (model.HasGeneral()) {
    DescribeFreeDims(model.dims, metadata);
  } else {
    DescribeSizes(listed, metadata);
  }
  for (const KernelStages& kernel : kernels.kernels) {
    // The int64 holds no more, and no machine could run it.
    auto flops = static_cast<int64_t>(std::min(kernel.flops, 9e18));
    KernelInfo& info = metadata.kernels.emplace_back(kernel.symbol, kernel.nodes, flops);
    for (const Var& size : kernel.variants[kernel.schedule.variant].vars) {
      info.shape_args.push_back({size->low, size->high});
    }
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
