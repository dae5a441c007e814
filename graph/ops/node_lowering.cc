#include "graph/ops/node_lowering.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "graph/ops/shape_operands.h"
#include "graph/ops/storage_order.h"
#include "ir/expr/compare.h"
#include "ir/expr/visitor.h"
#include "ir/graph/constants.h"
#include "ir/simplify/simplify.h"
#include "ir/simplify/size_arithmetic.h"
#include "ir/text/printer.h"
#include "support/check.h"
#include "support/wanted_option.h"

namespace tcc {
namespace {

// "d", "h", "w" from the right, as many as there are.
std::string AxisName(size_t rank, size_t dim) {
  static constexpr const char* kIndexNames[] = {"i", "j", "k"};
  static constexpr const char* kFourDims[] = {"n", "c", "h", "w"};
  static constexpr const char* kFiveDims[] = {"n", "c", "d", "h", "w"};
  if (rank <= 3) return kIndexNames[dim];
  if (rank == 4) return kFourDims[dim];
  if (rank == 5) return kFiveDims[dim];
  return fmt::format("i{}", dim);
}

Expr Immediate(const Tensor& scalar) {
  if (scalar.dtype.is_storage_only()) return Const(scalar.dtype, ElementAsDouble(scalar, 0));
  if (scalar.dtype.is_float()) return FloatConst(scalar.dtype, ElementAsDouble(scalar, 0));
  return IntConst(scalar.dtype, ElementAsInt(scalar, 0));
}

Buffer WholeBuffer(const std::string& name, DType dtype, std::vector<Expr> shape) {
  Buffer buffer;
  buffer.var = BufferVar(name, dtype);
  buffer.shape = std::move(shape);
  return buffer;
}

}  // namespace

NodeLowering::NodeLowering(const Graph& graph, const Node& node)
    : graph_(graph), node_(node), name_(Identifier(node.name)) {
  result_.program.name = name_;
  result_.program.shape_vars = graph.shape_vars;
}

std::string NodeLowering::Title() const {
  return fmt::format("node '{}' ({})", node_.name, ToString(node_.op));
}

bool NodeLowering::Has(size_t input) const {
  return input < node_.inputs.size() && node_.inputs[input] != kNoValue;
}

bool NodeLowering::Wants(size_t output) const {
  return output < node_.outputs.size() && node_.outputs[output] != kNoValue;
}

DType NodeLowering::Type(size_t input) const {
  return graph_.value(node_.inputs[input]).dtype;
}

const std::vector<Expr>& NodeLowering::Shape(size_t input) const {
  return graph_.value(node_.inputs[input]).shape;
}

const Tensor* NodeLowering::Constant(size_t input) const {
  return Has(input) ? graph_.ConstantOf(node_.inputs[input]) : nullptr;
}

const std::vector<Expr>& NodeLowering::Elements(size_t input) const {
  return graph_.value(node_.inputs[input]).elements;
}

std::string NodeLowering::InputText(size_t input) const {
  const std::string& name = graph_.value(node_.inputs[input]).name;
  if (Rank(input) == 0) return fmt::format("input {} ('{}', a scalar)", input, name);
  return fmt::format("input {} ('{}', shape {})", input, name, ShapeText(Shape(input)));
}

Status NodeLowering::CheckCount(size_t least, size_t most) const {
  TCC_RETURN_IF_ERROR(CheckOperandCount(node_, least, most));
  if (!Wants(0)) return Error("has no output");
  return OkStatus();
}

Status NodeLowering::CheckInputs(size_t least, size_t most) const {
  TCC_RETURN_IF_ERROR(CheckCount(least, most));
  for (size_t i = 0; i < input_count(); ++i) {
    if (Has(i) && Type(i).is_storage_only()) {
      return NotSupported("input {} has type {}, which is not computed with", i, ToString(Type(i)));
    }
  }
  return OkStatus();
}

Status NodeLowering::CheckFloats(size_t input) const {
  if (Type(input).is_float()) return OkStatus();
  return Error("input {} has type {}; expected floats", input, ToString(Type(input)));
}

Status NodeLowering::CheckLeastRank(size_t input, size_t least) const {
  if (Rank(input) >= least) return OkStatus();
  return Error("{} has rank {}; expected rank {} or more", InputText(input), Rank(input), least);
}

Status NodeLowering::CheckSameTypes() const {
  for (size_t i = 1; i < input_count(); ++i) {
    if (Has(i) && Type(i) != Type(0)) {
      return Error("input {} has type {}; expected {} as input 0", i, ToString(Type(i)),
                   ToString(Type(0)));
    }
  }
  return OkStatus();
}

Status NodeLowering::NotConstant(size_t input, std::string_view what) const {
  if (!Has(input)) return NotSupported("{} is missing", what);
  std::vector<std::string> names;
  for (ValueId id : InputsBehind(graph_, {node_.inputs[input]})) {
    names.push_back(graph_.value(id).name);
  }
  std::string from = names.empty() ? "" : fmt::format(" from '{}'", fmt::join(names, "', '"));
  Status status = NotSupported("{} is computed{} at run time; expected a constant", what, from);
  for (const std::string& name : names) status = WithOption(status, Option::kBinds, name);
  return status;
}

StatusOr<std::vector<int64_t>> NodeLowering::StaticShape(size_t input) const {
  if (auto shape = tcc::StaticShape(graph_.value(node_.inputs[input]))) return *shape;
  return NotSupported("{}; expected known dimensions", InputText(input));
}

Status NodeLowering::NotKnown(const std::vector<Expr>& extents, std::string_view what) const {
  Status status = NotSupported("{}; expected known dimensions", what);
  for (const Var& var : graph_.shape_vars) {
    bool occurs =
        std::ranges::any_of(extents, [&](const Expr& extent) { return UsesVar(extent, var); });
    if (occurs) status = WithOption(status, Option::kDims, var->name);
  }
  return status;
}

StatusOr<int64_t> NodeLowering::KnownExtent(size_t input, size_t dim) const {
  const Expr& extent = Shape(input)[dim];
  if (std::optional<int64_t> known = AsConstant(extent)) return *known;
  return NotKnown({extent}, fmt::format("{} in dimension {}", InputText(input), dim));
}

StatusOr<std::vector<int64_t>> NodeLowering::ConstantInts(size_t input,
                                                          std::string_view what) const {
  const Tensor* tensor = Constant(input);
  if (!tensor) return NotConstant(input, what);
  if (!tensor->dtype.is_integer() || tensor->shape.size() > 1) {
    return Error("{} is {}; expected a list of integers", what, tcc::ToString(*tensor));
  }
  int64_t count = tensor->shape.empty() ? 1 : tensor->shape[0];
  std::vector<int64_t> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(ElementAsInt(*tensor, i));
  return values;
}

StatusOr<std::vector<Expr>> NodeLowering::Ints(size_t input, std::string_view what) const {
  if (!Has(input)) return NotConstant(input, what);
  const Value& value = graph_.value(node_.inputs[input]);
  if (!value.elements.empty() && value.shape.size() <= 1) return value.elements;
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> numbers, ConstantInts(input, what));
  return ToExprs(numbers);
}

