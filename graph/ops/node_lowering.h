#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/expr/tensor_expr.h"
#include "ir/graph/graph.h"

namespace tcc {

// A node's meaning as a program, and the graph values of its buffers.
struct LoweredNode {
  TensorProgram program;
  std::vector<ValueId> inputs;        // the values of program.inputs, in order
  std::vector<ValueId> outputs;       // the values of program.outputs, in order
  std::vector<Agreement> agreements;  // what it takes for granted of free extents
};

// A buffer with its storage order (storage_order.h). Accesses use ONNX's dimensions.
struct StoredBuffer {
  Buffer buffer;
  std::vector<int> order;
};

// The state of a lowering that turns one node into a TensorProgram. Indices, shapes and axes of its
// interface are in ONNX's order; only the implementation converts them to storage order.
class NodeLowering {
 public:
  NodeLowering(const Graph& graph, const Node& node);

  const Node& node() const { return node_; }
  bool channels_last() const { return node_.layout == DataLayout::kChannelsLast; }

  size_t input_count() const { return node_.inputs.size(); }
  bool Has(size_t input) const;
  bool Wants(size_t output) const;  // whether an optional output is read
  DType Type(size_t input) const;
  size_t Rank(size_t input) const { return Shape(input).size(); }
  const std::vector<Expr>& Shape(size_t input) const;
  const Tensor* Constant(size_t input) const;  // nullptr if absent or computed
  // Returns the elements of a computed input that Shape variables decide; empty for any other.
  const std::vector<Expr>& Elements(size_t input) const;
  // Returns "input 0 ('x', shape 5)" for messages: alone, a shape of one dimension reads as a
  // number.
  std::string InputText(size_t input) const;

  // Checks that the node has between `least` and `most` inputs and that the first `least` are
  // present; else InvalidArgument.
  Status CheckCount(size_t least, size_t most) const;
  // Checks the same, and that every present input has a type that can be computed with.
  Status CheckInputs(size_t least, size_t most) const;
  // Checks that the input's elements are floats; else InvalidArgument.
  Status CheckFloats(size_t input) const;
  // Checks that the input has `least` dimensions or more; else InvalidArgument.
  Status CheckLeastRank(size_t input, size_t least) const;
  // Checks that every present input has the type of input 0; else InvalidArgument.
  Status CheckSameTypes() const;
  // Returns Unimplemented, "`what` is computed from 'k' at run time; expected a constant", for an
  // input whose value must be known. The options name the model's inputs behind it, to be bound.
  Status NotConstant(size_t input, std::string_view what) const;
  // Returns the input's shape; Unimplemented while a dimension is symbolic.
  StatusOr<std::vector<int64_t>> StaticShape(size_t input) const;
  // Returns Unimplemented, "`what`; expected known dimensions", which carries the free dimensions
  // of the extents, to be given values.
  Status NotKnown(const std::vector<Expr>& extents, std::string_view what) const;
  // Returns the extent of one dimension; the same failure while it is free.
  StatusOr<int64_t> KnownExtent(size_t input, size_t dim) const;
  // Returns a parameter that shapes depend on ("starts", "axes"); Unimplemented unless constant.
  StatusOr<std::vector<int64_t>> ConstantInts(size_t input, std::string_view what) const;
  // Returns the same as formulas over Shape variables: constants, or elements that shape inference
  // knows; Unimplemented where it does not.
  StatusOr<std::vector<Expr>> Ints(size_t input, std::string_view what) const;
  // Takes for granted that two extents, or other formulas over Shape variables, are equal. Notes it
  // for the run to check, unless it is known; InvalidArgument, "`what` are 3 and 4", where they
  // never are.
  Status Agree(const Expr& a, const Expr& b, std::string_view what);
  // Takes for granted that a <= b likewise; InvalidArgument, "`what` are 4 and 3", where it never
  // is.
  Status AgreeAtMost(const Expr& a, const Expr& b, std::string_view what);
  // Takes for granted that an axis of `extent` is not empty if `count`, the number of places that
  // are picked from it, is not 0; InvalidArgument where it always is.
  Status AgreeOnPlaces(const Expr& extent, const Expr& count);
  // Takes for granted that a formula is not negative, as extents are. Numbers are left to the
  // caller, whose message says more.
  Status TakeAsExtent(const Expr& formula, std::string_view what);
  // Returns the extents that an operand called "shape" lists; InvalidArgument if one is negative.
  StatusOr<std::vector<Expr>> ShapeOperand(size_t input);
  // Maps -rank <= axis < rank to 0 <= axis < rank.
  StatusOr<int> NormalizedAxis(int64_t axis, size_t rank) const;

