#include "runtime/artefact/size_expr.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "support/random.h"

using namespace tcc;

namespace {

constexpr SizeOp kBinary[] = {SizeOp::kAdd,     SizeOp::kSub,  SizeOp::kMul, SizeOp::kFloorDiv,
                              SizeOp::kCeilDiv, SizeOp::kMin,  SizeOp::kMax, SizeOp::kMod,
                              SizeOp::kLess,    SizeOp::kEqual};

// An expression, and its value computed in doubles; NaN where it has none.
struct Sample {
  SizeExpr expr;
  double value;
};

double Expected(SizeOp op, double a, double b) {
  switch (op) {
    case SizeOp::kAdd:
      return a + b;
    case SizeOp::kSub:
      return a - b;
    case SizeOp::kMul:
      return a * b;
    case SizeOp::kFloorDiv:
      return b >= 1 ? std::floor(a / b) : NAN;
    case SizeOp::kCeilDiv:
      return b >= 1 ? std::ceil(a / b) : NAN;
    case SizeOp::kMin:
      return std::isnan(b) ? b : std::min(a, b);
    case SizeOp::kMax:
      return std::isnan(b) ? b : std::max(a, b);
    case SizeOp::kMod:
      return b >= 1 ? a - std::floor(a / b) * b : NAN;
    case SizeOp::kLess:
      return std::isnan(a) || std::isnan(b) ? NAN : (a < b ? 1 : 0);
    case SizeOp::kEqual:
      return std::isnan(a) || std::isnan(b) ? NAN : (a == b ? 1 : 0);
    case SizeOp::kConst:
    case SizeOp::kVar:
    case SizeOp::kSelect:
      break;
  }
  return NAN;
}

Sample RandomExpr(Random& random, std::span<const int64_t> variables, int depth) {
  if (depth == 0 || random.OneIn(4)) {
    if (random.OneIn(2)) {
      auto index = static_cast<int64_t>(random.Below(variables.size()));
      return {SizeExpr::Variable(index), static_cast<double>(variables[index])};
    }
    int64_t constant = random.Between(-20, 20);
    return {SizeExpr(constant), static_cast<double>(constant)};
  }
  Sample lhs = RandomExpr(random, variables, depth - 1);
  Sample rhs = RandomExpr(random, variables, depth - 1);
  if (random.OneIn(6)) {
    Sample condition = RandomExpr(random, variables, depth - 1);
    // A constant condition drops the other side, which may have had no value.
    std::optional<int64_t> decided = condition.expr.AsConstant();
    double taken = condition.value != 0 ? lhs.value : rhs.value;
    bool valued =
        decided || !(std::isnan(condition.value) || std::isnan(lhs.value) || std::isnan(rhs.value));
    return {SelectSize(condition.expr, lhs.expr, rhs.expr), valued ? taken : NAN};
  }
  SizeOp op = kBinary[random.Below(std::size(kBinary))];
  return {Combine(op, lhs.expr, rhs.expr), Expected(op, lhs.value, rhs.value)};
}

SizeExpr Code(std::vector<SizeInstruction> code) {
  SizeExpr expr;
  expr.code = std::move(code);
  return expr;
}

}  // namespace

TEST_CASE("size expressions evaluate like real arithmetic and survive encoding",
          "[runtime][size]") {
  Random random(3);
  int without_value = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::vector<int64_t> variables = {random.Between(-9, 9), random.Between(0, 100), 7};
    Sample sample = RandomExpr(random, variables, 4);
    INFO(ToString(sample.expr));
    REQUIRE(CheckSizeExpr(sample.expr, 3).ok());
    StatusOr<int64_t> value = Evaluate(sample.expr, variables);
    if (std::isnan(sample.value)) {
      CHECK_FALSE(value.ok());
      ++without_value;
    } else if (std::abs(sample.value) < 0x1p53) {
      REQUIRE(value.ok());
      CHECK(static_cast<double>(*value) == sample.value);
    }
    ByteWriter writer;
    Write(writer, sample.expr);
    ByteReader reader(writer.bytes(), "test");
    CHECK(ReadSizeExpr(reader) == sample.expr);
    CHECK(reader.Finish().ok());
  }
  CHECK(without_value > 100);
}

TEST_CASE("constants fold and say so", "[runtime][size]") {
  SizeExpr expr = Combine(SizeOp::kMul, SizeExpr(6), SizeExpr(7));
  CHECK(expr == SizeExpr(42));
  CHECK(expr.AsConstant() == 42);
  SizeExpr sum = Combine(SizeOp::kAdd, SizeExpr::Variable(0), SizeExpr(1));
  CHECK_FALSE(sum.AsConstant());
  const std::string names[] = {"N"};
  CHECK(ToString(Combine(SizeOp::kCeilDiv, sum, SizeExpr(16)), names) == "ceildiv((N + 1), 16)");
}

TEST_CASE("overflow and bad divisors have no value", "[runtime][size]") {
  SizeExpr v = SizeExpr::Variable(0);
  const int64_t largest[] = {INT64_MAX}, smallest[] = {INT64_MIN}, zero[] = {0};
  CHECK_FALSE(Evaluate(Combine(SizeOp::kAdd, v, SizeExpr(1)), largest).ok());
  CHECK_FALSE(Evaluate(Combine(SizeOp::kSub, v, SizeExpr(1)), smallest).ok());
  CHECK_FALSE(Evaluate(Combine(SizeOp::kMul, v, SizeExpr(2)), largest).ok());
  CHECK_FALSE(Evaluate(Combine(SizeOp::kFloorDiv, SizeExpr(1), v), zero).ok());
  CHECK_FALSE(Evaluate(Combine(SizeOp::kFloorDiv, v, SizeExpr(-1)), smallest).ok());
  CHECK(*Evaluate(Combine(SizeOp::kCeilDiv, v, SizeExpr(1)), largest) == INT64_MAX);
}

TEST_CASE("malformed code is refused", "[runtime][size]") {
  CHECK_FALSE(CheckSizeExpr(Code({}), 1).ok());
  CHECK_FALSE(CheckSizeExpr(Code({{SizeOp::kAdd, 0}}), 1).ok());
  CHECK_FALSE(CheckSizeExpr(Code({{SizeOp::kConst, 1}, {SizeOp::kAdd, 0}}), 1).ok());
  CHECK_FALSE(CheckSizeExpr(Code({{SizeOp::kConst, 1}, {SizeOp::kConst, 1}}), 1).ok());
  CHECK(Message(CheckSizeExpr(SizeExpr::Variable(1), 1)) ==
        "size expression reads variable 1; there are 1");
  CHECK_FALSE(CheckSizeExpr(SizeExpr::Variable(-1), 1).ok());
  std::vector<SizeInstruction> deep(65, {SizeOp::kConst, 1});
  deep.resize(65 + 64, {SizeOp::kAdd, 0});
  CHECK(Message(CheckSizeExpr(Code(deep), 0)) == "size expression is deeper than 64");
  const uint8_t unknown[] = {1, 0, 0, 0, 13};
  ByteReader reader(unknown, "test");
  ReadSizeExpr(reader);
  CHECK(Message(reader.Finish()) == "size expression has unknown operation 13");
}
