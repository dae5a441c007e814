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

// Returns whether an extent is declared: some programs write -1 for an unknown one.
bool IsFixed(const onnxpb::Shape::Dimension& dim) {
  return dim.has_dim_value() && dim.dim_value() >= 0;
}

// Returns whether the batch of an input is declared as 0, which old exporters write for an unknown
// one.
bool HasZeroBatch(const onnxpb::ValueInfo& input) {
  const onnxpb::Shape* declared = DeclaredShape(input);
  if (declared == nullptr || declared->dim_size() == 0) return false;
  return declared->dim(0).has_dim_value() && declared->dim(0).dim_value() == 0;
}

// Returns the name of a dimension that has none in the model.
std::string UnnamedDim(const onnxpb::ValueInfo& input, size_t axis) {
  return fmt::format("{}_{}", input.name(), axis);
}

// Returns the least extent of a dimension that is left free.
int64_t LeastExtent(const std::string& dim) {
  return absl::StartsWithIgnoreCase(dim, "past") ? 0 : kMinFreeDim;
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

// Returns "?x3" for a given shape.
std::string GivenText(const std::vector<int64_t>& shape) {
  std::vector<std::string> dims;
  for (int64_t extent : shape) {
    dims.push_back(extent == kOpenExtent ? "?" : std::to_string(extent));
  }
  return fmt::format("{}", fmt::join(dims, "x"));
}

}  // namespace

std::optional<std::vector<ModelShapes::InputDim>> ModelShapes::DimsOf(
    const onnxpb::ValueInfo& input) const {
  std::vector<InputDim> dims;
  if (const onnxpb::Shape* declared = DeclaredShape(input)) {
    for (const onnxpb::Shape::Dimension& dim : declared->dim()) {
      const bool is_unknown = !IsFixed(dim) || (dims.empty() && dim.dim_value() == 0);
      // "?" is no name: exporters write it for every unknown dimension.
      const bool is_named = !dim.dim_param().empty() && dim.dim_param() != "?";
      if (!is_unknown) {
        dims.push_back({int64_t{dim.dim_value()}, ""});
      } else {
        dims.push_back({std::nullopt, is_named ? dim.dim_param() : UnnamedDim(input, dims.size())});
      }
    }
    return dims;
  }
  const std::vector<int64_t>* given = GivenShape(options_, input.name());
  if (given == nullptr) return std::nullopt;
  for (int64_t extent : *given) {
    if (extent == kOpenExtent) {
      dims.push_back({std::nullopt, UnnamedDim(input, dims.size())});
    } else {
      dims.push_back({extent, ""});
    }
  }
  return dims;
}

Status ModelShapes::Bind(const std::string& dim, int64_t value) {
  auto range = ranges_.find(dim);
  if (range != ranges_.end() && (value < *range->second.low || value > *range->second.high)) {
    return UsageError("dimension '{}' is given as {}; its range is {}..{}", dim, value,
                      *range->second.low, *range->second.high);
  }
  auto [entry, added] = bound_.emplace(dim, value);
  if (entry->second == value) return OkStatus();
  return UsageError("dimension '{}' is given as {} and as {}", dim, entry->second, value);
}

