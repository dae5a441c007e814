#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "graph/ops/activations.h"
#include "graph/ops/lowerings.h"
#include "support/check.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

using Operands = std::vector<Expr>;

Expr Zero(const Expr& like) {
  return Const(like.dtype(), 0);
}
Expr One(const Expr& like) {
  return Const(like.dtype(), 1);
}
Expr Number(const Expr& like, double value) {
  return Const(like.dtype(), value);
}

template <ScalarOp op>
Expr CallOp(const Node&, const Operands& x) {
  return CallOf(op, x);
}

template <typename BinaryNode>
Expr BinaryOp(const Node&, const Operands& x) {
  return Make<BinaryNode>(x[0], x[1]);
}

// Combines any number of operands of Max and Min.
template <typename BinaryNode>
Expr FoldOp(const Node&, const Operands& x) {
  Operands level = x;
  while (level.size() > 1) {
    Operands next;
    for (size_t i = 0; i + 1 < level.size(); i += 2) {
      next.push_back(Make<BinaryNode>(level[i], level[i + 1]));
    }
    if (level.size() % 2 == 1) next.push_back(level.back());
    level = std::move(next);
  }
  return level[0];
}

// Returns `value`, or 0 if the divisor is 0: ONNX leaves that undefined, tcc must not trap.
Expr GuardedAgainstZero(const Expr& divisor, const Expr& value) {
  std::optional<int64_t> known = AsConstant(divisor);
  if (known && *known != 0) return value;
  return SelectOf(Make<Eq>(divisor, Zero(divisor)), Zero(value), value);
}

Expr RoundingToward(const Node& node, const Operands& x) {
  if (x[0].dtype().is_integer()) return x[0];
  ScalarOp op = node.op == OpKind::kFloor  ? ScalarOp::kFloor
                : node.op == OpKind::kCeil ? ScalarOp::kCeil
                                           : ScalarOp::kRound;
  return CallOf(op, x);
}

Expr DivOp(const Node&, const Operands& x) {
  if (x[0].dtype().is_float()) return Make<Div>(x[0], x[1]);
  return GuardedAgainstZero(x[1], CallOf(ScalarOp::kTruncDiv, {x[0], x[1]}));
}

// With fmod = 1 the result is C's fmod and has the dividend's sign; otherwise the divisor's sign.
Expr ModOp(const Node& node, const Operands& x) {
  const Expr& a = x[0];
  const Expr& b = x[1];
  Expr remainder = a.dtype().is_float()
                       ? CallOf(ScalarOp::kFMod, {a, b})
                       : GuardedAgainstZero(b, CallOf(ScalarOp::kTruncMod, {a, b}));
  bool unsigned_type = a.dtype().is_integer() && !a.dtype().is_signed_integer();
  if (node.Int("fmod", 0) == 1 || unsigned_type) return remainder;
  Expr zero = Zero(a);
  Expr signs_differ = Make<Ne>(remainder < zero, b < zero);
  return SelectOf(BothOf(Make<Ne>(remainder, zero), signs_differ), remainder + b, remainder);
}

// Multiplies by -1, which is exact for -0.0 too; 0 - x is not.
Expr NegOp(const Node&, const Operands& x) {
  return x[0].dtype().is_float() ? x[0] * Number(x[0], -1) : Zero(x[0]) - x[0];
}

// Detects infinities of either sign, or of one.
Expr IsInfOp(const Node& node, const Operands& x) {
  Expr infinite = CallOf(ScalarOp::kIsInf, x);
  bool positive = node.Int("detect_positive", 1) != 0;
  bool negative = node.Int("detect_negative", 1) != 0;
  if (positive && negative) return infinite;
  if (!positive && !negative) return IntConst(kBool, 0);
  return BothOf(infinite, positive ? x[0] > Zero(x[0]) : x[0] < Zero(x[0]));
}

Expr BitShiftOp(const Node& node, const Operands& x) {
  bool left = node.String("direction", "LEFT") == "LEFT";
  return CallOf(left ? ScalarOp::kShiftLeft : ScalarOp::kShiftRight, x);
}

struct ElementwiseRow {
  OpKind op;
  Expr (*body)(const Node&, const Operands&);
};

