#include "graph/passes/edit.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_set>

#include "ir/graph/constants.h"
#include "support/check.h"

namespace tcc {
namespace {

// Reads the values' names once, though a hint may have been given a thousand times.
std::string UniqueValueName(const Graph& graph, const std::string& hint) {
  std::unordered_set<std::string_view> taken;
  for (const Value& value : graph.values) {
    if (value.name.starts_with(hint)) taken.insert(value.name);
  }
  std::string name = hint;
  for (int suffix = 1; taken.contains(name); ++suffix) name = fmt::format("{}_{}", hint, suffix);
  return name;
}

}  // namespace

ValueUses UsesOf(const Graph& graph) {
  ValueUses uses;
  uses.readers.resize(graph.values.size());
  uses.is_output.resize(graph.values.size(), false);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (ValueId input : graph.nodes[n].inputs) {
      if (input == kNoValue) continue;
      std::vector<int>& readers = uses.readers[input];
      if (readers.empty() || readers.back() != static_cast<int>(n)) {
        readers.push_back(static_cast<int>(n));
      }
    }
  }
  for (ValueId output : graph.outputs) uses.is_output[output] = true;
  return uses;
}

std::vector<int> ProducersOf(const Graph& graph) {
  std::vector<int> producers(graph.values.size(), -1);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (ValueId output : graph.nodes[n].outputs) {
      if (output != kNoValue) producers[output] = static_cast<int>(n);
    }
  }
  return producers;
}

void ReplaceUses(Graph& graph, ValueId from, ValueId to) {
  for (Node& node : graph.nodes) std::ranges::replace(node.inputs, from, to);
  std::ranges::replace(graph.outputs, from, to);
}

bool IsCommutative(OpKind op) {
  constexpr OpKind kOps[] = {OpKind::kAdd, OpKind::kMul, OpKind::kAnd,
                             OpKind::kOr,  OpKind::kXor, OpKind::kEqual};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

ValueId AddConstant(Graph& graph, const std::string& hint, const Tensor& tensor) {
  ValueId id = AddComputed(graph, hint, tensor.dtype, ToExprs(tensor.shape));
  graph.values[id].constant = tensor;
  return id;
}

ValueId AddComputed(Graph& graph, const std::string& hint, DType dtype,
                    const std::vector<Expr>& shape) {
  return graph.AddValue({.name = UniqueValueName(graph, hint), .dtype = dtype, .shape = shape});
}

ValueId AddSizes(Graph& graph, const std::string& hint, const std::vector<Expr>& sizes) {
  if (std::optional<std::vector<int64_t>> numbers = AsNumbers(sizes)) {
    return AddConstant(graph, hint, IntVector(*numbers));
  }
  std::vector<Expr> elements = sizes;  // `sizes` may be of a value, which adding one moves
  ValueId id = AddComputed(graph, hint, kInt64, {Expr(static_cast<int64_t>(sizes.size()))});
  graph.values[id].elements = std::move(elements);
  return id;
}

Tensor TransposedTensor(const Tensor& tensor, const std::vector<int64_t>& perm) {
  size_t rank = tensor.shape.size();
  TCC_CHECK(perm.size() == rank && !tensor.dtype.is_storage_only());
  std::vector<int64_t> in_strides(rank, 1);
  for (size_t d = rank; d > 1; --d) in_strides[d - 2] = in_strides[d - 1] * tensor.shape[d - 1];
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  for (int64_t dim : perm) {
    shape.push_back(tensor.shape[dim]);
    strides.push_back(in_strides[dim]);
  }

  Tensor result = MakeZeroTensor(tensor.dtype, shape);
  std::span<uint8_t> out = MutableBytes(result);
  size_t bytes = tensor.dtype.bytes();
  std::vector<int64_t> index(rank, 0);
  int64_t source = 0;
  for (size_t at = 0; at < out.size(); at += bytes) {
    std::memcpy(out.data() + at, tensor.bytes.data() + source * bytes, bytes);
    for (size_t d = rank; d > 0; --d) {
      source += strides[d - 1];
      if (++index[d - 1] < shape[d - 1]) break;
      source -= strides[d - 1] * shape[d - 1];
      index[d - 1] = 0;
    }
  }
  return result;
}

Tensor ReshapedTensor(const Tensor& tensor, std::vector<int64_t> shape) {
  Tensor result = tensor;
  result.shape = std::move(shape);
  return result;
}

}  // namespace tcc
