#include "tests/fuzz/random/random_scalar.h"

#include <limits>

namespace tcc {
namespace {

// Few and related, so that factors meet.
constexpr int64_t kFactors[] = {1, 2, 3, 4, 6, 8, 12};

const DType kUInt8{DTypeCode::kUInt8};

}  // namespace

ScalarGenerator::ScalarGenerator(Random& random) : random_(random) {
  for (const char* name : {"i", "j", "k"}) {
    loops_.push_back(LoopVar(name));
    bool wide = random_.OneIn(8);
    int64_t low = random_.OneIn(4) ? random_.Between(-20, 20) : 0;
    int64_t high = low + (wide ? 1000 : kFactors[random_.Below(7)] - 1);
    bounds_[loops_.back()] = {low, high};
  }
  for (const char* name : {"S", "T"}) {
    int64_t low = random_.Between(1, 3);
    tiles_.push_back(TileVar(name, low, low + random_.Between(0, 12)));
  }
  flag_ = IterationVar("p", kBool);
  word_ = IterationVar("n", kInt32);
  byte_ = IterationVar("u", kUInt8);
  real_ = IterationVar("f", kFloat32);
  other_real_ = IterationVar("g", kFloat32);
}

Expr ScalarGenerator::Literal() {
  if (random_.OneIn(2)) return Expr(kFactors[random_.Below(7)]);
  return Expr(random_.Between(-15, 15));
}

Expr ScalarGenerator::Positive() {
  Expr factor(kFactors[random_.Below(7)]);
  switch (random_.Below(5)) {
    case 0:
    case 1:
      return factor;
    case 2:
      return OneOf(tiles_);
    case 3:
      return OneOf(tiles_) * factor;
    default:
      return OneOf(tiles_) * OneOf(tiles_);
  }
}

Expr ScalarGenerator::ScheduleIndex(int depth) {
  if (depth == 0) {
    if (random_.OneIn(4)) return Expr(random_.Between(0, 12));
    return OneOf(random_.OneIn(4) ? tiles_ : loops_);
  }
  switch (random_.Below(9)) {
    case 0:
    case 1:
      return ScheduleIndex(depth - 1) + ScheduleIndex(depth - 1);
    case 2:
    case 3:
      return ScheduleIndex(depth - 1) * Positive() + ScheduleIndex(depth - 1);
    case 4:
      return FloorDivide(ScheduleIndex(depth - 1), Positive());
    case 5:
      return FloorModulo(ScheduleIndex(depth - 1), Positive());
    case 6:
      return CeilDivide(ScheduleIndex(depth - 1), Positive());
    case 7:
      return MinOf(ScheduleIndex(depth - 1), ScheduleIndex(depth - 1));
    default:
      return ScheduleIndex(depth - 1) - Expr(random_.Between(0, 4));
  }
}

Expr ScalarGenerator::Index(int depth) {
  if (depth == 0) {
    if (random_.OneIn(3)) return Literal();
    return OneOf(random_.OneIn(3) ? tiles_ : loops_);
  }
  switch (random_.Below(14)) {
    case 0:
    case 1:
      return Index(depth - 1) + Index(depth - 1);
    case 2:
    case 3:
      return Index(depth - 1) - Index(depth - 1);
    case 4:
      return Index(depth - 1) * Index(depth / 2);
    case 5:
      return Index(depth - 1) * Literal();
    case 6:
      return FloorDivide(Index(depth - 1), Positive());
    case 7:
      return FloorModulo(Index(depth - 1), Positive());
    case 8:
      return CeilDivide(Index(depth - 1), Positive());
    case 9:
      return MinOf(Index(depth - 1), Index(depth - 1));
    case 10:
      return MaxOf(Index(depth - 1), Index(depth - 1));
    case 11:
      return SelectOf(Bool(depth - 1), Index(depth - 1), Index(depth - 1));
    case 12:
      return CastTo(kInt64, random_.OneIn(2) ? Bool(depth - 1)
                                             : Narrow(depth - 1, random_.OneIn(2) ? word_ : byte_));
    default: {
      // A divisor of several terms, and its quotient and remainder in one sum.
      Expr x = Index(depth - 1), d = Positive() + Expr(random_.Between(0, 3));
      return FloorDivide(x, d) * d + FloorModulo(x, d);
    }
  }
}

Expr ScalarGenerator::Bool(int depth) {
  if (depth == 0) return random_.OneIn(6) ? IntConst(kBool, random_.Below(2)) : Expr(flag_);
  Expr a, b;
  switch (random_.Below(11)) {
    case 0:
    case 1:
      return Index(depth - 1) < Index(depth - 1);
    case 2:
      return Index(depth - 1) <= Index(depth - 1);
    case 3:
      a = Index(depth - 1), b = Index(depth - 1);
      return random_.OneIn(2) ? Make<Eq>(a, b) : Make<Ne>(a, b);
    case 4:
      return BothOf(Bool(depth - 1), Bool(depth - 1));
    case 5:
      return EitherOf(Bool(depth - 1), Bool(depth - 1));
    case 6:
      return Make<Not>(Bool(depth - 1));
    case 7:
      return SelectOf(Bool(depth - 1), Bool(depth - 1), Bool(depth - 1));
    case 8:
      a = Bool(depth - 1), b = Bool(depth - 1);
      return random_.OneIn(2) ? Make<Eq>(a, b) : Make<Ne>(a, b);
    case 9:
      a = Float(depth - 1), b = Float(depth - 1);
      return random_.OneIn(3)   ? a < b
             : random_.OneIn(2) ? a <= b
             : random_.OneIn(2) ? Make<Eq>(a, b)
                                : Make<Ne>(a, b);
    default:
      return CastTo(kBool, Index(depth - 1));
  }
}

Expr ScalarGenerator::Float(int depth) {
  if (depth == 0) {
    constexpr double kValues[] = {0.0, -0.0, 1.0, -1.0, 2.0, 0.1};
    if (random_.OneIn(2)) return random_.OneIn(2) ? real_ : other_real_;
    return FloatConst(kFloat32, kValues[random_.Below(6)]);
  }
  Expr a = Float(depth - 1);
  switch (random_.Below(11)) {
    case 0:
      return a + Float(depth - 1);
    case 1:
      return a - Float(depth - 1);
    case 2:
      return a * Float(depth - 1);
    case 3:
      return Make<Div>(a, Float(depth - 1));
    case 4:
      return MinOf(a, Float(depth - 1));
    case 5:
      return MaxOf(a, Float(depth - 1));
    case 6:
      return SelectOf(Bool(depth - 1), a, Float(depth - 1));
    case 7:
      return CastTo(kFloat32, Index(depth - 1));
    case 8:
      return CastTo(kFloat32, CastTo(kFloat16, a));
    case 9:
      return CallOf(random_.OneIn(2) ? ScalarOp::kAbs : ScalarOp::kFloor, {a});
    default:
      return CallOf(random_.OneIn(2) ? ScalarOp::kExpDiff : ScalarOp::kPow, {a, Float(depth - 1)});
  }
}

Expr ScalarGenerator::Narrow(int depth, const Var& var) {
  DType type = var.dtype();
  if (depth == 0) return random_.OneIn(2) ? Expr(var) : IntConst(type, random_.Between(0, 9));
  Expr a = Narrow(depth - 1, var);
  switch (random_.Below(8)) {
    case 0:
      return a + Narrow(depth - 1, var);
    case 1:
      return a - Narrow(depth - 1, var);
    case 2:
      return a * Narrow(depth - 1, var);
    case 3:
      return MinOf(a, Narrow(depth - 1, var));
    case 4:
      return MaxOf(a, Narrow(depth - 1, var));
    case 5:
      return FloorDivide(a, IntConst(type, random_.Between(1, 9)));
    case 6:
      return CastTo(type, Index(depth - 1));
    default:
      return CallOf(random_.OneIn(2) ? ScalarOp::kBitAnd : ScalarOp::kShiftLeft,
                    {a, Narrow(depth - 1, var)});
  }
}

Expr ScalarGenerator::AffineIndex() {
  Expr index(random_.Between(-5, 5));
  for (const Var& loop : loops_) {
    Expr term = loop;
    if (random_.OneIn(2)) term = term * Positive();
    if (!random_.OneIn(4)) index = random_.OneIn(2) ? index + term : term + index;
    if (random_.OneIn(8)) index = (index + loop) * Positive();
  }
  return random_.OneIn(3) ? index + OneOf(tiles_) : index;
}

Expr ScalarGenerator::AnyExpr() {
  int depth = static_cast<int>(random_.Between(1, 4));
  switch (random_.Below(6)) {
    case 0:
    case 1:
      return ScheduleIndex(depth);
    case 2:
    case 3:
      return Index(depth);
    case 4:
      return Bool(depth);
    default:
      return random_.OneIn(2) ? Float(depth) : Narrow(depth, random_.OneIn(2) ? word_ : byte_);
  }
}

ScalarAssignment ScalarGenerator::Point() {
  ScalarAssignment point;
  for (const Var& loop : loops_) {
    Interval range = bounds_.at(loop);
    point[loop] = {random_.Between(range.low, range.high), 0};
  }
  for (const Var& tile : tiles_) point[tile] = {random_.Between(tile->low, tile->high), 0};
  point[flag_] = {static_cast<int64_t>(random_.Below(2)), 0};
  point[word_] = {random_.OneIn(2) ? random_.Between(-9, 9) : random_.Between(INT32_MIN, INT32_MAX),
                  0};
  point[byte_] = {random_.Between(0, 255), 0};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kReals[] = {0.0, -0.0, 1.0, -2.5, 0.1f, kInfinity, -kInfinity, 1e-40f};
  for (const Var& real : {real_, other_real_}) {
    uint64_t pick = random_.Below(10);
    double value = pick < 8    ? kReals[pick]
                   : pick == 8 ? std::numeric_limits<double>::quiet_NaN()
                               : static_cast<float>(random_.Normal());
    point[real] = {0, value};
  }
  return point;
}

}  // namespace tcc