constexpr ElementwiseRow kRows[] = {
    {OpKind::kAbs, CallOp<ScalarOp::kAbs>},
    {OpKind::kAcos, CallOp<ScalarOp::kAcos>},
    {OpKind::kAcosh, CallOp<ScalarOp::kAcosh>},
    {OpKind::kAdd, BinaryOp<Add>},
    {OpKind::kAnd, BinaryOp<And>},
    {OpKind::kAsin, CallOp<ScalarOp::kAsin>},
    {OpKind::kAsinh, CallOp<ScalarOp::kAsinh>},
    {OpKind::kAtan, CallOp<ScalarOp::kAtan>},
    {OpKind::kAtanh, CallOp<ScalarOp::kAtanh>},
    {OpKind::kBitShift, BitShiftOp},
    {OpKind::kBitwiseAnd, CallOp<ScalarOp::kBitAnd>},
    {OpKind::kBitwiseNot, CallOp<ScalarOp::kBitNot>},
    {OpKind::kBitwiseOr, CallOp<ScalarOp::kBitOr>},
    {OpKind::kBitwiseXor, CallOp<ScalarOp::kBitXor>},
    {OpKind::kCeil, RoundingToward},
    {OpKind::kCelu, CeluOf},
    {OpKind::kCos, CallOp<ScalarOp::kCos>},
    {OpKind::kCosh, CallOp<ScalarOp::kCosh>},
    {OpKind::kDiv, DivOp},
    {OpKind::kElu, EluOf},
    {OpKind::kEqual, BinaryOp<Eq>},
    {OpKind::kErf, CallOp<ScalarOp::kErf>},
    {OpKind::kExp, CallOp<ScalarOp::kExp>},
    {OpKind::kFloor, RoundingToward},
    {OpKind::kGelu, GeluOf},
    {OpKind::kGreater, [](const Node&, const Operands& x) { return x[0] > x[1]; }},
    {OpKind::kGreaterOrEqual, [](const Node&, const Operands& x) { return x[0] >= x[1]; }},
    {OpKind::kHardSigmoid, HardSigmoidOf},
    {OpKind::kHardSwish, HardSwishOf},
    {OpKind::kIdentity, [](const Node&, const Operands& x) { return x[0]; }},
    {OpKind::kIsInf, IsInfOp},
    {OpKind::kIsNaN, CallOp<ScalarOp::kIsNan>},
    {OpKind::kLeakyRelu, LeakyReluOf},
    {OpKind::kLess, BinaryOp<Lt>},
    {OpKind::kLessOrEqual, BinaryOp<Le>},
    {OpKind::kLog, CallOp<ScalarOp::kLog>},
    {OpKind::kMax, FoldOp<Max>},
    {OpKind::kMin, FoldOp<Min>},
    {OpKind::kMish, MishOf},
    {OpKind::kMod, ModOp},
    {OpKind::kMul, BinaryOp<Mul>},
    {OpKind::kNeg, NegOp},
    {OpKind::kNot, [](const Node&, const Operands& x) { return Make<Not>(x[0]); }},
    {OpKind::kOr, BinaryOp<Or>},
    {OpKind::kPRelu, PReluOf},
    {OpKind::kReciprocal,
     [](const Node&, const Operands& x) { return Make<Div>(One(x[0]), x[0]); }},
    {OpKind::kRelu, ReluOf},
    {OpKind::kRound, RoundingToward},
    {OpKind::kSelu, SeluOf},
    {OpKind::kShrink, ShrinkOf},
    {OpKind::kSigmoid, CallOp<ScalarOp::kSigmoid>},
    {OpKind::kSign, CallOp<ScalarOp::kSign>},
    {OpKind::kSin, CallOp<ScalarOp::kSin>},
    {OpKind::kSinh, CallOp<ScalarOp::kSinh>},
    {OpKind::kSoftplus, SoftplusOf},
    {OpKind::kSoftsign, SoftsignOf},
    {OpKind::kSqrt, CallOp<ScalarOp::kSqrt>},
    {OpKind::kSub, BinaryOp<Sub>},
    {OpKind::kSwish, SwishOf},
    {OpKind::kTan, CallOp<ScalarOp::kTan>},
    {OpKind::kTanh, CallOp<ScalarOp::kTanh>},
    {OpKind::kThresholdedRelu, ThresholdedReluOf},
    {OpKind::kXor, BinaryOp<Ne>},
};

