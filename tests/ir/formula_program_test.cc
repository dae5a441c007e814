#include "ir/analysis/formula_program.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "ir/analysis/batch_evaluator.h"
#include "ir/text/printer.h"
#include "tests/fuzz/random/random_scalar.h"

using namespace tcc;

namespace {

Expr Real(double value) {
  return FloatConst(kFloat64, value);
}
Expr Real(const Expr& integer) {
  return CastTo(kFloat64, integer);
}

// Random f64 formulas over integers, some of which are not defined at every point, and two reals.
class RealGenerator {
 public:
  explicit RealGenerator(Random& random) : random_(random), integers_(random) {}

  Expr Formula(int depth) {
    if (depth == 0) return Leaf();
    switch (random_.Below(11)) {
      case 0:
        return Formula(depth - 1) + Formula(depth - 1);
      case 1:
        return Formula(depth - 1) - Formula(depth - 1);
      case 2:
        return Formula(depth - 1) * Formula(depth - 1);
      case 3:
        return Make<Div>(Formula(depth - 1), MaxOf(Formula(depth - 1), Real(0.5)));
      case 4:
        return MinOf(Formula(depth - 1), Formula(depth - 1));
      case 5:
        return MaxOf(Formula(depth - 1), Formula(depth - 1));
      case 6:
      case 7:
        return SelectOf(Condition(), Formula(depth - 1), Formula(depth - 1));
      case 8:
        return CallOf(random_.OneIn(2) ? ScalarOp::kExp : ScalarOp::kSqrt, {Formula(depth - 1)});
      case 9:
        return CallOf(random_.OneIn(2) ? ScalarOp::kLog : ScalarOp::kLog1p, {Formula(depth - 1)});
      default:
        return Leaf();
    }
  }

  std::vector<Var> Vars() const {
    std::vector<Var> vars = integers_.loops();
    vars.insert(vars.end(), integers_.tiles().begin(), integers_.tiles().end());
    vars.insert(vars.end(), {x_, y_});
    return vars;
  }

  ScalarAssignment Point() {
    ScalarAssignment point = integers_.Point();
    for (const Var& real : {x_, y_}) point[real] = {0, random_.Normal() * 10};
    return point;
  }

  const Bounds& bounds() const { return integers_.bounds(); }

 private:
  Expr Integer() {
    Expr index = integers_.ScheduleIndex(2);
    return random_.OneIn(6) ? FloorDivide(index, integers_.ScheduleIndex(1)) : index;
  }

  // Never NaN, but where an integer below it is not defined.
  Expr Leaf() {
    if (random_.OneIn(4)) return Real(random_.Normal());
    if (random_.OneIn(3)) return random_.OneIn(2) ? x_ : y_;
    return Real(Integer());
  }

  Expr Condition() {
    switch (random_.Below(4)) {
      case 0:
        return Leaf() < Leaf();
      case 1:
        return BothOf(Integer() <= Integer(), Leaf() <= Leaf());
      case 2:
        return EitherOf(Make<Eq>(Integer(), Integer()), Leaf() < Leaf());
      default:
        return Integer() < Integer();
    }
  }

