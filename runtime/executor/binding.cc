#include "runtime/executor/binding.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace tcc {
namespace {

constexpr int64_t kUnbound = -1;

Status WrongInput(const TensorInfo& info, const Metadata& metadata, const Tensor& tensor) {
  return InvalidInput("input '{}': expected {}, got {}", info.name, TypeText(info, metadata),
                      ToString(tensor));
}

Status CheckBytes(const std::string& name, const Tensor& tensor) {
  TCC_ASSIGN_OR_RETURN(int64_t bytes, ByteCount(tensor.dtype, tensor.shape));
  if (tensor.bytes.size() == static_cast<size_t>(bytes)) return OkStatus();
  return InvalidInput("'{}': {} takes {} bytes, got {}", name, ToString(tensor), bytes,
                      tensor.bytes.size());
}

// Returns whether some run may have this value of a shape variable.
bool Takes(const Metadata& metadata, size_t variable, int64_t value) {
  const ShapeVariable& range = metadata.shape_variables[variable];
  if (metadata.sizes.empty()) return value >= range.low && value <= range.high;
  return std::ranges::any_of(metadata.sizes,
                             [&](const auto& size) { return size[variable] == value; });
}

// Returns "1 to 8", or the values in the listed sizes: "1, 4 or 8".
std::string ValuesText(const Metadata& metadata, size_t variable) {
  const ShapeVariable& range = metadata.shape_variables[variable];
  if (metadata.sizes.empty()) return fmt::format("{} to {}", range.low, range.high);
  std::set<int64_t> values;
  for (const std::vector<int64_t>& size : metadata.sizes) values.insert(size[variable]);
  const int64_t last = *values.rbegin();
  values.erase(last);
  return values.empty() ? fmt::format("{}", last)
                        : fmt::format("{} or {}", fmt::join(values, ", "), last);
}

Status BindDimension(const Metadata& metadata, size_t number, const std::string& input,
                     int64_t size, int64_t& value) {
  const ShapeVariable& variable = metadata.shape_variables[number];
  if (value != kUnbound && value != size) {
    return InvalidInput("input '{}': dimension {} is {}, but another input has {}", input,
                        variable.name, size, value);
  }
  if (!Takes(metadata, number, size)) {
    return InvalidInput("input '{}': dimension {} is {}; expected {}", input, variable.name, size,
                        ValuesText(metadata, number));
  }
  value = size;
  return OkStatus();
}

Status BindInput(const TensorInfo& info, const Metadata& metadata, const Tensor& tensor,
                 std::vector<int64_t>& variables) {
  if (tensor.dtype != info.dtype || tensor.shape.size() != info.shape.size()) {
    return WrongInput(info, metadata, tensor);
  }
  for (size_t axis = 0; axis < info.shape.size(); ++axis) {
    const SizeExpr& dim = info.shape[axis];
    if (std::optional<int64_t> size = dim.AsConstant()) {
      if (*size != tensor.shape[axis]) return WrongInput(info, metadata, tensor);
      continue;
    }
    if (dim.code.size() != 1) continue;  // is compared when all variables are bound
    auto variable = static_cast<size_t>(dim.code[0].value);
    TCC_RETURN_IF_ERROR(
        BindDimension(metadata, variable, info.name, tensor.shape[axis], variables[variable]));
  }
  return CheckBytes(info.name, tensor);
}

// Compares the dimensions that are formulas over what others have bound.
Status CheckFormulas(const TensorInfo& info, const Metadata& metadata, const Tensor& tensor,
                     std::span<const int64_t> variables) {
  for (size_t axis = 0; axis < info.shape.size(); ++axis) {
    const SizeExpr& dim = info.shape[axis];
    if (dim.code.size() == 1) continue;
    TCC_ASSIGN_OR_RETURN(int64_t size, Evaluate(dim, variables));
    if (size == tensor.shape[axis]) continue;
    return InvalidInput("input '{}': dimension {} is {}, but {} of the other inputs is {}",
                        info.name, axis, tensor.shape[axis],
                        ToString(dim, metadata.ShapeVariableNames()), size);
  }
  return OkStatus();
}

std::string NamesOf(const std::vector<TensorInfo>& tensors) {
  std::vector<std::string> names;
  for (const TensorInfo& tensor : tensors) names.push_back(tensor.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

StatusOr<std::vector<int64_t>> BindInputs(const Metadata& metadata,
                                          std::span<const Tensor> inputs) {
  if (inputs.size() != metadata.inputs.size()) {
    return InvalidInput("expected {} inputs ({}), got {}", metadata.inputs.size(),
                        NamesOf(metadata.inputs), inputs.size());
  }
  std::vector<int64_t> variables(metadata.shape_variables.size(), kUnbound);
  for (size_t i = 0; i < inputs.size(); ++i) {
    TCC_RETURN_IF_ERROR(BindInput(metadata.inputs[i], metadata, inputs[i], variables));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    TCC_RETURN_IF_ERROR(CheckFormulas(metadata.inputs[i], metadata, inputs[i], variables));
  }
  if (!metadata.sizes.empty() &&
      std::ranges::find(metadata.sizes, variables) == metadata.sizes.end()) {
    return InvalidInput("the inputs have {}; the model was compiled for {}",
                        SizeText(metadata, variables), SizesText(metadata));
  }
  return variables;
}

StatusOr<std::vector<int64_t>> ShapeOf(const TensorInfo& info, const Metadata& metadata,
                                       std::span<const int64_t> variables) {
  std::vector<int64_t> shape;
  for (const SizeExpr& dim : info.shape) {
    TCC_ASSIGN_OR_RETURN(int64_t size, Evaluate(dim, variables));
    if (size < 0) {
      return InvalidInput("dimension {} of '{}' is {}, which is {} for {}", shape.size(), info.name,
                          ToString(dim, metadata.ShapeVariableNames()), size,
                          SizeText(metadata, variables));
    }
    shape.push_back(size);
  }
  return shape;
}

Status CheckOutput(const TensorInfo& info, const std::vector<int64_t>& shape,
                   const Tensor& output) {
  if (output.dtype != info.dtype || output.shape != shape) {
    return InvalidInput("output '{}': expected {}[{}], got {}", info.name, ToString(info.dtype),
                        fmt::join(shape, "x"), ToString(output));
  }
  return CheckBytes(info.name, output);
}

StatusOr<std::vector<Tensor>> ArrangeInputs(const Metadata& metadata,
                                            std::vector<std::pair<std::string, Tensor>> named) {
  std::vector<Tensor> inputs(metadata.inputs.size());
  std::vector<bool> given(inputs.size(), false);
  for (auto& [name, tensor] : named) {
    auto found = std::ranges::find(metadata.inputs, name, &TensorInfo::name);
    auto index = static_cast<size_t>(found - metadata.inputs.begin());
    if (index == inputs.size()) {
      return InvalidInput("the model has no input '{}'; expected {}", name,
                          NamesOf(metadata.inputs));
    }
    if (given[index]) return InvalidInput("input '{}' is given twice", name);
    given[index] = true;
    inputs[index] = std::move(tensor);
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i]) {
      return InvalidInput("input '{}' is missing; expected {}", metadata.inputs[i].name,
                          TypeText(metadata.inputs[i], metadata));
    }
  }
  return inputs;
}

}  // namespace tcc
