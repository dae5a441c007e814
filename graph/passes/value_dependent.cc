#include "graph/passes/value_dependent.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "graph/ops/node_lowering.h"
#include "ir/graph/constants.h"
#include "support/check.h"

namespace tcc {
namespace {

using Places = std::vector<int64_t>;

// A tensor as its slices along an axis; without one, as the list of its elements.
struct Slices {
  std::vector<int64_t> shape;
  int64_t outer = 1;
  int64_t count = 1;
  int64_t inner = 1;  // elements side by side
  int axis = 0;
};

StatusOr<Slices> SlicesOf(const NodeLowering& node, const Tensor& tensor) {
  Slices slices{.shape = tensor.shape};
  if (!node.node().attributes.contains("axis")) {
    TCC_ASSIGN_OR_RETURN(slices.count, ElementCount(tensor.shape));
    slices.shape = {slices.count};
    return slices;
  }
  TCC_ASSIGN_OR_RETURN(slices.axis,
                       node.NormalizedAxis(node.node().Int("axis", 0), tensor.shape.size()));
  std::span<const int64_t> shape(tensor.shape);
  auto axis = static_cast<size_t>(slices.axis);
  TCC_ASSIGN_OR_RETURN(slices.outer, ElementCount(shape.first(axis)));
  TCC_ASSIGN_OR_RETURN(slices.inner, ElementCount(shape.subspan(axis + 1)));
  slices.count = shape[axis];
  return slices;
}

Tensor Picked(const Tensor& tensor, const Slices& slices, const Places& places) {
  std::vector<int64_t> shape = slices.shape;
  shape[slices.axis] = static_cast<int64_t>(places.size());
  Tensor result = MakeZeroTensor(tensor.dtype, shape);
  std::span<uint8_t> bytes = MutableBytes(result);
  size_t run = static_cast<size_t>(slices.inner) * tensor.dtype.bytes();
  size_t at = 0;
  for (int64_t o = 0; o < slices.outer; ++o) {
    for (int64_t place : places) {
      const uint8_t* from =
          tensor.bytes.data() + static_cast<size_t>(o * slices.count + place) * run;
      if (run > 0) std::memcpy(bytes.data() + at, from, run);
      at += run;
    }
  }
  return result;
}

bool IsNonZero(const Tensor& tensor, int64_t i) {
  return tensor.dtype.is_float() ? ElementAsDouble(tensor, i) != 0 : ElementAsInt(tensor, i) != 0;
}

// A row of indices a dimension, a column an element.
StatusOr<Tensor> NonZero(const Tensor& tensor) {
  TCC_ASSIGN_OR_RETURN(int64_t count, ElementCount(tensor.shape));
  Places places;
  for (int64_t i = 0; i < count; ++i) {
    if (IsNonZero(tensor, i)) places.push_back(i);
  }
  auto rank = static_cast<int64_t>(tensor.shape.size());
  auto found = static_cast<int64_t>(places.size());
  Tensor result = MakeZeroTensor(kInt64, {rank, found});
  for (int64_t c = 0; c < found; ++c) {
    int64_t rest = places[c];
    for (int64_t d = rank; d-- > 0;) {
      SetElementInt(result, d * found + c, rest % tensor.shape[d]);
      rest /= tensor.shape[d];
    }
  }
  return result;
}

StatusOr<Tensor> Compress(const NodeLowering& node, const Tensor& tensor, const Tensor& condition) {
  TCC_ASSIGN_OR_RETURN(Slices slices, SlicesOf(node, tensor));
  TCC_ASSIGN_OR_RETURN(int64_t count, ElementCount(condition.shape));
  if (condition.shape.size() != 1 || count > slices.count) {
    return node.Error("condition is {} for {} slices", ToString(condition), slices.count);
  }
  Places places;
  for (int64_t i = 0; i < count; ++i) {
    if (IsNonZero(condition, i)) places.push_back(i);
  }
  return Picked(tensor, slices, places);
}

// Orders slices by their elements, NaN behind all numbers.
class SliceOrder {
 public:
  SliceOrder(const Tensor& tensor, const Slices& slices) : tensor_(tensor), slices_(slices) {}

  int Compare(int64_t a, int64_t b) const {
    for (int64_t o = 0; o < slices_.outer; ++o) {
      for (int64_t i = 0; i < slices_.inner; ++i) {
        int order = CompareElements(At(o, a, i), At(o, b, i));
        if (order != 0) return order;
      }
    }
    return 0;
  }