constexpr const ElementwiseRow* FindRow(OpKind op) {
  for (const ElementwiseRow& row : kRows) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

#define TCC_HAS_ROW(name, ...) static_assert(FindRow(OpKind::k##name), #name " has no row");
TCC_SCALAR_KINDS(TCC_HAS_ROW)
#undef TCC_HAS_ROW

Status CheckTypes(const NodeLowering& node, TypeClass types) {
  DType first = node.Type(0);
  if (!Accepts(types, first)) {
    return node.Error("input 0 has type {}, which the operator does not take", ToString(first));
  }
  return node.CheckSameTypes();
}

// Adds the stage output 0 = value(inputs at this point), over the broadcast shape of the inputs.
using InputAtPoint = std::function<Expr(size_t input)>;
Status MapOver(NodeLowering& node, DType result,
               const std::function<Expr(const InputAtPoint& input)>& value) {
  std::vector<std::vector<Expr>> shapes;
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (node.Has(i)) shapes.push_back(node.Shape(i));
  }
  TCC_ASSIGN_OR_RETURN(std::vector<Expr> shape, BroadcastShapes(node, shapes));
  StoredBuffer out = node.Output(0, result, shape);
  std::vector<Axis> axes = node.Axes(shape);
  // An input of the output's shape is read at the axes themselves, even at extents of 1: fusion
  // must see that the two go together.
  auto input = [&](size_t i) {
    const std::vector<Expr>& own = node.Shape(i);
    bool same = std::ranges::equal(own, shape, SameExtent);
    return same ? node.Load(i, VarsOf(axes)) : node.LoadBroadcast(i, VarsOf(axes));
  };
  node.Map(out, axes, value(input));
  return OkStatus();
}

}  // namespace

Status LowerElementwise(NodeLowering& node) {
  const ScalarKind& kind = *FindScalarKind(node.node().op);
  const auto body = FindRow(kind.op)->body;
  TCC_RETURN_IF_ERROR(node.CheckInputs(kind.least, kind.most));
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (!node.Has(i)) return node.Error("input {} is missing", i);
  }
  TCC_RETURN_IF_ERROR(CheckTypes(node, kind.types));

  // f16 and bf16 are computed in f32 and rounded once.
  DType computed =
      kind.types == TypeClass::kAnyType ? node.Type(0) : AccumulationType(node.Type(0));
  auto value = [&](const InputAtPoint& input) {
    Operands operands;
    for (size_t i = 0; i < node.input_count(); ++i) {
      operands.push_back(CastTo(computed, input(i)));
    }
    return body(node.node(), operands);
  };
  Operands probe(node.input_count(), Const(computed, 1));
  bool test = body(node.node(), probe).dtype().is_bool();
  DType result = test ? kBool : node.Type(0);
  return MapOver(node, result,
                 [&](const InputAtPoint& input) { return CastTo(result, value(input)); });
}

Status LowerClip(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 3));
  TCC_RETURN_IF_ERROR(CheckTypes(node, TypeClass::kNumber));
  for (size_t bound : {1, 2}) {
    if (node.Has(bound) && node.Rank(bound) > 0 && !IsConstant(Product(node.Shape(bound)), 1)) {
      return node.Error("bound {} has shape {}; expected a scalar", bound,
                        ShapeText(node.Shape(bound)));
    }
  }
  const std::vector<Expr>& shape = node.Shape(0);
  StoredBuffer out = node.Output(0, node.Type(0), shape);
  std::vector<Axis> axes = node.Axes(shape);
  Expr value = node.Load(0, VarsOf(axes));
  auto bound = [&](size_t input) {
    return node.Load(input, std::vector<Expr>(node.Rank(input), Expr(0)));
  };
  // The order matters: min > max gives max.
  if (node.Has(1)) value = MaxOf(value, bound(1));
  if (node.Has(2)) value = MinOf(value, bound(2));
  node.Map(out, axes, value);
  return OkStatus();
}

Status LowerWhere(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(3, 3));
  if (!node.Type(0).is_bool()) {
    return node.Error("condition has type {}; expected bool", ToString(node.Type(0)));
  }
  if (node.Type(1) != node.Type(2)) {
    return node.Error("values have types {} and {}; expected one type", ToString(node.Type(1)),
                      ToString(node.Type(2)));
  }
  return MapOver(node, node.Type(1),
                 [&](const InputAtPoint& input) { return SelectOf(input(0), input(1), input(2)); });
}

