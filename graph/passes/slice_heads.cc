#include <algorithm>
#include <map>
#include <optional>

#include "graph/ops/node_lowering.h"
#include "graph/passes/attention_operands.h"
#include "graph/passes/edit.h"
#include "graph/passes/node_writer.h"
#include "graph/passes/passes.h"

namespace tcc {
namespace {

// The rows of one of several matrices beside each other, cut into heads.
struct HeadsOfPart {
  ValueId joined = kNoValue;  // the matrices: [rows.., parts * heads * extent]
  std::vector<Expr> rows = {};
  int64_t first = 0;   // a head of the joined ones
  int64_t count = 0;   // of the part
  int64_t all = 0;     // of all parts
  int64_t extent = 0;  // of a head
};

class HeadSlicer {
 public:
  explicit HeadSlicer(Graph& graph)
      : graph_(graph), uses_(UsesOf(graph)), producers_(ProducersOf(graph)) {}

  void Run() {
    std::vector<Node> nodes;
    for (Node node : graph_.nodes) {
      NodeWriter writer(graph_, nodes, graph_.value(node.outputs[0]).name);
      if (std::optional<HeadsOfPart> heads = HeadsAt(node)) {
        node.inputs[0] = Slice(*heads, writer);
      } else if (const Node* moved = MovedBefore(node)) {
        MoveBehind(*moved, node, writer);
      }
      nodes.push_back(std::move(node));
    }
    graph_.nodes = std::move(nodes);
  }

 private:
  const Node* Producer(ValueId id, OpKind op) const {
    const int n = producers_[id];
    return n >= 0 && graph_.nodes[n].op == op ? &graph_.nodes[n] : nullptr;
  }

  // Returns what a Reshape cuts into heads, if that is one of several matrices beside each other
  // and its reader reads heads where they are.
  std::optional<HeadsOfPart> HeadsAt(const Node& node) const {
    if (node.op != OpKind::kReshape || !IsReadByRow(graph_, uses_, node.outputs[0])) {
      return std::nullopt;
    }
    const Node* split = Producer(node.inputs[0], OpKind::kSplit);
    if (split == nullptr) return HeadsOfMoved(node);
    // A part that others read would be copied all the same.
    for (ValueId part : split->outputs) {
      const bool cut = part != kNoValue && uses_.HasOneReader(part) &&
                       HeadsOfSplit(*split, graph_.nodes[uses_.readers[part][0]]).has_value();
      if (!cut) return std::nullopt;
    }
    return HeadsOfSplit(*split, node);
  }

  // Returns what the node cuts into heads, if it is a Reshape of a part of the last dimension.
  std::optional<HeadsOfPart> HeadsOfSplit(const Node& split, const Node& node) const {
    if (node.op != OpKind::kReshape || !IsReadByRow(graph_, uses_, node.outputs[0])) {
      return std::nullopt;
    }
    const std::vector<Expr>& joined = graph_.value(split.inputs[0]).shape;
    const std::vector<Expr>& cut = graph_.value(node.outputs[0]).shape;
    const auto rank = static_cast<int64_t>(joined.size());
    const int64_t axis = split.Int("axis", 0);
    if ((axis < 0 ? axis + rank : axis) != rank - 1 || cut.size() != joined.size() + 1) {
      return std::nullopt;
    }
    if (!std::equal(joined.begin(), joined.end() - 1, cut.begin(), SameExtent)) return std::nullopt;
    HeadsOfPart heads{.joined = split.inputs[0], .rows = {joined.begin(), joined.end() - 1}};
    heads.extent = AsConstant(cut.back()).value_or(0);
    if (heads.extent < 1) return std::nullopt;
    for (ValueId part : split.outputs) {
      const int64_t columns = AsConstant(graph_.value(part).shape.back()).value_or(-1);
      if (columns < 0 || columns % heads.extent != 0) return std::nullopt;
      if (part == node.inputs[0]) {
        heads.first = heads.all;
        heads.count = columns / heads.extent;
      }
      heads.all += columns / heads.extent;
    }
    return heads;
  }

  // Returns what a Reshape cuts into heads, if that is one index of the first dimension of
  // transposed parts: Reshape(Slice(Transpose(Reshape(joined)))), maybe with a Squeeze.
  std::optional<HeadsOfPart> HeadsOfMoved(const Node& node) const {
    const Node* slice = Producer(node.inputs[0], OpKind::kSlice);
    if (slice == nullptr || !uses_.HasOneReader(slice->outputs[0])) return std::nullopt;
    const Node* squeeze = Producer(slice->inputs[0], OpKind::kSqueeze);
    const Node* moved = Producer((squeeze ? squeeze : slice)->inputs[0], OpKind::kTranspose);
    const Node* cut = moved ? Producer(moved->inputs[0], OpKind::kReshape) : nullptr;
    if (cut == nullptr) return std::nullopt;
    const std::vector<Expr>& parts = graph_.value(cut->outputs[0]).shape;  // [rows.., parts, row]
    const std::optional<int64_t> part = PartOf(*slice, graph_.value(slice->inputs[0]).shape);
    if (!part || !MovesPartsFirst(*moved, parts)) return std::nullopt;

    HeadsOfPart heads{.joined = cut->inputs[0]};
    heads.rows.assign(parts.begin(), parts.end() - 2);
    heads.extent = AsConstant(graph_.value(node.outputs[0]).shape.back()).value_or(0);
    const int64_t row = AsConstant(parts.back()).value_or(0);
    if (heads.extent < 1 || row % heads.extent != 0) return std::nullopt;
    heads.count = row / heads.extent;
    heads.first = *part * heads.count;
    heads.all = *AsConstant(parts[parts.size() - 2]) * heads.count;
    return heads;
  }

