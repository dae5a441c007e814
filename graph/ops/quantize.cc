#include <algorithm>

#include "graph/ops/lowerings.h"
#include "ir/simplify/simplify.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

// Scale and zero point (inputs 1 and 2): of the whole tensor, of each slice of an axis, or of each
// run of block_size elements along it.
class Granularity {
 public:
  static StatusOr<Granularity> Of(NodeLowering& node) {
    Granularity result;
    const std::vector<Expr>& x = node.Shape(0);
    const std::vector<Expr>& scale = node.Shape(1);
    if (node.Has(2) && !IsOne(node.Shape(2)) && !Agree(node, node.Shape(2), scale)) {
      return node.Error("zero point has shape {}; expected {} as the scale",
                        ShapeText(node.Shape(2)), ShapeText(scale));
    }
    if (IsOne(scale)) return result;
    TCC_ASSIGN_OR_RETURN(result.axis_, node.NormalizedAxis(node.node().Int("axis", 1), x.size()));
    result.block_ = node.node().Int("block_size", 0);
    if (result.block_ < 0) return node.Error("block_size is {}", result.block_);
    bool fits = result.block_ == 0 ? Agree(node, scale, {x[result.axis_]})
                                   : Agree(node, scale, result.BlocksOf(x));
    if (fits) return result;
    return node.Error("scale has shape {}; {} with axis {} and block_size {} wants another",
                      ShapeText(scale), node.InputText(0), result.axis_, result.block_);
  }

  // Returns the index, in a scale or zero point of this shape, of the entry for an element of input
  // 0.
  std::vector<Expr> IndexAt(std::vector<Expr> point, const std::vector<Expr>& shape) const {
    if (IsOne(shape)) return std::vector<Expr>(shape.size(), Expr(0));
    if (block_ == 0) return {point[axis_]};
    point[axis_] = FloorDivide(point[axis_], Expr(block_));
    return point;
  }

 private:
  // A number, or a list of one.
  static bool IsOne(const std::vector<Expr>& shape) {
    return shape.empty() || (shape.size() == 1 && IsConstant(shape[0], 1));
  }

  static bool Agree(NodeLowering& node, const std::vector<Expr>& own,
                    const std::vector<Expr>& expected) {
    return std::ranges::equal(own, expected, [&](const Expr& a, const Expr& b) {
      return node.Agree(a, b, "dimensions of scale or zero point").ok();
    });
  }

  // Returns the shape of the scales for an input of shape `x`, one for each block.
  std::vector<Expr> BlocksOf(std::vector<Expr> x) const {
    x[axis_] = Simplify(CeilDivide(x[axis_], Expr(block_)));
    return x;
  }

  int axis_ = -1;  // none: of the whole tensor
  int64_t block_ = 0;
};

StatusOr<DType> ResultType(const NodeLowering& node) {
  std::string name = node.node().String("to", "");
  std::optional<DType> to = ParseDType(name);
  if (!to || to->lanes() != 1) return node.NotSupported("result type '{}'", name);
  return *to;
}

bool IsOne(const Expr& expr) {
  const auto* number = expr.as<FloatImm>();
  return number != nullptr && number->value == 1;
}

}  // namespace

Expr CastWithOverflow(NodeLowering& node, DType type, const Expr& value, size_t overflow) {
  bool e5m2 = type.code() == DTypeCode::kFloat8E5M2;
  DType computed = value.dtype() == kFloat64 ? kFloat64 : kFloat32;
  Expr number = CastTo(computed, value);
  Expr magnitude = CallOf(ScalarOp::kAbs, {number});
  // Half a step above the largest number, which ties to the even one: of f8e4m3 that number.
  Expr bound = Const(computed, e5m2 ? 61440 : 464);
  Expr over = e5m2 ? magnitude >= bound : magnitude > bound;
  Expr side = SelectOf(number < Const(computed, 0), Expr(1), Expr(0));
  return SelectOf(over, node.Load(overflow, {side}), CastTo(type, value));
}

