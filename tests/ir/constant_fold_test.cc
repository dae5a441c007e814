#include "ir/expr/constant_fold.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "ir/expr/evaluate.h"
#include "ir/simplify/simplify.h"

using namespace tcc;

namespace {
const DType kInt8{DTypeCode::kInt8};
const DType kUInt8{DTypeCode::kUInt8};
const DType kUInt64{DTypeCode::kUInt64};
const DType kBFloat16{DTypeCode::kBFloat16};
}  // namespace

TEST_CASE("floor and ceiling division agree with real division", "[ir][fold]") {
  for (int64_t a = -40; a <= 40; ++a) {
    for (int64_t b = 1; b <= 9; ++b) {
      double quotient = static_cast<double>(a) / static_cast<double>(b);
      REQUIRE(EvaluateInteger(ExprKind::kFloorDiv, kInt64, a, b) == std::floor(quotient));
      REQUIRE(EvaluateInteger(ExprKind::kCeilDiv, kInt64, a, b) == std::ceil(quotient));
      REQUIRE(EvaluateInteger(ExprKind::kFloorMod, kInt64, a, b) == a - std::floor(quotient) * b);
      REQUIRE(EvaluateIntegerOp(ScalarOp::kTruncDiv, kInt64, a, -b) == std::trunc(-quotient));
      REQUIRE(EvaluateIntegerOp(ScalarOp::kTruncMod, kInt64, a, -b) ==
              a - std::trunc(quotient) * b);
    }
  }
}

TEST_CASE("words hold two bf16 that are multiplied in f32", "[ir][fold]") {
  int64_t ones = PackBFloats(1, 1);
  CHECK(ones == 0x3f803f80);
  CHECK(PackBFloats(1.00390625, -0.0) == static_cast<int32_t>(0x80003f80));
  CHECK(DotOfBFloats(PackBFloats(3, -2), PackBFloats(5, 0.5)) == 14);
  // The sum of products that f32 holds is rounded to it.
  CHECK(DotOfBFloats(PackBFloats(0x1p30, 1), ones) == 0x1p30);
  CHECK(std::isnan(DotOfBFloats(PackBFloats(HUGE_VAL, -HUGE_VAL), ones)));
  // NaN stays NaN.
  CHECK(std::isnan(DotOfBFloats(PackBFloats(std::nan(""), 0), ones)));
}

TEST_CASE("narrow integers wrap, i64 refuses to overflow", "[ir][fold]") {
  CHECK(EvaluateInteger(ExprKind::kAdd, kInt8, 127, 1) == -128);
  CHECK(EvaluateInteger(ExprKind::kSub, kUInt8, 0, 1) == 255);
  CHECK(EvaluateInteger(ExprKind::kMul, kUInt64, -1, -1) == 1);
  CHECK_FALSE(EvaluateInteger(ExprKind::kAdd, kInt64, INT64_MAX, 1));
  CHECK_FALSE(EvaluateInteger(ExprKind::kFloorDiv, kInt64, 1, 0));
  CHECK(EvaluateInteger(ExprKind::kLt, kUInt64, 1, -1) == 1);
  CHECK(EvaluateInteger(ExprKind::kFloorDiv, kUInt64, -1, 2) == INT64_MAX);
  CHECK(EvaluateIntegerOp(ScalarOp::kAbs, kInt8, -128) == -128);
  CHECK(EvaluateIntegerOp(ScalarOp::kTruncDiv, kInt8, -128, -1) == -128);
  CHECK(EvaluateIntegerOp(ScalarOp::kTruncDiv, kInt64, INT64_MIN, -1) == INT64_MIN);
  CHECK(EvaluateIntegerOp(ScalarOp::kTruncMod, kInt64, INT64_MIN, -1) == 0);
  CHECK(EvaluateIntegerOp(ScalarOp::kShiftLeft, kUInt8, 3, 7) == 128);
  CHECK(EvaluateIntegerOp(ScalarOp::kShiftLeft, kUInt8, 3, 8) == 0);
  CHECK(EvaluateIntegerOp(ScalarOp::kBitNot, kUInt8, 5) == 250);
  CHECK(EvaluateIntegerOp(ScalarOp::kPopcount, kUInt8, 0xb1) == 4);
  CHECK(EvaluateIntegerOp(ScalarOp::kPopcount, kInt8, -1) == 8);
  CHECK(EvaluateIntegerOp(ScalarOp::kPopcount, kInt32, -2) == 31);
  CHECK(EvaluateIntegerOp(ScalarOp::kPopcount, kUInt64, -1) == 64);
}

