#include "ir/simplify/interval.h"

#include <catch2/catch.hpp>

#include "ir/expr/evaluate.h"
#include "ir/simplify/interval_arithmetic.h"
#include "support/random.h"

using namespace tcc;

TEST_CASE("interval arithmetic is the least interval of all pairs", "[ir][interval]") {
  Random random(1);
  for (int round = 0; round < 3000; ++round) {
    Interval a{random.Between(-12, 12), 0}, b{random.Between(-12, 12), 0};
    a.high = a.low + random.Between(0, 9);
    b.high = b.low + random.Between(0, 9);
    Interval d{random.Between(1, 9), 0};
    d.high = d.low + random.Between(0, 9);
    auto least = [](Interval x, Interval y, ExprKind op) {
      Var p = LoopVar("p"), q = LoopVar("q");
      Expr expr = op == ExprKind::kAdd        ? p + q
                  : op == ExprKind::kSub      ? p - q
                  : op == ExprKind::kMul      ? p * q
                  : op == ExprKind::kFloorDiv ? FloorDivide(p, q)
                                              : CeilDivide(p, q);
      Interval result{INT64_MAX, INT64_MIN};
      for (int64_t v = x.low; v <= x.high; ++v) {
        for (int64_t w = y.low; w <= y.high; ++w) {
          int64_t value = *EvaluateInt(expr, {{p, v}, {q, w}});
          result = {std::min(result.low, value), std::max(result.high, value)};
        }
      }
      return result;
    };
    REQUIRE(a + b == least(a, b, ExprKind::kAdd));
    REQUIRE(a - b == least(a, b, ExprKind::kSub));
    REQUIRE(a * b == least(a, b, ExprKind::kMul));
    REQUIRE(FloorDivide(a, d) == least(a, d, ExprKind::kFloorDiv));
    REQUIRE(CeilDivide(a, d) == least(a, d, ExprKind::kCeilDiv));
  }
}

TEST_CASE("remainders by a constant are bounded as tightly as one period allows",
          "[ir][interval]") {
  auto mod = [](Interval a, int64_t d) { return FloorModulo(a, Interval::Point(d)); };
  CHECK(mod({9, 11}, 8) == Interval{1, 3});
  CHECK(mod({-7, -6}, 8) == Interval{1, 2});
  CHECK(mod({7, 8}, 8) == Interval{0, 7});
  CHECK(mod({0, 5}, 8) == Interval{0, 5});
  CHECK(mod({}, 8) == Interval{0, 7});
}

TEST_CASE("intervals saturate instead of overflowing", "[ir][interval]") {
  Interval huge{0, INT64_MAX - 1}, all;
  CHECK(huge + huge == Interval{0, INT64_MAX});
  CHECK(huge * huge == Interval{0, INT64_MAX});
  CHECK(all + Interval::Point(1) == all);
  CHECK(all * Interval::Point(0) == Interval::Point(0));
  CHECK(Interval{3, INT64_MAX} * Interval::Point(-2) == Interval{INT64_MIN, -6});
  CHECK(FloorDivide(Interval{-5, 5}, Interval{2, INT64_MAX}) == Interval{-3, 2});
}

TEST_CASE("sizes count with their own range, loops only with given bounds", "[ir][interval]") {
  Var i = LoopVar("i"), T = TileVar("T", 2, 16);
  CHECK(BoundsOf(T * 3 - 1, {}) == Interval{5, 47});
  CHECK(BoundsOf(i + T, {}) == Interval{});
  CHECK(BoundsOf(i + T, {{i, {0, 7}}}) == Interval{2, 23});
  CHECK(BoundsOf(CeilDivide(Expr(100), T), {{T, {1, 4}}}) == Interval{25, 100});
  CHECK(BoundsOf(Make<Load>(BufferVar("A", kInt64), std::vector<Expr>{i}), {}) == Interval{});
}

TEST_CASE("bits of numbers that are not negative have bounds", "[ir][interval]") {
  Var i = LoopVar("i"), j = LoopVar("j");
  Bounds bounds{{i, {3, 9}}, {j, {0, 20}}};
  auto of = [&](ScalarOp op) { return BoundsOf(CallOf(op, {i, j}), bounds); };
  CHECK(of(ScalarOp::kBitAnd) == Interval{0, 9});
  CHECK(of(ScalarOp::kBitOr) == Interval{0, 31});
  CHECK(of(ScalarOp::kBitXor) == Interval{0, 31});
  CHECK(BoundsOf(CallOf(ScalarOp::kBitXor, {i - 4, j}), bounds) == Interval{});
  CHECK(BoundsOf(CallOf(ScalarOp::kBitXor, {LoopVar("k"), j}), bounds) == Interval{});
}

TEST_CASE("Prove decides what bounds and algebra can, and nothing else", "[ir][interval]") {
  Var i = LoopVar("i"), j = LoopVar("j"), T = TileVar("T", 1, 16);
  Bounds bounds{{i, {0, 9}}, {j, {0, 3}}};
  CHECK(Prove(i * 4 + j < 40, bounds) == Proof::kTrue);
  CHECK(Prove(i * 4 + j < 39, bounds) == Proof::kUnknown);
  CHECK(Prove(i * 4 + j >= 40, bounds) == Proof::kFalse);
  // Intervals alone would take the two T for different ones.
  CHECK(Prove(T * 2 - T >= 1, bounds) == Proof::kTrue);
  CHECK(Prove(Make<Ne>(i * 2, j * 2 + 1), bounds) == Proof::kTrue);
  CHECK(Prove(BothOf(i < 10, EitherOf(j < 2, j >= 2)), bounds) == Proof::kUnknown);
}
