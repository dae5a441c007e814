#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "graph/ops/node_lowering.h"
#include "graph/passes/attention_operands.h"
#include "graph/passes/edit.h"
#include "graph/passes/node_writer.h"
#include "graph/passes/passes.h"
#include "ir/simplify/size_arithmetic.h"

namespace tcc {
namespace {

// A product with a constant, the sum with a constant row behind it, and the Reshape of each row of
// the result to heads.
struct Projection {
  int product = -1;  // a node
  int sum = -1;      // a node; -1: there is none
  int heads = -1;    // a node
  ValueId weight = kNoValue;
  ValueId row = kNoValue;
  Expr count = 0;   // of the heads
  Expr extent = 0;  // of each
};

// Returns the tensors beside each other: along the last dimension.
Tensor BesideEachOther(const std::vector<Tensor>& tensors) {
  std::vector<int64_t> shape = tensors[0].shape;
  shape.back() = 0;
  for (const Tensor& tensor : tensors) shape.back() += tensor.shape.back();
  const int64_t rows = shape.size() > 1 ? shape[0] : 1;
  std::vector<uint8_t> bytes;
  for (int64_t row = 0; row < rows; ++row) {
    for (const Tensor& tensor : tensors) {
      auto part =
          tensor.bytes.subspan(tensor.bytes.size() / rows * row, tensor.bytes.size() / rows);
      bytes.insert(bytes.end(), part.begin(), part.end());
    }
  }
  return MakeTensor(tensors[0].dtype, shape, bytes);
}

class ProductJoiner {
 public:
  explicit ProductJoiner(Graph& graph) : graph_(graph), uses_(UsesOf(graph)) {}

  void Run() {
    std::map<int, std::vector<Projection>> joined = Groups();
    std::set<int> gone;
    for (const auto& [first, group] : joined) {
      for (const Projection& p : group) gone.insert({p.product, p.sum, p.heads});
    }
    std::vector<Node> nodes;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      auto group = joined.find(static_cast<int>(n));
      if (group != joined.end()) Join(group->second, nodes);
      if (!gone.contains(static_cast<int>(n))) nodes.push_back(graph_.nodes[n]);
    }
    graph_.nodes = std::move(nodes);
  }

 private:
  // Returns the projections of the same value that become one, by the first product of each group.
  std::map<int, std::vector<Projection>> Groups() const {
    std::map<std::tuple<ValueId, std::string, bool, int64_t>, std::vector<Projection>> by_operand;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      std::optional<Projection> p = ProjectionAt(static_cast<int>(n));
      if (!p) continue;
      const std::string dtype = ToString(graph_.value(p->weight).dtype);
      by_operand[{graph_.nodes[n].inputs[0], dtype, p->sum >= 0, *AsConstant(p->extent)}].push_back(
          *p);
    }
    std::map<int, std::vector<Projection>> groups;
    for (auto& [operand, group] : by_operand) {
      if (group.size() > 1) groups.emplace(group[0].product, std::move(group));
    }
    return groups;
  }

  std::optional<Projection> ProjectionAt(int n) const {
    const Node& node = graph_.nodes[n];
    if (node.op != OpKind::kMatMul) return std::nullopt;
    const Tensor* weight = graph_.ConstantOf(node.inputs[1]);
    if (!weight || weight->shape.size() != 2 || weight->dtype.bits() < 8) return std::nullopt;
    Projection p{.product = n, .weight = node.inputs[1]};
    ValueId result = node.outputs[0];
    if (!uses_.HasOneReader(result)) return std::nullopt;
    result = TakeSum(uses_.readers[result][0], p).value_or(result);
    if (!uses_.HasOneReader(result) || !TakeHeads(uses_.readers[result][0], p)) return std::nullopt;
    bool attended = IsReadByRow(graph_, uses_, graph_.nodes[p.heads].outputs[0]);
    return attended ? std::optional(p) : std::nullopt;
  }

  // Takes the sum of the product and a row of as many columns into the projection. Returns the sum.
  std::optional<ValueId> TakeSum(int n, Projection& p) const {
    const Node& sum = graph_.nodes[n];
    if (sum.op != OpKind::kAdd) return std::nullopt;
    const ValueId product = graph_.nodes[p.product].outputs[0];
    const ValueId row = sum.inputs[0] == product ? sum.inputs[1] : sum.inputs[0];
    const Tensor* tensor = graph_.ConstantOf(row);
    const std::vector<int64_t> columns = {graph_.ConstantOf(p.weight)->shape[1]};
    if (!tensor || tensor->shape != columns) return std::nullopt;
    p.sum = n;
    p.row = row;
    return sum.outputs[0];
  }

  // Takes a Reshape that cuts the columns into heads of a known extent into the projection.
  bool TakeHeads(int n, Projection& p) const {
    const Node& heads = graph_.nodes[n];
    if (heads.op != OpKind::kReshape) return false;
    const std::vector<Expr>& rows = graph_.value(heads.inputs[0]).shape;
    const std::vector<Expr>& cut = graph_.value(heads.outputs[0]).shape;
    if (cut.size() != rows.size() + 1 || !AsConstant(cut.back())) return false;
    if (!std::equal(rows.begin(), rows.end() - 1, cut.begin(), SameExtent)) return false;
    p.heads = n;
    p.count = cut[cut.size() - 2];
    p.extent = cut.back();
    return AsConstant(p.count).has_value();
  }

  // Adds the product with all weights, its heads, and a Slice of them for each projection.
  void Join(const std::vector<Projection>& group, std::vector<Node>& nodes) {
    const Node& first = graph_.nodes[group[0].product];
    NodeWriter writer(graph_, nodes, first.name);
    std::vector<Tensor> weights, rows;
    Expr count = 0;
    for (const Projection& p : group) {
      weights.push_back(*graph_.ConstantOf(p.weight));
      if (p.row != kNoValue) rows.push_back(*graph_.ConstantOf(p.row));
      count = SumOf(count, p.count);
    }
    std::vector<Expr> shape = graph_.value(first.outputs[0]).shape;
    auto emit = [&](OpKind op, const std::vector<ValueId>& operands) {
      ValueId result = writer.Emit(op, operands);
      graph_.values[result].shape = shape;
      return result;
    };
    shape.back() = ProductOf(count, group[0].extent);
    ValueId all = writer.Constant("weights", BesideEachOther(weights));
    all = emit(OpKind::kMatMul, {first.inputs[0], all});
    if (!rows.empty())
      all = emit(OpKind::kAdd, {all, writer.Constant("row", BesideEachOther(rows))});
    shape.back() = count;
    shape.push_back(group[0].extent);
    all = emit(OpKind::kReshape, {all, writer.Dims(shape)});
    const auto axis = static_cast<int64_t>(shape.size()) - 2;
    int64_t begin = 0;
    for (const Projection& p : group) {
      const int64_t end = begin + *AsConstant(p.count);
      writer.EmitAs(graph_.nodes[p.heads].outputs[0], OpKind::kSlice,
                    {all, writer.Ints({begin}), writer.Ints({end}), writer.Ints({axis})});
      begin = end;
    }
  }

  Graph& graph_;
  ValueUses uses_;
};

}  // namespace

Status JoinProducts(Graph& graph) {
  ProductJoiner(graph).Run();
  return RemoveDead(graph);
}

}  // namespace tcc