Status NodeLowering::Agree(const Expr& a, const Expr& b, std::string_view what) {
  if (SameExtent(a, b)) return OkStatus();
  Interval difference = BoundsOf(Simplify(a - b), {});
  if (difference.low > 0 || difference.high < 0) {
    return Error("{} are {} and {}", what, ShapeText({a}), ShapeText({b}));
  }
  bool known = difference.low == 0 && difference.high == 0;
  if (!known) result_.agreements.push_back({a, b, fmt::format("{}: {}", Title(), what)});
  return OkStatus();
}

Status NodeLowering::AgreeAtMost(const Expr& a, const Expr& b, std::string_view what) {
  Interval excess = BoundsOf(Simplify(a - b), {});
  if (excess.low > 0) return Error("{} are {} and {}", what, ShapeText({a}), ShapeText({b}));
  return excess.high <= 0 ? OkStatus() : Agree(b, MaxOf(a, b), what);
}

Status NodeLowering::AgreeOnPlaces(const Expr& extent, const Expr& count) {
  if (BoundsOf(extent, {}).low > 0 || IsConstant(Simplify(count), 0)) return OkStatus();
  if (AsConstant(extent)) return Error("an axis that indices pick from has extent 0");
  return Agree(SelectOf(extent < Expr(1), count, Expr(0)), Expr(0),
               "the places picked from an empty axis and their number");
}

Status NodeLowering::TakeAsExtent(const Expr& formula, std::string_view what) {
  if (AsConstant(formula) || AlwaysHolds(formula >= Expr(0))) return OkStatus();
  return Agree(formula, LargerOf(formula, Expr(0)), fmt::format("{} and the nearest extent", what));
}