TEST_CASE("rounding to a narrow float rounds once", "[ir][fold]") {
  // Just above the middle of two halves; through float it would become the middle and go to even.
  double above = 1 + 0x1p-11 + 0x1p-40;
  CHECK(RoundFloat(kFloat16, above) == 1 + 0x1p-10);
  CHECK(RoundFloat(kFloat16, 1 + 0x1p-11) == 1);
  CHECK(RoundFloat(kBFloat16, 1 + 0x1p-8 + 0x1p-40) == 1 + 0x1p-7);
  CHECK(RoundFloat(kFloat16, -above) == -(1 + 0x1p-10));
  CHECK(std::isinf(RoundFloat(kFloat16, 1e6)));
  CHECK(RoundFloat(kFloat32, 0.1) == 0.1f);
  const DType tf32(DTypeCode::kTFloat32);
  CHECK(RoundFloat(tf32, 1 + 0x1p-11 - 0x1p-40) == 1);
  CHECK(RoundFloat(tf32, 1 + 0x1p-11) == 1 + 0x1p-10);
  CHECK(RoundFloat(tf32, -1 - 0x1p-11) == -1 - 0x1p-10);
  CHECK(RoundFloat(tf32, 0x1p-137) == 0x1p-136);
  CHECK(RoundFloat(tf32, 0x1.ffcp127) == 0x1.ffcp127);
  CHECK(std::isinf(RoundFloat(tf32, 0x1.ffep127)));
}

TEST_CASE("floats fold only where every evaluator agrees", "[ir][fold]") {
  Expr half = FloatConst(kFloat32, 0.5), tenth = FloatConst(kFloat32, 0.1f);
  CHECK(Equal(Simplify(half + half), FloatConst(kFloat32, 1)));
  CHECK(Equal(Simplify(tenth * tenth), tenth * tenth));
  CHECK(Equal(Simplify(CallOf(ScalarOp::kExp, {half})), CallOf(ScalarOp::kExp, {half})));
  CHECK(Equal(Simplify(CallOf(ScalarOp::kFloor, {half})), FloatConst(kFloat32, 0)));
  Var x = IterationVar("x", kFloat32);
  Expr zero = FloatConst(kFloat32, 0);
  CHECK(Equal(Simplify(x + zero), x + zero));
  CHECK(Equal(Simplify(x - zero), x));
  CHECK(Equal(Simplify((x + half) + half), (x + half) + half));
}

TEST_CASE("casts round, wrap and refuse what has no value", "[ir][fold]") {
  CHECK(FloatToInteger(kInt8, -3.9) == -3);
  CHECK_FALSE(FloatToInteger(kInt8, 128));
  CHECK_FALSE(FloatToInteger(kInt64, std::numeric_limits<double>::quiet_NaN()));
  CHECK(FloatToInteger(kUInt64, 0x1.8p63) == static_cast<int64_t>(0xC000000000000000u));
  CHECK(FloatToInteger(kBool, 0.25) == 1);
  // 2^24 + 1 and a little more: through double it would round twice.
  CHECK(IntegerToFloat(kInt64, kFloat32, (int64_t{1} << 60) + (int64_t{1} << 36) + 1) ==
        0x1p60 + 0x1p37);
  CHECK(EvaluateInt(CastTo(kInt64, CastTo(kUInt8, Expr(-1))), {}) == 255);
}

TEST_CASE("operands that are not asked for do no harm", "[ir][fold]") {
  Var i = LoopVar("i");
  Expr bad = FloorDivide(Expr(1), i) > 0;
  CHECK(EvaluateInt(BothOf(i > 0, bad), {{i, 0}}) == 0);
  CHECK(EvaluateInt(EitherOf(i <= 0, bad), {{i, 0}}) == 1);
  CHECK(EvaluateInt(SelectOf(i > 0, FloorDivide(Expr(1), i), Expr(7)), {{i, 0}}) == 7);
  CHECK_FALSE(EvaluateInt(bad, {{i, 0}}));
}
