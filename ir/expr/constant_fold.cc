#include "ir/expr/constant_fold.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "ir/expr/operators.h"
#include "ir/expr/visitor.h"
#include "support/check.h"
#include "support/integer_division.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

// Returns whether the int64 holds an unsigned value modulo 2^64; only u64 values do.
bool IsUnsigned64(DType type) {
  return type.is_integer() && !type.is_signed_integer() && type.bits() == 64;
}

bool Less(DType type, int64_t a, int64_t b) {
  if (IsUnsigned64(type)) return static_cast<uint64_t>(a) < static_cast<uint64_t>(b);
  return a < b;
}

std::optional<int64_t> Arithmetic(ExprKind op, DType type, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = op == ExprKind::kAdd   ? __builtin_add_overflow(a, b, &result)
                  : op == ExprKind::kSub ? __builtin_sub_overflow(a, b, &result)
                                         : __builtin_mul_overflow(a, b, &result);
  if (overflow && type.element() == kInt64) return std::nullopt;
  return WrapInteger(type, result);
}

std::optional<int64_t> Division(ExprKind op, DType type, int64_t a, int64_t b) {
  if (IsUnsigned64(type)) {
    uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    if (y == 0) return std::nullopt;
    if (op == ExprKind::kFloorMod) return static_cast<int64_t>(x % y);
    return static_cast<int64_t>(x / y + (op == ExprKind::kCeilDiv && x % y != 0));
  }
  if (b < 1) return std::nullopt;
  int64_t quotient = FloorDivision(a, b);
  int64_t remainder = a - quotient * b;
  if (op == ExprKind::kFloorMod) return remainder;
  return quotient + (op == ExprKind::kCeilDiv && remainder != 0);
}

double Sigmoid(double x) {
  if (x >= 0) return 1 / (1 + std::exp(-x));
  double e = std::exp(x);
  return e / (1 + e);
}

double Sign(double x) {
  if (std::isnan(x)) return x;
  return x > 0 ? 1 : x < 0 ? -1 : 0;
}

std::optional<int64_t> TruncDivision(ScalarOp op, DType type, int64_t a, int64_t b) {
  if (b == 0) return std::nullopt;
  bool quotient = op == ScalarOp::kTruncDiv;
  if (IsUnsigned64(type)) {
    uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<int64_t>(quotient ? x / y : x % y);
  }
  // The least number divided by -1 wraps to itself; C++'s own division traps there.
  if (b == -1)
    return quotient ? WrapInteger(type, static_cast<int64_t>(-static_cast<uint64_t>(a))) : 0;
  return quotient ? a / b : a % b;
}

int64_t Shift(ScalarOp op, DType type, int64_t a, int64_t b) {
  uint64_t count = static_cast<uint64_t>(WrapInteger(type, b));
  if (count >= static_cast<uint64_t>(type.bits())) return 0;
  uint64_t bits = static_cast<uint64_t>(a);
  if (op == ScalarOp::kShiftLeft) return WrapInteger(type, static_cast<int64_t>(bits << count));
  if (type.bits() < 64) bits &= (uint64_t{1} << type.bits()) - 1;
  return WrapInteger(type, static_cast<int64_t>(bits >> count));
}

int64_t DotOfHalves(int64_t a, int64_t b) {
  auto low = [](int64_t word) { return static_cast<int64_t>(static_cast<int16_t>(word)); };
  auto high = [&](int64_t word) { return low(word >> 16); };
  return WrapInteger(kInt32, low(a) * low(b) + high(a) * high(b));
}

// The bytes of `a` are of the type.
template <typename Byte>
int64_t DotOfBytes(int64_t a, int64_t b) {
  int64_t sum = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    sum += int64_t{static_cast<Byte>(a >> shift)} * static_cast<int8_t>(b >> shift);
  }
  return sum;
}

std::optional<Expr> ExactFloat(DType type, double value) {
  if (std::isnan(value) || RoundFloat(type, value) != value) return std::nullopt;
  return FloatConst(type, value);
}

// Leaves the nodes that have no operands, or loads or lanes.
std::optional<Expr> Fold(const ExprNode&) {
  return std::nullopt;
}

