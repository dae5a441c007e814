#include "models/onnx/onnx_shapes.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "support/extents.h"
#include "support/wanted_option.h"

namespace tcc {
namespace {

const onnxpb::Shape* DeclaredShape(const onnxpb::ValueInfo& value) {
  const onnxpb::Type::TensorOf& tensor = value.type().tensor_type();
  return tensor.has_shape() ? &tensor.shape() : nullptr;
}

// Returns whether the extent is fixed: some programs write -1 for an unknown extent.
bool IsFixed(const onnxpb::Shape::Dimension& dim) {
  return dim.has_dim_value() && dim.dim_value() >= 0;
}

// Returns the dimension's name. "?" is no name: exporters write it for every unknown dimension.
std::string DimName(const onnxpb::ValueInfo& input, int axis) {
  const std::string& param = DeclaredShape(input)->dim(axis).dim_param();
  bool is_anonymous = param.empty() || param == "?";
  return is_anonymous ? fmt::format("{}_{}", input.name(), axis) : param;
}

// Returns an identifier for the dimension, so that a formula over it can be parsed.
std::string Identifier(const std::string& dim) {
  std::string hint;
  for (char c : dim) {
    hint += absl::ascii_isalpha(c) || (absl::ascii_isdigit(c) && !hint.empty()) ? c : '_';
  }
  return hint;
}

// Returns "2xNx3".
std::string ShapeText(const std::vector<Expr>& shape) {
  std::vector<std::string> dims;
  for (const Expr& dim : shape) {
    std::optional<int64_t> extent = AsConstant(dim);
    dims.push_back(extent ? std::to_string(*extent) : dim.as<VarNode>()->name);
  }
  return dims.empty() ? "that of a scalar" : fmt::format("{}", fmt::join(dims, "x"));
}

// Returns the shape given by an option, for messages, or nullptr.
const std::vector<int64_t>* GivenShape(const ImportOptions& options, const std::string& input) {
  auto bind = options.binds.find(input);
  if (bind != options.binds.end() && !options.binds_as_declared.contains(input)) {
    return &bind->second.shape;
  }
  auto shape = options.shapes.find(input);
  return shape == options.shapes.end() ? nullptr : &shape->second;
}

Status CheckRange(const std::string& dim, const DimRange& range) {
  bool has_usual = range.usual == 0 || (range.low <= range.usual && range.usual <= range.high);
  if (0 <= range.low && range.low <= range.high && range.high <= kMaxFreeDim && has_usual) {
    return OkStatus();
  }
  std::string usual = range.usual == 0 ? "" : fmt::format(" with usual extent {}", range.usual);
  return WithOption(
      UsageError("dimension '{}' has the range {}..{}{}; expected a range within 0..{}{}", dim,
                 range.low, range.high, usual, kMaxFreeDim,
                 has_usual ? "" : " and a usual extent in it"),
      Option::kDims);
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
    if (!IsFixed(dim)) {
      TCC_RETURN_IF_ERROR(Bind(DimName(input, axis), shape[axis]));
    } else if (dim.dim_value() == 0 && shape[axis] != 0) {
      zeros_are_unknown_ = true;
    } else if (dim.dim_value() != shape[axis]) {
      return UsageError("dimension {} of input '{}' is {}; shape {} was given", axis, input.name(),
                        dim.dim_value(), ShapeToString(shape));
    }
  }
  return OkStatus();
}

// Binds dimensions by name: the model's own name, or the identifier in messages and formulas if it
// is unambiguous.
Status ModelShapes::BindDims(const std::vector<const onnxpb::ValueInfo*>& inputs) {
  std::map<std::string, std::set<std::string>> called;
  std::map<std::string, std::string> call_of;
  for (const onnxpb::ValueInfo* input : inputs) {
    const onnxpb::Shape* declared = DeclaredShape(*input);
    for (int axis = 0; declared != nullptr && axis < declared->dim_size(); ++axis) {
      if (IsFixed(declared->dim(axis))) continue;
      std::string name = DimName(*input, axis);
      called[Identifier(name)].insert(name);
      dims_.insert(std::move(name));
    }
  }
  // Returns the model's name for the dimension that an option calls so.
  auto meant_by = [&](const std::string& name) -> StatusOr<std::string> {
    if (dims_.contains(name)) return name;
    auto meant = called.find(name);
    if (meant != called.end() && meant->second.size() == 1) return *meant->second.begin();
    return WithOption(
        UsageError("no dimension is named '{}'; {}", name,
                   dims_.empty() ? std::string("all of them are fixed")
                                 : fmt::format("there are {}", fmt::join(dims_, ", "))),
        Option::kDims);
  };
  for (const auto& [name, value] : options_.dims) {
    if (value < 0) {
      return WithOption(UsageError("dimension '{}' is {}; expected 0 or more", name, value),
                        Option::kDims);
    }
    TCC_ASSIGN_OR_RETURN(std::string dim, meant_by(name));
    TCC_RETURN_IF_ERROR(Bind(dim, value));
    if (dim != name) call_of.emplace(dim, name);
  }
  for (const auto& [name, range] : options_.ranges) {
    TCC_RETURN_IF_ERROR(CheckRange(name, range));
    TCC_ASSIGN_OR_RETURN(std::string dim, meant_by(name));
    if (bound_.contains(dim) || !ranges_.emplace(dim, range).second) {
      return WithOption(UsageError("dimension '{}' is given twice", name), Option::kDims);
    }
  }
  TellGiven(inputs, call_of);
  return OkStatus();
}

// Returns the range of a dimension that stays free; `axis` is where it stands in its first input.
DimRange ModelShapes::RangeOf(const std::string& dim, int axis) const {
  constexpr int64_t kUsualBatch = 8;
  DimRange range;
  auto given = ranges_.find(dim);
  if (given != ranges_.end()) {
    range = given->second;
  } else if (absl::StartsWithIgnoreCase(dim, "past")) {
    range.low = 0;
  }
  int64_t chosen = axis == 0 ? kUsualBatch : kUsualExtent;
  if (range.usual == 0) range.usual = std::clamp(chosen, range.low, range.high);
  return range;
}

// Tells of each dimension that the options give. `call_of` has the options' keys for dimensions
// that they call by identifier.
void ModelShapes::TellGiven(const std::vector<const onnxpb::ValueInfo*>& inputs,
                            const std::map<std::string, std::string>& call_of) const {
  if (!options_.given_dim) return;
  for (const onnxpb::ValueInfo* input : inputs) {
    const onnxpb::Shape* declared = DeclaredShape(*input);
    for (int axis = 0; declared != nullptr && axis < declared->dim_size(); ++axis) {
      if (IsFixed(declared->dim(axis))) continue;
      std::string name = DimName(*input, axis);
      if (auto call = call_of.find(name); call != call_of.end()) name = call->second;
      if (options_.dims.contains(name)) {
        options_.given_dim(input->name(), static_cast<size_t>(axis), name);
      }
    }
  }
}

std::optional<Expr> ModelShapes::Known(const std::string& dim) const {
  if (auto value = bound_.find(dim); value != bound_.end()) return Expr(value->second);
  if (auto var = free_.find(dim); var != free_.end()) return Expr(var->second);
  return std::nullopt;
}

Expr ModelShapes::Dimension(const onnxpb::ValueInfo& input, int axis) {
  const onnxpb::Shape::Dimension& dim = DeclaredShape(input)->dim(axis);
  if (IsFixed(dim)) return Expr(int64_t{dim.dim_value()});
  std::string name = DimName(input, axis);
  if (std::optional<Expr> known = Known(name)) return *known;
  std::string hint = Identifier(name);
  while (!hints_.insert(hint).second) hint += "_";
  DimRange range = RangeOf(name, axis);
  vars_.push_back(ShapeVar(hint, range.low, range.high, range.usual));
  free_.emplace(name, vars_.back());
  return Expr(vars_.back());
}

Status ModelShapes::SetShape(const onnxpb::ValueInfo& input, std::vector<Expr> shape) {
  std::vector<int64_t> constants;
  for (const Expr& dim : shape) {
    if (std::optional<int64_t> extent = AsConstant(dim)) constants.push_back(*extent);
  }
  // Free dimensions are at least 1, so they only add to the rank.
  constants.resize(std::max<size_t>(constants.size(), shape.size()), 1);
  TCC_RETURN_IF_ERROR(Annotate(CheckExtents(constants), fmt::format("input '{}'", input.name())));
  shapes_[input.name()] = std::move(shape);
  return OkStatus();
}

Status ModelShapes::ReadDeclared(const onnxpb::ValueInfo& input) {
  std::vector<Expr> shape;
  for (int axis = 0; axis < DeclaredShape(input)->dim_size(); ++axis) {
    shape.push_back(Dimension(input, axis));
  }
  return SetShape(input, std::move(shape));
}

// Reads an unused input. No result depends on its unknown extents, so the user need not give them.
Status ModelShapes::ReadUnused(const onnxpb::ValueInfo& input) {
  const onnxpb::Shape* declared = DeclaredShape(input);
  std::vector<Expr> shape;
  bool guessed = declared == nullptr;
  for (int axis = 0; declared != nullptr && axis < declared->dim_size(); ++axis) {
    const onnxpb::Shape::Dimension& dim = declared->dim(axis);
    std::optional<Expr> known =
        IsFixed(dim) ? Expr(int64_t{dim.dim_value()}) : Known(DimName(input, axis));
    guessed = guessed || !known;
    shape.push_back(known.value_or(Expr(1)));
  }
  if (guessed && options_.warn) {
    options_.warn(fmt::format("nothing reads input '{}'; its shape becomes {} where none is given",
                              input.name(), ShapeText(shape)));
  }
  return SetShape(input, std::move(shape));
}

Status ModelShapes::ReadInputs(const std::vector<const onnxpb::ValueInfo*>& inputs,
                               const std::unordered_set<std::string>& read) {
  TCC_RETURN_IF_ERROR(BindDims(inputs));
  for (const onnxpb::ValueInfo* input : inputs) {
    if (const std::vector<int64_t>* given = GivenShape(options_, input->name())) {
      TCC_RETURN_IF_ERROR(BindGiven(*input, *given));
    }
  }
  std::vector<std::string> without_shape;
  for (const onnxpb::ValueInfo* input : inputs) {
    if (shapes_.contains(input->name()) || !read.contains(input->name())) continue;
    if (DeclaredShape(*input) != nullptr) {
      TCC_RETURN_IF_ERROR(ReadDeclared(*input));
      continue;
    }
    without_shape.push_back(input->name());
  }
  if (!without_shape.empty()) {
    bool one = without_shape.size() == 1;
    Status status = UsageError("{} '{}' {} no shape in the model; expected one to be given{}",
                               one ? "input" : "inputs", fmt::join(without_shape, "', '"),
                               one ? "has" : "have", one ? "" : " for each");
    for (const std::string& name : without_shape) {
      status = WithOption(status, Option::kShapes, name);
    }
    return status;
  }
  for (const onnxpb::ValueInfo* input : inputs) {
    if (!shapes_.contains(input->name())) TCC_RETURN_IF_ERROR(ReadUnused(*input));
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
  return OkStatus();
}

std::optional<std::vector<Expr>> ModelShapes::OutputShape(const onnxpb::ValueInfo& output) const {
  const onnxpb::Shape* declared = DeclaredShape(output);
  if (declared == nullptr) return std::nullopt;
  std::vector<Expr> shape;
  for (const onnxpb::Shape::Dimension& dim : declared->dim()) {
    if (zeros_are_unknown_ && dim.has_dim_value() && dim.dim_value() == 0) return std::nullopt;
    std::optional<Expr> known =
        IsFixed(dim) ? Expr(int64_t{dim.dim_value()}) : Known(dim.dim_param());
    if (!known) return std::nullopt;
    shape.push_back(*std::move(known));
  }
  return shape;
}

}  // namespace tcc
