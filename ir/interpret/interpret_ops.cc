#include <cmath>
#include <limits>

#include "ir/expr/constant_fold.h"
#include "ir/expr/operators.h"
#include "ir/expr/stochastic_rounding.h"
#include "ir/interpret/interpret_eval.h"
#include "support/check.h"
#include "support/storage_types.h"

// The part of Evaluator that does arithmetic.
namespace tcc::interpret {
namespace {

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

// Compares lanes of one type.
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
  if (dtype.bits() < 64) ForLanes1(out, out, n, [=](int64_t x) { return WrapInteger(dtype, x); });
}

}  // namespace

void Evaluator::ComputeBinary(const Node& node, State& state, const Mask& mask) {
  const State& a = states_[node.a];
  const State& b = states_[node.b];
  state.uniform = a.uniform && b.uniform;
  int n = state.uniform ? 1 : lanes_;
  bool division = node.kind == ExprKind::kFloorDiv || node.kind == ExprKind::kFloorMod ||
                  node.kind == ExprKind::kCeilDiv;
  bool real = HoldsFloats(node.dtype);
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

// Computes divisions; masked-out lanes may have a divisor of 0.
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
    int64_t result = node.op == Op::kCall ? *EvaluateIntegerOp(node.call, node.dtype, x, y)
                                          : Divide(node.kind, IsWideUnsigned(node.dtype), x, y);
    state.integers[state.uniform ? 0 : lane] = WrapInteger(node.dtype, result);
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
  bool from_float = HoldsFloats(from), to_float = HoldsFloats(to);
  if (from_float && to_float && monitor_.rounding_seed) {
    uint64_t seed = *monitor_.rounding_seed;
    ForLanes1(a.reals.get(), state.reals.get(), n,
              [=](double x) { return RoundStochastically(to, x, seed); });
  } else if (from_float && to_float) {
    ForLanes1(a.reals.get(), state.reals.get(), n, [=](double x) { return RoundFloat(to, x); });
  } else if (from_float) {
    ForLanes1(a.reals.get(), state.integers.get(), n,
              [=](double x) { return TruncateToInteger(to, x); });
  } else if (to_float) {
    ForLanes1(a.integers.get(), state.reals.get(), n,
              [=](int64_t x) { return RoundFloat(to, FromInteger(from, x)); });
  } else {
    ForLanes1(a.integers.get(), state.integers.get(), n,
              [=](int64_t x) { return WrapInteger(to, x); });
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
  } else if (node.call == ScalarOp::kPackBf16x2) {
    ForLanes2(a.reals.get(), a.uniform, b.reals.get(), b.uniform, state.integers.get(), n,
              PackBFloats);
  } else if (node.call == ScalarOp::kDotBf16x2) {
    ForLanes2(a.integers.get(), a.uniform, b.integers.get(), b.uniform, state.reals.get(), n,
              DotOfBFloats);
  } else if (from.is_float()) {
    ForLanes2(a.reals.get(), a.uniform, b.reals.get(), b.uniform, state.reals.get(), n,
              [&](double x, double y) { return EvaluateFloatOp(node.call, x, y); });
  } else {
    ForLanes2(a.integers.get(), a.uniform, b.integers.get(), b.uniform, state.integers.get(), n,
              [&](int64_t x, int64_t y) { return *EvaluateIntegerOp(node.call, from, x, y); });
  }
}

}  // namespace tcc::interpret
