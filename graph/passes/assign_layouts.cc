#include <algorithm>
#include <map>

#include "graph/ops/op_lowering.h"
#include "graph/ops/storage_order.h"
#include "graph/passes/edit.h"
#include "graph/passes/passes.h"

namespace tcc {
namespace {

// Returns whether batch and channels stay and only the dimensions behind them are regrouped: the
// elements then keep their order whether channels come second or last.
bool KeepsChannels(const Graph& graph, const Node& node) {
  const std::vector<Expr>& in = graph.value(node.inputs[0]).shape;
  const std::vector<Expr>& out = graph.value(node.outputs[0]).shape;
  return in.size() >= 3 && out.size() >= 3 && SameExtent(in[0], out[0]) &&
         SameExtent(in[1], out[1]);
}

// Returns whether the operator works channels last too, and so does once an operand is stored so.
bool FollowsOperand(const Graph& graph, const Node& node) {
  switch (FormOf(node)) {
    case OpForm::kElementwise:
    case OpForm::kMovement:
    case OpForm::kReduction:
      return true;
    case OpForm::kView:
      return KeepsChannels(graph, node);
    case OpForm::kContraction:
    case OpForm::kUnlowered:
      return false;
  }
  return false;
}

// Returns the permutation from [N, spatial..., C] to [N, C, spatial...].
std::vector<int64_t> FromChannelsLast(size_t rank) {
  std::vector<int64_t> perm = {0, static_cast<int64_t>(rank) - 1};
  for (size_t d = 2; d < rank; ++d) perm.push_back(static_cast<int64_t>(d) - 1);
  return perm;
}

// The number of elementwise nodes to look through behind a Transpose: a network's block has no more
// before the Transpose's reader.
constexpr int kLookAhead = 6;

class LayoutAssigner {
 public:
  explicit LayoutAssigner(Graph& graph) : graph_(graph) {
    for (const Value& value : graph_.values) order_.push_back(RowMajorOrder(value.shape.size()));
  }

  Status Run() {
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    uses_ = UsesOfAll(nodes);
    pending_ = &nodes;
    // By index and as a copy: visiting a Flatten changes the weights of later nodes.
    for (size_t n = 0; n < nodes.size(); ++n) Visit(nodes[n]);
    RestoreOutputs();
    return RemoveDead(graph_);
  }

 private:
  ValueUses UsesOfAll(const std::vector<Node>& nodes) {
    Graph view;
    view.values.resize(graph_.values.size());
    view.nodes = nodes;
    view.outputs = graph_.outputs;
    return UsesOf(view);
  }

  size_t Rank(ValueId id) const { return graph_.value(id).shape.size(); }

  bool IsStoredLast(ValueId id) const { return order_[id] != RowMajorOrder(order_[id].size()); }

  bool ReadsChannelsLast(const Node& node) const {
    size_t rank = ActivationRank(graph_, node);
    return std::ranges::any_of(node.inputs, [&](ValueId id) {
      return id != kNoValue && Rank(id) == rank && IsStoredLast(id);
    });
  }

  void Visit(Node node) {
    if (IsConvolution(node.op)) {
      node.layout = DataLayout::kChannelsLast;
      TransposeWeight(node);
    } else if (FollowsOperand(graph_, node) && ReadsChannelsLast(node)) {
      node.layout = DataLayout::kChannelsLast;
    } else if (GivesChannelsLast(node)) {
      node.attributes["to"] = std::string("channels_last");
    } else if (FlattensIntoWeights(node)) {
      FlattenChannelsLast(node);
      return;
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      ValueId& input = node.inputs[i];
      if (input == kNoValue) continue;
      input = InOrder(input, InputOrder(graph_, node, i));
    }
    Emit(node);
  }

  // Returns whether the node is a Transpose of [N, spatial..., C] to [N, C, spatial...] whose
  // result should be stored channels last. It then moves nothing, and if its readers work in that
  // order anyway, the way back is free as well.
  bool GivesChannelsLast(const Node& node) const {
    // Other operators may leave out their first operand, as a Loop its trip count.
    if (node.op != OpKind::kTranspose) return false;
    size_t rank = Rank(node.inputs[0]);
    return rank >= 3 && !IsStoredLast(node.inputs[0]) &&
           node.Ints("perm") == FromChannelsLast(rank) && IsReadLast(node.outputs[0], kLookAhead);
  }