  Random& random_;
  ScalarGenerator integers_;
  Var x_ = IterationVar("x", kFloat64), y_ = IterationVar("y", kFloat64);
};

struct Tally {
  int64_t numbers = 0, nans = 0, undefined = 0;
};

// A formula's values against plain recursion, point by point.
void CheckFormula(uint64_t seed, Tally& tally) {
  Random random(seed);
  RealGenerator generator(random);
  std::vector<Var> vars = generator.Vars();
  Expr formula = generator.Formula(static_cast<int>(random.Between(1, 5)));
  StatusOr<BatchEvaluator> batch = BatchEvaluator::Compile({&formula, 1}, vars, generator.bounds());
  REQUIRE(batch.ok());

  constexpr size_t kPoints = 70;  // more than a block
  PointTable points(vars.size(), kPoints);
  std::vector<ScalarAssignment> assignments;
  for (size_t p = 0; p < kPoints; ++p) {
    assignments.push_back(generator.Point());
    for (size_t v = 0; v < vars.size(); ++v) {
      const ScalarValue& value = assignments[p].at(vars[v]);
      bool real = vars[v].dtype() == kFloat64;
      points.at(v, p) = real ? value.real : static_cast<double>(value.integer);
    }
  }
  PointTable got = batch->Evaluate(points);
  for (size_t p = 0; p < kPoints; ++p) {
    std::optional<ScalarValue> want = Evaluate(formula, assignments[p]);
    bool is_nan = !want || std::isnan(want->real);
    ++(!want ? tally.undefined : is_nan ? tally.nans : tally.numbers);
    double value = got.at(0, p);
    if (is_nan ? !std::isnan(value) : value != want->real) {
      FAIL("seed " << seed << ": " << Print(formula) << " is "
                   << (want ? std::to_string(want->real) : "undefined") << ", the batch says "
                   << value);
    }
  }
}

FormulaProgram Compiled(const std::vector<Expr>& exprs, const std::vector<Var>& vars) {
  StatusOr<FormulaProgram> program = CompileFormulas(exprs, vars);
  REQUIRE(program.ok());
  return *std::move(program);
}

// The value of each result, which must be a constant.
std::vector<double> Folded(const std::vector<Expr>& exprs) {
  FormulaProgram program = Compiled(exprs, {});
  CHECK(program.instructions.empty());
  std::vector<double> values;
  for (uint32_t id : program.results) values.push_back(program.constants.at(id));
  return values;
}

double ValueAt(const Expr& expr, const std::vector<Var>& vars, const std::vector<double>& point) {
  BatchEvaluator batch(Compiled({expr}, vars));
  PointTable points(vars.size(), 1);
  for (size_t v = 0; v < vars.size(); ++v) points.at(v, 0) = point[v];
  return batch.Evaluate(points).at(0, 0);
}

}  // namespace

