#include "autodiff_features/instance_counts.h"

#include <catch2/catch.hpp>

#include "ir/analysis/batch_evaluator.h"
#include "ir/analysis/nested_blocks.h"
#include "ir/text/parser.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/space.h"
#include "tests/programs/counted_runs.h"
#include "tests/programs/product_function.h"
#include "tests/programs/spike_programs.h"

namespace tcc {
namespace {

constexpr int64_t kMostIterations = 200'000;
constexpr size_t kPoints = 20;

struct Tally {
  int64_t exact = 0;
  int64_t bounded = 0;
  int64_t too_large = 0;
};

// issued, useful, bodies, piece of each site, at one point.
std::vector<double> FormulasAt(const std::vector<InstanceCounts>& counts,
                               const SymbolicProgram& program, const Point& point) {
  std::vector<Expr> exprs;
  for (const InstanceCounts& of_site : counts) {
    for (const Expr& expr : {of_site.issued, of_site.useful, of_site.bodies, of_site.piece}) {
      exprs.push_back(expr);
    }
  }
  std::vector<Var> vars;
  for (const FreeSize& size : program.trace.sizes) vars.push_back(size.var);
  return BatchEvaluator::Compile(exprs, vars).value().EvaluateAt(point);
}

std::vector<Site> AllSites(const Function& fn) {
  std::vector<Site> sites;
  for (const NestSites& nest : SitesOf(UnnestBlocks(fn))) {
    sites.insert(sites.end(), nest.sites.begin(), nest.sites.end());
  }
  return sites;
}

void ComparePoint(const SymbolicProgram& program, const std::vector<Site>& sites,
                  const std::vector<InstanceCounts>& counts, const SearchSpace& space,
                  const Point& point, Tally& tally) {
  Function known =
      Substitute(UnnestBlocks(program.fn), ToSubstitution(program.fn, space.ToDecisions(point)));
  std::optional<std::map<std::string, CountedRuns>> runs = CountRuns(known, kMostIterations);
  if (!runs) {
    ++tally.too_large;
    return;
  }
  std::vector<double> formulas = FormulasAt(counts, program, point);
  for (size_t s = 0; s < sites.size(); ++s) {
    const CountedRuns& truth = runs->at(sites[s].block->name);
    INFO(sites[s].block->name << " of\n" << Print(program.trace));
    for (const auto& [name, value] : space.ToDecisions(point)) UNSCOPED_INFO(name << "=" << value);
    double issued = formulas[4 * s], useful = formulas[4 * s + 1], bodies = formulas[4 * s + 2],
           piece = formulas[4 * s + 3];
    CHECK(issued == static_cast<double>(truth.issued));
    if (sites[s].exact) {
      ++tally.exact;
      CHECK(useful == static_cast<double>(truth.useful));
      CHECK(bodies == static_cast<double>(truth.bodies));
    } else {
      ++tally.bounded;
      CHECK(useful >= static_cast<double>(truth.useful));
      CHECK(bodies >= static_cast<double>(truth.bodies));
    }
    CHECK(piece >= static_cast<double>(truth.piece));
  }
}

// Every sketch of the function at random points.
void CompareSketches(const Function& fn, const Target& target, Tally& tally) {
  Random random(5);
  for (const Sketch& sketch : GenerateSketches(fn, target)) {
    SymbolicProgram program = ProgramOf(fn, target, sketch);
    SearchSpace space = SearchSpace::Create(program).value();
    std::vector<Site> sites = AllSites(program.fn);
    std::vector<InstanceCounts> counts;
    for (const Site& site : sites) counts.push_back(CountsOf(site));
    std::vector<Point> points = space.Sample(kPoints, random);
    points.push_back(space.ToPoint(sketch.start));
    for (const Point& point : points) ComparePoint(program, sites, counts, space, point, tally);
  }
}

}  // namespace

TEST_CASE("Counts of instances and runs are those of the loops, in every CPU sketch") {
  std::vector<Function> functions = {
      MatmulFunction(7, 11, 5),
      MatmulFunction(40, 33, 17),
      ProductFunction({.rows = 19, .columns = 37, .depth = 12, .type = "f32", .constant = true}),
      ConvFunction({}),
      ConvFunction({.height = 9, .width = 11, .channels = 4, .filters = 24, .stride = 1}),
      SoftmaxFunction(5, 37),
      SoftmaxByBlocks(6, 29),
      AttentionFunction({}),
      TwoReadersFunction(23),
  };
  Tally tally;
  for (const char* name : {"x86-64-v3", "x86-64-v4"}) {
    for (const Function& fn : functions) CompareSketches(fn, *FindTarget(name), tally);
  }
  CHECK(tally.exact > 2000);
  CHECK(tally.exact > 5 * tally.bounded);
  CHECK(tally.too_large * 10 < tally.exact);
}

TEST_CASE("Counts at known sizes are those of the formulas at the point") {
  Function fn = ConvFunction({.height = 9, .width = 11, .channels = 4, .filters = 24});
  Target target = *FindTarget("x86-64-v3");
  Random random(3);
  for (const Sketch& sketch : GenerateSketches(fn, target)) {
    SymbolicProgram free = ProgramOf(fn, target, sketch);
    SearchSpace space = SearchSpace::Create(free).value();
    std::vector<InstanceCounts> of_free;
    for (const Site& site : AllSites(free.fn)) of_free.push_back(CountsOf(site));
    for (const Point& point : space.Sample(10, random)) {
      SymbolicProgram known = Instantiate(fn, sketch.trace, space.ToDecisions(point)).value();
      std::vector<InstanceCounts> of_known;
      for (const Site& site : AllSites(known.fn)) of_known.push_back(CountsOf(site));
      CHECK(FormulasAt(of_known, free, point) == FormulasAt(of_free, free, point));
    }
  }
}

TEST_CASE("Tiles that all lie beyond an extent are not counted as work") {
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
  std::vector<Expr> exprs = {counts.bodies, counts.dead, counts.useful, counts.row_use};
  std::vector<double> values =
      BatchEvaluator::Compile(exprs, {}).value().EvaluateAt(std::vector<int64_t>{});
  CHECK(values[0] == 16 * 8 * 4);
  CHECK(values[1] == 14 * 8 * 4);
  CHECK(values[2] == 197 * 8 * 4);
  CHECK(values[3] == Approx(197.0 / (16 * 13)));
}

}  // namespace tcc
