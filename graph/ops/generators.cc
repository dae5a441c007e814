#include <algorithm>
#include <cmath>

#include "graph/ops/lowerings.h"
#include "ir/simplify/size_arithmetic.h"

// Operators whose elements follow from their places or from shapes.
namespace tcc {
namespace {

// A parameter of one number; nullptr where it is computed or has another size.
const Tensor* ConstantScalar(const NodeLowering& node, size_t input) {
  const Tensor* tensor = node.Constant(input);
  return tensor && ElementCount(tensor->shape).value_or(0) == 1 ? tensor : nullptr;
}

// max(0, ceil((limit - start) / delta)); nullopt for a delta of 0 and what is too many to count.
std::optional<int64_t> CountOf(const Tensor& start, const Tensor& limit, const Tensor& delta) {
  if (start.dtype.is_float()) {
    double step = ElementAsDouble(delta, 0);
    double count = std::ceil((ElementAsDouble(limit, 0) - ElementAsDouble(start, 0)) / step);
    if (step == 0 || !(count < 0x1p52)) return std::nullopt;
    return count > 0 ? static_cast<int64_t>(count) : 0;
  }
  int64_t from = ElementAsInt(start, 0);
  int64_t to = ElementAsInt(limit, 0);
  int64_t step = ElementAsInt(delta, 0);
  if (step == 0) return std::nullopt;
  if (step > 0 ? from >= to : from <= to) return 0;
  // The distance of two numbers of 64 bits fits 64 bits without a sign.
  uint64_t distance = step > 0 ? static_cast<uint64_t>(to) - static_cast<uint64_t>(from)
                               : static_cast<uint64_t>(from) - static_cast<uint64_t>(to);
  uint64_t width = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
  uint64_t count = (distance - 1) / width + 1;
  return count > INT64_MAX ? std::nullopt : std::optional(static_cast<int64_t>(count));
}

// Returns the same for integers of which some are formulas. Expects a delta other than 0.
Expr CountOf(const Expr& start, const Expr& limit, int64_t delta) {
  Expr distance = delta > 0 ? DifferenceOf(limit, start) : DifferenceOf(start, limit);
  int64_t width = delta > 0 ? delta : -std::max(delta, -INT64_MAX);
  return CeilQuotientOf(LargerOf(distance, Expr(0)), Expr(width));
}

constexpr const char* kRangeOperands[] = {"start", "limit", "delta"};

// Returns how many elements a Range has whose operands are constants, or formulas.
StatusOr<Expr> CountOfRange(const NodeLowering& node) {
  bool constant = node.Constant(0) && node.Constant(1) && node.Constant(2);
  if (constant) {
    std::optional<int64_t> count = CountOf(*node.Constant(0), *node.Constant(1), *node.Constant(2));
    if (count) return Expr(*count);
    return node.Error("there is no end to this range");
  }
  Expr numbers[3];
  for (size_t i = 0; i < 3; ++i) {
    TCC_ASSIGN_OR_RETURN(std::vector<Expr> elements, node.Ints(i, kRangeOperands[i]));
    numbers[i] = elements[0];
  }
  std::optional<int64_t> delta = AsConstant(numbers[2]);
  if (!delta) return node.NotConstant(2, "delta");
  if (*delta == 0) return node.Error("there is no end to this range");
  return CountOf(numbers[0], numbers[1], *delta);
}

// Returns an operand of one element.
Expr ScalarOperand(NodeLowering& node, size_t input) {
  return node.Load(input, std::vector<Expr>(node.Rank(input), Expr(0)));
}

}  // namespace

Status LowerRange(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(3, 3));
  for (size_t i = 0; i < 3; ++i) {
    const Tensor* constant = node.Constant(i);
    if (!constant && node.Elements(i).empty()) return node.NotConstant(i, kRangeOperands[i]);
    bool single = constant ? ConstantScalar(node, i) != nullptr : node.Elements(i).size() == 1;
    if (!single || node.Type(i) != node.Type(0) || node.Type(i).is_bool()) {
      return node.Error("{} is {}; expected a number of type {}", kRangeOperands[i],
                        constant ? ToString(*constant) : node.InputText(i), ToString(node.Type(0)));
    }
  }
  TCC_ASSIGN_OR_RETURN(Expr count, CountOfRange(node));
  DType type = node.Type(0);
  std::vector<Expr> shape = {count};
  StoredBuffer out = node.Output(0, type, shape);
  std::vector<Axis> axes = node.Axes(shape);
  Expr first = ScalarOperand(node, 0);
  Expr delta = ScalarOperand(node, 2);
  node.Map(out, axes, first + CastTo(type, axes[0].var) * delta);
  return OkStatus();
}

// Returns the extent of a OneHot's axis.
StatusOr<Expr> DepthOf(NodeLowering& node) {
  if (node.Elements(1).size() == 1) {
    Expr depth = node.Elements(1)[0];
    TCC_RETURN_IF_ERROR(node.TakeAsExtent(depth, "depth"));
    return depth;
  }
  const Tensor* depth = ConstantScalar(node, 1);
  if (!depth) {
    if (!node.Constant(1)) return node.NotConstant(1, "depth");
    return node.Error("depth is {}; expected one number", ToString(*node.Constant(1)));
  }
  double number = ElementAsDouble(*depth, 0);
  if (!(number >= 0 && number < 0x1p52)) return node.Error("depth is {}", number);
  return Expr(static_cast<int64_t>(number));
}