Status LowerCast(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckCount(1, 2));
  std::string name = node.node().String("to", "");
  std::optional<DType> to = ParseDType(name);
  if (!to || to->lanes() != 1) return node.NotSupported("cast to type '{}'", name);
  const std::vector<Expr>& shape = node.Shape(0);
  StoredBuffer out = node.Output(0, *to, shape);
  std::vector<Axis> axes = node.Axes(shape);
  Expr value = node.Load(0, VarsOf(axes));
  // A storage-only type is widened to a computable one first.
  DType from = value.dtype();
  if (from.is_storage_only()) value = CastTo(IsPacked(from) ? kInt32 : kFloat32, value);
  // ONNX truncates to an integer, of which the low bits are kept.
  if (IsPacked(*to)) value = CastTo(kInt32, value);
  node.Map(out, axes, node.Has(1) ? CastWithOverflow(node, *to, value, 1) : CastTo(*to, value));
  return OkStatus();
}

namespace {

// Returns the type that base and exponent are computed in: the base's, or f64 for integers, whose
// powers numpy takes in the type that both promote to.
DType PowType(DType base, DType exponent) {
  if (!base.is_float()) return kFloat64;
  return exponent == kFloat64 ? kFloat64 : AccumulationType(base);
}

std::optional<int64_t> SmallIntegerExponent(const Expr& exponent) {
  std::optional<int64_t> known = AsConstant(exponent);
  if (const auto* number = exponent.as<FloatImm>()) {
    if (number->value == 2 || number->value == 3) known = static_cast<int64_t>(number->value);
  }
  return known && (*known == 2 || *known == 3) ? known : std::nullopt;
}

// Computes the power by squaring, modulo 2^64; doubles would lose the low bits. Exponents of 64 and
// more count only for bases whose powers fit a type: 0, 1 and -1. Negative exponents give 0 except
// for the bases 1 and -1. A factor is chosen, not a result: results in both arms of a choice would
// double the kernel's text for each bit.
Expr IntegerPower(const Expr& base, const Expr& exponent) {
  constexpr DType kWide = DTypeCode::kUInt64;
  constexpr int kBits = 6;
  Expr count = CastTo(kInt64, exponent);
  Expr square = CastTo(kWide, base);
  Expr result = Const(kWide, 1);
  for (int bit = 0; bit < kBits; ++bit) {
    Expr masked = CallOf(ScalarOp::kBitAnd, {count, Expr(int64_t{1} << bit)});
    result = result * SelectOf(Make<Ne>(masked, Expr(0)), square, Const(kWide, 1));
    square = square * square;
  }
  result = result * SelectOf(count >= Expr(int64_t{1} << kBits), square, Const(kWide, 1));
  Expr magnitude = CallOf(ScalarOp::kAbs, {base});
  Expr vanishes = BothOf(count < Expr(0), Make<Ne>(magnitude, One(base)));
  return SelectOf(vanishes, Zero(base), CastTo(base.dtype(), result));
}

}  // namespace

Status LowerPow(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  DType base_type = node.Type(0);
  if (base_type.is_bool() || node.Type(1).is_bool()) {
    return node.Error("operands have types {} and {}; expected numbers", ToString(base_type),
                      ToString(node.Type(1)));
  }
  return MapOver(node, base_type, [&](const InputAtPoint& input) {
    Expr base = input(0);
    Expr exponent = input(1);
    if (std::optional<int64_t> times = SmallIntegerExponent(exponent)) {
      return *times == 2 ? base * base : base * base * base;
    }
    if (base_type.is_integer() && node.Type(1).is_integer()) return IntegerPower(base, exponent);
    DType computed = PowType(base_type, node.Type(1));
    return CastTo(base_type,
                  CallOf(ScalarOp::kPow, {CastTo(computed, base), CastTo(computed, exponent)}));
  });
}

// Lowers inference: returns the data, and a mask of ones.
Status LowerDropout(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 3));
  const Tensor* training = node.Constant(2);
  if (node.Has(2) && (!training || ElementAsInt(*training, 0) != 0)) {
    return node.NotSupported("training mode is not supported");
  }
  const std::vector<Expr>& shape = node.Shape(0);
  std::vector<Axis> axes = node.Axes(shape);
  StoredBuffer out = node.Output(0, node.Type(0), shape);
  node.Map(out, axes, node.Load(0, VarsOf(axes)));
  if (node.Wants(1)) {
    std::vector<Axis> mask_axes = node.Axes(shape);
    node.Map(node.Output(1, kBool, shape), mask_axes, True(), "_mask");
  }
  return OkStatus();
}

}  // namespace tcc