template <ExprKind K>
std::optional<Expr> Fold(const Binary<K>& node) {
  const auto* ia = node.a.template as<IntImm>();
  const auto* ib = node.b.template as<IntImm>();
  if (ia && ib) {
    std::optional<int64_t> value = EvaluateInteger(K, ia->dtype, ia->value, ib->value);
    return value ? std::optional(IntConst(node.dtype, *value)) : std::nullopt;
  }
  const auto* fa = node.a.template as<FloatImm>();
  const auto* fb = node.b.template as<FloatImm>();
  if (!fa || !fb) return std::nullopt;
  if (IsComparison(K)) return IntConst(kBool, CompareFloat(K, fa->value, fb->value));
  return ExactFloat(node.dtype, EvaluateFloat(K, fa->value, fb->value));
}

std::optional<Expr> Fold(const Not& node) {
  std::optional<int64_t> value = AsConstant(node.a);
  return value ? std::optional(IntConst(kBool, !*value)) : std::nullopt;
}

std::optional<Expr> Fold(const Select& select) {
  std::optional<int64_t> value = AsConstant(select.condition);
  if (!value) return std::nullopt;
  return *value ? select.then_value : select.else_value;
}

std::optional<Expr> Fold(const Cast& cast) {
  DType to = cast.dtype;
  if (const auto* imm = cast.value.as<IntImm>()) {
    if (to.is_float()) return FloatConst(to, IntegerToFloat(imm->dtype, to, imm->value));
    if (to.is_integer() || to.is_bool()) return IntConst(to, CastInteger(to, imm->value));
  }
  if (const auto* imm = cast.value.as<FloatImm>()) {
    double rounded = to.is_float() ? RoundFloat(to, imm->value) : 0;
    if (to.is_float() && !std::isnan(rounded)) return FloatConst(to, rounded);
    if (to.is_integer() || to.is_bool()) {
      std::optional<int64_t> value = FloatToInteger(to, imm->value);
      if (value) return IntConst(to, *value);
    }
  }
  return std::nullopt;
}

// Returns whether every implementation gives the same result; exp and the like are left to the
// backend.
bool IsExactOnFloats(ScalarOp op) {
  return op == ScalarOp::kFloor || op == ScalarOp::kCeil || op == ScalarOp::kRound ||
         op == ScalarOp::kTrunc || op == ScalarOp::kAbs || op == ScalarOp::kSign;
}

std::optional<Expr> Fold(const Call& call) {
  if (const auto* imm = call.args[0].as<FloatImm>()) {
    if (RowOf(call.op).rule == ScalarTypeRule::kTest) {
      return IntConst(kBool, EvaluateFloatOp(call.op, imm->value) != 0);
    }
    if (!IsExactOnFloats(call.op)) return std::nullopt;
    return ExactFloat(call.dtype, EvaluateFloatOp(call.op, imm->value));
  }
  if (call.op == ScalarOp::kDotBf16x2) return std::nullopt;
  for (const Expr& arg : call.args) {
    if (!arg.as<IntImm>()) return std::nullopt;
  }
  std::optional<int64_t> value =
      EvaluateIntegerOp(call.op, call.dtype, *AsConstant(call.args[0]),
                        call.args.size() > 1 ? *AsConstant(call.args[1]) : 0);
  return value ? std::optional(IntConst(call.dtype, *value)) : std::nullopt;
}

}  // namespace

int64_t WrapInteger(DType type, int64_t value) {
  if (type.is_bool()) return value != 0;
  int bits = type.bits();
  if (bits == 64) return value;
  uint64_t kept = static_cast<uint64_t>(value) << (64 - bits);
  if (IsSigned(type)) return static_cast<int64_t>(kept) >> (64 - bits);
  return static_cast<int64_t>(kept >> (64 - bits));
}

double RoundFloat(DType type, double value) {
  type = type.element();
  if (type == kFloat64) return value;
  if (IsFloat8(type)) {
    // Saturate like ONNX's Cast with saturate = 1: infinity becomes the largest number, too.
    constexpr double kMax = std::numeric_limits<double>::max();
    double finite = std::isinf(value) ? std::copysign(kMax, value) : value;
    return Float8ToDouble(type, DoubleToFloat8(type, finite));
  }
  // Rounding to float on the way to fewer bits would round twice; rounding to odd keeps the
  // information that the second rounding needs.
  float near = static_cast<float>(value);
  if (type == kFloat32 || !std::isfinite(near)) return near;
  if (near != value && (std::bit_cast<uint32_t>(near) & 1) == 0) {
    double infinity = std::numeric_limits<double>::infinity();
    near = std::nextafter(near, static_cast<float>(value > near ? infinity : -infinity));
  }
  if (type.code() == DTypeCode::kTFloat32) return RoundToTFloat32(near);
  return type == kFloat16 ? HalfToFloat(FloatToHalf(near)) : BFloat16ToFloat(FloatToBFloat16(near));
}

