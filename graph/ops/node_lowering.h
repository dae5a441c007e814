#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/expr/tensor_expr.h"
#include "ir/graph/graph.h"

namespace tcc {

// A node's meaning, and which values of the graph its buffers are.
struct LoweredNode {
  TensorProgram program;
  std::vector<ValueId> inputs;   // of program.inputs, in order
  std::vector<ValueId> outputs;  // of program.outputs, in order
};

// A buffer together with its storage order (storage_order.h): accessed with ONNX's dimensions.
struct StoredBuffer {
  Buffer buffer;
  std::vector<int> order;
};

// What a lowering reads and writes while it turns one node into a TensorProgram. Indices, shapes
// and axes are in ONNX's order everywhere; only here they become storage order.
class NodeLowering {
 public:
  NodeLowering(const Graph& graph, const Node& node);

  const Node& node() const { return node_; }
  bool channels_last() const { return node_.layout == DataLayout::kChannelsLast; }

  size_t input_count() const { return node_.inputs.size(); }
  bool Has(size_t input) const;
  bool Wants(size_t output) const;  // an optional output that somebody reads
  DType Type(size_t input) const;
  size_t Rank(size_t input) const { return Shape(input).size(); }
  const std::vector<Expr>& Shape(size_t input) const;
  const Tensor* Constant(size_t input) const;  // nullptr if absent or computed

  // InvalidArgument unless the node has between `least` and `most` inputs, the first `least` of
  // them present.
  Status CheckCount(size_t least, size_t most) const;
  // The same, and every present one is of a type that can be computed with.
  Status CheckInputs(size_t least, size_t most) const;
  // InvalidArgument unless the input's elements are floats.
  Status CheckFloats(size_t input) const;
  // InvalidArgument unless every input that is present has the type of input 0.
  Status CheckSameTypes() const;
  // Unimplemented while a dimension is symbolic.
  StatusOr<std::vector<int64_t>> StaticShape(size_t input) const;
  // A parameter that shapes depend on ("starts", "axes"): Unimplemented unless constant.
  StatusOr<std::vector<int64_t>> ConstantInts(size_t input, std::string_view what) const;
  // -rank <= axis < rank brought to 0 <= axis < rank.
  StatusOr<int> NormalizedAxis(int64_t axis, size_t rank) const;

  // The operand at these indices; constants of one element are an immediate.
  Expr Load(size_t input, const std::vector<Expr>& indices);
  // The same where the operand's shape broadcasts (numpy) to that of which `indices` are a point.
  Expr LoadBroadcast(size_t input, const std::vector<Expr>& indices);
  Expr Load(const StoredBuffer& buffer, const std::vector<Expr>& indices) const;

  StoredBuffer Output(size_t output, DType dtype, const std::vector<Expr>& shape);
  StoredBuffer Intermediate(const std::string& hint, DType dtype, const std::vector<Expr>& shape);
  // One that is stored even if its readers could compute it: in the order in which they read fast,
  // or once for all of them.
  StoredBuffer Kept(const std::string& hint, DType dtype, const std::vector<Expr>& shape);

  // An axis for each dimension, named after its role.
  std::vector<Axis> Axes(const std::vector<Expr>& shape) const;
  static Axis MakeAxis(const std::string& name, const Expr& extent);

  // out[axes] = value. The block is called after the node and `suffix`.
  void Map(const StoredBuffer& out, const std::vector<Axis>& axes, const Expr& value,
           const std::string& suffix = "");
  // out[indices] = value, where `indices` are over `axes`.
  void MapAt(const StoredBuffer& out, const std::vector<Axis>& axes,
             const std::vector<Expr>& indices, const Expr& value, const std::string& suffix);
  // outputs[e][indices] = combine over reduce_axes of values[e]; the axes in storage order of the
  // first output if `indices` is empty, which means the axes themselves.
  struct Reduction {
    std::vector<StoredBuffer> outputs;
    std::vector<Axis> axes;
    std::vector<Axis> reduce_axes;
    std::vector<Expr> indices = {};
    // Of each output, where they differ: a tuple whose elements differ in their axes.
    std::vector<std::vector<Expr>> output_indices = {};
    Combiner combiner;
    std::vector<Expr> values;
    Expr predicate = True();
    std::string suffix = "";
  };
  void Reduce(Reduction reduction);
  // output[indices] = value at the points of `axes` in order (OrderedExpr).
  struct OrderedStores {
    StoredBuffer output;
    std::vector<Axis> axes;
    std::vector<IterKind> kinds;
    std::vector<Expr> indices;
    Expr value;
    Expr predicate = True();
    std::string suffix = "";
  };
  void StoreInOrder(OrderedStores stores);

  // "node 'conv1' (Conv): " and the message.
  template <typename... Args>
  Status Error(fmt::format_string<Args...> format, Args&&... args) const {
    return InvalidInput("{}: {}", Title(), fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  Status NotSupported(fmt::format_string<Args...> format, Args&&... args) const {
    return Unsupported("{}: {}", Title(), fmt::format(format, std::forward<Args>(args)...));
  }

  LoweredNode Finish() &&;

 private:
  std::string Title() const;

  const Graph& graph_;
  const Node& node_;
  std::string name_;
  LoweredNode result_;
};

// Letters, digits and underscores of `text`, never empty, not starting with a digit.
std::string Identifier(std::string_view text);
std::vector<Expr> VarsOf(const std::vector<Axis>& axes);
std::vector<Expr> ExtentsOf(const std::vector<Axis>& axes);
// "1x64x56x56"; symbolic dimensions by name.
std::string ShapeText(const std::vector<Expr>& shape);
// The type that a reduction over `dtype` accumulates in: f32 for f16 and bf16, else itself.
DType AccumulationType(DType dtype);

// a * b and a + b without the unit's node: written IR stays readable. Constants that do not fit
// become INT64_MAX or INT64_MIN.
Expr Times(const Expr& a, int64_t b);
Expr Plus(const Expr& a, int64_t b);
// a and b, without the node where one is the constant true.
Expr AndAlso(const Expr& a, const Expr& b);
// The product of the dimensions, a constant where they are.
Expr Product(std::span<const Expr> shape);
// The same number, or the same formula.
bool SameExtent(const Expr& a, const Expr& b);
bool SameShape(std::span<const Expr> a, std::span<const Expr> b);

}  // namespace tcc