StatusOr<std::vector<Expr>> NodeLowering::ShapeOperand(size_t input) {
  TCC_ASSIGN_OR_RETURN(std::vector<Expr> dims, Ints(input, "shape"));
  for (size_t d = 0; d < dims.size(); ++d) {
    if (AsConstant(dims[d]).value_or(0) < 0) {
      return Error("shape is {}; expected dimensions of at least 0", ShapeText(dims));
    }
    TCC_RETURN_IF_ERROR(TakeAsExtent(dims[d], fmt::format("dimension {} of shape", d)));
  }
  return dims;
}

StatusOr<int> NodeLowering::NormalizedAxis(int64_t axis, size_t rank) const {
  int64_t signed_rank = static_cast<int64_t>(rank);
  if (rank == 0) return Error("axis is {}, but the input is a scalar, which has no axis", axis);
  if (axis < -signed_rank || axis >= signed_rank) {
    return Error("axis is {}; expected {} to {}", axis, -signed_rank, signed_rank - 1);
  }
  return static_cast<int>(axis < 0 ? axis + signed_rank : axis);
}

Expr NodeLowering::Load(size_t input, const std::vector<Expr>& indices) {
  const Tensor* constant = Constant(input);
  if (constant && HasOneElement(*constant)) return Immediate(*constant);
  if (Elements(input).size() == 1) return CastTo(Type(input), Elements(input)[0]);

  ValueId id = node_.inputs[input];
  StoredBuffer stored;
  stored.order = InputOrder(graph_, node_, input);
  for (size_t i = 0; i < result_.inputs.size(); ++i) {
    if (result_.inputs[i] != id) continue;
    // One value in two storage orders in one node would be two buffers; no operator has that.
    stored.buffer = result_.program.inputs[i];
    return Load(stored, indices);
  }
  const Value& value = graph_.value(id);
  stored.buffer =
      WholeBuffer(Identifier(value.name), value.dtype, Permuted(value.shape, stored.order));
  result_.program.inputs.push_back(stored.buffer);
  result_.inputs.push_back(id);
  return Load(stored, indices);
}

Expr NodeLowering::LoadBroadcast(size_t input, const std::vector<Expr>& indices) {
  const std::vector<Expr>& shape = Shape(input);
  TCC_CHECK(shape.size() <= indices.size());
  size_t skipped = indices.size() - shape.size();
  std::vector<Expr> own;
  for (size_t d = 0; d < shape.size(); ++d) {
    own.push_back(IsConstant(shape[d], 1) ? Expr(0) : indices[skipped + d]);
  }
  return Load(input, own);
}

Expr NodeLowering::Load(const StoredBuffer& stored, const std::vector<Expr>& indices) const {
  TCC_CHECK(indices.size() == stored.order.size()) << "in " << Title();
  return Make<tcc::Load>(stored.buffer.var, Permuted(indices, stored.order));
}

StoredBuffer NodeLowering::Output(size_t output, DType dtype, const std::vector<Expr>& shape) {
  ValueId id = node_.outputs[output];
  StoredBuffer stored;
  stored.order = OutputOrder(graph_, node_, shape.size());
  stored.buffer =
      WholeBuffer(Identifier(graph_.value(id).name), dtype, Permuted(shape, stored.order));
  result_.program.outputs.push_back(stored.buffer);
  result_.outputs.push_back(id);
  return stored;
}

StoredBuffer NodeLowering::Intermediate(const std::string& hint, DType dtype,
                                        const std::vector<Expr>& shape) {
  StoredBuffer stored;
  stored.order = OutputOrder(graph_, node_, shape.size());
  stored.buffer = WholeBuffer(name_ + "_" + hint, dtype, Permuted(shape, stored.order));
  result_.program.intermediates.push_back(stored.buffer);
  return stored;
}

StoredBuffer NodeLowering::Kept(const std::string& hint, DType dtype,
                                const std::vector<Expr>& shape) {
  StoredBuffer stored = Intermediate(hint, dtype, shape);
  result_.program.kept.push_back(stored.buffer.var);
  return stored;
}

std::vector<Axis> NodeLowering::Axes(const std::vector<Expr>& shape) const {
  std::vector<Axis> axes;
  for (size_t d = 0; d < shape.size(); ++d) {
    axes.push_back(MakeAxis(AxisName(shape.size(), d), shape[d]));
  }
  return axes;
}

Axis NodeLowering::MakeAxis(const std::string& name, const Expr& extent) {
  return {.var = IterationVar(name), .extent = extent};
}