// saturate(round(x / scale) + zero point), halves to even. In f32, where integers of 16 bits are
// exact; the cast saturates. To an f8 the quotient itself is cast; its zero point is 0.
Status LowerQuantizeLinear(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckCount(2, 4));
  TCC_ASSIGN_OR_RETURN(DType type, ResultType(node));
  bool small_integer = IsPacked(type) || (type.is_integer() && type.bits() <= 16);
  if (!small_integer && !IsFloat8(type)) {
    return node.Error("result type {}; expected integers of up to 16 bits or f8", ToString(type));
  }
  if (!node.Type(1).is_float()) {
    return node.Error("scale has type {}; expected floats", ToString(node.Type(1)));
  }
  if (node.Has(2) && node.Type(2) != type) {
    return node.Error("zero point has type {}; expected {}", ToString(node.Type(2)),
                      ToString(type));
  }
  TCC_ASSIGN_OR_RETURN(Granularity granularity, Granularity::Of(node));
  const std::vector<Expr>& shape = node.Shape(0);
  DType computed = node.Type(0) == kFloat64 ? kFloat64 : kFloat32;
  StoredBuffer out = node.Output(0, type, shape);
  std::vector<Axis> axes = node.Axes(shape);
  auto parameter = [&](size_t input) {
    return node.Load(input, granularity.IndexAt(VarsOf(axes), node.Shape(input)));
  };
  Expr scale = CastTo(computed, parameter(1));
  Expr value = CastTo(computed, node.Load(0, VarsOf(axes)));
  if (!IsOne(scale)) value = Make<Div>(value, scale);
  if (small_integer) value = CallOf(ScalarOp::kRound, {value});
  if (small_integer && node.Has(2)) {
    Expr zero = parameter(2);
    if (!IsConstant(zero, 0)) value = value + CastTo(computed, zero);
  }
  node.Map(out, axes, node.Has(3) ? CastWithOverflow(node, type, value, 3) : CastTo(type, value));
  return OkStatus();
}

// (x - zero point) * scale, the difference exact; an f8's zero point is 0. A zero point of the
// scale's type is subtracted in the type that the product is computed in.
Status LowerDequantizeLinear(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckCount(2, 3));
  TCC_ASSIGN_OR_RETURN(DType type, ResultType(node));
  DType from = node.Type(0);
  if (!from.is_storage_only() && (!from.is_integer() || from.bits() > 32)) {
    return node.Error("input has type {}; expected integers of up to 32 bits or f8",
                      ToString(from));
  }
  if (!type.is_float() || !node.Type(1).is_float()) {
    return node.Error("scale has type {} and the result {}; expected floats",
                      ToString(node.Type(1)), ToString(type));
  }
  bool has_float_zero = node.Has(2) && node.Type(2) == node.Type(1) && !IsFloat8(from);
  if (node.Has(2) && node.Type(2) != from && !has_float_zero) {
    return node.Error("zero point has type {}; expected {} as the input", ToString(node.Type(2)),
                      ToString(from));
  }
  TCC_ASSIGN_OR_RETURN(Granularity granularity, Granularity::Of(node));
  const std::vector<Expr>& shape = node.Shape(0);
  DType computed = AccumulationType(type);
  DType exact = from.bits() < 32 ? kInt32 : kInt64;
  StoredBuffer out = node.Output(0, type, shape);
  std::vector<Axis> axes = node.Axes(shape);
  auto parameter = [&](size_t input) {
    return node.Load(input, granularity.IndexAt(VarsOf(axes), node.Shape(input)));
  };
  Expr value = node.Load(0, VarsOf(axes));
  if (!IsFloat8(from)) {
    bool has_zero = node.Has(2) && !has_float_zero && !IsConstant(parameter(2), 0);
    if (has_zero) value = CastTo(exact, value) - CastTo(exact, parameter(2));
    if (value.dtype().bits() < 32) value = CastTo(kInt32, value);
  }
  if (has_float_zero) value = CastTo(computed, value) - CastTo(computed, parameter(2));
  Expr scaled = CastTo(computed, value) * CastTo(computed, parameter(1));
  node.Map(out, axes, CastTo(type, scaled));
  return OkStatus();
}

}  // namespace tcc
