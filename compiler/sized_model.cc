#include "compiler/sized_model.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/partial_evaluator.h"
#include "support/check.h"
#include "support/wanted_option.h"

namespace tcc {
namespace {

std::string TextOf(const DimSizes& size) {
  std::vector<std::string> dims;
  for (const auto& [name, value] : size) dims.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(dims, ","));
}

// Returns whether the listed dimensions have ranges, so that other sizes are served too.
bool HaveRanges(std::span<const DimSizes> at, const ImportOptions& options) {
  return !at.empty() && std::ranges::any_of(at[0], [&](const auto& dim) {
    return options.ranges.contains(dim.first);
  });
}

// Checks what needs no model.
Status CheckSizes(std::span<const DimSizes> at, const DimSizes& given) {
  if (at.size() > kMaxSizes) {
    return UsageError("{} sizes are listed; at most {} fit one artefact", at.size(), kMaxSizes);
  }
  for (size_t i = 0; i < at.size(); ++i) {
    if (at[i].empty()) return UsageError("a size gives no dimension; expected N=4");
    for (const auto& [name, value] : at[i]) {
      if (!at[0].contains(name) || at[i].size() != at[0].size()) {
        return UsageError("size {} is of other dimensions than size {}", TextOf(at[i]),
                          TextOf(at[0]));
      }
      if (given.contains(name)) {
        return UsageError("dimension '{}' is given as {}, and listed among the sizes too", name,
                          given.at(name));
      }
    }
    if (std::ranges::find(at.begin(), at.begin() + static_cast<ptrdiff_t>(i), at[i]) !=
        at.begin() + static_cast<ptrdiff_t>(i)) {
      return UsageError("size {} is listed twice", TextOf(at[i]));
    }
  }
  return OkStatus();
}

// Gives the failure of an import without the option for one dimension, whose size is listed.
Status WithoutDims(const Status& status) {
  if (WantedOptions(status) != std::vector<WantedOption>{{Option::kDims, ""}}) return status;
  return {status.code(), status.message()};
}

// The dimensions of a model's inputs that the sizes give, as an import tells of them.
class ListedDims {
 public:
  explicit ListedDims(const DimSizes& size) : size_(&size) {}

  void Add(const std::string& input, size_t axis, const std::string& dim) {
    if (size_->contains(dim)) dims_[input].emplace(axis, dim);
  }

  // Tells the dimensions by the inputs of a graph.
  Status Describe(const Graph& graph, ListedSizes& listed) const {
    for (ValueId id : graph.inputs) {
      const Value& input = graph.value(id);
      auto& axes = listed.dim_of.emplace_back(input.shape.size());
      auto found = dims_.find(input.name);
      if (found == dims_.end()) continue;
      for (const auto& [axis, dim] : found->second) {
        auto known = std::ranges::find(listed.dims, dim);
        axes.at(axis) = static_cast<size_t>(known - listed.dims.begin());
        if (known == listed.dims.end()) listed.dims.push_back(dim);
      }
    }
    for (const auto& [name, value] : *size_) {
      if (std::ranges::find(listed.dims, name) != listed.dims.end()) continue;
      return UsageError("sizes are listed for dimension '{}', which no input has that is fed",
                        name);
    }
    return OkStatus();
  }

 private:
  const DimSizes* size_;
  std::map<std::string, std::map<size_t, std::string>> dims_;  // by input and axis
};

// Checks that a listed size is one that the model with free dimensions takes, too.
Status CheckInRanges(const Graph& general, const DimSizes& size, const ListedSizes& listed) {
  for (size_t i = 0; i < listed.dim_of.size(); ++i) {
    for (size_t axis = 0; axis < listed.dim_of[i].size(); ++axis) {
      std::optional<size_t> dim = listed.dim_of[i][axis];
      const auto* var = general.value(general.inputs[i]).shape[axis].as<VarNode>();
      if (!dim || !var) continue;
      const int64_t value = size.at(listed.dims[*dim]);
      if (value >= var->low && value <= var->high) continue;
      return UsageError("size {} is outside the range {}..{} of dimension '{}'", TextOf(size),
                        var->low, var->high, listed.dims[*dim]);
    }
  }
  return OkStatus();
}

// Returns the formula that is 1 where the dimensions have these values.
SizeExpr IsSize(std::span<const SizeExpr> dims, const std::vector<int64_t>& size) {
  SizeExpr is_size = 1;
  for (size_t d = 0; d < size.size(); ++d) {
    SizeExpr equal = Combine(SizeOp::kEqual, dims[d], SizeExpr(size[d]));
    is_size = d == 0 ? equal : Combine(SizeOp::kMul, is_size, equal);
  }
  return is_size;
}

}  // namespace

