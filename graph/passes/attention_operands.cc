#include "graph/passes/attention_operands.h"

#include <algorithm>
#include <numeric>

#include "graph/ops/normal_form.h"
#include "graph/ops/op_lowering.h"

namespace tcc {
namespace {

Expr NormalProduct(const Rewrite& rewrite, std::span<const Expr> dims) {
  return NormalForm(rewrite.graph, Product(dims));
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
  const Value& keys = rewrite.graph.value(value);
  std::vector<Expr> shape;
  for (int64_t dim : perm) shape.push_back(keys.shape[dim]);
  return rewrite.Emit(OpKind::kTranspose, keys.name + ".keys", {value}, keys.dtype, shape,
                      {{"perm", perm}});
}

// Whether one dimension is batch and heads together.
bool IsMerged(const Rewrite& rewrite, std::span<const Expr> leading, const AttentionHeads& heads) {
  return leading.size() == 1 &&
         SameExtent(leading[0], NormalProduct(rewrite, {{heads.batch, heads.heads}}));
}

// How many of the leading dimensions make up the batch, the others being the heads.
std::optional<size_t> SplitAt(const Rewrite& rewrite, std::span<const Expr> leading,
                              const AttentionHeads& heads) {
  for (size_t count = 0; count <= leading.size(); ++count) {
    if (SameExtent(NormalProduct(rewrite, leading.first(count)), heads.batch) &&
        SameExtent(NormalProduct(rewrite, leading.subspan(count)), heads.heads)) {
      return count;
    }
  }
  return std::nullopt;
}

// One dimension for several, of which a mask varies along all or none.
std::optional<Expr> Joined(const Rewrite& rewrite, std::span<const Expr> mask,
                           std::span<const Expr> scores) {
  if (std::ranges::all_of(mask, [](const Expr& dim) { return IsConstant(dim, 1); })) return Expr(1);
  if (SameShape(mask, scores)) return NormalProduct(rewrite, mask);
  return std::nullopt;
}

}  // namespace

bool IsReadByRow(const Graph& graph, const ValueUses& uses, ValueId id) {
  if (!uses.HasOneReader(id)) return false;
  const Node& reader = graph.nodes[uses.readers[id][0]];
  if (reader.op == OpKind::kAttention) return true;
  const std::vector<Expr>& before = graph.value(id).shape;
  const std::vector<Expr>& after = graph.value(reader.outputs[0]).shape;
  bool keeps_rows = !before.empty() && !after.empty() && SameExtent(before.back(), after.back());
  if (!keeps_rows) return false;
  if (reader.op == OpKind::kRotaryEmbedding) return before.size() == 4;
  if (reader.op == OpKind::kTranspose) {
    const std::vector<int64_t> perm = reader.Ints("perm");
    return !perm.empty() && perm.back() + 1 == static_cast<int64_t>(perm.size());
  }
  return reader.op == OpKind::kReshape && IsReadByRow(graph, uses, reader.outputs[0]);
}

Scaled WithoutFactors(const Rewrite& rewrite, ValueId value) {
  Scaled scaled{value};
  while (const Node* node = ProducerOf(rewrite, scaled.value)) {
    if ((node->op != OpKind::kMul && node->op != OpKind::kDiv) || node->inputs.size() != 2) break;
    size_t scaled_input =
        node->op == OpKind::kMul && SingleNumber(rewrite.graph, node->inputs[0]) ? 1 : 0;
    std::optional<double> number = SingleNumber(rewrite.graph, node->inputs[1 - scaled_input]);
    ValueId rest = node->inputs[scaled_input];
    bool same = SameShape(rewrite.ShapeOf(rest), rewrite.ShapeOf(scaled.value));
    if (!number || *number == 0 || !same) break;
    scaled.factor = node->op == OpKind::kMul ? scaled.factor * *number : scaled.factor / *number;
    scaled.value = rest;
  }
  return scaled;
}

Scaled KeysOfColumns(Rewrite& rewrite, ValueId columns) {
  Scaled outer = WithoutFactors(rewrite, columns);
  std::vector<Expr> dims = rewrite.ShapeOf(outer.value);
  const Node* node = ProducerOf(rewrite, outer.value);
  ValueId transposed = outer.value;
  // A view that leaves the last two dimensions alone may stand behind the transposition.
  if (node && FormOf(*node) == OpForm::kView) {
    std::span<const Expr> viewed = rewrite.ShapeOf(node->inputs[0]);
    if (viewed.size() >= 2 && SameShape(std::span(dims).last(2), viewed.last(2))) {
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

ValueId Reshaped(Rewrite& rewrite, ValueId value, const std::vector<Expr>& shape) {
  if (SameShape(rewrite.ShapeOf(value), shape)) return value;
  Graph& graph = rewrite.graph;
  std::string name = graph.value(value).name + ".heads";
  ValueId target = AddSizes(graph, name + ".shape", shape);
  return rewrite.Emit(OpKind::kReshape, name, {value, target}, graph.value(value).dtype, shape,
                      {{"allowzero", int64_t{0}}});
}

std::optional<ValueId> WithAllHeads(Rewrite& rewrite, ValueId value, const AttentionHeads& heads) {
  std::vector<Expr> dims = rewrite.ShapeOf(value);
  if (dims.size() < 3) return std::nullopt;
  std::span<const Expr> leading = std::span(dims).first(dims.size() - 2);
  if (!IsMerged(rewrite, leading, heads) && !SplitAt(rewrite, leading, heads)) return std::nullopt;
  return Reshaped(rewrite, value,
                  {heads.batch, heads.heads, dims[dims.size() - 2], dims[dims.size() - 1]});
}

std::optional<ValueId> WithoutRepeats(Rewrite& rewrite, ValueId value,
                                      const AttentionHeads& heads) {
  std::vector<Expr> dims = rewrite.ShapeOf(value);
  if (dims.size() == 4 && SameExtent(dims[0], heads.batch) && IsConstant(dims[1], 1)) return value;
  const Node* view = ProducerOf(rewrite, value);
  if (dims.size() < 3 || !view || FormOf(*view) != OpForm::kView) return std::nullopt;
  const Node* expand = ProducerOf(rewrite, view->inputs[0]);
  if (!expand || expand->op != OpKind::kExpand) return std::nullopt;
  // [batch, own heads, repeats, length, size]
  std::vector<Expr> repeated = rewrite.ShapeOf(expand->outputs[0]);
  std::vector<Expr> single = rewrite.ShapeOf(expand->inputs[0]);
  if (repeated.size() != 5 || single.size() != 5 || !SameExtent(repeated[0], heads.batch) ||
      !SameExtent(NormalProduct(rewrite, {{repeated[1], repeated[2]}}), heads.heads) ||
      !SameShape(std::span(dims).last(2), std::span(repeated).last(2))) {
    return std::nullopt;
  }
  repeated[2] = Expr(1);
  if (!SameShape(single, repeated)) return std::nullopt;
  return Reshaped(rewrite, expand->inputs[0], {single[0], single[1], single[3], single[4]});
}

std::optional<ValueId> MaskOfHeads(Rewrite& rewrite, ValueId mask, const std::vector<Expr>& scores,
                                   const AttentionHeads& heads) {
  std::vector<Expr> dims = rewrite.ShapeOf(mask);
  if (dims.size() > scores.size()) return std::nullopt;
  dims.insert(dims.begin(), scores.size() - dims.size(), Expr(1));
  for (size_t d = 0; d < scores.size(); ++d) {
    if (!IsConstant(dims[d], 1) && !SameExtent(dims[d], scores[d])) return std::nullopt;
  }
  std::span<const Expr> leading = std::span(scores).first(scores.size() - 2);
  std::span<const Expr> own = std::span(dims).first(leading.size());
  const Expr& queries = dims[dims.size() - 2];
  const Expr& keys = dims.back();
  if (IsMerged(rewrite, leading, heads)) {
    bool varies = !IsConstant(own[0], 1);
    return Reshaped(
        rewrite, mask,
        {varies ? heads.batch : Expr(1), varies ? heads.heads : Expr(1), queries, keys});
  }
  std::optional<size_t> split = SplitAt(rewrite, leading, heads);
  if (!split) return std::nullopt;
  std::optional<Expr> batch = Joined(rewrite, own.first(*split), leading.first(*split));
  std::optional<Expr> own_heads = Joined(rewrite, own.subspan(*split), leading.subspan(*split));
  if (!batch || !own_heads) return std::nullopt;
  return Reshaped(rewrite, mask, {*batch, *own_heads, queries, keys});
}

}  // namespace tcc