  // Returns whether the value is read by a convolution or by an elementwise node with another
  // operand stored channels last, directly or through elementwise nodes.
  bool IsReadLast(ValueId id, int steps) const {
    if (steps == 0) return false;
    return std::ranges::any_of(uses_.readers[id], [&](int reader) {
      const Node& node = (*pending_)[reader];
      if (IsConvolution(node.op)) return node.inputs[0] == id;
      if (FormOf(node) != OpForm::kElementwise) return false;
      bool beside_last = std::ranges::any_of(node.inputs, [&](ValueId other) {
        return other != kNoValue && static_cast<size_t>(other) < order_.size() &&
               Rank(other) == Rank(id) && IsStoredLast(other);
      });
      return beside_last || IsReadLast(node.outputs[0], steps - 1);
    });
  }

  void Emit(const Node& node) {
    order_.resize(graph_.values.size());
    for (ValueId output : node.outputs) {
      if (output != kNoValue) order_[output] = OutputOrder(graph_, node, Rank(output));
    }
    graph_.nodes.push_back(node);
  }

  // Transposes the weight from [M, C/g, k...] to [k..., C/g, M], or from [C, M/g, k...] to [k...,
  // C, M/g] for a ConvTranspose.
  void TransposeWeight(Node& node) {
    ValueId weight = node.inputs[1];
    bool in_first = node.op == OpKind::kConvTranspose;
    std::vector<int64_t> perm;
    for (size_t d = 2; d < Rank(weight); ++d) perm.push_back(static_cast<int64_t>(d));
    perm.push_back(in_first ? 0 : 1);
    perm.push_back(in_first ? 1 : 0);
    auto [entry, absent] = weights_.emplace(std::pair(weight, perm), kNoValue);
    if (absent) entry->second = Transposed(weight, perm, ".hwio");
    node.inputs[1] = entry->second;
  }

  // Returns the transposed value: a new constant, or the result of a Transpose node.
  ValueId Transposed(ValueId id, const std::vector<int64_t>& perm, const char* suffix) {
    std::string name = graph_.value(id).name + suffix;
    if (const Tensor* constant = graph_.ConstantOf(id)) {
      Tensor tensor = TransposedTensor(*constant, perm);
      ValueId result = AddConstant(graph_, name, tensor);
      order_.push_back(RowMajorOrder(perm.size()));
      return result;
    }
    std::vector<Expr> shape;
    for (int64_t dim : perm) shape.push_back(graph_.value(id).shape[dim]);
    Node transpose;
    transpose.op = OpKind::kTranspose;
    transpose.inputs = {id};
    transpose.attributes["perm"] = perm;
    if (IsStoredLast(id)) transpose.layout = DataLayout::kChannelsLast;
    transpose.outputs = {AddComputed(graph_, name, graph_.value(id).dtype, shape)};
    transpose.name = graph_.value(transpose.outputs[0]).name;
    Emit(transpose);
    return transpose.outputs[0];
  }

  // Returns the value in the wanted order: itself, or repacked, once for all readers.
  ValueId InOrder(ValueId id, const std::vector<int>& wanted) {
    if (SameBytes(graph_.value(id).shape, order_[id], wanted)) return id;
    auto [entry, absent] = repacked_.emplace(std::pair(id, wanted), kNoValue);
    if (absent) {
      Value value = graph_.value(id);
      entry->second = AddComputed(graph_, value.name + ".repacked", value.dtype, value.shape);
      if (value.constant && order_[id] == RowMajorOrder(wanted.size())) {
        EmitRepackedConstant(id, entry->second, wanted);
      } else {
        EmitRepack(id, entry->second, wanted);
      }
    }
    return entry->second;
  }

  // Emits a constant with the elements in the order in which they are read, and a view of it.
  void EmitRepackedConstant(ValueId from, ValueId to, const std::vector<int>& wanted) {
    Tensor tensor = TransposedTensor(*graph_.ConstantOf(from), {wanted.begin(), wanted.end()});
    Node view;
    view.name = graph_.value(to).name + ".view";
    view.op = OpKind::kTranspose;
    view.inputs = {AddConstant(graph_, graph_.value(from).name + ".channels_last", tensor)};
    view.outputs = {to};
    view.attributes["perm"] = FromChannelsLast(wanted.size());
    view.attributes["to"] = std::string("channels_last");
    order_.resize(graph_.values.size());
    order_[view.inputs[0]] = RowMajorOrder(wanted.size());
    Emit(view);
  }

  void EmitRepack(ValueId from, ValueId to, const std::vector<int>& wanted) {
    bool last = wanted != RowMajorOrder(wanted.size());
    Emit({.name = graph_.value(to).name + ".repack",
          .op = OpKind::kRepack,
          .inputs = {from},
          .outputs = {to},
          .attributes = {{"to", std::string(last ? "channels_last" : "channels_first")}}});
  }