  // Loads the operand at these indices; a constant of one element becomes an immediate, and one
  // element that is known as a formula becomes the formula.
  Expr Load(size_t input, const std::vector<Expr>& indices);
  // Loads an operand whose shape broadcasts (numpy) to the shape that `indices` are a point of.
  Expr LoadBroadcast(size_t input, const std::vector<Expr>& indices);
  Expr Load(const StoredBuffer& buffer, const std::vector<Expr>& indices) const;

  StoredBuffer Output(size_t output, DType dtype, const std::vector<Expr>& shape);
  StoredBuffer Intermediate(const std::string& hint, DType dtype, const std::vector<Expr>& shape);
  // Returns an intermediate that is stored even if its readers could recompute it: to store it in
  // an order that they read fast, or to compute it only once.
  StoredBuffer Kept(const std::string& hint, DType dtype, const std::vector<Expr>& shape);

  // Returns an axis for each dimension, named after its role.
  std::vector<Axis> Axes(const std::vector<Expr>& shape) const;
  static Axis MakeAxis(const std::string& name, const Expr& extent);

  // Adds the stage out[axes] = value. Its block is called after the node and `suffix`.
  void Map(const StoredBuffer& out, const std::vector<Axis>& axes, const Expr& value,
           const std::string& suffix = "");
  // Adds the stage out[indices] = value, where `indices` are over `axes`.
  void MapAt(const StoredBuffer& out, const std::vector<Axis>& axes,
             const std::vector<Expr>& indices, const Expr& value, const std::string& suffix);
  // The stage outputs[e][indices] = combine over reduce_axes of values[e]. Empty `indices` stand
  // for the axes themselves, which are then put in the storage order of the first output.
  struct Reduction {
    std::vector<StoredBuffer> outputs;
    std::vector<Axis> axes;
    std::vector<Axis> reduce_axes;
    std::vector<Expr> indices = {};
    // The indices per output, for a tuple whose elements differ in their axes.
    std::vector<std::vector<Expr>> output_indices = {};
    Combiner combiner;
    std::vector<Expr> values;
    Expr predicate = True();
    std::string suffix = "";
  };
  void Reduce(Reduction reduction);
  // Adds the stage result[axes] = combine over reduce_axes of value. Returns the result, an
  // intermediate; `hint` ends its name and the block's.
  StoredBuffer Reduced(const std::string& hint, const std::vector<Axis>& axes,
                       const std::vector<Axis>& reduce_axes, const Combiner& combiner,
                       const Expr& value, const Expr& predicate = True());
  // The stage output[indices] = value at the points of `axes` in order (OrderedExpr).
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

  // Returns InvalidArgument with the message after "node 'conv1' (Conv): ".
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

// Returns the letters, digits and underscores of `text`, never empty, not starting with a digit.
std::string Identifier(std::string_view text);
std::vector<Expr> VarsOf(const std::vector<Axis>& axes);
std::vector<Expr> ExtentsOf(const std::vector<Axis>& axes);
// Returns the shape as "1x64x56x56", with symbolic dimensions as "N" and "(P + S)".
std::string ShapeText(const std::vector<Expr>& shape);
// Returns the type that a reduction over `dtype` accumulates in: f32 for f16 and bf16, else itself.
DType AccumulationType(DType dtype);

// Return a * b, a + b and a - b, without a node if b is the neutral element, so that the IR stays
// readable. Constants that overflow become INT64_MAX or INT64_MIN.
Expr Times(const Expr& a, int64_t b);
Expr Times(const Expr& a, const Expr& b);
Expr Plus(const Expr& a, int64_t b);
Expr Plus(const Expr& a, const Expr& b);
Expr Minus(const Expr& a, const Expr& b);
// Returns a and b, without a node if one is the constant true.
Expr AndAlso(const Expr& a, const Expr& b);
// Returns the product of the dimensions, a constant if they are.
Expr Product(std::span<const Expr> shape);
// Return extent * factor and value / extent as floats: of a known extent computed in f64 and
// rounded once.
Expr ScaledFloat(DType type, const Expr& extent, double factor = 1);
Expr Fraction(DType type, double value, const Expr& extent);
// Returns whether both are the same number or the same formula.
bool SameExtent(const Expr& a, const Expr& b);
bool SameShape(std::span<const Expr> a, std::span<const Expr> b);
// Returns whether a > b at some values of the Shape variables, as far as their ranges tell.
bool MayExceed(const Expr& a, const Expr& b);

// Returns the shape that operands of these shapes broadcast to (numpy): aligned at the right, a
// dimension of 1 stretches. InvalidArgument where two dimensions differ and neither is 1. A free
// dimension is taken to be no 1 that stretches: it agrees with the other one.
StatusOr<std::vector<Expr>> BroadcastShapes(NodeLowering& node,
                                            const std::vector<std::vector<Expr>>& shapes);

}  // namespace tcc