 private:
  int64_t At(int64_t outer, int64_t slice, int64_t inner) const {
    return (outer * slices_.count + slice) * slices_.inner + inner;
  }

  int CompareElements(int64_t a, int64_t b) const {
    if (!tensor_.dtype.is_float()) {
      int64_t x = ElementAsInt(tensor_, a);
      int64_t y = ElementAsInt(tensor_, b);
      if (tensor_.dtype == DType(DTypeCode::kUInt64)) {
        return static_cast<uint64_t>(x) < static_cast<uint64_t>(y) ? -1 : int{x != y};
      }
      return x < y ? -1 : int{x != y};
    }
    double x = ElementAsDouble(tensor_, a);
    double y = ElementAsDouble(tensor_, b);
    if (std::isnan(x) || std::isnan(y)) return int{std::isnan(x)} - int{std::isnan(y)};
    return x < y ? -1 : int{x != y};
  }

  const Tensor& tensor_;
  const Slices& slices_;
};

// Distinct slices, where each came first, which one each slice is, how many there are of each.
StatusOr<std::vector<Tensor>> Unique(const NodeLowering& node, const Tensor& tensor) {
  TCC_ASSIGN_OR_RETURN(Slices slices, SlicesOf(node, tensor));
  SliceOrder order(tensor, slices);
  Places sorted(static_cast<size_t>(slices.count));
  std::iota(sorted.begin(), sorted.end(), 0);
  std::ranges::sort(sorted, [&](int64_t a, int64_t b) {
    int compared = order.Compare(a, b);
    return compared != 0 ? compared < 0 : a < b;
  });

  std::vector<Places> groups;
  for (int64_t place : sorted) {
    bool fresh = groups.empty() || order.Compare(groups.back()[0], place) != 0;
    if (fresh) groups.emplace_back();
    groups.back().push_back(place);
  }
  if (node.node().Int("sorted", 1) == 0) {
    std::ranges::sort(groups, [](const Places& a, const Places& b) { return a[0] < b[0]; });
  }
  Places first;
  Places counts;
  Places inverse(sorted.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    first.push_back(groups[g][0]);
    counts.push_back(static_cast<int64_t>(groups[g].size()));
    for (int64_t place : groups[g]) inverse[place] = static_cast<int64_t>(g);
  }
  return std::vector<Tensor>{Picked(tensor, slices, first), IntVector(first), IntVector(inverse),
                             IntVector(counts)};
}

}  // namespace

bool IsValueDependent(OpKind op) {
  return op == OpKind::kNonZero || op == OpKind::kCompress || op == OpKind::kUnique;
}

StatusOr<std::vector<Tensor>> EvaluateValueDependent(const Graph& graph, const Node& node,
                                                     int64_t max_bytes) {
  NodeLowering context(graph, node);
  size_t inputs = node.op == OpKind::kCompress ? 2 : 1;
  TCC_RETURN_IF_ERROR(context.CheckInputs(inputs, inputs));
  for (size_t i = 0; i < inputs; ++i) {
    const Tensor* tensor = context.Constant(i);
    if (!tensor) {
      return context.NotConstant(
          i, fmt::format("the shape of the result depends on input {}, which", i));
    }
    // Indices of 64 bits, one a dimension.
    int64_t grown = static_cast<int64_t>(tensor->bytes.size()) * 8 *
                    std::max<int64_t>(1, static_cast<int64_t>(tensor->shape.size()));
    if (grown > max_bytes) {
      return absl::ResourceExhaustedError(
          fmt::format("node '{}' may give {} bytes; the limit is {}", node.name, grown, max_bytes));
    }
  }
  const Tensor& tensor = *context.Constant(0);
  std::vector<Tensor> results;
  if (node.op == OpKind::kUnique) {
    TCC_ASSIGN_OR_RETURN(results, Unique(context, tensor));
  } else if (node.op == OpKind::kCompress) {
    TCC_ASSIGN_OR_RETURN(Tensor result, Compress(context, tensor, *context.Constant(1)));
    results = {result};
  } else {
    TCC_ASSIGN_OR_RETURN(Tensor result, NonZero(tensor));
    results = {result};
  }
  results.resize(node.outputs.size());
  return results;
}

}  // namespace tcc