void NodeLowering::Map(const StoredBuffer& out, const std::vector<Axis>& axes, const Expr& value,
                       const std::string& suffix) {
  MapAt(out, axes, VarsOf(axes), value, suffix);
}

void NodeLowering::MapAt(const StoredBuffer& out, const std::vector<Axis>& axes,
                         const std::vector<Expr>& indices, const Expr& value,
                         const std::string& suffix) {
  ComputeExpr stage;
  stage.name = name_ + suffix;
  // Axes that are not the output's dimensions one by one have no order but their own.
  stage.axes = axes.size() == out.order.size() ? Permuted(axes, out.order) : axes;
  stage.outputs = {out.buffer};
  stage.indices = {Permuted(indices, out.order)};
  stage.values = {value};
  result_.program.stages.push_back(std::move(stage));
}

void NodeLowering::Reduce(Reduction reduction) {
  // The last output of a tuple has the most axes.
  const std::vector<int>& order = reduction.outputs.back().order;
  ComputeExpr stage;
  stage.name = name_ + reduction.suffix;
  stage.axes = Permuted(reduction.axes, order);
  stage.reduce_axes = std::move(reduction.reduce_axes);
  stage.predicate = reduction.predicate;
  stage.combiner = reduction.combiner;
  std::vector<Expr> indices =
      reduction.indices.empty() ? VarsOf(reduction.axes) : reduction.indices;
  for (size_t e = 0; e < reduction.outputs.size(); ++e) {
    const StoredBuffer& out = reduction.outputs[e];
    bool own = !reduction.output_indices.empty();
    stage.outputs.push_back(out.buffer);
    stage.indices.push_back(Permuted(own ? reduction.output_indices[e] : indices, out.order));
  }
  stage.values = std::move(reduction.values);
  result_.program.stages.push_back(std::move(stage));
}

StoredBuffer NodeLowering::Reduced(const std::string& hint, const std::vector<Axis>& axes,
                                   const std::vector<Axis>& reduce_axes, const Combiner& combiner,
                                   const Expr& value, const Expr& predicate) {
  StoredBuffer result = Intermediate(hint, value.dtype(), ExtentsOf(axes));
  Reduce({.outputs = {result},
          .axes = axes,
          .reduce_axes = reduce_axes,
          .combiner = combiner,
          .values = {value},
          .predicate = predicate,
          .suffix = "_" + hint});
  return result;
}

void NodeLowering::StoreInOrder(OrderedStores stores) {
  TCC_CHECK(stores.axes.size() == stores.kinds.size()) << "in " << Title();
  OrderedExpr stage;
  stage.name = name_ + stores.suffix;
  stage.axes = std::move(stores.axes);
  stage.kinds = std::move(stores.kinds);
  stage.predicate = stores.predicate;
  stage.output = stores.output.buffer;
  stage.indices = Permuted(stores.indices, stores.output.order);
  stage.value = stores.value;
  result_.program.stages.push_back(std::move(stage));
}

// Inputs go in the node's order, not in that of their first loads: in which order the operands of
// a C++ operator are evaluated is the compiler's choice, and a kernel's key must not depend on it.
LoweredNode NodeLowering::Finish() && {
  std::vector<ValueId> loaded = std::exchange(result_.inputs, {});
  std::vector<Buffer> buffers = std::exchange(result_.program.inputs, {});
  for (ValueId id : node_.inputs) {
    auto place = std::ranges::find(loaded, id);
    bool is_taken = std::ranges::find(result_.inputs, id) != result_.inputs.end();
    if (place == loaded.end() || is_taken) continue;
    result_.inputs.push_back(id);
    result_.program.inputs.push_back(buffers[static_cast<size_t>(place - loaded.begin())]);
  }
  return std::move(result_);
}

std::string Identifier(std::string_view text) {
  std::string result;
  for (char c : text) {
    bool plain = std::isalnum(static_cast<unsigned char>(c)) && static_cast<unsigned char>(c) < 128;
    if (plain) {
      result += c;
    } else if (!result.empty() && result.back() != '_') {
      result += '_';
    }
  }
  while (!result.empty() && result.back() == '_') result.pop_back();
  if (result.empty() || std::isdigit(static_cast<unsigned char>(result[0]))) {
    result.insert(result.begin(), 'v');
  }
  return result;
}

std::vector<Expr> VarsOf(const std::vector<Axis>& axes) {
  std::vector<Expr> vars;
  for (const Axis& axis : axes) vars.push_back(axis.var);
  return vars;
}

