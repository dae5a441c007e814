#include "models/onnx_shapes.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "ir/support/extents.h"
#include "ir/support/wanted_option.h"

namespace tcc {
namespace {

const onnxpb::Shape* DeclaredShape(const onnxpb::ValueInfo& value) {
  const onnxpb::Type::TensorOf& tensor = value.type().tensor_type();
  return tensor.has_shape() ? &tensor.shape() : nullptr;
}

std::string DimName(const onnxpb::ValueInfo& input, int axis) {
  const std::string& param = DeclaredShape(input)->dim(axis).dim_param();
  return param.empty() ? fmt::format("{}_{}", input.name(), axis) : param;
}

// An identifier, so that a formula over it can be read back.
std::string Identifier(const std::string& dim) {
  std::string hint;
  for (char c : dim) {
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    bool digit = c >= '0' && c <= '9';
    hint += letter || (digit && !hint.empty()) ? c : '_';
  }
  return hint;
}

// What the option was, for messages.
const std::vector<int64_t>* GivenShape(const ImportOptions& options, const std::string& input) {
  auto bind = options.binds.find(input);
  if (bind != options.binds.end() && !options.binds_as_declared.contains(input)) {
    return &bind->second.shape;
  }
  auto shape = options.shapes.find(input);
  return shape == options.shapes.end() ? nullptr : &shape->second;
}

}  // namespace

Status ModelShapes::Bind(const std::string& dim, int64_t value) {
  auto [entry, added] = bound_.emplace(dim, value);
  if (entry->second == value) return OkStatus();
  return UsageError("dimension '{}' is given as {} and as {}", dim, entry->second, value);
}

Status ModelShapes::BindGiven(const onnxpb::ValueInfo& input, const std::vector<int64_t>& shape) {
  if (Status fits = CheckExtents(shape); !fits.ok()) {
    return UsageError("input '{}': {}", input.name(), Message(fits));
  }
  shapes_[input.name()] = ToExprs(shape);
  const onnxpb::Shape* declared = DeclaredShape(input);
  if (declared == nullptr) return OkStatus();
  if (declared->dim_size() != static_cast<int>(shape.size())) {
    return UsageError("input '{}' has rank {}; shape {} was given", input.name(),
                      declared->dim_size(), ShapeToString(shape));
  }
  for (int axis = 0; axis < declared->dim_size(); ++axis) {
    const onnxpb::Shape::Dimension& dim = declared->dim(axis);
    if (!dim.has_dim_value()) {
      dims_.insert(DimName(input, axis));
      TCC_RETURN_IF_ERROR(Bind(DimName(input, axis), shape[axis]));
    } else if (dim.dim_value() != shape[axis]) {
      return UsageError("dimension {} of input '{}' is {}; shape {} was given", axis, input.name(),
                        dim.dim_value(), ShapeToString(shape));
    }
  }
  return OkStatus();
}

Expr ModelShapes::Named(const std::string& dim) {
  dims_.insert(dim);
  if (auto value = bound_.find(dim); value != bound_.end()) return Expr(value->second);
  auto [entry, added] = free_.try_emplace(dim);
  if (added) {
    std::string hint = Identifier(dim);
    while (!hints_.insert(hint).second) hint += "_";
    entry->second = ShapeVar(hint, kLeastFreeDim, kGreatestFreeDim);
    vars_.push_back(entry->second);
  }
  return entry->second;
}

StatusOr<Expr> ModelShapes::Dimension(const onnxpb::ValueInfo& input, int axis) {
  const onnxpb::Shape::Dimension& dim = DeclaredShape(input)->dim(axis);
  if (!dim.has_dim_value()) return Named(DimName(input, axis));
  if (dim.dim_value() < 0) {
    return InvalidInput("dimension {} of input '{}' is {}", axis, input.name(), dim.dim_value());
  }
  return Expr(int64_t{dim.dim_value()});
}

Status ModelShapes::ReadInputs(const std::vector<const onnxpb::ValueInfo*>& inputs) {
  for (const auto& [name, value] : options_.dims) {
    if (value >= 0) continue;
    return WithOption(UsageError("dimension '{}' is {}; expected 0 or more", name, value),
                      Option::kDims);
  }
  for (const onnxpb::ValueInfo* input : inputs) {
    if (const std::vector<int64_t>* given = GivenShape(options_, input->name())) {
      TCC_RETURN_IF_ERROR(BindGiven(*input, *given));
    }
  }
  for (const onnxpb::ValueInfo* input : inputs) {
    if (shapes_.contains(input->name())) continue;
    const onnxpb::Shape* declared = DeclaredShape(*input);
    if (declared == nullptr) {
      return WithOption(UsageError("input '{}' has no shape in the model; expected one to be given",
                                   input->name()),
                        Option::kShapes, input->name());
    }
    std::vector<Expr> shape;
    std::vector<int64_t> constants;
    for (int axis = 0; axis < declared->dim_size(); ++axis) {
      TCC_ASSIGN_OR_RETURN(Expr dim, Dimension(*input, axis));
      if (std::optional<int64_t> extent = AsConstant(dim)) constants.push_back(*extent);
      shape.push_back(dim);
    }
    // Free dimensions are at least 1, so they only add to the rank.
    constants.resize(std::max<size_t>(constants.size(), shape.size()), 1);
    TCC_RETURN_IF_ERROR(
        Annotate(CheckExtents(constants), fmt::format("input '{}'", input->name())));
    shapes_[input->name()] = std::move(shape);
  }
  return CheckOptions(inputs);
}

Status ModelShapes::CheckOptions(const std::vector<const onnxpb::ValueInfo*>& inputs) const {
  std::vector<std::string> names;
  for (const onnxpb::ValueInfo* input : inputs) names.push_back(input->name());
  auto known = [&](const std::string& name) { return shapes_.contains(name); };
  for (const auto& [name, shape] : options_.shapes) {
    if (!known(name)) {
      return WithOption(
          UsageError("no input is named '{}'; there are {}", name, fmt::join(names, ", ")),
          Option::kShapes);
    }
    if (options_.binds.contains(name) && !options_.binds_as_declared.contains(name)) {
      return UsageError("input '{}' is given both a shape and a value", name);
    }
  }
  for (const auto& [name, tensor] : options_.binds) {
    if (!known(name)) {
      return WithOption(
          UsageError("no input is named '{}'; there are {}", name, fmt::join(names, ", ")),
          Option::kBinds);
    }
  }
  for (const auto& [name, value] : options_.dims) {
    if (!dims_.contains(name)) {
      return WithOption(
          UsageError("no dimension is named '{}'; {}", name,
                     dims_.empty() ? std::string("all of them are fixed")
                                   : fmt::format("there are {}", fmt::join(dims_, ", "))),
          Option::kDims);
    }
  }
  return OkStatus();
}

std::optional<std::vector<Expr>> ModelShapes::OutputShape(const onnxpb::ValueInfo& output) const {
  const onnxpb::Shape* declared = DeclaredShape(output);
  if (declared == nullptr) return std::nullopt;
  std::vector<Expr> shape;
  for (const onnxpb::Shape::Dimension& dim : declared->dim()) {
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      shape.emplace_back(int64_t{dim.dim_value()});
    } else if (auto value = bound_.find(dim.dim_param()); value != bound_.end()) {
      shape.emplace_back(value->second);
    } else if (auto var = free_.find(dim.dim_param()); var != free_.end()) {
      shape.push_back(var->second);
    } else {
      return std::nullopt;
    }
  }
  return shape;
}

}  // namespace tcc