std::optional<int64_t> EvaluateInteger(ExprKind op, DType type, int64_t a, int64_t b) {
  if (op == ExprKind::kAdd || op == ExprKind::kSub || op == ExprKind::kMul) {
    return Arithmetic(op, type, a, b);
  }
  if (op == ExprKind::kFloorDiv || op == ExprKind::kFloorMod || op == ExprKind::kCeilDiv) {
    return Division(op, type, a, b);
  }
  if (op == ExprKind::kMin) return Less(type, b, a) ? b : a;
  if (op == ExprKind::kMax) return Less(type, a, b) ? b : a;
  if (op == ExprKind::kEq) return a == b;
  if (op == ExprKind::kNe) return a != b;
  if (op == ExprKind::kLt) return Less(type, a, b);
  if (op == ExprKind::kLe) return !Less(type, b, a);
  if (op == ExprKind::kAnd) return a != 0 && b != 0;
  if (op == ExprKind::kOr) return a != 0 || b != 0;
  TCC_UNREACHABLE();
}

double EvaluateFloat(ExprKind op, double a, double b) {
  if (op == ExprKind::kAdd) return a + b;
  if (op == ExprKind::kSub) return a - b;
  if (op == ExprKind::kMul) return a * b;
  if (op == ExprKind::kDiv) return a / b;
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  if (op == ExprKind::kMin) return std::min(a, b);
  if (op == ExprKind::kMax) return std::max(a, b);
  TCC_UNREACHABLE();
}

bool CompareFloat(ExprKind op, double a, double b) {
  if (op == ExprKind::kEq) return a == b;
  if (op == ExprKind::kNe) return a != b;
  if (op == ExprKind::kLt) return a < b;
  if (op == ExprKind::kLe) return a <= b;
  TCC_UNREACHABLE();
}

std::optional<int64_t> EvaluateIntegerOp(ScalarOp op, DType type, int64_t a, int64_t b) {
  if (op == ScalarOp::kAbs) {
    return Less(type, a, 0) ? WrapInteger(type, static_cast<int64_t>(-static_cast<uint64_t>(a)))
                            : a;
  }
  if (op == ScalarOp::kSign) return a == 0 ? 0 : Less(type, a, 0) ? -1 : 1;
  if (op == ScalarOp::kTruncDiv || op == ScalarOp::kTruncMod) return TruncDivision(op, type, a, b);
  if (op == ScalarOp::kBitAnd) return a & b;
  if (op == ScalarOp::kBitOr) return a | b;
  if (op == ScalarOp::kBitXor) return a ^ b;
  if (op == ScalarOp::kBitNot) return WrapInteger(type, ~a);
  if (op == ScalarOp::kPopcount)
    return std::popcount(static_cast<uint64_t>(a) << (64 - type.bits()));
  if (op == ScalarOp::kShiftLeft || op == ScalarOp::kShiftRight) return Shift(op, type, a, b);
  if (op == ScalarOp::kDotI16x2) return DotOfHalves(a, b);
  if (op == ScalarOp::kDotU8I8x4) return DotOfBytes<uint8_t>(a, b);
  TCC_CHECK(op == ScalarOp::kDotI8I8x4) << RowOf(op).text << " of integers";
  return DotOfBytes<int8_t>(a, b);
}

