#include "autodiff_features/tape/smooth_ops.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <vector>

#include "support/random.h"

using namespace tcc;

namespace {

struct Rule {
  FormulaOp op;
  const char* name;
  double (*value)(double, double, double, double);
  OpSlopes (*slopes)(double, double, double, double, double);
};

const Rule kRules[] = {
#define TCC_RULE(op, operands, meaning) \
  {FormulaOp::op, #op, SmoothOp<FormulaOp::op>::Value, SmoothOp<FormulaOp::op>::Slopes},
    TCC_FORMULA_OPS(TCC_RULE)
#undef TCC_RULE
};

constexpr double kWidths[] = {0.5, 0.1, 1e-3};

bool Chooses(FormulaOp op) {
  return op == FormulaOp::kSelect || op == FormulaOp::kSelectReal;
}

// A count from 1 to 10^7, small ones as likely as large ones.
double RandomCount(Random& random) {
  return std::exp(random.Unit() * std::log(1e7));
}

// Operands as formulas have them: counts, a condition, a moderate exponent.
std::vector<double> RandomOperands(FormulaOp op, Random& random) {
  std::vector<double> operands = {RandomCount(random), RandomCount(random), RandomCount(random)};
  // Near one another, where twins differ from exact ops most.
  if (random.OneIn(2)) operands[1] = operands[0] * std::exp(random.Normal() * 0.2);
  if (Chooses(op)) operands[0] = 0.01 + 0.98 * random.Unit();
  if (op == FormulaOp::kExp) operands[0] = random.Normal() * 10;
  return operands;
}

double ExactValue(FormulaOp op, const std::vector<double>& x) {
  double result = 0;
  ApplyExactly({op, false, 0, 1, 2}, &x[0], &x[1], &x[2], &result, 1);
  return result;
}

// f'(0) from four values: of fourth order, so that narrow steps do not show.
double CentralDifference(const std::function<double(double)>& f, double h) {
  return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h);
}

// The unit of a result that is a small difference of large terms.
double LeastScale(FormulaOp op, const std::vector<double>& x) {
  if (Compares(op)) return 0.01;
  return op == FormulaOp::kFloorMod ? x[1] : 0;
}

void CheckSlopes(const Rule& rule, const std::vector<double>& x, double width) {
  double value = rule.value(x[0], x[1], x[2], width);
  OpSlopes slopes = rule.slopes(x[0], x[1], x[2], value, width);
  double by_operand[] = {slopes.a, slopes.b, slopes.c};
  for (int k = 0; k < OperandsOf(rule.op); ++k) {
    auto moved = [&](double by) {
      std::vector<double> y = x;
      y[k] += by;
      return rule.value(y[0], y[1], y[2], width);
    };
    double h = 1e-6 * std::abs(x[k]);
    double want = CentralDifference(moved, h) * x[k], got = by_operand[k] * x[k];
    double scale = std::abs(value) + std::abs(want) + LeastScale(rule.op, x);
    INFO(rule.name << " of " << x[0] << ", " << x[1] << ", " << x[2] << " at width " << width
                   << ", operand " << k << ": slope times operand is " << got
                   << ", differences say " << want);
    REQUIRE(std::abs(got - want) <= 1e-6 * scale);
  }
}

}  // namespace

TEST_CASE("slopes of every op agree with differences of its twin", "[autodiff_features][smooth]") {
  for (const Rule& rule : kRules) {
    Random random(7);
    for (double width : kWidths) {
      for (int i = 0; i < 300; ++i) CheckSlopes(rule, RandomOperands(rule.op, random), width);
    }
  }
}

TEST_CASE("slopes agree with differences for operands below 0", "[autodiff_features][smooth]") {
  for (const Rule& rule : kRules) {
    bool defined_below = rule.op == FormulaOp::kMin || rule.op == FormulaOp::kMax ||
                         Compares(rule.op) || rule.op == FormulaOp::kSub;
    if (!defined_below) continue;
    Random random(8);
    for (double width : {0.5, 0.1}) {
      for (int i = 0; i < 300; ++i) {
        std::vector<double> x = RandomOperands(rule.op, random);
        x[0] *= -1;
        if (random.OneIn(2)) x[1] *= -1;
        CheckSlopes(rule, x, width);
      }
    }
  }
}

TEST_CASE("values and slopes are finite over thirty orders of magnitude",
          "[autodiff_features][smooth]") {
  constexpr double kMagnitudes[] = {1e-15, 1e-9, 1e-3, 1, 1.5, 1e7, 1e15};
  for (const Rule& rule : kRules) {
    std::vector<double> firsts(std::begin(kMagnitudes), std::end(kMagnitudes));
    if (Chooses(rule.op)) firsts = {0, 1e-9, 0.5, 1};
    for (double width : {0.5, 0.1, 1e-3, 0.0}) {
      for (double a : firsts) {
        for (double b : kMagnitudes) {
          for (double c : kMagnitudes) {
            // The forward sweep is exact at width 0.
            double value = width > 0 ? rule.value(a, b, c, width) : rule.value(a, b, c, 1e-3);
            OpSlopes slopes = rule.slopes(a, b, c, value, width);
            INFO(rule.name << " of " << a << ", " << b << ", " << c << " at width " << width);
            REQUIRE(std::isfinite(value));
            REQUIRE((std::isfinite(slopes.a) && std::isfinite(slopes.b)));
            REQUIRE(std::isfinite(slopes.c));
          }
        }
      }
    }
  }
}