  // Returns the Transpose whose result the Slice reads, if the slice is one index of its first
  // dimension, rows stay whole, and the slice's reader reads them where they are.
  const Node* MovedBefore(const Node& slice) const {
    if (slice.op != OpKind::kSlice || !IsReadByRow(graph_, uses_, slice.outputs[0])) return nullptr;
    const Node* moved = Producer(slice.inputs[0], OpKind::kTranspose);
    if (moved == nullptr || !PartOf(slice, graph_.value(slice.inputs[0]).shape)) return nullptr;
    const std::vector<int64_t> perm = moved->Ints("perm");
    return !perm.empty() && perm.back() + 1 == static_cast<int64_t>(perm.size()) ? moved : nullptr;
  }

  // Turns Slice(Transpose(x)) into Transpose(Slice(x)): adds the slice, makes the node the
  // Transpose.
  void MoveBehind(const Node& moved, Node& node, NodeWriter& writer) {
    std::vector<Expr> shape = graph_.value(moved.inputs[0]).shape;
    const int64_t axis = moved.Ints("perm")[0];
    const int64_t part = *PartOf(node, graph_.value(node.inputs[0]).shape);
    const ValueId slice = writer.Slice(moved.inputs[0], axis, part, part + 1);
    shape[axis] = 1;
    graph_.values[slice].shape = shape;
    node.op = OpKind::kTranspose;
    node.inputs = {slice};
    node.attributes = moved.attributes;
  }

  // Returns the index that a Slice takes of the first dimension, if it takes one.
  std::optional<int64_t> PartOf(const Node& slice, const std::vector<Expr>& of) const {
    const std::vector<Expr>& shape = graph_.value(slice.outputs[0]).shape;
    if (of.empty() || IsConstant(of[0], 1) || !IsConstant(shape[0], 1)) return std::nullopt;
    if (!std::equal(of.begin() + 1, of.end(), shape.begin() + 1, SameExtent)) return std::nullopt;
    const Tensor* from = graph_.ConstantOf(slice.inputs[1]);
    if (from == nullptr || ElementCount(from->shape).value_or(0) != 1) return std::nullopt;
    const int64_t at = ElementAsInt(*from, 0);
    return at < 0 ? at + AsConstant(of[0]).value_or(0) : at;
  }

  // Returns whether the Transpose makes the last dimension but one, of a known extent, the first,
  // and leaves the order of the others.
  static bool MovesPartsFirst(const Node& moved, const std::vector<Expr>& shape) {
    const std::vector<int64_t> perm = moved.Ints("perm");
    const auto parts = static_cast<int64_t>(shape.size()) - 2;
    if (parts < 0 || perm.size() != shape.size() || perm[0] != parts) return false;
    if (!AsConstant(shape[parts])) return false;
    std::vector<int64_t> others;
    for (int64_t dim : perm) {
      if (dim != parts && !IsConstant(shape[dim], 1)) others.push_back(dim);
    }
    return std::ranges::is_sorted(others);
  }

  // Returns the part's heads, as a Slice of the heads of all parts.
  ValueId Slice(const HeadsOfPart& part, NodeWriter& writer) {
    std::vector<Expr> shape = part.rows;
    shape.insert(shape.end(), {Expr(part.all), Expr(part.extent)});
    auto [all, fresh] = cut_.try_emplace({part.joined, part.extent}, kNoValue);
    if (fresh) {
      all->second = writer.Emit(OpKind::kReshape, {part.joined, writer.Dims(shape)});
      graph_.values[all->second].shape = shape;
    }
    const auto axis = static_cast<int64_t>(part.rows.size());
    ValueId heads = writer.Slice(all->second, axis, part.first, part.first + part.count);
    shape[axis] = part.count;
    graph_.values[heads].shape = shape;
    return heads;
  }

  Graph& graph_;
  ValueUses uses_;
  std::vector<int> producers_;
  std::map<std::pair<ValueId, int64_t>, ValueId>
      cut_;  // by the joined matrices and a head's extent
};

}  // namespace

Status SliceHeads(Graph& graph) {
  HeadSlicer(graph).Run();
  return RemoveDead(graph);
}

}  // namespace tcc