double EvaluateFloatOp(ScalarOp op, double a, double b) {
  switch (op) {
    case ScalarOp::kExp:
      return std::exp(a);
    case ScalarOp::kLog:
      return std::log(a);
    case ScalarOp::kLog1p:
      return std::log1p(a);
    case ScalarOp::kSqrt:
      return std::sqrt(a);
    case ScalarOp::kRsqrt:
      return 1 / std::sqrt(a);
    case ScalarOp::kSin:
      return std::sin(a);
    case ScalarOp::kCos:
      return std::cos(a);
    case ScalarOp::kTan:
      return std::tan(a);
    case ScalarOp::kAsin:
      return std::asin(a);
    case ScalarOp::kAcos:
      return std::acos(a);
    case ScalarOp::kAtan:
      return std::atan(a);
    case ScalarOp::kSinh:
      return std::sinh(a);
    case ScalarOp::kCosh:
      return std::cosh(a);
    case ScalarOp::kAsinh:
      return std::asinh(a);
    case ScalarOp::kAcosh:
      return std::acosh(a);
    case ScalarOp::kAtanh:
      return std::atanh(a);
    case ScalarOp::kTanh:
      return std::tanh(a);
    case ScalarOp::kErf:
      return std::erf(a);
    case ScalarOp::kSigmoid:
      return Sigmoid(a);
    case ScalarOp::kFloor:
      return std::floor(a);
    case ScalarOp::kCeil:
      return std::ceil(a);
    case ScalarOp::kRound:
      return std::nearbyint(a);
    case ScalarOp::kTrunc:
      return std::trunc(a);
    case ScalarOp::kAbs:
      return std::fabs(a);
    case ScalarOp::kSign:
      return Sign(a);
    case ScalarOp::kPow:
      return std::pow(a, b);
    case ScalarOp::kFMod:
      return std::fmod(a, b);
    case ScalarOp::kExpDiff:
      return a == b ? 1 : std::exp(a - b);
    case ScalarOp::kIsNan:
      return std::isnan(a);
    case ScalarOp::kIsInf:
      return std::isinf(a);
    case ScalarOp::kTruncDiv:
    case ScalarOp::kTruncMod:
    case ScalarOp::kBitAnd:
    case ScalarOp::kBitOr:
    case ScalarOp::kBitXor:
    case ScalarOp::kBitNot:
    case ScalarOp::kPopcount:
    case ScalarOp::kShiftLeft:
    case ScalarOp::kShiftRight:
    case ScalarOp::kDotI16x2:
    case ScalarOp::kDotU8I8x4:
    case ScalarOp::kDotI8I8x4:
    case ScalarOp::kPackBf16x2:
    case ScalarOp::kDotBf16x2:
      break;
  }
  TCC_CHECK(false) << RowOf(op).text << " of floats";
  return 0;
}

double DotOfBFloats(int64_t a, int64_t b) {
  auto low = [](int64_t word) -> double { return BFloat16ToFloat(static_cast<uint16_t>(word)); };
  auto high = [&](int64_t word) { return low(word >> 16); };
  return RoundFloat(kFloat32, low(a) * low(b) + high(a) * high(b));
}

int64_t PackBFloats(double low, double high) {
  auto bits = [](double x) -> uint32_t { return FloatToBFloat16(static_cast<float>(x)); };
  return static_cast<int32_t>(bits(low) | bits(high) << 16);
}

int64_t CastInteger(DType to, int64_t value) {
  return WrapInteger(to, value);
}

double IntegerToFloat(DType from, DType to, int64_t value) {
  // Above 2^53 a double would round once before the target type does.
  if (to.element() == kFloat32) {
    return IsUnsigned64(from) ? static_cast<float>(static_cast<uint64_t>(value))
                              : static_cast<float>(value);
  }
  double wide = IsUnsigned64(from) ? static_cast<double>(static_cast<uint64_t>(value))
                                   : static_cast<double>(value);
  return RoundFloat(to, wide);
}

std::optional<int64_t> FloatToInteger(DType to, double value) {
  if (to.is_bool()) return value != 0;
  double whole = std::trunc(value);
  bool is_signed = MinValue(to) < 0;
  double high = std::ldexp(1.0, to.bits() - is_signed);
  double low = is_signed ? -high : 0;
  if (!(whole >= low && whole < high)) return std::nullopt;
  if (whole >= 0x1p63) return static_cast<int64_t>(static_cast<uint64_t>(whole));
  return static_cast<int64_t>(whole);
}

std::optional<Expr> FoldConstant(const Expr& expr) {
  if (expr.dtype().lanes() != 1) return std::nullopt;
  return VisitExpr(expr, [](const auto& node) { return Fold(node); });
}

}  // namespace tcc
