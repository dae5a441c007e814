#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "models/onnx/import_onnx.h"
#include "runtime/artefact/size_expr.h"

namespace tcc {

// Values of dimensions by the model's names for them: N=4.
using DimSizes = std::map<std::string, int64_t>;

// The sizes that a model is compiled for; all empty where none are listed.
struct ListedSizes {
  // The dimensions that the sizes give, by first occurrence in the inputs, and the sizes.
  std::vector<std::string> dims;
  std::vector<std::vector<int64_t>> sizes;
  // By input and axis: which of `dims` the extent is.
  std::vector<std::vector<std::optional<size_t>>> dim_of;
};

// Returns a size as text: B=1,S=16.
std::string SizeText(const ListedSizes& listed, size_t number);

// A model at each listed size, in their order; the graph as it is where none are listed. The first
// graph may be one more, the model with the listed dimensions free, for all other sizes.
struct SizedModel {
  std::vector<Graph> graphs;
  ListedSizes listed = {};
};

// A call of ImportOnnx or ImportOnnxBytes for one model.
using ImportFunction = std::function<StatusOr<Graph>(const ImportOptions&)>;

// Imports the model at each size of `at`, beside the dimensions that `options` give; once and as it
// is where `at` is empty. Where `options` give ranges for dimensions of `at`, the model with these
// free comes first. A single size that leaves other dimensions free binds its own, and is not
// listed. Sets facts_of. Errors: the import's; FailedPrecondition where sizes are not of
// the same dimensions, come twice, are more than kMaxSizes or outside these ranges, and where a
// dimension has a value in `options` too, has a range unlike another one of `at`, or is of no
// input.
StatusOr<SizedModel> ImportAtSizes(const ImportFunction& import_model, ImportOptions options,
                                   std::span<const DimSizes> at);

// The most sizes of one artefact: a formula that selects among them has to fit a SizeExpr.
inline constexpr size_t kMaxSizes = 28;

// Whether a graph serves the sizes that are not listed: the first one, or none.
enum class OtherSizes : uint8_t { kFirst, kNone };

// Returns the formula for the number of the graph that serves a size, -1 for none. `dims` are the
// values of the listed dimensions.
SizeExpr NumberOfSize(std::span<const SizeExpr> dims, std::span<const std::vector<int64_t>> sizes,
                      OtherSizes others);
// Returns the formula that is values[i] where `number` is i. Expects a value.
SizeExpr SelectByNumber(const SizeExpr& number, std::span<const SizeExpr> values);
// Returns the formula for an extent that is values[i] in graph i: one value or a dimension where
// that suffices. There is a value for each size, and one more before them if a graph serves the
// other sizes.
SizeExpr ExtentBySize(std::span<const SizeExpr> dims, std::span<const std::vector<int64_t>> sizes,
                      std::span<const SizeExpr> values);

}  // namespace tcc