  // Returns whether the node is a Flatten or Reshape of a channels-last [N, C, spatial...] to [N, C
  // * spatial] that only Gemms and MatMuls with constant matrices read.
  bool FlattensIntoWeights(const Node& node) const {
    if (node.op != OpKind::kFlatten && node.op != OpKind::kReshape) return false;
    const Value& in = graph_.value(node.inputs[0]);
    const Value& out = graph_.value(node.outputs[0]);
    if (!IsStoredLast(node.inputs[0]) || out.shape.size() != 2 ||
        !AsNumbers({in.shape.begin() + 1, in.shape.end()}) ||
        SameBytes(in.shape, order_[node.inputs[0]], RowMajorOrder(in.shape.size())) ||
        !SameExtent(out.shape[0], in.shape[0]) || uses_.is_output[node.outputs[0]]) {
      return false;
    }
    const std::vector<int>& readers = uses_.readers[node.outputs[0]];
    return std::ranges::all_of(readers, [&](int reader) {
      return MultipliesByConstant((*pending_)[reader], node.outputs[0]);
    });
  }

  bool MultipliesByConstant(const Node& node, ValueId left) const {
    bool product =
        node.op == OpKind::kMatMul || (node.op == OpKind::kGemm && node.Int("transA", 0) == 0);
    return product && node.inputs[0] == left && graph_.ConstantOf(node.inputs[1]) &&
           Rank(node.inputs[1]) == 2 && std::ranges::count(node.inputs, left) == 1;
  }

  // Flattens the bytes in their channels-last order: a Transpose to N, spatial, C that moves
  // nothing, then the flattening; the matrices' rows are permuted to match.
  void FlattenChannelsLast(Node node) {
    ValueId in = node.inputs[0];
    const std::vector<Expr>& shape = graph_.value(in).shape;
    std::vector<int64_t> flattened = *AsNumbers({shape.begin() + 1, shape.end()});
    std::vector<int> order = ChannelsLastOrder(shape.size());
    for (int reader : uses_.readers[node.outputs[0]]) {
      Node& product = (*pending_)[reader];
      product.inputs[1] = RowsLikeFlattened(product, flattened);
    }
    node.inputs[0] = Transposed(in, {order.begin(), order.end()}, ".channels_last");
    Emit(node);
  }

  ValueId RowsLikeFlattened(const Node& product, std::vector<int64_t> dims) {
    ValueId weight = product.inputs[1];
    const Tensor& matrix = *graph_.ConstantOf(weight);
    bool transposed = product.Int("transB", 0) != 0;
    std::vector<int64_t> perm;
    for (size_t d = 1; d < dims.size(); ++d) perm.push_back(static_cast<int64_t>(d));
    perm.push_back(0);
    if (transposed) {
      dims.insert(dims.begin(), matrix.shape[0]);
      for (int64_t& dim : perm) ++dim;
      perm.insert(perm.begin(), 0);
    } else {
      perm.push_back(static_cast<int64_t>(dims.size()));
      dims.push_back(matrix.shape[1]);
    }
    Tensor rows = TransposedTensor(ReshapedTensor(matrix, dims), perm);
    ValueId result = AddConstant(graph_, graph_.value(weight).name + ".channels_last",
                                 ReshapedTensor(rows, matrix.shape));
    order_.push_back(RowMajorOrder(2));
    return result;
  }

  // Keeps the value and order of graph outputs; their producers write new values.
  void RestoreOutputs() {
    for (ValueId id : std::vector<ValueId>(graph_.outputs)) {
      std::vector<int> wanted = RowMajorOrder(Rank(id));
      if (SameBytes(graph_.value(id).shape, order_[id], wanted)) continue;
      Value value = graph_.value(id);
      ValueId inner = AddComputed(graph_, value.name + ".channels_last", value.dtype, value.shape);
      for (Node& node : graph_.nodes) {
        std::ranges::replace(node.inputs, id, inner);
        std::ranges::replace(node.outputs, id, inner);
      }
      order_.push_back(order_[id]);
      order_[id] = wanted;
      EmitRepack(inner, id, wanted);
    }
  }

  Graph& graph_;
  std::vector<std::vector<int>> order_;  // the storage order of each value
  ValueUses uses_;                       // the uses in the original nodes
  std::vector<Node>* pending_ = nullptr;
  std::map<std::pair<ValueId, std::vector<int64_t>>, ValueId> weights_;
  std::map<std::pair<ValueId, std::vector<int>>, ValueId> repacked_;
};

}  // namespace

Status AssignLayouts(Graph& graph) {
  return LayoutAssigner(graph).Run();
}

}  // namespace tcc
