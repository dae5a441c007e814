#include "graph/passes/attention_operands.h"

#include <algorithm>
#include <numeric>

#include "graph/ops/op_lowering.h"
#include "ir/graph/constants.h"

namespace tcc {
namespace {

std::vector<int64_t> DimsOf(const Rewrite& rewrite, ValueId value) {
  return StaticShape(rewrite.graph.value(value)).value_or(std::vector<int64_t>());
}

int64_t ProductOf(std::span<const int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

const Node* ProducerOf(const Rewrite& rewrite, ValueId value) {
  for (const Node& node : rewrite.graph.nodes) {
    if (!node.outputs.empty() && node.outputs[0] == value) return &node;
  }
  return nullptr;
}

std::optional<double> SingleNumber(const Graph& graph, ValueId value) {
  const Tensor* tensor = graph.ConstantOf(value);
  if (!tensor || tensor->dtype.is_storage_only()) return std::nullopt;
  if (ElementCount(tensor->shape).value_or(0) != 1) return std::nullopt;
  return ElementAsDouble(*tensor, 0);
}

ValueId Swapped(Rewrite& rewrite, ValueId value, std::vector<int64_t> perm) {
  std::swap(perm.back(), perm[perm.size() - 2]);
  if (std::ranges::is_sorted(perm)) return value;
  std::vector<int64_t> dims = DimsOf(rewrite, value);
  std::vector<int64_t> shape;
  for (int64_t dim : perm) shape.push_back(dims[dim]);
  const Value& keys = rewrite.graph.value(value);
  return rewrite.Emit(OpKind::kTranspose, keys.name + ".keys", {value}, keys.dtype, ToExprs(shape),
                      {{"perm", perm}});
}

// Whether one dimension is batch and heads together.
bool IsMerged(std::span<const int64_t> leading, const AttentionHeads& heads) {
  return leading.size() == 1 && leading[0] == heads.batch * heads.heads;
}

// How many of the leading dimensions make up the batch, the others being the heads.
std::optional<size_t> SplitAt(std::span<const int64_t> leading, const AttentionHeads& heads) {
  for (size_t count = 0; count <= leading.size(); ++count) {
    if (ProductOf(leading.first(count)) == heads.batch &&
        ProductOf(leading.subspan(count)) == heads.heads) {
      return count;
    }
  }
  return std::nullopt;
}

// One dimension for several, of which a mask varies along all or none.
std::optional<int64_t> Joined(std::span<const int64_t> mask, std::span<const int64_t> scores) {
  if (std::ranges::all_of(mask, [](int64_t dim) { return dim == 1; })) return 1;
  if (std::ranges::equal(mask, scores)) return ProductOf(mask);
  return std::nullopt;
}

}  // namespace

Scaled WithoutFactors(const Rewrite& rewrite, ValueId value) {
  Scaled scaled{value};
  while (const Node* node = ProducerOf(rewrite, scaled.value)) {
    if ((node->op != OpKind::kMul && node->op != OpKind::kDiv) || node->inputs.size() != 2) break;
    size_t scaled_input =
        node->op == OpKind::kMul && SingleNumber(rewrite.graph, node->inputs[0]) ? 1 : 0;
    std::optional<double> number = SingleNumber(rewrite.graph, node->inputs[1 - scaled_input]);
    ValueId rest = node->inputs[scaled_input];
    if (!number || *number == 0 || DimsOf(rewrite, rest) != DimsOf(rewrite, scaled.value)) break;
    scaled.factor = node->op == OpKind::kMul ? scaled.factor * *number : scaled.factor / *number;
    scaled.value = rest;
  }
  return scaled;
}

Scaled KeysOfColumns(Rewrite& rewrite, ValueId columns) {
  Scaled outer = WithoutFactors(rewrite, columns);
  std::vector<int64_t> dims = DimsOf(rewrite, outer.value);
  const Node* node = ProducerOf(rewrite, outer.value);
  ValueId transposed = outer.value;
  // A view that leaves the last two dimensions alone may stand behind the transposition.
  if (node && FormOf(*node) == OpForm::kView) {
    std::vector<int64_t> viewed = DimsOf(rewrite, node->inputs[0]);
    if (viewed.size() >= 2 && std::equal(dims.end() - 2, dims.end(), viewed.end() - 2)) {
      transposed = node->inputs[0];
      node = ProducerOf(rewrite, transposed);
    }
  }
  if (!node || node->op != OpKind::kTranspose) {
    std::vector<int64_t> order(dims.size());
    std::iota(order.begin(), order.end(), 0);
    return {Swapped(rewrite, outer.value, order), outer.factor};
  }
  ValueId keys = Swapped(rewrite, node->inputs[0], node->Ints("perm"));
  if (transposed != outer.value) {
    std::swap(dims.back(), dims[dims.size() - 2]);
    keys = Reshaped(rewrite, keys, dims);
  }
  Scaled inner = WithoutFactors(rewrite, keys);
  return {inner.value, outer.factor * inner.factor};
}

ValueId Reshaped(Rewrite& rewrite, ValueId value, const std::vector<int64_t>& shape) {
  if (DimsOf(rewrite, value) == shape) return value;
  Graph& graph = rewrite.graph;
  std::string name = graph.value(value).name + ".heads";
  ValueId target = AddConstant(graph, name + ".shape", IntVector(shape));
  return rewrite.Emit(OpKind::kReshape, name, {value, target}, graph.value(value).dtype,
                      ToExprs(shape), {{"allowzero", int64_t{0}}});
}

std::optional<ValueId> WithAllHeads(Rewrite& rewrite, ValueId value, const AttentionHeads& heads) {
  std::vector<int64_t> dims = DimsOf(rewrite, value);
  if (dims.size() < 3) return std::nullopt;
  std::span<const int64_t> leading = std::span(dims).first(dims.size() - 2);
  if (!IsMerged(leading, heads) && !SplitAt(leading, heads)) return std::nullopt;
  return Reshaped(rewrite, value,
                  {heads.batch, heads.heads, dims[dims.size() - 2], dims[dims.size() - 1]});
}

std::optional<ValueId> WithoutRepeats(Rewrite& rewrite, ValueId value,
                                      const AttentionHeads& heads) {
  std::vector<int64_t> dims = DimsOf(rewrite, value);
  if (dims.size() == 4 && dims[0] == heads.batch && dims[1] == 1) return value;
  const Node* view = ProducerOf(rewrite, value);
  if (dims.size() < 3 || !view || FormOf(*view) != OpForm::kView) return std::nullopt;
  const Node* expand = ProducerOf(rewrite, view->inputs[0]);
  if (!expand || expand->op != OpKind::kExpand) return std::nullopt;
  // [batch, own heads, repeats, length, size]
  std::vector<int64_t> repeated = DimsOf(rewrite, expand->outputs[0]);
  std::vector<int64_t> single = DimsOf(rewrite, expand->inputs[0]);
  if (repeated.size() != 5 || single.size() != 5 || repeated[0] != heads.batch ||
      repeated[1] * repeated[2] != heads.heads || single[2] != 1 ||
      !std::equal(dims.end() - 2, dims.end(), repeated.end() - 2)) {
    return std::nullopt;
  }
  repeated[2] = 1;
  if (single != repeated) return std::nullopt;
  return Reshaped(rewrite, expand->inputs[0], {single[0], single[1], single[3], single[4]});
}

std::optional<ValueId> MaskOfHeads(Rewrite& rewrite, ValueId mask,
                                   const std::vector<int64_t>& scores,
                                   const AttentionHeads& heads) {
  std::optional<std::vector<int64_t>> dims = StaticShape(rewrite.graph.value(mask));
  if (!dims || dims->size() > scores.size()) return std::nullopt;
  dims->insert(dims->begin(), scores.size() - dims->size(), 1);
  for (size_t d = 0; d < scores.size(); ++d) {
    if ((*dims)[d] != 1 && (*dims)[d] != scores[d]) return std::nullopt;
  }
  std::span<const int64_t> leading = std::span(scores).first(scores.size() - 2);
  std::span<const int64_t> own = std::span(*dims).first(leading.size());
  int64_t queries = (*dims)[dims->size() - 2];
  int64_t keys = dims->back();
  if (IsMerged(leading, heads)) {
    bool varies = own[0] != 1;
    return Reshaped(rewrite, mask,
                    {varies ? heads.batch : 1, varies ? heads.heads : 1, queries, keys});
  }
  std::optional<size_t> split = SplitAt(leading, heads);
  if (!split) return std::nullopt;
  std::optional<int64_t> batch = Joined(own.first(*split), leading.first(*split));
  std::optional<int64_t> own_heads = Joined(own.subspan(*split), leading.subspan(*split));
  if (!batch || !own_heads) return std::nullopt;
  return Reshaped(rewrite, mask, {*batch, *own_heads, queries, keys});
}

}  // namespace tcc
