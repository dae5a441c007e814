#include "autodiff_features/tape/tape.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "ir/text/printer.h"
#include "tests/fuzz/random/random_scalar.h"

using namespace tcc;

namespace {

Expr Real(const Expr& integer) {
  return CastTo(kFloat64, integer);
}
Expr Real(double value) {
  return FloatConst(kFloat64, value);
}

// Random formulas of counts as features have them: integers below casts, then f64.
class CountGenerator {
 public:
  explicit CountGenerator(Random& random) : random_(random), integers_(random) {
    vars_ = integers_.loops();
    vars_.insert(vars_.end(), integers_.tiles().begin(), integers_.tiles().end());
    vars_.push_back(rate_);
  }

  // Always positive.
  Expr Formula(int depth) {
    if (depth == 0) return random_.OneIn(4) ? Expr(rate_) : Count();
    Expr a = Formula(depth - 1);
    switch (random_.Below(8)) {
      case 0:
        return a + Formula(depth - 1);
      case 1:
        return a * Formula(depth - 1);
      case 2:
        return Make<Div>(a, Formula(depth - 1));
      case 3:
        return MinOf(a, Formula(depth - 1));
      case 4:
        return MaxOf(a, Formula(depth - 1));
      case 5:
        return SelectOf(a <= Formula(depth - 1), Formula(depth - 1), Count());
      case 6:
        return CallOf(random_.OneIn(2) ? ScalarOp::kLog1p : ScalarOp::kSqrt, {a});
      default:
        return CallOf(ScalarOp::kExp, {Make<Div>(CallOf(ScalarOp::kLog, {a}), Real(3))});
    }
  }

  const std::vector<Var>& vars() const { return vars_; }
  const Bounds& bounds() const { return integers_.bounds(); }

  PointTable Points(size_t count) {
    PointTable points(vars_.size(), count);
    for (size_t v = 0; v < vars_.size(); ++v) {
      for (double& value : points.column(v)) value = 1 + 40 * random_.Unit();
    }
    return points;
  }

 private:
  // Any formula of schedules, made positive.
  Expr Count() {
    Expr index = random_.OneIn(4) ? SelectOf(integers_.ScheduleIndex(1) < integers_.Positive(),
                                             integers_.ScheduleIndex(1), integers_.Positive())
                                  : integers_.ScheduleIndex(2);
    return Real(MaxOf(index, integers_.Positive())) + Real(1);
  }

