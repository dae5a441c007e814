#include "ir/analysis/batch_evaluator.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "ir/text/printer.h"
#include "tests/fuzz/random/random_scalar.h"

using namespace tcc;

namespace {

// Returns the number of instructions whose result is checked at each point.
size_t CheckedInstructions(const BatchEvaluator& batch) {
  return static_cast<size_t>(std::ranges::count(batch.program().instructions, true,
                                                &FormulaProgram::Instruction::checked));
}

struct Tally {
  int64_t exact = 0, undefined = 0, beyond = 0, checked = 0, unchecked = 0;
};

// The batch's values against plain recursion, point by point.
void CheckSeed(uint64_t seed, Tally& tally) {
  Random random(seed);
  ScalarGenerator generator(random);
  std::vector<Expr> exprs;
  for (int i = 0; i < 6; ++i) {
    int depth = static_cast<int>(random.Between(1, 5));
    exprs.push_back(random.OneIn(3)   ? generator.ScheduleIndex(depth)
                    : random.OneIn(3) ? generator.Bool(depth)
                                      : generator.Index(depth));
  }
  std::vector<Var> vars;
  ScalarAssignment first = generator.Point();
  for (const auto& [var, value] : first) {
    if (var.dtype() == kInt64 || var.dtype() == kBool) vars.push_back(var);
  }
  std::erase_if(exprs, [&](const Expr& expr) {
    return !BatchEvaluator::Compile({&expr, 1}, vars, generator.bounds()).ok();
  });
  StatusOr<BatchEvaluator> batch = BatchEvaluator::Compile(exprs, vars, generator.bounds());
  REQUIRE(batch.ok());
  tally.checked += static_cast<int64_t>(CheckedInstructions(*batch));
  tally.unchecked += static_cast<int64_t>(batch->instructions() - CheckedInstructions(*batch));

  constexpr size_t kPoints = 70;  // more than a block
  std::vector<ScalarAssignment> assignments;
  PointTable points(vars.size(), kPoints);
  for (size_t p = 0; p < kPoints; ++p) {
    assignments.push_back(generator.Point());
    for (size_t v = 0; v < vars.size(); ++v) {
      points.at(v, p) = static_cast<double>(assignments[p].at(vars[v]).integer);
    }
  }
  PointTable got = batch->Evaluate(points);
  for (size_t e = 0; e < exprs.size(); ++e) {
    for (size_t p = 0; p < kPoints; ++p) {
      std::optional<ScalarValue> want = Evaluate(exprs[e], assignments[p]);
      double value = got.at(e, p);
      bool same = want && value == static_cast<double>(want->integer);
      ++(same ? tally.exact : want ? tally.beyond : tally.undefined);
      bool allowed = !want || CheckedInstructions(*batch) > 0;
      if (!same && !(allowed && std::isnan(value))) {
        FAIL("seed " << seed << ": " << Print(exprs[e]) << " is "
                     << (want ? std::to_string(want->integer) : "undefined") << ", the batch says "
                     << value);
      }
    }
  }
}

}  // namespace

TEST_CASE("batches of random expressions agree with plain evaluation", "[ir][batch][fuzz]") {
  Tally tally;
  for (uint64_t seed = 1; seed <= 1500; ++seed) CheckSeed(seed, tally);
  CHECK(tally.exact > 100'000);
  CHECK(tally.beyond * 1000 < tally.exact);
  CHECK(tally.unchecked > tally.checked);
}

TEST_CASE("equal parts of several expressions are computed once", "[ir][batch]") {
  Var i = TileVar("i", 1, 64), j = TileVar("j", 1, 64);
  std::vector<Expr> exprs = {i * j + Expr(1), Expr(1) + j * i, CeilDivide(i * j, Expr(32))};
  StatusOr<BatchEvaluator> batch = BatchEvaluator::Compile(exprs, std::vector<Var>{i, j});
  REQUIRE(batch.ok());
  CHECK(batch->instructions() == 3);
  CHECK(CheckedInstructions(*batch) == 0);
  std::vector<int64_t> point = {5, 7};
  CHECK(batch->EvaluateAt(point) == std::vector<double>{36, 36, 2});
}

TEST_CASE("what may exceed 2^52 is exact where it does not and NaN where it does", "[ir][batch]") {
  Var i = TileVar("i", 1, int64_t{1} << 40);
  std::vector<Expr> exprs = {FloorModulo(i * i, Expr(7)), MinOf(i * i, Expr(3))};
  StatusOr<BatchEvaluator> batch = BatchEvaluator::Compile(exprs, std::vector<Var>{i});
  REQUIRE(batch.ok());
  CHECK(CheckedInstructions(*batch) == 3);
  std::vector<int64_t> small = {(1 << 25) + 1}, large = {1 << 26};
  CHECK(batch->EvaluateAt(small) ==
        std::vector<double>{static_cast<double>((small[0] * small[0]) % 7), 3});
  CHECK(std::isnan(batch->EvaluateAt(large)[0]));
  CHECK(std::isnan(batch->EvaluateAt(large)[1]));
}

TEST_CASE("quotients are exact next to the limit", "[ir][batch]") {
  Var a = LoopVar("a"), b = LoopVar("b");
  std::vector<Expr> exprs = {FloorDivide(a, b), FloorModulo(a, b), CeilDivide(a, b)};
  StatusOr<BatchEvaluator> batch = BatchEvaluator::Compile(exprs, std::vector<Var>{a, b});
  REQUIRE(batch.ok());
  Random random(5);
  for (int i = 0; i < 20000; ++i) {
    int64_t limit = (int64_t{1} << 52) - 1;
    int64_t divisor = random.Between(1, int64_t{1} << random.Between(1, 51));
    int64_t multiple = random.Between(-limit / divisor, limit / divisor) * divisor;
    std::vector<int64_t> point = {std::max(multiple - random.Between(0, 1), -limit), divisor};
    int64_t low = point[0] / divisor - (point[0] % divisor < 0 ? 1 : 0);
    int64_t rest = point[0] - low * divisor;
    CHECK(batch->EvaluateAt(point) ==
          std::vector<double>{static_cast<double>(low), static_cast<double>(rest),
                              static_cast<double>(low + (rest > 0 ? 1 : 0))});
  }
}

TEST_CASE("a batch refuses what it cannot compute exactly", "[ir][batch]") {
  Var i = LoopVar("i"), other = LoopVar("other"), buffer = BufferVar("A", kInt64);
  std::vector<Var> vars = {i};
  auto message = [&](const Expr& expr) {
    return Message(BatchEvaluator::Compile({&expr, 1}, vars).status());
  };
  CHECK(message(i + other) ==
        "batch evaluation: variable 'other' is not among those of the points");
  CHECK(message(CastTo(kInt64, CastTo(kFloat32, i))) == "batch evaluation: a value of type f32");
  CHECK(message(Make<Load>(buffer, std::vector<Expr>{i})) == "batch evaluation: a load");
  CHECK(message(i + Expr(int64_t{1} << 60)) ==
        "batch evaluation: 1152921504606846976 is not below 2^52");
}

TEST_CASE("a batch of no points has no values", "[ir][batch]") {
  Var i = LoopVar("i");
  std::vector<Expr> exprs = {i + Expr(1), Expr(7)};
  StatusOr<BatchEvaluator> batch = BatchEvaluator::Compile(exprs, std::vector<Var>{i});
  REQUIRE(batch.ok());
  PointTable none = batch->Evaluate(PointTable(1, 0));
  CHECK(none.columns() == 2);
  CHECK(none.points() == 0);
  CHECK(none.column(1).empty());
}