TEST_CASE("narrow twins are the exact ops", "[autodiff_features][smooth]") {
  for (const Rule& rule : kRules) {
    bool divides = rule.op == FormulaOp::kCeilDiv || rule.op == FormulaOp::kFloorDiv ||
                   rule.op == FormulaOp::kFloorMod;
    if (divides) continue;
    Random random(9);
    for (int i = 0; i < 500; ++i) {
      std::vector<double> x = RandomOperands(rule.op, random);
      if (Chooses(rule.op)) x[0] = static_cast<double>(random.Below(2));
      // Small integers, equal ones among them.
      if (Compares(rule.op)) {
        for (double& each : x) each = static_cast<double>(random.Between(1, 12));
      }
      double exact = ExactValue(rule.op, x);
      double narrow = std::abs(rule.value(x[0], x[1], x[2], 1e-3) - exact);
      double wide = std::abs(rule.value(x[0], x[1], x[2], 0.1) - exact);
      double scale = Compares(rule.op) ? 1 : std::abs(exact);
      INFO(rule.name << " of " << x[0] << ", " << x[1] << ", " << x[2]);
      REQUIRE(narrow <= 1e-3 * scale);
      REQUIRE(narrow <= wide + 1e-12 * scale);
    }
  }
}

TEST_CASE("twins of quotients are the quotient, its mean floor and mean remainder",
          "[autodiff_features][smooth]") {
  auto near = [](double value) { return Approx(value).epsilon(1e-3); };
  CHECK(SmoothOp<FormulaOp::kCeilDiv>::Value(192, 64, 0, 1e-3) == near(3));
  CHECK(SmoothOp<FormulaOp::kCeilDiv>::Value(197, 64, 0, 1e-3) == near(197.0 / 64));
  CHECK(SmoothOp<FormulaOp::kCeilDiv>::Value(5, 64, 0, 1e-3) == near(1));
  // Over all remainders of 8.
  double quotients = 0, remainders = 0;
  for (int a = 80; a < 88; ++a) {
    quotients += SmoothOp<FormulaOp::kFloorDiv>::Value(a, 8, 0, 1e-3) / 8;
    remainders += SmoothOp<FormulaOp::kFloorMod>::Value(a, 8, 0, 1e-3) / 8;
  }
  CHECK(quotients == near(10));
  CHECK(remainders == near(3.5));
  CHECK(SmoothOp<FormulaOp::kFloorMod>::Value(3, 64, 0, 1e-3) == Approx(3).margin(0.1));
  Random random(10);
  for (int i = 0; i < 1000; ++i) {
    double b = RandomCount(random), a = RandomCount(random);
    double div = SmoothOp<FormulaOp::kFloorDiv>::Value(a, b, 0, 0.1);
    double mod = SmoothOp<FormulaOp::kFloorMod>::Value(a, b, 0, 0.1);
    CHECK(std::abs(div * b + mod - a) <= 1e-12 * (a + b));
  }
}

TEST_CASE("the minimum of very different values keeps its digits", "[autodiff_features][smooth]") {
  using Min = SmoothOp<FormulaOp::kMin>;
  using Max = SmoothOp<FormulaOp::kMax>;
  for (double large : {1e3, 1e9, 1e15}) {
    // 1 - w^2 / 4 + O(1 / large).
    double value = Min::Value(1, large, 0, 0.5);
    CHECK(value == Approx(1 - 0.0625).epsilon(1.0 / large + 1e-15));
    // It falls to its limit as 1 / large, and so does its slope by ln large.
    CHECK(std::abs(Min::Slopes(1, large, 0, value, 0.5).b * large) <= 1.0 / large);
    CHECK(Min::Slopes(1, large, 0, value, 0.5).a == Approx(1 - 0.0625).epsilon(1e-3));
    CHECK(Max::Value(1, large, 0, 0.5) >= large);
  }
  CHECK(Max::Value(64, 64, 0, 0.1) == Approx(67.2));
  CHECK(Min::Value(64, 64, 0, 0.1) == Approx(60.8));
  // The same in any unit: seconds, too.
  CHECK(Max::Value(2e-9, 3e-9, 0, 0.5) == Approx(1e-9 * Max::Value(2, 3, 0, 0.5)).epsilon(1e-12));
}

TEST_CASE("steps lie half a unit beside equal integers", "[autodiff_features][smooth]") {
  CHECK(SmoothOp<FormulaOp::kLt>::Value(1, 1, 0, 0.1) == Approx(0.02).margin(0.005));
  CHECK(SmoothOp<FormulaOp::kLt>::Value(1, 2, 0, 0.1) == Approx(0.96).margin(0.02));
  CHECK(SmoothOp<FormulaOp::kLe>::Value(1, 1, 0, 0.1) == Approx(0.98).margin(0.005));
  CHECK(SmoothOp<FormulaOp::kEq>::Value(1, 1, 0, 0.1) > 0.9);
  CHECK(SmoothOp<FormulaOp::kNe>::Value(1, 3, 0, 0.1) > 0.9);
  // A footprint of half the cache.
  CHECK(SmoothOp<FormulaOp::kLe>::Value(16384, 32768, 0, 0.1) == Approx(0.994).margin(0.001));
  CHECK(SmoothOp<FormulaOp::kLe>::Value(16384, 32768, 0, 0.5) == Approx(0.90).margin(0.01));
}

TEST_CASE("choices of reals go through the arms' geometric mean", "[autodiff_features][smooth]") {
  using Choice = SmoothOp<FormulaOp::kSelectReal>;
  CHECK(Choice::Value(0.5, 1e6, 1, 0.1) == Approx(1e3));
  CHECK(Choice::Value(0.5, 0, 1, 0.1) == Approx(std::sqrt(kMinCount)));
  OpSlopes at_floor = Choice::Slopes(0.5, 0, 1, std::sqrt(kMinCount), 0.1);
  CHECK(at_floor.b == 0);
  CHECK(at_floor.a < 0);
}
