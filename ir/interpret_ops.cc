#include <cmath>
#include <limits>

#include "ir/interpret_eval.h"
#include "ir/support/check.h"

// Evaluator: arithmetic.
namespace tcc::interpret {
namespace {

double Sigmoid(double x) {
  double small = std::exp(-std::abs(x));
  return x >= 0 ? 1 / (1 + small) : small / (1 + small);
}

double Sign(double x) {
  return std::isnan(x) ? x : static_cast<double>((x > 0) - (x < 0));
}

int64_t FloorDivide(int64_t a, int64_t b) {
  if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

int64_t Divide(ExprKind kind, bool wide_unsigned, int64_t x, int64_t y) {
  if (wide_unsigned) {
    uint64_t a = static_cast<uint64_t>(x);
    uint64_t b = static_cast<uint64_t>(y);
    if (kind == ExprKind::kFloorMod) return static_cast<int64_t>(a % b);
    return static_cast<int64_t>(a / b + (kind == ExprKind::kCeilDiv && a % b != 0));
  }
  int64_t quotient = FloorDivide(x, y);
  if (kind == ExprKind::kFloorDiv) return quotient;
  uint64_t product = static_cast<uint64_t>(quotient) * static_cast<uint64_t>(y);
  int64_t rest = static_cast<int64_t>(static_cast<uint64_t>(x) - product);
  if (kind == ExprKind::kFloorMod) return rest;
  return quotient + (rest != 0);
}

bool IsWideUnsigned(DType dtype) {
  return dtype.code() == DTypeCode::kUInt64;
}

int64_t TruncateToInteger(DType dtype, double value) {
  if (dtype.is_bool()) return value != 0;
  if (std::isnan(value)) return 0;
  value = std::trunc(value);
  if (IsWideUnsigned(dtype)) {
    if (value <= 0) return 0;
    return value >= 0x1p64 ? -1 : static_cast<int64_t>(static_cast<uint64_t>(value));
  }
  if (value >= static_cast<double>(MaxValue(dtype))) return MaxValue(dtype);
  if (value <= static_cast<double>(MinValue(dtype))) return MinValue(dtype);
  return static_cast<int64_t>(value);
}

double FromInteger(DType from, int64_t value) {
  return IsWideUnsigned(from) ? static_cast<double>(static_cast<uint64_t>(value))
                              : static_cast<double>(value);
}

// Comparisons of one type.
template <typename T>
void Compare(ExprKind kind, const T* a, bool a_one, const T* b, bool b_one, int64_t* out, int n) {
  if (kind == ExprKind::kEq) {
    ForLanes2(a, a_one, b, b_one, out, n, [](T x, T y) { return int64_t{x == y}; });
  } else if (kind == ExprKind::kNe) {
    ForLanes2(a, a_one, b, b_one, out, n, [](T x, T y) { return int64_t{x != y}; });
  } else if (kind == ExprKind::kLt) {
    ForLanes2(a, a_one, b, b_one, out, n, [](T x, T y) { return int64_t{x < y}; });
  } else {
    ForLanes2(a, a_one, b, b_one, out, n, [](T x, T y) { return int64_t{x <= y}; });
  }
}

bool IsComparison(ExprKind kind) {
  return kind == ExprKind::kEq || kind == ExprKind::kNe || kind == ExprKind::kLt ||
         kind == ExprKind::kLe;
}

void Reals(ExprKind kind, const double* a, bool a_one, const double* b, bool b_one, double* out,
           int n) {
  if (kind == ExprKind::kAdd) {
    ForLanes2(a, a_one, b, b_one, out, n, [](double x, double y) { return x + y; });
  } else if (kind == ExprKind::kSub) {
    ForLanes2(a, a_one, b, b_one, out, n, [](double x, double y) { return x - y; });
  } else if (kind == ExprKind::kMul) {
    ForLanes2(a, a_one, b, b_one, out, n, [](double x, double y) { return x * y; });
  } else if (kind == ExprKind::kDiv) {
    ForLanes2(a, a_one, b, b_one, out, n, [](double x, double y) { return x / y; });
  } else if (kind == ExprKind::kMin) {
    ForLanes2(a, a_one, b, b_one, out, n,
              [](double x, double y) { return x < y || x != x ? x : y; });
  } else {
    TCC_CHECK(kind == ExprKind::kMax) << static_cast<int>(kind);
    ForLanes2(a, a_one, b, b_one, out, n,
              [](double x, double y) { return x > y || x != x ? x : y; });
  }
}

void Integers(ExprKind kind, DType dtype, const int64_t* a, bool a_one, const int64_t* b,
              bool b_one, int64_t* out, int n) {
  auto add = [](int64_t x, int64_t y) {
    return static_cast<int64_t>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
  };
  auto subtract = [](int64_t x, int64_t y) {
    return static_cast<int64_t>(static_cast<uint64_t>(x) - static_cast<uint64_t>(y));
  };
  auto multiply = [](int64_t x, int64_t y) {
    return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
  };
  bool wide = IsWideUnsigned(dtype);
  if (kind == ExprKind::kAdd) {
    ForLanes2(a, a_one, b, b_one, out, n, add);
  } else if (kind == ExprKind::kSub) {
    ForLanes2(a, a_one, b, b_one, out, n, subtract);
  } else if (kind == ExprKind::kMul) {
    ForLanes2(a, a_one, b, b_one, out, n, multiply);
  } else if (kind == ExprKind::kMin || kind == ExprKind::kMax) {
    bool least = kind == ExprKind::kMin;
    ForLanes2(a, a_one, b, b_one, out, n, [=](int64_t x, int64_t y) {
      bool less = wide ? static_cast<uint64_t>(x) < static_cast<uint64_t>(y) : x < y;
      return less == least ? x : y;
    });
    return;
  } else {
    ForLanes2(a, a_one, b, b_one, out, n,
              [=](int64_t x, int64_t y) { return Divide(kind, wide, x, y); });
  }
  if (dtype.bits() < 64) ForLanes1(out, out, n, [=](int64_t x) { return Wrap(dtype, x); });
}

}  // namespace

int64_t Wrap(DType dtype, int64_t value) {
  int unused = 64 - dtype.bits();
  if (dtype.is_bool()) return value != 0;
  if (unused == 0) return value;
  uint64_t shifted = static_cast<uint64_t>(value) << unused;
  return dtype.is_signed_integer() ? static_cast<int64_t>(shifted) >> unused
                                   : static_cast<int64_t>(shifted >> unused);
}

double RoundTo(DType dtype, double value) {
  if (dtype == kFloat32) return static_cast<float>(value);
  if (dtype == kFloat16) return HalfToFloat(FloatToHalf(static_cast<float>(value)));
  if (dtype.code() == DTypeCode::kBFloat16) {
    return BFloat16ToFloat(FloatToBFloat16(static_cast<float>(value)));
  }
  return value;
}

void Evaluator::ComputeBinary(const Node& node, State& state, const Mask& mask) {
  const State& a = states_[node.a];
  const State& b = states_[node.b];
  state.uniform = a.uniform && b.uniform;
  int n = state.uniform ? 1 : lanes_;
  bool division = node.kind == ExprKind::kFloorDiv || node.kind == ExprKind::kFloorMod ||
                  node.kind == ExprKind::kCeilDiv;
  bool real = node.dtype.is_float();
  if (division && (code_.nodes[node.b].op != Op::kInt || b.integers[0] == 0)) {
    return ComputePartial(node, state, mask);
  }
  if (IsComparison(node.kind)) {
    int64_t* out = state.integers.get();
    if (real) {
      Compare(node.kind, a.reals.get(), a.uniform, b.reals.get(), b.uniform, out, n);
    } else if (IsWideUnsigned(node.dtype)) {
      Compare(node.kind, reinterpret_cast<const uint64_t*>(a.integers.get()), a.uniform,
              reinterpret_cast<const uint64_t*>(b.integers.get()), b.uniform, out, n);
    } else {
      Compare(node.kind, a.integers.get(), a.uniform, b.integers.get(), b.uniform, out, n);
    }
  } else if (real) {
    Reals(node.kind, a.reals.get(), a.uniform, b.reals.get(), b.uniform, state.reals.get(), n);
  } else {
    Integers(node.kind, node.dtype, a.integers.get(), a.uniform, b.integers.get(), b.uniform,
             state.integers.get(), n);
  }
}

// Divisions: lanes that the mask leaves out may have a divisor of 0.
void Evaluator::ComputePartial(const Node& node, State& state, const Mask& mask) {
  const State& a = states_[node.a];
  const State& b = states_[node.b];
  state.uniform = a.uniform && b.uniform;
  auto one = [&](int lane) {
    int64_t x = a.integers[a.uniform ? 0 : lane];
    int64_t y = b.integers[b.uniform ? 0 : lane];
    if (y == 0) {
      std::string where = describe ? describe(lane) : "";
      return monitor_.Fail(
          fmt::format("division of {} by zero{}{}", x, where.empty() ? "" : "; in ", where));
    }
    int64_t result = node.op == Op::kCall ? CallInteger(node.call, node.dtype, x, y)
                                          : Divide(node.kind, IsWideUnsigned(node.dtype), x, y);
    state.integers[state.uniform ? 0 : lane] = Wrap(node.dtype, result);
  };
  if (state.uniform) return one(mask.full ? 0 : mask.lanes[0]);
  ForActive(node.total ? full_ : mask, one);
}

void Evaluator::ComputeCast(const Node& node, State& state) {
  const State& a = states_[node.a];
  DType from = code_.nodes[node.a].dtype;
  if (code_.nodes[node.a].op == Op::kBinary && IsComparison(code_.nodes[node.a].kind)) from = kBool;
  DType to = node.dtype;
  state.uniform = a.uniform;
  int n = state.uniform ? 1 : lanes_;
  if (from.is_float() && to.is_float()) {
    ForLanes1(a.reals.get(), state.reals.get(), n, [=](double x) { return RoundTo(to, x); });
  } else if (from.is_float()) {
    ForLanes1(a.reals.get(), state.integers.get(), n,
              [=](double x) { return TruncateToInteger(to, x); });
  } else if (to.is_float()) {
    ForLanes1(a.integers.get(), state.reals.get(), n,
              [=](int64_t x) { return RoundTo(to, FromInteger(from, x)); });
  } else {
    ForLanes1(a.integers.get(), state.integers.get(), n, [=](int64_t x) { return Wrap(to, x); });
  }
}

void Evaluator::ComputeCall(const Node& node, State& state) {
  const State& a = states_[node.a];
  const State& b = states_[node.b >= 0 ? node.b : node.a];
  state.uniform = a.uniform && b.uniform;
  int n = state.uniform ? 1 : lanes_;
  DType from = code_.nodes[node.a].dtype;
  if (node.call == ScalarOp::kIsNan) {
    ForLanes1(a.reals.get(), state.integers.get(), n, [](double x) { return int64_t{x != x}; });
  } else if (node.call == ScalarOp::kIsInf) {
    ForLanes1(a.reals.get(), state.integers.get(), n,
              [](double x) { return int64_t{std::isinf(x)}; });
  } else if (from.is_float()) {
    ForLanes2(a.reals.get(), a.uniform, b.reals.get(), b.uniform, state.reals.get(), n,
              [&](double x, double y) { return CallReal(node.call, x, y); });
  } else {
    ForLanes2(a.integers.get(), a.uniform, b.integers.get(), b.uniform, state.integers.get(), n,
              [&](int64_t x, int64_t y) { return CallInteger(node.call, from, x, y); });
  }
}

double CallReal(ScalarOp op, double a, double b) {
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
      return std::nearbyint(a);  // to even: nobody changes the rounding mode
    case ScalarOp::kTrunc:
      return std::trunc(a);
    case ScalarOp::kAbs:
      return std::abs(a);
    case ScalarOp::kSign:
      return Sign(a);
    case ScalarOp::kPow:
      return std::pow(a, b);
    case ScalarOp::kFMod:
      return std::fmod(a, b);
    case ScalarOp::kExpDiff:
      return a == b ? 1 : std::exp(a - b);
    case ScalarOp::kTruncDiv:
    case ScalarOp::kTruncMod:
    case ScalarOp::kBitAnd:
    case ScalarOp::kBitOr:
    case ScalarOp::kBitXor:
    case ScalarOp::kBitNot:
    case ScalarOp::kShiftLeft:
    case ScalarOp::kShiftRight:
    case ScalarOp::kIsNan:
    case ScalarOp::kIsInf:
      break;
  }
  TCC_CHECK(false) << RowOf(op).text << " of floats";
  __builtin_unreachable();
}

int64_t CallInteger(ScalarOp op, DType dtype, int64_t a, int64_t b) {
  uint64_t x = static_cast<uint64_t>(a);
  uint64_t y = static_cast<uint64_t>(b);
  bool wide = IsWideUnsigned(dtype);
  bool too_far = y >= static_cast<uint64_t>(dtype.bits());
  if (op == ScalarOp::kAbs) return wide || a >= 0 ? a : Wrap(dtype, static_cast<int64_t>(0 - x));
  if (op == ScalarOp::kSign) return wide ? a != 0 : (a > 0) - (a < 0);
  if (op == ScalarOp::kTruncDiv && wide) return static_cast<int64_t>(x / y);
  if (op == ScalarOp::kTruncMod && wide) return static_cast<int64_t>(x % y);
  if (op == ScalarOp::kTruncDiv) return b == -1 ? static_cast<int64_t>(0 - x) : a / b;
  if (op == ScalarOp::kTruncMod) return b == -1 ? 0 : a % b;
  if (op == ScalarOp::kBitAnd) return a & b;
  if (op == ScalarOp::kBitOr) return a | b;
  if (op == ScalarOp::kBitXor) return a ^ b;
  if (op == ScalarOp::kBitNot) return Wrap(dtype, ~a);
  if (op == ScalarOp::kShiftLeft) return too_far ? 0 : Wrap(dtype, static_cast<int64_t>(x << y));
  TCC_CHECK(op == ScalarOp::kShiftRight) << RowOf(op).text << " of integers";
  if (too_far) return 0;
  // "Of an unsigned value": a signed one shifts its own bits, zeros come in.
  uint64_t bits = dtype.bits() == 64 ? x : x & ((uint64_t{1} << dtype.bits()) - 1);
  return Wrap(dtype, static_cast<int64_t>(bits >> y));
}

}  // namespace tcc::interpret