// Checks the given shape of an input and binds the dimensions that it gives.
Status ModelShapes::BindGiven(const onnxpb::ValueInfo& input, const std::vector<int64_t>& shape) {
  std::vector<int64_t> known = shape;
  std::ranges::replace(known, kOpenExtent, 1);
  if (Status fits = CheckExtents(known); !fits.ok()) {
    return UsageError("input '{}': {}", input.name(), Message(fits));
  }
  const std::vector<InputDim> dims = *DimsOf(input);
  if (dims.size() != shape.size()) {
    return UsageError("input '{}' has rank {}; shape {} was given", input.name(), dims.size(),
                      GivenText(shape));
  }
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const InputDim& dim = dims[axis];
    if (shape[axis] == kOpenExtent) {
      left_open_.insert(dim.name);
    } else if (!dim.extent) {
      TCC_RETURN_IF_ERROR(Bind(dim.name, shape[axis]));
    } else if (*dim.extent == 0 && shape[axis] != 0) {
      zeros_are_unknown_ = true;
    } else if (*dim.extent != shape[axis]) {
      return UsageError("dimension {} of input '{}' is {}; shape {} was given", axis, input.name(),
                        *dim.extent, GivenText(shape));
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
    for (const InputDim& dim : DimsOf(*input).value_or(std::vector<InputDim>())) {
      if (dim.extent) continue;
      called[Identifier(dim.name)].insert(dim.name);
      dims_.insert(dim.name);
    }
  }
  // Returns the model's name for the dimension that an option calls so.
  auto meant_by = [&](const std::string& name, Option option) -> StatusOr<std::string> {
    if (dims_.contains(name)) return name;
    auto meant = called.find(name);
    if (meant != called.end() && meant->second.size() == 1) return *meant->second.begin();
    return WithOption(
        UsageError("no dimension is named '{}'; {}", name,
                   dims_.empty() ? std::string("all of them are fixed")
                                 : fmt::format("there are {}", fmt::join(dims_, ", "))),
        option);
  };
  for (const auto& [name, value] : options_.dims) {
    if (value < 0) {
      return WithOption(UsageError("dimension '{}' is {}; expected 0 or more", name, value),
                        Option::kDims);
    }
    TCC_ASSIGN_OR_RETURN(std::string dim, meant_by(name, Option::kDims));
    TCC_RETURN_IF_ERROR(Bind(dim, value));
    if (dim != name) call_of.emplace(dim, name);
  }
  for (const auto& [name, range] : options_.ranges) {
    TCC_ASSIGN_OR_RETURN(std::string dim, meant_by(name, Option::kRanges));
    TCC_RETURN_IF_ERROR(WithOption(TakeRange(dim, range), Option::kRanges));
  }
  TellGiven(inputs, call_of);
  return OkStatus();
}

// Notes the range of a dimension that stays free. One that holds a single extent binds it.
Status ModelShapes::TakeRange(const std::string& dim, const DimRange& given) {
  const int64_t low = given.low.value_or(LeastExtent(dim));
  const int64_t high = given.high.value_or(kMaxFreeDim);
  if (low < 0 || low > high || high > kMaxFreeDim) {
    return UsageError("dimension '{}' has the range {}..{}; expected LEAST..GREATEST within 0..{}",
                      dim, low, high, kMaxFreeDim);
  }
  if (given.usual && (*given.usual < std::max(low, int64_t{1}) || *given.usual > high)) {
    return UsageError("dimension '{}' has the usual extent {}; expected one within {}..{}", dim,
                      *given.usual, std::max(low, int64_t{1}), high);
  }
  if (bound_.contains(dim) || ranges_.contains(dim)) {
    return UsageError("dimension '{}' is given twice", dim);
  }
  if (low == high) return Bind(dim, low);
  ranges_.emplace(dim, DimRange{low, high, given.usual});
  return OkStatus();
}

// Tells of each dimension that the options give. `call_of` has the options' keys for dimensions
// that they call by identifier.
void ModelShapes::TellGiven(const std::vector<const onnxpb::ValueInfo*>& inputs,
                            const std::map<std::string, std::string>& call_of) const {
  if (!options_.given_dim) return;
  for (const onnxpb::ValueInfo* input : inputs) {
    const std::vector<InputDim> dims = DimsOf(*input).value_or(std::vector<InputDim>());
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      if (dims[axis].extent) continue;
      auto call = call_of.find(dims[axis].name);
      const std::string& name = call == call_of.end() ? dims[axis].name : call->second;
      if (options_.dims.contains(name)) options_.given_dim(input->name(), axis, name);
    }
  }
}

std::optional<Expr> ModelShapes::Known(const std::string& dim) const {
  if (auto value = bound_.find(dim); value != bound_.end()) return Expr(value->second);
  if (auto var = free_.find(dim); var != free_.end()) return Expr(var->second);
  return std::nullopt;
}

