#include "autodiff_features/cpu/nest_work.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <span>

#include "autodiff_features/counts/real_formulas.h"
#include "ir/analysis/batch_evaluator.h"
#include "ir/expr/evaluate.h"
#include "ir/text/parser.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/space.h"
#include "tests/programs/product_function.h"
#include "tests/programs/spike_programs.h"

namespace tcc {
namespace {

constexpr double kEndless = 1e18;

NestWork WorkAfter(const Function& fn, const std::string& steps) {
  StatusOr<SymbolicProgram> program = Instantiate(fn, ParseTrace(steps).value());
  INFO(program.status());
  REQUIRE(program.ok());
  std::vector<NestWork> nests = WorkOf(program->fn, FindTarget("x86-64-v3").value());
  REQUIRE(nests.size() == 1);
  return nests[0];
}

Expr LinesInto(const SiteWork& site, const TracedAccess& access, double bytes) {
  return LinesInto(site.site, site.counts, access, site.footprints, Real(bytes));
}

// Lines that an access of the only block moves into a cache.
double LinesInto(const NestWork& nest, const std::string& buffer, bool is_write, double bytes) {
  const SiteWork& site = nest.sites.at(0);
  for (const TracedAccess& access : site.accesses) {
    if (access.buffer.var->name == buffer && access.is_write == is_write) {
      return Evaluate(LinesInto(site, access, bytes), {}).value().real;
    }
  }
  FAIL("no access of " << buffer);
  return 0;
}

// Bytes that one iteration of each loop touches.
std::vector<double> FootprintsOf(const NestWork& nest) {
  std::vector<double> bytes;
  for (const Expr& footprint : nest.sites.at(0).footprints) {
    bytes.push_back(Evaluate(footprint, {}).value().real);
  }
  return bytes;
}

const std::vector<double>& CacheSizes() {
  static const std::vector<double>& sizes = *new std::vector<double>([] {
    std::vector<double> rising = {0};
    for (double bytes = 16; bytes < 1e7; bytes *= 1.7) rising.push_back(bytes);
    rising.push_back(kEndless);
    return rising;
  }());
  return sizes;
}

// At some points: the ends, and that nothing rises in between.
void CheckAccess(const SiteWork& site, const TracedAccess& access, const SearchSpace& space,
                 std::span<const Point> points) {
  std::vector<Expr> lines;
  for (double bytes : CacheSizes()) lines.push_back(LinesInto(site, access, bytes));
  auto sizes = static_cast<ptrdiff_t>(lines.size());
  lines.push_back(RealProduct(access.lines.back(), site.counts.bodies));
  lines.push_back(access.lines.front());
  std::vector<Var> vars;
  for (const FreeSize& size : space.sizes()) vars.push_back(size.var);
  BatchEvaluator evaluator = BatchEvaluator::Compile(lines, vars).value();
  for (const Point& point : points) {
    std::vector<double> at = evaluator.EvaluateAt(point);
    std::vector<double> by_size(at.begin(), at.begin() + sizes);
    double of_bodies = at[sizes], touched = at[sizes + 1];
    INFO(site.site.block->name << " of " << access.buffer.var->name);
    for (const auto& [name, value] : space.ToDecisions(point)) {
      UNSCOPED_INFO(name << " = " << value);
    }
    CHECK(by_size.front() == of_bodies);
    CHECK(by_size.back() <= touched);
    CHECK(std::is_sorted(by_size.rbegin(), by_size.rend()));
  }
}

// Returns how many times an access was looked at.
size_t CheckSketches(const Function& fn, const Target& target) {
  Random random(11);
  size_t compared = 0;
  for (const Sketch& sketch : GenerateSketches(fn, target)) {
    SymbolicProgram program = ProgramOf(fn, target, sketch);
    SearchSpace space = SearchSpace::Create(program).value();
    std::vector<Point> points = space.Sample(10, random);
    INFO("sketch " << sketch.name << " for " << target.name);
    for (const NestWork& nest : WorkOf(program.fn, target)) {
      for (const SiteWork& site : nest.sites) {
        for (const TracedAccess& access : site.accesses) {
          CheckAccess(site, access, space, points);
          compared += points.size();
        }
      }
    }
  }
  return compared;
}

}  // namespace

TEST_CASE("Traffic of a tiled product is that of the loops which fit each cache",
          "[autodiff_features]") {
  NestWork nest = WorkAfter(MatmulFunction(64, 64, 64),
                            "split mm/i [16]\nsplit mm/j [16]\n"
                            "reorder [mm/i.0, mm/j.0, mm/k, mm/i.1, mm/j.1]\n"
                            "unroll mm/i.1\nvectorize mm/j.1");
  // An iteration of k touches 16 cells of A and of B and 256 of C; one of mm/j.0 all k of them, one
  // of mm/i.0 all columns.
  std::vector<double> bytes = FootprintsOf(nest);
  REQUIRE(bytes.size() == 5);
  CHECK(bytes[2] == 64 + 64 + 1024);
  CHECK(bytes[1] == 4096 + 4096 + 1024);
  CHECK(bytes[0] == 4096 + 16384 + 4096);

  struct Row {
    double cache;
    double a, b, c;
  };
  // Without a cache: 1024 bodies of 16 lines of A, one of B and 16 of C. 8 KiB hold a body: a run
  // of k reads 64 lines of A and of B and keeps 16 of C, 16 times. 16 KiB hold a run of k: A and C
  // stay while mm/j.0 runs, B comes 4 times. 32 KiB hold an iteration of mm/i.0: all is read once.
  const Row rows[] = {
      {0, 16'384, 1024, 16'384},  {8 * 1024, 1024, 1024, 256}, {16 * 1024, 256, 1024, 256},
      {32 * 1024, 256, 256, 256}, {kEndless, 256, 256, 256},
  };
  for (const Row& row : rows) {
    INFO(row.cache);
    CHECK(LinesInto(nest, "A", false, row.cache) == row.a);
    CHECK(LinesInto(nest, "B", false, row.cache) == row.b);
    CHECK(LinesInto(nest, "C", false, row.cache) == row.c);
    CHECK(LinesInto(nest, "C", true, row.cache) == row.c);
  }
}

TEST_CASE("A loop's data that just fits a cache stays there", "[autodiff_features]") {
  NestWork nest = WorkAfter(MatmulFunction(64, 64, 64),
                            "split mm/i [16]\nsplit mm/j [16]\n"
                            "reorder [mm/i.0, mm/j.0, mm/k, mm/i.1, mm/j.1]\n"
                            "unroll mm/i.1\nvectorize mm/j.1");
  CHECK(LinesInto(nest, "A", false, 9216) == 256);
  CHECK(LinesInto(nest, "A", false, 9215) == 1024);
}

TEST_CASE("Tiles beyond an extent fetch nothing, whichever loop's data fits",
          "[autodiff_features]") {
  // 10 rows of a line in tiles of 4, two of them in a larger tile: every row is read once.
  Function fn = ParseFunction(R"(
    fn f(A: f32[10, 16], B: f32[10, 16]) tensor {
      for i in 0..10 @b/i { for j in 0..16 @b/j {
        block b(i: spatial 10 = i, j: spatial 16 = j) { B[i, j] = A[i, j] } } }
    })")
                    .value();
  NestWork nest = WorkAfter(fn, "split b/i [2, 4]\nvectorize b/j");
  for (double bytes : CacheSizes()) {
    INFO(bytes);
    CHECK(LinesInto(nest, "A", false, bytes) == 10);
  }
}

TEST_CASE("Rows with a step are fetched as often as they are used", "[autodiff_features]") {
  Function fn = ParseFunction(R"(
    fn f(A: f32[16, 16], B: f32[8, 16]) tensor {
      for i in 0..8 @b/i { for j in 0..16 @b/j {
        block b(i: spatial 8 = i, j: spatial 16 = j) { B[i, j] = A[i * 2, j] } } }
    })")
                    .value();
  NestWork nest = WorkAfter(fn, "vectorize b/j");
  for (double bytes : CacheSizes()) CHECK(LinesInto(nest, "A", false, bytes) == 8);
}

TEST_CASE("A larger cache never lets more lines through, at points of every sketch",
          "[autodiff_features]") {
  std::vector<Function> functions = {
      MatmulFunction(40, 66, 50),
      ProductFunction({.rows = 37, .columns = 90, .depth = 64, .type = "f32", .constant = true}),
      ConvFunction({.height = 20, .width = 22, .channels = 16, .filters = 40, .stride = 1}),
      SoftmaxByBlocks(30, 200),
  };
  size_t compared = 0;
  for (const char* target : {"x86-64-v3", "x86-64-v4"}) {
    for (const Function& fn : functions) compared += CheckSketches(fn, FindTarget(target).value());
  }
  CHECK(compared > 500);
}

TEST_CASE("Where every n-th iteration prefetches, each line of the weight counts once",
          "[autodiff_features]") {
  // 4 panels of 8 lines, each during 16 tiles of 8 iterations: every sixteenth asks.
  NestWork nest = WorkAfter(MatmulFunction(32, 64, 8), R"(
split mm/i [2]
split mm/j [16]
reorder [mm/j.0, mm/i.0, mm/k, mm/i.1, mm/j.1]
prefetch mm B mm/j.0 mm/k 1
)");
  CHECK(Evaluate(nest.prefetched, {}).value().real == 32);
}

}  // namespace tcc
