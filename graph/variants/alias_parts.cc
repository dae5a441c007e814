#include "graph/variants/alias_parts.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "graph/ops/normal_form.h"
#include "graph/ops/storage_order.h"
#include "graph/passes/edit.h"
#include "ir/expr/substitute.h"
#include "ir/simplify/size_arithmetic.h"
#include "support/check.h"

namespace tcc {
namespace {

using Shape = std::vector<Expr>;

// The place of a value inside another one, in the dimensions that both are stored in.
struct PartBox {
  ValueId whole = kNoValue;
  Shape start;
  Shape shape;        // the shape of the part
  Shape whole_shape;  // the shape of the whole
  // By dimension of the part: the whole's dimension that it runs along; empty: the same one.
  std::vector<int> along = {};
};

// Returns whether the box is one run of elements: it is complete in all dimensions behind the first
// one that it cuts.
bool IsOneRun(const PartBox& box) {
  if (!box.along.empty()) return false;
  bool single = true;  // whether all dimensions so far have one element in the box
  for (size_t d = 0; d < box.shape.size(); ++d) {
    if (!single && !SameExtent(box.shape[d], box.whole_shape[d])) return false;
    single = single && IsConstant(box.shape[d], 1);
  }
  return true;
}

std::vector<Expr> CompactStrides(const Shape& shape) {
  std::vector<Expr> strides(shape.size(), Expr(1));
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = ProductOf(strides[d], shape[d]);
  return strides;
}

bool IsEmpty(const Shape& shape) {
  return std::ranges::any_of(shape, [](const Expr& dim) { return IsConstant(dim, 0); });
}

// The values that lie inside others, which may themselves lie inside others.
class PartBoxes {
 public:
  bool Contains(ValueId id) const { return boxes_.contains(id); }
  const PartBox* Find(ValueId id) const;

  // Adds a part. Expects that the value is no part yet, that the whole is not inside it, and, if
  // the whole is not contiguous, that `whole_shape` is the shape of its own box.
  void Add(ValueId id, PartBox box);

  // Returns whether the value's elements are contiguous; they are if it is no part.
  bool IsContiguous(ValueId id) const;

  // Returns the offset of the box, in elements, from the value at the end of the chain of its
  // whole.
  Expr OffsetOf(const PartBox& box) const { return PlaceOf(box).offset; }

  // Returns all parts, each relative to the value at the end of its chain.
  AliasedParts Resolve(const Graph& graph, const StoredTypes& types) const;

 private:
  // A place in elements, relative to the value at the end of the chain.
  struct Place {
    ValueId whole;
    Expr offset;
    std::vector<Expr> strides;  // empty: contiguous
  };
  Place PlaceOf(const PartBox& innermost) const;

