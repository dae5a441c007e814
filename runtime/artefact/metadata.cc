#include "runtime/artefact/metadata.h"

#include <absl/strings/ascii.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "support/printable.h"

namespace tcc {
namespace {

// The caps of checked shape arithmetic: a dimension fits 31 bits.
constexpr int64_t kMaxDimension = INT32_MAX;
constexpr size_t kMaxRank = 64;

bool IsSymbol(const std::string& name) {
  auto plain = [](char c) { return absl::ascii_isalnum(c) || c == '_'; };
  return !name.empty() && std::ranges::all_of(name, plain);
}

template <typename Items>
Status CheckNamesDiffer(const Items& items, std::string_view what) {
  std::set<std::string_view> seen;
  for (const auto& item : items) {
    if (!seen.insert(item.name).second) {
      return InvalidInput("metadata has two {}s named '{}'", what, item.name);
    }
  }
  return OkStatus();
}

// Everything that is printed, or written as JSON.
Status CheckTexts(const Metadata& metadata) {
  std::vector<std::string_view> texts = {metadata.model};
  for (const ShapeVariable& variable : metadata.shape_variables) texts.push_back(variable.name);
  for (const TensorInfo& input : metadata.inputs) texts.push_back(input.name);
  for (const TensorInfo& output : metadata.outputs) texts.push_back(output.name);
  for (const KernelInfo& kernel : metadata.kernels) {
    texts.insert(texts.end(), kernel.nodes.begin(), kernel.nodes.end());
    for (const auto& [key, value] : kernel.statistics) texts.push_back(key);
    for (const auto& [key, value] : kernel.ratios) texts.push_back(key);
  }
  texts.insert(texts.end(), metadata.cpu_features.begin(), metadata.cpu_features.end());
  for (const auto& [key, value] : metadata.properties) texts.push_back(key);
  if (!std::ranges::all_of(texts, IsPlainText)) {
    return InvalidInput("metadata has a name that is not UTF-8 or holds control characters");
  }
  for (const auto& [key, value] : metadata.properties) {
    if (!IsUtf8(value) || value.find('\0') != std::string::npos) {
      return InvalidInput("metadata: property '{}' is not UTF-8 or holds a zero byte", key);
    }
  }
  return OkStatus();
}

Status CheckTensor(const TensorInfo& info, const Metadata& metadata) {
  if (info.shape.size() > kMaxRank || info.dtype.lanes() != 1) {
    return InvalidInput("metadata: '{}' has rank {} and type {}", info.name, info.shape.size(),
                        ToString(info.dtype));
  }
  for (const SizeExpr& dim : info.shape) {
    TCC_RETURN_IF_ERROR(
        Annotate(CheckSizeExpr(dim, static_cast<int64_t>(metadata.shape_variables.size())),
                 fmt::format("metadata: shape of '{}'", info.name)));
    if (!VariablesOf(dim).empty()) continue;
    TCC_ASSIGN_OR_RETURN(int64_t size, Evaluate(dim, {}));
    if (size < 0 || size > kMaxDimension) {
      return InvalidInput("metadata: '{}' has a dimension of {}", info.name, size);
    }
  }
  return OkStatus();
}

Status CheckShapeVariables(const Metadata& metadata) {
  std::vector<bool> bound(metadata.shape_variables.size(), false);
  for (const TensorInfo& input : metadata.inputs) {
    for (const SizeExpr& dim : input.shape) {
      std::vector<int64_t> variables = VariablesOf(dim);
      if (variables.empty()) continue;
      if (dim.code.size() == 1) bound[static_cast<size_t>(variables[0])] = true;
    }
  }
  for (size_t i = 0; i < bound.size(); ++i) {
    const ShapeVariable& variable = metadata.shape_variables[i];
    if (!bound[i]) return InvalidInput("metadata: no input has dimension '{}'", variable.name);
    if (variable.low < 0 || variable.low > variable.high || variable.high > kMaxDimension) {
      return InvalidInput("metadata: dimension '{}' ranges over [{}, {}]", variable.name,
                          variable.low, variable.high);
    }
    if (variable.usual < variable.low || variable.usual > variable.high) {
      return InvalidInput("metadata: dimension '{}' is usually {}; expected {} to {}",
                          variable.name, variable.usual, variable.low, variable.high);
    }
  }
  return OkStatus();
}

Status CheckSizes(const Metadata& metadata) {
  const std::vector<ShapeVariable>& variables = metadata.shape_variables;
  std::set<std::vector<int64_t>> seen;
  for (const std::vector<int64_t>& size : metadata.sizes) {
    if (size.empty() || size.size() != variables.size()) {
      return InvalidInput("metadata: a size has {} dimensions; there are {}", size.size(),
                          variables.size());
    }
    for (size_t i = 0; i < size.size(); ++i) {
      if (size[i] >= variables[i].low && size[i] <= variables[i].high) continue;
      return InvalidInput("metadata: size {} is outside [{}, {}] of '{}'", SizeText(metadata, size),
                          variables[i].low, variables[i].high, variables[i].name);
    }
    if (seen.insert(size).second) continue;
    return InvalidInput("metadata has size {} twice", SizeText(metadata, size));
  }
  return OkStatus();
}

}  // namespace

std::vector<std::string> Metadata::ShapeVariableNames() const {
  std::vector<std::string> names;
  for (const ShapeVariable& variable : shape_variables) names.push_back(variable.name);
  return names;
}

std::vector<int64_t> Metadata::UsualSizes() const {
  std::vector<int64_t> sizes;
  for (const ShapeVariable& variable : shape_variables) sizes.push_back(variable.usual);
  return sizes;
}

std::optional<std::vector<int64_t>> StaticShape(const TensorInfo& info) {
  std::vector<int64_t> shape;
  for (const SizeExpr& dim : info.shape) {
    std::optional<int64_t> size = dim.AsConstant();
    if (!size) return std::nullopt;
    shape.push_back(*size);
  }
  return shape;
}

TensorInfo StaticTensor(std::string name, DType dtype, const std::vector<int64_t>& shape) {
  return {std::move(name), dtype, std::vector<SizeExpr>(shape.begin(), shape.end())};
}

std::string_view PropertyOf(const Metadata& metadata, std::string_view key) {
  for (const auto& [name, value] : metadata.properties) {
    if (name == key) return value;
  }
  return "";
}

std::string TypeText(const TensorInfo& info, const Metadata& metadata) {
  std::vector<std::string> names = metadata.ShapeVariableNames(), dims;
  for (const SizeExpr& dim : info.shape) {
    std::string text = ToString(dim, names);
    const bool is_product = dim.code.back().op == SizeOp::kMul;
    dims.push_back(is_product ? fmt::format("({})", text) : std::move(text));
  }
  return fmt::format("{}[{}]", ToString(info.dtype), fmt::join(dims, "x"));
}

std::string SizeText(const Metadata& metadata, std::span<const int64_t> size) {
  std::vector<std::string> dims;
  for (size_t i = 0; i < size.size(); ++i) {
    dims.push_back(fmt::format("{}={}", metadata.shape_variables[i].name, size[i]));
  }
  return fmt::format("{}", fmt::join(dims, ","));
}

std::string SizesText(const Metadata& metadata) {
  std::vector<std::string> sizes;
  for (const std::vector<int64_t>& size : metadata.sizes) {
    sizes.push_back(SizeText(metadata, size));
  }
  return fmt::format("{}", fmt::join(sizes, "; "));
}

Status VerifyMetadata(const Metadata& metadata) {
  TCC_RETURN_IF_ERROR(CheckTexts(metadata));
  TCC_RETURN_IF_ERROR(CheckNamesDiffer(metadata.inputs, "input"));
  TCC_RETURN_IF_ERROR(CheckNamesDiffer(metadata.outputs, "output"));
  TCC_RETURN_IF_ERROR(CheckNamesDiffer(metadata.kernels, "kernel"));
  TCC_RETURN_IF_ERROR(CheckNamesDiffer(metadata.shape_variables, "shape variable"));
  for (const TensorInfo& input : metadata.inputs) {
    TCC_RETURN_IF_ERROR(CheckTensor(input, metadata));
  }
  for (const TensorInfo& output : metadata.outputs) {
    TCC_RETURN_IF_ERROR(CheckTensor(output, metadata));
  }
  for (const KernelInfo& kernel : metadata.kernels) {
    if (!IsSymbol(kernel.name)) {
      return InvalidInput("metadata: '{}' is not a kernel's name", kernel.name);
    }
    for (const SizeRange& range : kernel.shape_args) {
      if (range.low <= range.high) continue;
      return InvalidInput("metadata: kernel '{}' takes a size in [{}, {}]", kernel.name, range.low,
                          range.high);
    }
  }
  TCC_RETURN_IF_ERROR(CheckShapeVariables(metadata));
  return CheckSizes(metadata);
}

}  // namespace tcc
