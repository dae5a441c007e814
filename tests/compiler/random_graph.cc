#include "tests/compiler/random_graph.h"

#include <algorithm>
#include <cmath>

#include "support/tensor.h"

namespace tcc {
namespace {

using Shape = std::vector<int64_t>;

Tensor RandomTensor(const Shape& shape, double scale, Random& random) {
  Tensor tensor = MakeZeroTensor(kFloat32, shape);
  for (int64_t i = 0; i < *ElementCount(shape); ++i) SetElement(tensor, i, random.Normal() * scale);
  return tensor;
}

Tensor Integers(const Shape& values) {
  Tensor tensor = MakeZeroTensor(kInt64, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) {
    SetElementInt(tensor, static_cast<int64_t>(i), values[i]);
  }
  return tensor;
}

class Builder {
 public:
  Builder(Random& random, int64_t batch) : random_(random), batch_(batch) {}

  Graph Run(const RandomGraphOptions& options) {
    graph_.name = "random";
    for (int64_t i = random_.Between(1, 2); i > 0; --i) AddInput();
    AddConstant(RandomTensor({2, 3}, 1, random_));
    for (int n = 0; n < options.nodes; ++n) AddNode();
    graph_.outputs.push_back(pool_.back());
    for (int n = 1; n < options.outputs; ++n) graph_.outputs.push_back(Any());
    return std::move(graph_);
  }

 private:
  ValueId Put(const std::string& name, const Shape& shape, DType dtype = kFloat32) {
    Value value;
    value.name = name;
    value.dtype = dtype;
    value.shape = ToExprs(shape);
    return graph_.AddValue(value);
  }

  void AddInput() {
    Shape shape = random_.OneIn(2) ? Shape{1, random_.Between(1, 5), 5, 4}
                                   : Shape{random_.Between(1, 4), random_.Between(2, 7)};
    if (batch_ != 0) shape[0] = batch_;
    ValueId id = Put("in" + std::to_string(graph_.inputs.size()), shape);
    graph_.inputs.push_back(id);
    pool_.push_back(id);
  }

  ValueId AddConstant(const Tensor& tensor) {
    ValueId id = Put("c" + std::to_string(graph_.values.size()), tensor.shape, tensor.dtype);
    graph_.values[id].constant = tensor;
    if (tensor.dtype == kFloat32) pool_.push_back(id);
    return id;
  }

  // Later ones more often, so that chains grow long.
  ValueId Any() {
    return pool_[std::max(random_.Below(pool_.size()), random_.Below(pool_.size()))];
  }
  Shape ShapeOf(ValueId id) const { return *StaticShape(graph_.value(id)); }

  void Emit(OpKind op, const std::vector<ValueId>& inputs, const Shape& shape,
            const std::map<std::string, Attribute>& attributes = {}) {
    Node node;
    node.op = op;
    node.name = "n" + std::to_string(graph_.nodes.size());
    node.inputs = inputs;
    node.attributes = attributes;
    node.outputs = {Put("v" + std::to_string(graph_.values.size()), shape)};
    pool_.push_back(node.outputs[0]);
    graph_.nodes.push_back(node);
  }

  void AddNode() {
    ValueId x = Any();
    switch (random_.Below(9)) {
      case 0:
        return Emit(OpKind::kRelu, {x}, ShapeOf(x));
      case 1:
        return Emit(OpKind::kTanh, {x}, ShapeOf(x));
      case 2:
        return Emit(OpKind::kIdentity, {x}, ShapeOf(x));
      case 3:
        return AddSum(x);
      case 4:
        return AddReshape(x);
      case 5:
        return AddTranspose(x);
      case 6:
        return AddConv(x);
      case 7:
        return AddProduct(x);
      default:
        return AddMean(x);
    }
  }

  // With a value of the same shape where there is another one.
  void AddSum(ValueId x) {
    std::vector<ValueId> fitting;
    for (ValueId id : pool_) {
      if (ShapeOf(id) == ShapeOf(x)) fitting.push_back(id);
    }
    Emit(OpKind::kAdd, {x, fitting[random_.Below(fitting.size())]}, ShapeOf(x));
  }

  void AddReshape(ValueId x) {
    Shape shape = ShapeOf(x);
    if (batch_ != 0) return Emit(OpKind::kRelu, {x}, shape);
    Shape other(shape.rbegin(), shape.rend());
    if (random_.OneIn(2)) other = {*ElementCount(shape)};
    Emit(OpKind::kReshape, {x, AddConstant(Integers(other))}, other, {{"allowzero", int64_t{0}}});
  }

  void AddTranspose(ValueId x) {
    Shape shape = ShapeOf(x), perm, moved;
    for (size_t d = 0; d < shape.size(); ++d) perm.push_back(static_cast<int64_t>(d));
    const size_t first = batch_ != 0 ? 1 : 0;  // that moves
    for (size_t d = perm.size(); d > first + 1; --d) {
      std::swap(perm[d - 1], perm[first + random_.Below(d - first)]);
    }
    for (int64_t p : perm) moved.push_back(shape[p]);
    Emit(OpKind::kTranspose, {x}, moved, {{"perm", perm}});
  }

  void AddConv(ValueId x) {
    Shape shape = ShapeOf(x);
    if (shape.size() != 4) return Emit(OpKind::kRelu, {x}, shape);
    int64_t channels = random_.Between(1, 5);
    double scale = 1 / std::sqrt(static_cast<double>(shape[1] * 9));
    ValueId weight = AddConstant(RandomTensor({channels, shape[1], 3, 3}, scale, random_));
    Emit(OpKind::kConv, {x, weight}, {shape[0], channels, shape[2], shape[3]},
         {{"auto_pad", std::string("NOTSET")}, {"group", int64_t{1}}, {"pads", Shape{1, 1, 1, 1}}});
  }

  void AddProduct(ValueId x) {
    Shape shape = ShapeOf(x);
    if (shape.size() < 2) return Emit(OpKind::kTanh, {x}, shape);
    int64_t columns = random_.Between(1, 6);
    double scale = 1 / std::sqrt(static_cast<double>(shape.back()));
    ValueId weight = AddConstant(RandomTensor({shape.back(), columns}, scale, random_));
    shape.back() = columns;
    Emit(OpKind::kMatMul, {x, weight}, shape);
  }

  void AddMean(ValueId x) {
    Shape shape = ShapeOf(x);
    ValueId axes = AddConstant(Integers({static_cast<int64_t>(shape.size()) - 1}));
    shape.back() = 1;
    Emit(OpKind::kReduceMean, {x, axes}, shape,
         {{"keepdims", int64_t{1}}, {"noop_with_empty_axes", int64_t{0}}});
  }

  Random& random_;
  int64_t batch_;
  Graph graph_;
  std::vector<ValueId> pool_;  // float values that are there
};

}  // namespace

Graph RandomGraph(Random& random, const RandomGraphOptions& options) {
  return Builder(random, options.batch).Run(options);
}

}  // namespace tcc