// `on` at the place that the index names, `off` elsewhere; an index outside is all off.
Status LowerOneHot(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(3, 3));
  const std::vector<Expr>& picks = node.Shape(0);
  TCC_ASSIGN_OR_RETURN(int axis,
                       node.NormalizedAxis(node.node().Int("axis", -1), picks.size() + 1));
  TCC_ASSIGN_OR_RETURN(Expr extent, DepthOf(node));
  if (node.Rank(2) != 1 || !node.Agree(node.Shape(2)[0], Expr(2), "numbers of values").ok()) {
    return node.Error("values have shape {}; expected 2", ShapeText(node.Shape(2)));
  }
  std::vector<Expr> shape = picks;
  shape.insert(shape.begin() + axis, extent);
  StoredBuffer out = node.Output(0, node.Type(2), shape);
  std::vector<Axis> axes = node.Axes(shape);
  std::vector<Expr> position = VarsOf(axes);
  position.erase(position.begin() + axis);
  Expr index = CastTo(kInt64, node.Load(0, position));
  index = SelectOf(index < Expr(0), index + extent, index);
  Expr is_on = Make<Eq>(index, axes[axis].var);
  node.Map(out, axes, SelectOf(is_on, node.Load(2, {Expr(1)}), node.Load(2, {Expr(0)})));
  return OkStatus();
}

Status LowerEyeLike(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  const std::vector<Expr>& shape = node.Shape(0);
  if (shape.size() != 2) return node.Error("{}; expected a matrix", node.InputText(0));
  std::optional<DType> type = ParseDType(node.node().String("to", ToString(node.Type(0))));
  int64_t diagonal = node.node().Int("k", 0);
  constexpr int64_t kLimit = int64_t{1} << 40;
  if (!type || std::abs(diagonal) > kLimit) return node.Error("diagonal {}", diagonal);
  StoredBuffer out = node.Output(0, *type, shape);
  std::vector<Axis> axes = node.Axes(shape);
  Expr is_on = Make<Eq>(axes[1].var, Plus(axes[0].var, diagonal));
  node.Map(out, axes, SelectOf(is_on, Const(*type, 1), Const(*type, 0)));
  return OkStatus();
}

// The diagonal k and what lies to the right of it (upper) or to the left stay, the rest is 0.
Status LowerTrilu(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 2));
  const std::vector<Expr>& shape = node.Shape(0);
  if (shape.size() < 2) {
    return node.Error("{}; expected a matrix or several", node.InputText(0));
  }
  Expr diagonal = 0;
  if (node.Has(1)) {
    if (node.Type(1) != kInt64 || !IsConstant(Product(node.Shape(1)), 1)) {
      return node.Error("k is {} of shape {}; expected one i64", ToString(node.Type(1)),
                        ShapeText(node.Shape(1)));
    }
    diagonal = ScalarOperand(node, 1);
  }
  StoredBuffer out = node.Output(0, node.Type(0), shape);
  std::vector<Axis> axes = node.Axes(shape);
  Expr offset = axes[shape.size() - 1].var - axes[shape.size() - 2].var;
  bool upper = node.node().Int("upper", 1) != 0;
  Expr kept = upper ? offset >= diagonal : offset <= diagonal;
  node.Map(out, axes, SelectOf(kept, node.Load(0, VarsOf(axes)), Const(node.Type(0), 0)));
  return OkStatus();
}

// The dimensions as a vector; those that are known end up as constants.
Status LowerShape(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  const std::vector<Expr>& dims = node.Shape(0);
  int64_t rank = static_cast<int64_t>(dims.size());
  auto clamped = [&](int64_t position) {
    return std::clamp<int64_t>(position < 0 ? position + rank : position, 0, rank);
  };
  int64_t begin = clamped(node.node().Int("start", 0));
  int64_t end = std::max(begin, clamped(node.node().Int("end", rank)));

  std::vector<Expr> shape = {Expr(end - begin)};
  StoredBuffer out = node.Output(0, kInt64, shape);
  std::vector<Axis> axes = node.Axes(shape);
  Expr value = end > begin ? dims[end - 1] : Expr(0);
  for (int64_t d = end - 2; d >= begin; --d) {
    value = SelectOf(Make<Eq>(axes[0].var, Expr(d - begin)), dims[d], value);
  }
  node.Map(out, axes, value);
  return OkStatus();
}

Status LowerSize(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  StoredBuffer out = node.Output(0, kInt64, {});
  node.Map(out, {}, Product(node.Shape(0)));
  return OkStatus();
}

Status LowerConstantOfShape(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  TCC_ASSIGN_OR_RETURN(std::vector<Expr> shape, node.ShapeOperand(0));
  Expr value = FloatConst(kFloat32, 0);
  auto attribute = node.node().attributes.find("value");
  if (attribute != node.node().attributes.end()) {
    const auto* tensor = std::get_if<Tensor>(&attribute->second);
    if (!tensor || ElementCount(tensor->shape).value_or(0) != 1) {
      return node.Error("value is not a tensor of one element");
    }
    value = tensor->dtype.is_float() ? FloatConst(tensor->dtype, ElementAsDouble(*tensor, 0))
                                     : IntConst(tensor->dtype, ElementAsInt(*tensor, 0));
  }
  StoredBuffer out = node.Output(0, value.dtype(), shape);
  node.Map(out, node.Axes(shape), value);
  return OkStatus();
}

}  // namespace tcc
