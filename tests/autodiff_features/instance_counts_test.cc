#include "autodiff_features/counts/instance_counts.h"

#include <catch2/catch.hpp>

#include "ir/expr/evaluate.h"
#include "ir/text/parser.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/space.h"
#include "tests/programs/counted_runs.h"
#include "tests/programs/product_function.h"
#include "tests/programs/spike_programs.h"

namespace tcc {
namespace {

constexpr int64_t kMaxIterations = 200'000;
constexpr size_t kPoints = 20;

struct Tally {
  int64_t exact = 0;  // sites at points
  int64_t bounded = 0;
};

ScalarAssignment ValuesAt(const SymbolicProgram& program, const Point& point) {
  ScalarAssignment values;
  for (size_t s = 0; s < point.size(); ++s) {
    values[program.trace.sizes[s].var] = {.integer = point[s]};
  }
  return values;
}

double ValueOf(const Expr& formula, const ScalarAssignment& values) {
  std::optional<ScalarValue> value = Evaluate(formula, values);
  REQUIRE(value);
  return value->real;
}

// Every number of a site, in a fixed order.
std::vector<double> NumbersOf(const InstanceCounts& counts, const ScalarAssignment& values) {
  std::vector<double> numbers;
  for (const Expr& formula :
       {counts.issued, counts.useful, counts.bodies, counts.dead, counts.entries, counts.trip,
        counts.pieces, counts.piece, counts.lanes, counts.copies, counts.chain, counts.lane_use,
        counts.row_use}) {
    numbers.push_back(ValueOf(formula, values));
  }
  for (const Expr& starts : counts.starts) numbers.push_back(ValueOf(starts, values));
  numbers.push_back(counts.accumulates ? 1 : 0);
  return numbers;
}

std::vector<Site> AllSites(const Function& fn) {
  std::vector<Site> sites;
  for (const NestSites& nest : SitesOf(fn)) {
    sites.insert(sites.end(), nest.sites.begin(), nest.sites.end());
  }
  return sites;
}

// Equal to what was counted where the site is exact, never below elsewhere.
void CompareSite(const Site& site, const CountedRuns& truth, const ScalarAssignment& values,
                 Tally& tally) {
  InstanceCounts counts = CountsOf(site);
  auto compare = [&](const char* name, const Expr& formula, int64_t counted) {
    INFO(name);
    auto expected = static_cast<double>(counted);
    double value = ValueOf(formula, values);
    CHECK(value >= expected);
    if (site.exact) CHECK(value == expected);
  };
  CHECK(ValueOf(counts.issued, values) == static_cast<double>(truth.issued));
  CHECK(ValueOf(counts.piece, values) >= static_cast<double>(truth.piece));
  compare("useful", counts.useful, truth.useful);
  compare("bodies", counts.bodies, truth.bodies);
  if (truth.useful > 0) {
    REQUIRE(counts.starts.size() == truth.starts.size());
    for (size_t j = 0; j < truth.starts.size(); ++j) {
      compare("starts", counts.starts[j], truth.starts[j]);
    }
  }
  ++(site.exact ? tally.exact : tally.bounded);
}

// Returns whether the point was small enough to be compared.
bool ComparePoint(const SymbolicProgram& program, const std::vector<Site>& sites,
                  const SearchSpace& space, const Point& point, Tally& tally) {
  Function known = Substitute(program.fn, ToSubstitution(program.fn, space.ToDecisions(point)));
  std::optional<std::map<std::string, CountedRuns>> runs = CountRuns(known, kMaxIterations);
  if (!runs) return false;
  ScalarAssignment values = ValuesAt(program, point);
  for (const Site& site : sites) {
    INFO(site.block->name << " of\n" << Print(program.trace));
    for (const auto& [name, value] : space.ToDecisions(point)) UNSCOPED_INFO(name << "=" << value);
    CompareSite(site, runs->at(site.block->name), values, tally);
  }
  return true;
}

// Every sketch of the function at random points; most of each are compared.
void CompareSketches(const Function& fn, const Target& target, Tally& tally) {
  Random random(5);
  for (const Sketch& sketch : GenerateSketches(fn, target)) {
    SymbolicProgram program = ProgramOf(fn, target, sketch);
    SearchSpace space = SearchSpace::Create(program).value();
    std::vector<Site> sites = AllSites(program.fn);
    std::vector<Point> points = space.Sample(kPoints, random);
    points.push_back(space.ToPoint(sketch.start));
    size_t compared = 0;
    for (const Point& point : points) {
      compared += ComparePoint(program, sites, space, point, tally) ? 1 : 0;
    }
    INFO("sketch " << sketch.name << " of " << fn.name << " for " << target.name);
    CHECK(points.size() > kPoints / 2);
    CHECK(compared * 4 > points.size() * 3);
  }
}

// Mean and squares of rows, then the rows scaled, as layer norm is lowered.
Function LayerNorm(int64_t rows, int64_t columns) {
  return ParseFunction(fmt::format(R"(
    fn norm(X: f32[{m}, {n}], G: f32[{n}], Y: f32[{m}, {n}]) tensor {{
      alloc s: f32[{m}]
      alloc q: f32[{m}]
      for i in 0..{m} @sum/i {{ for t in 0..{n} @sum/t {{
        block sum(i: spatial {m} = i, t: reduce {n} = t) {{
          reduce sum_f32 init (s[i]) with (X[i, t]) }} }} }}
      for i in 0..{m} @square/i {{ for t in 0..{n} @square/t {{
        block square(i: spatial {m} = i, t: reduce {n} = t) {{
          reduce sum_f32 init (q[i])
              with ((X[i, t] - s[i] * 0.125) * (X[i, t] - s[i] * 0.125)) }} }} }}
      for i in 0..{m} @out/i {{ for j in 0..{n} @out/j {{
        block out(i: spatial {m} = i, j: spatial {n} = j) {{
          Y[i, j] = (X[i, j] - s[i] * 0.125) / sqrt(q[i] * 0.125 + 0.5) * G[j] }} }} }}
    }})",
                                   fmt::arg("m", rows), fmt::arg("n", columns)))
      .value();
}

std::vector<Function> SmallFunctions() {
  return {
      MatmulFunction(7, 11, 5),
      MatmulFunction(20, 33, 6),
      ProductFunction({.rows = 13, .columns = 37, .depth = 9, .type = "f32", .constant = true}),
      ConvFunction({}),
      ConvFunction({.height = 5, .width = 6, .channels = 3, .filters = 17, .stride = 1}),
      SoftmaxFunction(5, 37),
      SoftmaxByBlocks(6, 29),
      LayerNorm(5, 43),
      AttentionFunction({}),
      TwoReadersFunction(23),
  };
}

}  // namespace