std::vector<Expr> ExtentsOf(const std::vector<Axis>& axes) {
  std::vector<Expr> extents;
  for (const Axis& axis : axes) extents.push_back(axis.extent);
  return extents;
}

std::string ShapeText(const std::vector<Expr>& shape) {
  std::string text;
  for (const Expr& dim : shape) {
    if (!text.empty()) text += "x";
    if (std::optional<int64_t> known = AsConstant(dim)) {
      text += std::to_string(*known);
    } else if (const auto* var = dim.as<VarNode>()) {
      text += var->name;
    } else {
      text += fmt::format("({})", Print(dim));
    }
  }
  return shape.empty() ? "scalar" : text;
}

DType AccumulationType(DType dtype) {
  return dtype.is_float() && dtype.bits() < 32 ? kFloat32 : dtype;
}

Expr Times(const Expr& a, int64_t b) {
  if (b == 1) return a;
  return AsConstant(a) ? ProductOf(a, Expr(b)) : a * Expr(b);
}

Expr Times(const Expr& a, const Expr& b) {
  std::optional<int64_t> known = AsConstant(b);
  return known ? Times(a, *known) : a * b;
}

Expr Plus(const Expr& a, int64_t b) {
  if (b == 0) return a;
  if (AsConstant(a)) return SumOf(a, Expr(b));
  return b > 0 ? a + Expr(b) : a - Expr(-b);
}

Expr Plus(const Expr& a, const Expr& b) {
  std::optional<int64_t> known = AsConstant(b);
  return known ? Plus(a, *known) : a + b;
}

Expr Minus(const Expr& a, const Expr& b) {
  std::optional<int64_t> known = AsConstant(b);
  return known ? Plus(a, -*known) : a - b;
}

Expr AndAlso(const Expr& a, const Expr& b) {
  if (IsConstant(a, 1)) return b;
  return IsConstant(b, 1) ? a : BothOf(a, b);
}

Expr Product(std::span<const Expr> shape) {
  Expr symbolic;
  Expr known = 1;
  for (const Expr& dim : shape) {
    if (AsConstant(dim)) {
      known = ProductOf(known, dim);
    } else {
      symbolic = symbolic ? symbolic * dim : dim;
    }
  }
  return symbolic ? Times(symbolic, known) : known;
}

Expr ScaledFloat(DType type, const Expr& extent, double factor) {
  std::optional<int64_t> known = AsConstant(extent);
  if (known) return FloatConst(type, static_cast<double>(*known) * factor);
  Expr value = CastTo(type, extent);
  return factor == 1 ? value : value * FloatConst(type, factor);
}

Expr Fraction(DType type, double value, const Expr& extent) {
  std::optional<int64_t> known = AsConstant(extent);
  if (known) return FloatConst(type, value / static_cast<double>(*known));
  return Make<Div>(FloatConst(type, value), CastTo(type, extent));
}

bool SameExtent(const Expr& a, const Expr& b) {
  return Equal(a, b);
}

bool SameShape(std::span<const Expr> a, std::span<const Expr> b) {
  return std::ranges::equal(a, b, SameExtent);
}

bool MayExceed(const Expr& a, const Expr& b) {
  return BoundsOf(Simplify(a - b), {}).high > 0;
}

StatusOr<std::vector<Expr>> BroadcastShapes(NodeLowering& node,
                                            const std::vector<std::vector<Expr>>& shapes) {
  size_t rank = 0;
  for (const auto& shape : shapes) rank = std::max(rank, shape.size());
  std::vector<Expr> result(rank, Expr(1));
  for (const auto& shape : shapes) {
    size_t skipped = rank - shape.size();
    for (size_t d = 0; d < shape.size(); ++d) {
      Expr& dim = result[skipped + d];
      if (IsConstant(shape[d], 1) || SameExtent(dim, shape[d])) continue;
      if (!IsConstant(dim, 1)) {
        if (AsConstant(dim) && AsConstant(shape[d])) {
          return node.Error(
              "operands of shapes {} and {} do not broadcast: dimension {} is {} and {}",
              ShapeText(shapes[0]), ShapeText(shape), skipped + d, ShapeText({dim}),
              ShapeText({shape[d]}));
        }
        std::string what = fmt::format("operands' dimensions {}", skipped + d);
        TCC_RETURN_IF_ERROR(node.Agree(dim, shape[d], what));
        if (AsConstant(dim)) continue;
      }
      dim = AsConstant(shape[d]) || IsConstant(dim, 1) ? shape[d] : dim;
    }
  }
  return result;
}

}  // namespace tcc