  std::map<ValueId, PartBox> boxes_;
};

const PartBox* PartBoxes::Find(ValueId id) const {
  auto found = boxes_.find(id);
  return found == boxes_.end() ? nullptr : &found->second;
}

void PartBoxes::Add(ValueId id, PartBox box) {
  bool fresh = boxes_.emplace(id, std::move(box)).second;
  TCC_CHECK(fresh) << "value " << id << " lies in two places";
}

bool PartBoxes::IsContiguous(ValueId id) const {
  for (const PartBox* box = Find(id); box != nullptr; box = Find(box->whole)) {
    if (!IsOneRun(*box)) return false;
  }
  return true;
}

PartBoxes::Place PartBoxes::PlaceOf(const PartBox& innermost) const {
  std::vector<const PartBox*> chain;  // from the inside out
  for (const PartBox* box = &innermost; box != nullptr; box = Find(box->whole)) {
    chain.push_back(box);
  }
  Place place{chain.back()->whole, Expr(0), {}};
  for (size_t i = chain.size(); i-- > 0;) {
    const PartBox& box = *chain[i];
    // A part inside a strided whole has the strides of the whole.
    std::vector<Expr> strides =
        place.strides.empty() ? CompactStrides(box.whole_shape) : place.strides;
    for (size_t d = 0; d < strides.size(); ++d) {
      place.offset = SumOf(place.offset, ProductOf(box.start[d], strides[d]));
    }
    if (!box.along.empty()) strides = Permuted(strides, box.along);
    bool one_run = place.strides.empty() && IsOneRun(box);
    place.strides = one_run ? std::vector<Expr>() : std::move(strides);
  }
  return place;
}

AliasedParts PartBoxes::Resolve(const Graph& graph, const StoredTypes& types) const {
  AliasedParts parts;
  for (const auto& [id, box] : boxes_) {
    Place place = PlaceOf(box);
    Expr element_bytes = StorageType(graph, types, id).bytes();
    Expr reach = 1;
    std::vector<Expr> strides = place.strides.empty() ? CompactStrides(box.shape) : place.strides;
    for (size_t d = 0; d < box.shape.size(); ++d) {
      reach = SumOf(reach, ProductOf(DifferenceOf(box.shape[d], Expr(1)), strides[d]));
    }
    // A part that is empty at some sizes would reach back from its start.
    parts[id] = {.whole = place.whole,
                 .offset = ProductOf(place.offset, element_bytes),
                 .bytes = ProductOf(LargerOf(reach, Expr(0)), element_bytes),
                 .strides = std::move(place.strides)};
  }
  return parts;
}

// A copy that a Concat, Split, Slice or Transpose would make: the value, the root that computes its
// bytes, and their place.
struct Piece {
  ValueId id;
  ValueId root;
  PartBox box;
};

bool IsCopier(const Graph& graph, const Subgraph& subgraph) {
  if (subgraph.kind != SubgraphKind::kKernel || subgraph.nodes.size() != 1) return false;
  OpKind op = graph.nodes[subgraph.nodes[0]].op;
  return op == OpKind::kConcat || op == OpKind::kSplit || op == OpKind::kSlice ||
         op == OpKind::kTranspose;
}

// Returns the dimension that the node's attribute "axis" names.
size_t AxisOf(const Node& node, size_t rank) {
  int64_t axis = node.Int("axis", 0);
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

// Returns the operand's dimension of each dimension of a Transpose.
std::vector<int> PermutationOf(const Node& node, size_t rank) {
  std::vector<int> from;
  for (int64_t dim : node.Ints("perm")) from.push_back(static_cast<int>(dim));
  for (size_t d = rank; from.size() < rank;) from.push_back(static_cast<int>(--d));
  return from;
}

// Returns the elements of an operand that is known when compiling; none if there is no such
// operand.
std::vector<Expr> ElementsOf(const Graph& graph, const Node& node, size_t input) {
  if (input >= node.inputs.size() || node.inputs[input] == kNoValue) return {};
  const Value& value = graph.value(node.inputs[input]);
  if (!value.constant) return value.elements;
  std::vector<Expr> numbers;
  for (int64_t i = 0; i < ElementCount(value.constant->shape).value_or(0); ++i) {
    numbers.emplace_back(ElementAsInt(*value.constant, i));
  }
  return numbers;
}

// Returns the start of each output of a Split.
std::vector<Shape> StartsOfSplit(const Graph& graph, const Node& node, const Shape& in) {
  size_t axis = AxisOf(node, in.size());
  std::vector<Expr> extents = ElementsOf(graph, node, 1);
  Expr count = static_cast<int64_t>(node.outputs.size());
  if (extents.empty()) extents.assign(node.outputs.size(), CeilQuotientOf(in[axis], count));
  std::vector<Shape> starts(node.outputs.size(), Shape(in.size(), Expr(0)));
  for (size_t i = 1; i < starts.size(); ++i) {
    starts[i][axis] = SumOf(starts[i - 1][axis], extents[i - 1]);
  }
  return starts;
}

// Returns the start of a Slice's output; none for steps other than 1.
std::vector<Shape> StartsOfSlice(const Graph& graph, const Node& node, const Shape& in) {
  std::vector<Expr> from = ElementsOf(graph, node, 1), axes = ElementsOf(graph, node, 3);
  std::vector<Expr> steps = ElementsOf(graph, node, 4);
  Shape start(in.size(), Expr(0));
  for (size_t i = 0; i < from.size(); ++i) {
    int64_t axis = axes.empty() ? static_cast<int64_t>(i) : AsConstant(axes[i]).value();
    if (axis < 0) axis += static_cast<int64_t>(in.size());
    if (!steps.empty() && !IsConstant(steps[i], 1)) return {};
    auto d = static_cast<size_t>(axis);
    Expr at = ChosenOf(from[i] < Expr(0), SumOf(from[i], in[d]), from[i]);
    start[d] = SmallerOf(LargerOf(at, Expr(0)), in[d]);
  }
  return {start};
}

class PartAliaser {
 public:
  PartAliaser(const Graph& graph, std::vector<Subgraph>& subgraphs, int64_t alignment,
              const StoredTypes& types)
      : graph_(graph),
        subgraphs_(subgraphs),
        alignment_(alignment),
        types_(types),
        is_output_(UsesOf(graph).is_output) {
    size_t count = graph.values.size();
    is_input_.resize(count, false);
    is_computed_.resize(count, false);
    is_viewed_.resize(count, false);
    accesses_.resize(count);
    root_.resize(count);
    std::iota(root_.begin(), root_.end(), 0);
    for (ValueId id : graph.inputs) is_input_[id] = true;
    for (const Subgraph& subgraph : subgraphs) Note(subgraph);
  }

  AliasedParts Run() {
    // Visits late ones first: the operands of an early Concat are then known to lie side by side.
    for (size_t s = subgraphs_.size(); s-- > 0;) {
      if (!IsCopier(graph_, subgraphs_[s]) || !IsBuilt(s)) continue;
      const Node& node = graph_.nodes[subgraphs_[s].nodes[0]];
      if (node.op == OpKind::kConcat) AliasConcat(subgraphs_[s], node);
      if (node.op == OpKind::kTranspose) AliasTranspose(subgraphs_[s], node);
    }
    for (size_t s = 0; s < subgraphs_.size(); ++s) {
      if (!IsCopier(graph_, subgraphs_[s]) || !IsBuilt(s)) continue;
      const Node& node = graph_.nodes[subgraphs_[s].nodes[0]];
      bool is_split = node.op == OpKind::kSplit || node.op == OpKind::kSlice;
      if (is_split) AliasSplit(subgraphs_[s], node);
    }
    return boxes_.Resolve(graph_, types_);
  }

 private:
  void Note(const Subgraph& subgraph) {
    auto s = static_cast<size_t>(&subgraph - subgraphs_.data());
    if (subgraph.kind == SubgraphKind::kKernel) {
      for (ValueId id : subgraph.inputs) accesses_[id].push_back(s);
      for (ValueId id : subgraph.outputs) {
        accesses_[id].push_back(s);
        is_computed_[id] = true;
      }
      return;
    }
    for (ValueId id : subgraph.inputs) is_viewed_[id] = true;
    if (subgraph.kind != SubgraphKind::kView) return;
    ValueId in = graph_.nodes[subgraph.nodes[0]].inputs[0];
    ValueId out = subgraph.outputs[0];
    root_[out] = root_[in];
    is_viewed_[root_[in]] = true;
    // The root is then computed in the output's own buffer.
    if (is_output_[out]) is_output_[root_[in]] = true;
  }

  // Returns the kernel's task, for its parameters and their values. Null if it cannot be built:
  // whoever builds all tasks reports the error.
  const Task* TaskOf(size_t subgraph) {
    auto [task, fresh] = tasks_.try_emplace(subgraph);
    if (fresh) {
      StatusOr<Task> built = BuildTask(graph_, subgraphs_[subgraph]);
      if (built.ok()) task->second = std::move(*built);
    }
    return task->second ? &*task->second : nullptr;
  }
  bool IsBuilt(size_t subgraph) { return TaskOf(subgraph) != nullptr; }

  // Returns whether every kernel takes the value as a buffer of this shape.
  bool IsStoredAs(ValueId id, const Shape& shape) {
    return std::ranges::all_of(accesses_[id], [&](size_t subgraph) {
      const Task* task = TaskOf(subgraph);
      if (task == nullptr) return false;
      const std::vector<Buffer>& params = task->variants[0].fn.params;
      for (size_t i = 0; i < params.size(); ++i) {
        ValueId own =
            i < task->inputs.size() ? task->inputs[i] : task->outputs[i - task->inputs.size()];
        if (own == id && !SameShape(ShapeInGraph(*task, params[i]), shape)) return false;
      }
      return true;
    });
  }

  // Returns the shape of a task's parameter as formulas over the graph's Shape variables.
  Shape ShapeInGraph(const Task& task, const Buffer& param) const {
    Substitution arguments;
    const std::vector<Var>& own = task.variants[0].fn.vars;
    for (size_t i = 0; i < own.size(); ++i) arguments[own[i]] = task.shape_arguments[i];
    Shape shape;
    for (const Expr& dim : param.shape) {
      shape.push_back(NormalForm(graph_, arguments.empty() ? dim : Substitute(dim, arguments)));
    }
    return shape;
  }

  // Returns whether a part at this offset, in elements, starts where buffers may.
  bool IsAligned(const Expr& offset, DType dtype) const {
    Expr bytes = ProductOf(offset, Expr(dtype.bytes()));
    return alignment_ == 1 || AlwaysHolds(Make<Eq>(FloorModulo(bytes, alignment_), Expr(0)));
  }

  // Returns whether the root may lie in the box, whose whole must be a root as well.
  bool MayBePart(ValueId root, const PartBox& box) {
    if (boxes_.Contains(root) || is_output_[root]) return false;
    const DType type = StorageType(graph_, types_, root);
    if (type != StorageType(graph_, types_, box.whole)) return false;
    // Elements of half a byte have no address.
    if (type.bits() < 8) return false;
    if (!IsAligned(boxes_.OffsetOf(box), type)) return false;
    // A result of a Loop or If may move.
    if (!is_computed_[box.whole] && !is_input_[box.whole] && !graph_.ConstantOf(box.whole)) {
      return false;
    }
    if (boxes_.IsContiguous(box.whole) && IsOneRun(box)) return true;
    return !is_viewed_[root] && IsStoredAs(root, box.shape);
  }

  void AliasConcat(Subgraph& subgraph, const Node& node) {
    ValueId out = node.outputs[0];
    const Shape& shape = graph_.value(out).shape;
    if (IsEmpty(shape)) return;
    std::vector<int> order = OutputOrder(graph_, node, shape.size());
    Shape stored = Permuted(shape, order);
    size_t dim =
        std::ranges::find(order, static_cast<int>(AxisOf(node, order.size()))) - order.begin();
    std::vector<Piece> pieces = PiecesOfConcat(node, order, dim, stored);
    if (IsRowOfParts(pieces, dim)) {
      PartBox box = *boxes_.Find(pieces[0].root);
      box.shape = stored;
      if (MayBePart(out, box)) {
        boxes_.Add(out, box);
        subgraph.kind = SubgraphKind::kPart;
        return;
      }
    }
    for (const Piece& piece : pieces) {
      auto same = [&](const Piece& other) { return other.root == piece.root; };
      if (!is_computed_[piece.root] || std::ranges::count_if(pieces, same) != 1) continue;
      if (!MayBePart(piece.root, piece.box)) continue;
      boxes_.Add(piece.root, piece.box);
      subgraph.done_elsewhere.insert(piece.id);
    }
    if (subgraph.done_elsewhere.size() == pieces.size()) subgraph.kind = SubgraphKind::kPart;
  }

  // Lets the kernel that computes the operand of a Transpose write the result, if its rows stay
  // rows.
  void AliasTranspose(Subgraph& subgraph, const Node& node) {
    const ValueId in = node.inputs[0], out = node.outputs[0];
    if (root_[in] != in || !is_computed_[in]) return;
    const Shape& shape = graph_.value(out).shape;
    const std::vector<int> stored_in = InputOrder(graph_, node, 0);
    const std::vector<int> stored_out = OutputOrder(graph_, node, shape.size());
    const std::vector<int> from = PermutationOf(node, shape.size());  // by dimension of `out`
    std::vector<int> along(shape.size());
    for (size_t d = 0; d < shape.size(); ++d) {
      auto place = std::ranges::find(stored_in, from[stored_out[d]]) - stored_in.begin();
      along[place] = static_cast<int>(d);
    }
    if (along.empty() || along.back() != static_cast<int>(shape.size()) - 1) return;
    Shape whole = Permuted(shape, stored_out);
    PartBox box{out, Shape(shape.size(), Expr(0)), Permuted(graph_.value(in).shape, stored_in),
                std::move(whole), along};
    if (IsEmpty(shape) || !MayBePart(in, box)) return;
    boxes_.Add(in, box);
    subgraph.kind = SubgraphKind::kPart;
  }

  // Returns the operands of a Concat that are not empty, in order.
  std::vector<Piece> PiecesOfConcat(const Node& node, const std::vector<int>& order, size_t dim,
                                    const Shape& whole) const {
    std::vector<Piece> pieces;
    Shape start(order.size(), Expr(0));
    for (ValueId id : node.inputs) {
      Shape shape = Permuted(graph_.value(id).shape, order);
      if (IsConstant(shape[dim], 0)) continue;
      pieces.push_back({id, root_[id], {node.outputs[0], start, shape, whole}});
      start[dim] = SumOf(start[dim], shape[dim]);
    }
    return pieces;
  }

  // Returns whether all operands lie in one value already, one behind the other.
  bool IsRowOfParts(const std::vector<Piece>& pieces, size_t dim) const {
    const PartBox* first = boxes_.Find(pieces[0].root);
    if (first == nullptr) return false;
    Shape expected = first->start;
    return std::ranges::all_of(pieces, [&](const Piece& piece) {
      const PartBox* box = boxes_.Find(piece.root);
      bool fits = box && box->whole == first->whole &&
                  SameShape(box->whole_shape, first->whole_shape) &&
                  SameShape(box->start, expected) && SameShape(box->shape, piece.box.shape);
      expected[dim] = SumOf(expected[dim], piece.box.shape[dim]);
      return fits;
    });
  }

  void AliasSplit(Subgraph& subgraph, const Node& node) {
    std::set<ValueId> aliased;
    for (const Piece& piece : PiecesOfSplit(node)) {
      if (!MayBePart(piece.root, piece.box)) continue;
      boxes_.Add(piece.root, piece.box);
      aliased.insert(piece.id);
    }
    if (aliased.size() == subgraph.outputs.size()) {
      subgraph.kind = SubgraphKind::kPart;
    } else {
      subgraph.done_elsewhere = std::move(aliased);
    }
  }

  std::vector<Piece> PiecesOfSplit(const Node& node) const {
    ValueId in = node.inputs[0];
    const Shape& shape = graph_.value(in).shape;
    std::vector<Shape> starts = node.op == OpKind::kSplit ? StartsOfSplit(graph_, node, shape)
                                                          : StartsOfSlice(graph_, node, shape);
    std::vector<int> order = InputOrder(graph_, node, 0);
    std::vector<Piece> pieces;
    for (size_t i = 0; i < starts.size(); ++i) {
      ValueId id = node.outputs[i];
      if (id == kNoValue) continue;
      const Shape& own = graph_.value(id).shape;
      if (IsEmpty(own) || OutputOrder(graph_, node, own.size()) != order) continue;
      PartBox box{root_[in], Permuted(starts[i], order), Permuted(own, order),
                  Permuted(shape, order)};
      pieces.push_back({id, id, std::move(box)});
    }
    return pieces;
  }

  const Graph& graph_;
  std::vector<Subgraph>& subgraphs_;
  int64_t alignment_;
  const StoredTypes& types_;
  std::vector<ValueId> root_;  // by value: the value that its bytes are computed as
  std::vector<bool> is_output_;
  std::vector<bool> is_input_;
  std::vector<bool> is_computed_;                // by a kernel
  std::vector<bool> is_viewed_;                  // under another shape, or by a Loop or If
  std::vector<std::vector<size_t>> accesses_;    // by value: the subgraphs that access it
  std::map<size_t, std::optional<Task>> tasks_;  // by subgraph, those that were asked for
  PartBoxes boxes_;
};

}  // namespace

AliasedParts AliasParts(const Graph& graph, std::vector<Subgraph>& subgraphs, int64_t alignment,
                        const StoredTypes& types) {
  return PartAliaser(graph, subgraphs, alignment, types).Run();
}

}  // namespace tcc