std::string SizeText(const ListedSizes& listed, size_t number) {
  std::vector<std::string> dims;
  for (size_t d = 0; d < listed.dims.size(); ++d) {
    dims.push_back(fmt::format("{}={}", listed.dims[d], listed.sizes[number][d]));
  }
  return fmt::format("{}", fmt::join(dims, ","));
}

StatusOr<SizedModel> ImportAtSizes(const ImportFunction& import_model, ImportOptions options,
                                   std::span<const DimSizes> at) {
  TCC_RETURN_IF_ERROR(CheckSizes(at, options.dims));
  SizedModel model;
  options.facts_of = PartialEvaluator();
  const bool serves_others = HaveRanges(at, options);
  if (at.empty() || serves_others) {
    TCC_ASSIGN_OR_RETURN(Graph graph, import_model(options));
    model.graphs.push_back(std::move(graph));
  }
  if (at.empty()) return model;
  if (serves_others) options.warn = {};  // the same at each size
  for (const auto& [name, value] : at[0]) options.ranges.erase(name);
  const DimSizes given = options.dims;
  for (const DimSizes& size : at) {
    ListedDims dims(size);
    options.dims = given;
    options.dims.insert(size.begin(), size.end());
    options.facts_of = PartialEvaluator();
    options.given_dim = [&](const std::string& input, size_t axis, const std::string& dim) {
      dims.Add(input, axis, dim);
    };
    StatusOr<Graph> graph = import_model(options);
    if (!graph.ok()) return Annotate(WithoutDims(graph.status()), "at " + TextOf(size));
    if (model.listed.sizes.empty()) TCC_RETURN_IF_ERROR(dims.Describe(*graph, model.listed));
    if (at.size() == 1 && !serves_others && !graph->shape_vars.empty()) {
      SizedModel bound;
      bound.graphs.push_back(*std::move(graph));
      return bound;
    }
    if (serves_others) {
      TCC_RETURN_IF_ERROR(CheckInRanges(model.graphs[0], size, model.listed));
    }
    model.graphs.push_back(*std::move(graph));
    options.warn = {};  // the same at each size
    auto& values = model.listed.sizes.emplace_back();
    for (const std::string& dim : model.listed.dims) values.push_back(size.at(dim));
  }
  return model;
}

SizeExpr NumberOfSize(std::span<const SizeExpr> dims, std::span<const std::vector<int64_t>> sizes,
                      OtherSizes others) {
  const int64_t first = others == OtherSizes::kFirst ? 1 : 0;
  SizeExpr number = first - 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    number = SelectSize(IsSize(dims, sizes[i]), SizeExpr(first + static_cast<int64_t>(i)), number);
  }
  return number;
}

SizeExpr SelectByNumber(const SizeExpr& number, std::span<const SizeExpr> values) {
  SizeExpr selected = values.back();
  for (size_t i = values.size() - 1; i-- > 0;) {
    SizeExpr is_size = Combine(SizeOp::kEqual, number, SizeExpr(static_cast<int64_t>(i)));
    selected = SelectSize(is_size, values[i], selected);
  }
  return selected;
}

SizeExpr ExtentBySize(std::span<const SizeExpr> dims, std::span<const std::vector<int64_t>> sizes,
                      std::span<const SizeExpr> values) {
  if (std::ranges::count(values, values[0]) == std::ssize(values)) return values[0];
  const bool has_general = values.size() > sizes.size();
  std::span<const SizeExpr> listed = values.last(sizes.size());
  for (size_t d = 0; d < dims.size() && !has_general; ++d) {
    auto is_dim = [&](const std::vector<int64_t>& size, const SizeExpr& value) {
      return value == SizeExpr(size[d]);
    };
    if (std::ranges::equal(sizes, listed, is_dim)) return dims[d];
  }
  // The last size needs no test where there is no other.
  SizeExpr extent = has_general ? values[0] : listed.back();
  for (size_t i = has_general ? sizes.size() : sizes.size() - 1; i-- > 0;) {
    if (has_general && listed[i] == values[0]) continue;
    extent = SelectSize(IsSize(dims, sizes[i]), listed[i], extent);
  }
  return extent;
}

}  // namespace tcc