TEST_CASE("random formulas of reals agree with plain evaluation", "[ir][formulas][fuzz]") {
  Tally tally;
  for (uint64_t seed = 1; seed <= 1500; ++seed) CheckFormula(seed, tally);
  CHECK(tally.numbers > 40'000);
  CHECK(tally.nans > 500);
  CHECK(tally.undefined > 500);
}

TEST_CASE("formulas of constants are folded", "[ir][formulas]") {
  CHECK(Folded({MinOf(Expr(64), Expr(64)), CeilDivide(Expr(197), Expr(64)),
                FloorModulo(Expr(-1), Expr(8)), Expr(3) < Expr(4)}) ==
        std::vector<double>{64, 4, 7, 1});
  CHECK(Folded({Make<Div>(Real(Expr(1)), Real(4)), CallOf(ScalarOp::kExp, {Real(1)}),
                CallOf(ScalarOp::kLog1p, {Real(0.5)}), CallOf(ScalarOp::kSqrt, {Real(2)}),
                CallOf(ScalarOp::kLog, {Real(Expr(10))}), MaxOf(Real(0.5), Real(2.5))}) ==
        std::vector<double>{0.25, std::exp(1.0), std::log1p(0.5), std::sqrt(2.0), std::log(10.0),
                            2.5});
}

TEST_CASE("a choice with a constant condition is its arm", "[ir][formulas]") {
  Var i = TileVar("i", 1, 64), p = IterationVar("p", kBool);
  std::vector<Expr> exprs = {
      SelectOf(Expr(1) < Expr(2), i, i * i), SelectOf(Expr(2) < Expr(1), Real(i * i), Real(7)),
      BothOf(Expr(1) < Expr(2), p),          BothOf(Expr(2) < Expr(1), p),
      EitherOf(Expr(2) < Expr(1), p),        EitherOf(Expr(1) < Expr(2), p)};
  FormulaProgram program = Compiled(exprs, {i, p});
  CHECK(program.instructions.empty());
  BatchEvaluator batch(program);
  CHECK(batch.EvaluateAt(std::vector<int64_t>{5, 0}) == std::vector<double>{5, 7, 0, 0, 0, 1});
  CHECK(batch.EvaluateAt(std::vector<int64_t>{5, 1}) == std::vector<double>{5, 7, 1, 0, 1, 1});
}

TEST_CASE("the smaller of equal values is that value", "[ir][formulas]") {
  Var i = TileVar("i", 1, 64);
  FormulaProgram program = Compiled({MinOf(i * Expr(2), i * Expr(2)), MaxOf(i, i)}, {i});
  CHECK(program.instructions.size() == 1);
}

TEST_CASE("undefined integers are NaN in all that is made of them", "[ir][formulas]") {
  Var i = TileVar("i", 0, 64);
  Expr constant = FloorDivide(Expr(5), Expr(0));
  Expr variable = FloorDivide(Expr(5), i);
  CHECK(std::isnan(Folded({constant})[0]));
  for (const Expr& undefined : {constant, variable}) {
    Expr real = Real(undefined);
    for (const Expr& expr :
         {real * Real(0), MinOf(real, Real(1)), MinOf(Real(1), real), MaxOf(real, Real(1)),
          MaxOf(Real(1), real), SelectOf(real < Real(1), Real(1), Real(2)),
          SelectOf(undefined < Expr(1), Real(1), Real(2)), Real(Make<Ne>(real, Real(1))),
          Real(CastTo(kBool, real)), CallOf(ScalarOp::kSqrt, {real})}) {
      INFO(Print(expr));
      CHECK(std::isnan(ValueAt(expr, {i}, {0})));
      CHECK((undefined.same_as(constant) || !std::isnan(ValueAt(expr, {i}, {2}))));
    }
    CHECK(ValueAt(SelectOf(i <= Expr(0), Real(7), real), {i}, {0}) == 7);
  }
}

TEST_CASE("reals beyond 2^52 are not checked, integers are", "[ir][formulas]") {
  Var i = TileVar("i", 1, int64_t{1} << 40);
  FormulaProgram program = Compiled({i * i, Real(i) * Real(i)}, {i});
  REQUIRE(program.instructions.size() == 2);
  CHECK(program.instructions[0].checked);
  CHECK_FALSE(program.instructions[1].checked);
  std::vector<double> values =
      BatchEvaluator(program).EvaluateAt(std::vector<int64_t>{int64_t{1} << 30});
  CHECK(std::isnan(values[0]));
  CHECK(values[1] == std::ldexp(1.0, 60));
  CHECK(Folded({Real(1e18) * Real(10)})[0] == 1e19);
}

TEST_CASE("an integer product and the same of reals are one where it stays small",
          "[ir][formulas]") {
  Var i = TileVar("i", 1, 64), j = TileVar("j", 1, 64);
  FormulaProgram program =
      Compiled({Real(i) * Real(j), CeilDivide(j * i, Expr(8)), Real(j * i) + Real(1)}, {i, j});
  CHECK(program.instructions.size() == 3);
  CHECK(program.results[0] == program.instructions[1].a);
  for (const FormulaProgram::Instruction& step : program.instructions) CHECK_FALSE(step.checked);
}

TEST_CASE("choices of reals are told from those of integers", "[ir][formulas]") {
  Var i = TileVar("i", 1, 64), x = IterationVar("x", kFloat64);
  FormulaProgram program = Compiled(
      {SelectOf(i < Expr(4), i, Expr(4)), SelectOf(i < Expr(4), x, Real(4)), Make<Div>(x, x)},
      {i, x});
  REQUIRE(program.instructions.size() == 4);
  CHECK(program.instructions[1].op == FormulaOp::kSelect);
  CHECK(program.instructions[2].op == FormulaOp::kSelectReal);
  CHECK(program.instructions[3].op == FormulaOp::kDiv);
}

TEST_CASE("formulas refuse what has no instruction", "[ir][formulas]") {
  Var x = IterationVar("x", kFloat64);
  std::vector<Var> vars = {x};
  auto message = [&](const Expr& expr) {
    return Message(CompileFormulas({&expr, 1}, vars).status());
  };
  CHECK(message(CastTo(kInt64, x)) == "batch evaluation: a cast of f64 to i64");
  CHECK(message(CallOf(ScalarOp::kTanh, {x})) == "batch evaluation: a call of tanh");
  CHECK(message(FloatConst(kFloat32, 1)) == "batch evaluation: a value of type f32");
}