TEST_CASE("Counts of instances and runs are those of the loops, in every CPU sketch",
          "[autodiff_features]") {
  Tally tally;
  for (const char* name : {"x86-64-v3", "x86-64-v4"}) {
    for (const Function& fn : SmallFunctions())
      CompareSketches(fn, FindTarget(name).value(), tally);
  }
  CHECK(tally.exact > 2000);
  CHECK(tally.exact > 5 * tally.bounded);
}

TEST_CASE("Counts at known sizes are those of the formulas at the point", "[autodiff_features]") {
  Random random(3);
  for (const char* name : {"x86-64-v3", "x86-64-v4"}) {
    for (const Function& fn : SmallFunctions()) {
      Target target = FindTarget(name).value();
      for (const Sketch& sketch : GenerateSketches(fn, target)) {
        SymbolicProgram free = ProgramOf(fn, target, sketch);
        SearchSpace space = SearchSpace::Create(free).value();
        std::vector<Site> of_free = AllSites(free.fn);
        for (const Point& point : space.Sample(5, random)) {
          SymbolicProgram known = Instantiate(fn, sketch.trace, space.ToDecisions(point)).value();
          std::vector<Site> of_known = AllSites(known.fn);
          REQUIRE(of_known.size() == of_free.size());
          for (size_t s = 0; s < of_free.size(); ++s) {
            INFO(of_free[s].block->name << " of\n" << Print(free.trace));
            std::vector<double> known_numbers = NumbersOf(CountsOf(of_known[s]), {});
            std::vector<double> free_numbers =
                NumbersOf(CountsOf(of_free[s]), ValuesAt(free, point));
            // More is provable at known sizes, where formulas are bounds.
            if (of_free[s].exact) {
              CHECK(known_numbers == free_numbers);
            } else {
              CHECK(known_numbers[1] <= free_numbers[1]);
              CHECK(known_numbers[2] <= free_numbers[2]);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("Starts are counted where an outer loop has the smaller stride", "[autodiff_features]") {
  // 5 rows: b/i.1 runs over 0..4 outside, each with a first row that exists.
  Function fn = ParseFunction(R"(
    fn f(A: f32[5], B: f32[5]) tensor {
      for i in 0..5 @b/i { block b(i: spatial 5 = i) { B[i] = A[i] } } })")
                    .value();
  Trace trace = ParseTrace("split b/i [4]\nreorder [b/i.1, b/i.0]").value();
  Function known = Instantiate(fn, trace).value().fn;
  CountedRuns truth = CountRuns(known, 100)->at("b");
  CHECK(truth.starts == std::vector<int64_t>{1, 4, 5});
  Tally tally;
  CompareSite(AllSites(known)[0], truth, {}, tally);
  CHECK(tally.exact == 1);
}

TEST_CASE("Tiles that all lie beyond an extent are not counted as work", "[autodiff_features]") {
  // 197 rows in tiles of 13, 15 tiles in turn: 30 tiles by extents, of which 16 run.
  Function fn = MatmulFunction(197, 8, 4);
  std::string block = BlocksOf(fn.body)[0]->name;
  std::string steps = fmt::format(
      "split {0}/i [15, 13]\nreorder [{0}/i.0, {0}/i.1, {0}/j, {0}/k, {0}/i.2]\n"
      "unroll {0}/i.2",
      block);
  StatusOr<SymbolicProgram> program = Instantiate(fn, ParseTrace(steps).value());
  REQUIRE(program.ok());
  InstanceCounts counts = CountsOf(AllSites(program->fn)[0]);
  CHECK(ValueOf(counts.bodies, {}) == 16 * 8 * 4);
  CHECK(ValueOf(counts.dead, {}) == 14 * 8 * 4);
  CHECK(ValueOf(counts.useful, {}) == 197 * 8 * 4);
  CHECK(ValueOf(counts.row_use, {}) == Approx(197.0 / (16 * 13)));
}

}  // namespace tcc