// Makes the variable of a dimension; `axis` is where it stands in its first input.
Expr ModelShapes::FreeDimension(const std::string& dim, size_t axis) {
  constexpr int64_t kUsualBatch = 8;
  auto given = ranges_.find(dim);
  const bool is_given = given != ranges_.end();
  const int64_t low = is_given ? *given->second.low : LeastExtent(dim);
  const int64_t high = is_given ? *given->second.high : kMaxFreeDim;
  const int64_t chosen =
      std::clamp(axis == 0 ? kUsualBatch : kUsualExtent, std::max(low, int64_t{1}), high);
  const int64_t usual = is_given ? given->second.usual.value_or(chosen) : chosen;
  if (!is_given && !left_open_.contains(dim)) {
    unasked_.push_back(fmt::format("{}={}..{}:{}", dim, low, high, usual));
  }
  std::string hint = Identifier(dim);
  while (!hints_.insert(hint).second) hint += "_";
  vars_.push_back(ShapeVar(hint, low, high, usual));
  free_.emplace(dim, vars_.back());
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

// Reads an input of known rank. An unused one gets 1 for the unknown extents that no option leaves
// free: no result depends on them, so the user need not give them.
Status ModelShapes::ReadInput(const onnxpb::ValueInfo& input, bool is_read) {
  const std::vector<int64_t>* given = GivenShape(options_, input.name());
  const std::optional<std::vector<InputDim>> dims = DimsOf(input);
  std::vector<Expr> shape;
  bool guessed = !dims;
  for (size_t axis = 0; dims && axis < dims->size(); ++axis) {
    const InputDim& dim = (*dims)[axis];
    if (given != nullptr && (*given)[axis] != kOpenExtent) {
      shape.push_back(Expr((*given)[axis]));
    } else if (dim.extent) {
      shape.push_back(Expr(*dim.extent));
    } else if (std::optional<Expr> known = Known(dim.name)) {
      shape.push_back(*std::move(known));
    } else {
      const bool is_free = is_read || ranges_.contains(dim.name) || left_open_.contains(dim.name);
      guessed = guessed || !is_free;
      shape.push_back(is_free ? FreeDimension(dim.name, axis) : Expr(1));
    }
  }
  if (guessed && options_.warn) {
    options_.warn(fmt::format("nothing reads input '{}'; its shape becomes {} where none is given",
                              input.name(), ShapeText(shape)));
  }
  if (HasZeroBatch(input) && AsConstant(shape[0]) != 0) {
    zeros_are_unknown_ = true;
    if (is_read && !AsConstant(shape[0])) WarnOfZero(input);
  }
  return SetShape(input, std::move(shape));
}

// Warns of a declared 0 that has become a free dimension.
void ModelShapes::WarnOfZero(const onnxpb::ValueInfo& input) const {
  if (!options_.warn) return;
  options_.warn(fmt::format(
      "input '{0}': dimension 0 is 0 in the model, which is taken for unknown; {0}_0=0 keeps the 0",
      input.name()));
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
    if (!read.contains(input->name())) continue;
    if (DimsOf(*input)) {
      TCC_RETURN_IF_ERROR(ReadInput(*input, /*is_read=*/true));
    } else {
      without_shape.push_back(input->name());
    }
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
    if (!read.contains(input->name())) {
      TCC_RETURN_IF_ERROR(ReadInput(*input, /*is_read=*/false));
    }
  }
  WarnOfFree();
  return CheckOptions(inputs);
}

// Warns of the dimensions that stay free though no option says so.
void ModelShapes::WarnOfFree() const {
  if (unasked_.empty() || !options_.warn) return;
  const bool one = unasked_.size() == 1;
  options_.warn(fmt::format(
      "{} {} {} free; kernels are made for the extent after the colon, and a value such as {}=8 "
      "fixes {}",
      one ? "dimension" : "dimensions", fmt::join(unasked_, ", "), one ? "stays" : "stay",
      unasked_[0].substr(0, unasked_[0].rfind('=')), one ? "it" : "one"));
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