  Random& random_;
  ScalarGenerator integers_;
  Var rate_ = IterationVar("rate", kFloat64);
  std::vector<Var> vars_;
};

Tape TapeOf(const std::vector<Expr>& exprs, const std::vector<Var>& vars,
            const Bounds& bounds = {}) {
  StatusOr<FormulaProgram> program = CompileFormulas(exprs, vars, bounds);
  REQUIRE(program.ok());
  return Tape(*std::move(program));
}

PointTable Ones(size_t columns, size_t points) {
  PointTable table(columns, points);
  for (size_t c = 0; c < columns; ++c) {
    for (double& cell : table.column(c)) cell = 1;
  }
  return table;
}

// The values of a tape's only result where variable v of each point is multiplied by 1 + by.
PointTable Moved(const Tape& tape, PointTable points, size_t v, double by, double width) {
  for (double& value : points.column(v)) value *= 1 + by;
  return tape.Smooth(points, width);
}

// d result / d ln variable at each point by differences of fourth order.
std::vector<double> Differences(const Tape& tape, const PointTable& points, size_t v,
                                double width) {
  constexpr double kStep = 1e-6;
  PointTable up = Moved(tape, points, v, kStep, width);
  PointTable down = Moved(tape, points, v, -kStep, width);
  PointTable far_up = Moved(tape, points, v, 2 * kStep, width);
  PointTable far_down = Moved(tape, points, v, -2 * kStep, width);
  std::vector<double> slopes;
  for (size_t p = 0; p < points.points(); ++p) {
    double near = up.at(0, p) - down.at(0, p), far = far_up.at(0, p) - far_down.at(0, p);
    slopes.push_back((8 * near - far) / (12 * kStep));
  }
  return slopes;
}

void CheckGradient(uint64_t seed, double width) {
  Random random(seed);
  CountGenerator generator(random);
  Expr formula = generator.Formula(static_cast<int>(random.Between(1, 3)));
  Tape tape = TapeOf({formula}, generator.vars(), generator.bounds());
  constexpr size_t kPoints = 35;  // more than a block
  PointTable points = generator.Points(kPoints);
  Tape::Slopes got = tape.Gradient(points, width, Ones(1, kPoints));
  for (size_t v = 0; v < points.columns(); ++v) {
    std::vector<double> want = Differences(tape, points, v, width);
    for (size_t p = 0; p < kPoints; ++p) {
      double slope = got.gradient.at(v, p) * points.at(v, p);
      double scale = std::abs(got.values.at(0, p)) + std::abs(want[p]);
      if (!(std::abs(slope - want[p]) <= 1e-4 * scale)) {
        FAIL("seed " << seed << ", width " << width << ": d/d ln " << generator.vars()[v]->name
                     << " of " << Print(formula) << " is " << slope << ", differences say "
                     << want[p] << ", the value is " << got.values.at(0, p));
      }
    }
  }
}

bool SameTables(const PointTable& a, const PointTable& b) {
  if (a.columns() != b.columns() || a.points() != b.points()) return false;
  for (size_t c = 0; c < a.columns(); ++c) {
    if (!std::equal(a.column(c).begin(), a.column(c).end(), b.column(c).begin())) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("gradients of random formulas agree with differences",
          "[autodiff_features][tape][fuzz]") {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    for (double width : {0.5, 0.1}) CheckGradient(seed, width);
  }
}

TEST_CASE("a product and a quotient have their textbook gradient", "[autodiff_features][tape]") {
  Var x = IterationVar("x", kFloat64), y = IterationVar("y", kFloat64);
  Tape tape = TapeOf({Make<Div>(x * x, y)}, {x, y});
  PointTable points(2, 1);
  points.at(0, 0) = 3, points.at(1, 0) = 4;
  for (double width : {0.5, 0.0}) {
    Tape::Slopes got = tape.Gradient(points, width, Ones(1, 1));
    CHECK(got.values.at(0, 0) == 9.0 / 4);
    CHECK(got.gradient.at(0, 0) == Approx(6.0 / 4));
    CHECK(got.gradient.at(1, 0) == Approx(-9.0 / 16));
  }
}

TEST_CASE("exact values of a tape are those of the batch evaluator", "[autodiff_features][tape]") {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    CountGenerator generator(random);
    std::vector<Expr> exprs = {generator.Formula(3), generator.Formula(2)};
    Tape tape = TapeOf(exprs, generator.vars(), generator.bounds());
    StatusOr<BatchEvaluator> batch =
        BatchEvaluator::Compile(exprs, generator.vars(), generator.bounds());
    REQUIRE(batch.ok());
    PointTable points = generator.Points(70);
    for (size_t v = 0; v + 1 < points.columns(); ++v) {
      for (double& value : points.column(v)) value = std::floor(value);
    }
    CHECK(SameTables(tape.Exact(points), batch->Evaluate(points)));
    CHECK(SameTables(tape.Smooth(points, 0), batch->Evaluate(points)));
  }
}

TEST_CASE("seeds of several results sum up", "[autodiff_features][tape]") {
  Random random(11);
  CountGenerator generator(random);
  // The last one is a variable, and the first comes twice.
  Expr first = generator.Formula(3);
  std::vector<Expr> exprs = {first, generator.Formula(3), first, generator.vars().back()};
  Tape tape = TapeOf(exprs, generator.vars(), generator.bounds());
  PointTable points = generator.Points(40);
  PointTable all(exprs.size(), 40), sum(points.columns(), 40);
  for (size_t r = 0; r < exprs.size(); ++r) {
    PointTable one(exprs.size(), 40);
    for (size_t p = 0; p < 40; ++p) one.at(r, p) = all.at(r, p) = random.Normal();
    Tape::Slopes slopes = tape.Gradient(points, 0.2, one);
    for (size_t v = 0; v < points.columns(); ++v) {
      for (size_t p = 0; p < 40; ++p) sum.at(v, p) += slopes.gradient.at(v, p);
    }
  }
  Tape::Slopes together = tape.Gradient(points, 0.2, all);
  for (size_t v = 0; v < points.columns(); ++v) {
    for (size_t p = 0; p < 40; ++p) {
      CHECK(together.gradient.at(v, p) == Approx(sum.at(v, p)).epsilon(1e-9).margin(1e-9));
    }
  }
  CHECK(SameTables(together.values, tape.Smooth(points, 0.2)));
}

TEST_CASE("a point's values do not depend on its block", "[autodiff_features][tape]") {
  Random random(12);
  CountGenerator generator(random);
  Tape tape =
      TapeOf({generator.Formula(3), generator.Formula(3)}, generator.vars(), generator.bounds());
  for (size_t count : {1, 31, 32, 33, 64, 65}) {
    PointTable points = generator.Points(count);
    PointTable values = tape.Smooth(points, 0.3);
    Tape::Slopes slopes = tape.Gradient(points, 0.3, Ones(2, count));
    REQUIRE((values.points() == count && slopes.gradient.points() == count));
    for (size_t p = 0; p < count; ++p) {
      PointTable alone(points.columns(), 1);
      for (size_t v = 0; v < points.columns(); ++v) alone.at(v, 0) = points.at(v, p);
      Tape::Slopes one = tape.Gradient(alone, 0.3, Ones(2, 1));
      for (size_t r = 0; r < 2; ++r) CHECK(one.values.at(r, 0) == values.at(r, p));
      for (size_t v = 0; v < points.columns(); ++v) {
        CHECK(one.gradient.at(v, 0) == slopes.gradient.at(v, p));
      }
    }
  }
  CHECK(tape.Smooth(generator.Points(0), 0.3).points() == 0);
}

TEST_CASE("at width 0 values are exact and comparisons have no slope",
          "[autodiff_features][tape]") {
  Var i = TileVar("i", 1, 64), rate = IterationVar("rate", kFloat64);
  Expr fits = Real(i) <= rate;
  Tape tape = TapeOf({SelectOf(fits, Real(i) * Real(10), rate), MaxOf(Real(i), rate)}, {i, rate});
  PointTable points(2, 2);
  points.at(0, 0) = 8, points.at(1, 0) = 16;
  points.at(0, 1) = 32, points.at(1, 1) = 16;
  PointTable seeds(2, 2);
  for (double& seed : seeds.column(0)) seed = 1;
  Tape::Slopes choice = tape.Gradient(points, 0, seeds);
  CHECK(SameTables(choice.values, tape.Exact(points)));
  CHECK(choice.gradient.at(0, 0) == 10);
  CHECK(choice.gradient.at(1, 0) == 0);
  CHECK(choice.gradient.at(0, 1) == 0);
  CHECK(choice.gradient.at(1, 1) == 1);
  PointTable other(2, 2);
  for (double& seed : other.column(1)) seed = 1;
  Tape::Slopes larger = tape.Gradient(points, 0, other);
  CHECK(larger.gradient.at(0, 0) == 0);
  CHECK(larger.gradient.at(1, 0) == 1);
  CHECK(larger.gradient.at(0, 1) == 1);
  CHECK(larger.gradient.at(1, 1) == 0);
}

TEST_CASE("an arm that is not picked leaves the gradient alone", "[autodiff_features][tape]") {
  Var x = IterationVar("x", kFloat64);
  Expr inverse = Make<Div>(Real(1), x);
  Tape tape = TapeOf({SelectOf(x <= Real(0), Real(5), inverse)}, {x});
  PointTable points(1, 2);
  points.at(0, 0) = 0, points.at(0, 1) = 2;
  Tape::Slopes got = tape.Gradient(points, 0, Ones(1, 2));
  CHECK(got.values.at(0, 0) == 5);
  CHECK(got.gradient.at(0, 0) == 0);
  CHECK(got.gradient.at(0, 1) == -0.25);
}

TEST_CASE("narrow values of a tape go to the exact ones", "[autodiff_features][tape]") {
  Var i = TileVar("i", 1, 64), j = TileVar("j", 1, 64);
  std::vector<Expr> exprs = {
      Real(MinOf(i * Expr(3), j)) * Real(MaxOf(i, Expr(7))),
      SelectOf(i * j <= Expr(20), Real(i * j) + Real(1), Real(j) * Real(1000))};
  Tape tape = TapeOf(exprs, {i, j});
  PointTable points(2, 6);
  constexpr double kPoints[6][2] = {{3, 9}, {4, 5}, {7, 3}, {2, 1}, {12, 2}, {1, 1}};
  for (size_t p = 0; p < 6; ++p) points.at(0, p) = kPoints[p][0], points.at(1, p) = kPoints[p][1];
  PointTable exact = tape.Exact(points);
  double last = 1e9;
  for (double width : {0.1, 1e-2, 1e-3, 1e-4}) {
    PointTable smooth = tape.Smooth(points, width);
    double worst = 0;
    for (size_t r = 0; r < 2; ++r) {
      for (size_t p = 0; p < 6; ++p) {
        worst = std::max(worst, std::abs(smooth.at(r, p) / exact.at(r, p) - 1));
      }
    }
    CHECK(worst < last);
    last = worst;
  }
  CHECK(last < 1e-3);
}

TEST_CASE("formulas are finite for sizes up to ten million", "[autodiff_features][tape]") {
  Random random(13);
  for (int i = 0; i < 100; ++i) {
    CountGenerator generator(random);
    Tape tape = TapeOf({generator.Formula(3)}, generator.vars(), generator.bounds());
    PointTable points(generator.vars().size(), 50);
    for (size_t v = 0; v < points.columns(); ++v) {
      for (double& value : points.column(v)) value = std::exp(random.Unit() * std::log(1e7));
    }
    Tape::Slopes got = tape.Gradient(points, 0.1, Ones(1, 50));
    for (size_t p = 0; p < 50; ++p) {
      REQUIRE(std::isfinite(got.values.at(0, p)));
      for (size_t v = 0; v < points.columns(); ++v) {
        REQUIRE(std::isfinite(got.gradient.at(v, p)));
      }
    }
  }
}
