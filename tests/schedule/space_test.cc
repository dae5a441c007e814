#include "schedule/space/space.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/limits.h"
#include "tests/programs/satisfies.h"
#include "tests/programs/spike_programs.h"

using namespace tcc;

namespace {

constexpr const char* kTiledMatmul = R"(
tile mm_i.1 1 64
tile mm_i.2 1 16
tile mm_j.1 1 64 divisors 64
tile mm_k.1 1 32
split mm/i [mm_i.1, mm_i.2]
split mm/j [mm_j.1]
split mm/k [mm_k.1]
reorder [mm/i.0, mm/j.0, mm/i.1, mm/j.1, mm/k.0, mm/k.1, mm/i.2]
bind mm/i.0 blockIdx.y
bind mm/j.0 blockIdx.x
bind mm/i.1 threadIdx.y
bind mm/j.1 threadIdx.x
cache_write mm C local C_l
reverse_compute_at C_l mm/j.1
cache_read A [mm] shared A_s
compute_at A_s mm/k.0
decompose_reduction mm mm/k.0
unroll mm/i.2
)";

SymbolicProgram ProgramFor(const Function& fn, const Trace& trace, const std::string& target) {
  StatusOr<SymbolicProgram> program = Instantiate(fn, trace);
  INFO(program.status());
  REQUIRE(program.ok());
  return WithLimits(*program, FindTarget(target).value());
}

SymbolicProgram TiledMatmul(const std::string& target = "sm_75") {
  StatusOr<Trace> trace = ParseTrace(kTiledMatmul);
  INFO(trace.status());
  REQUIRE(trace.ok());
  return ProgramFor(MatmulFunction(64, 64, 64), *trace, target);
}

SearchSpace SpaceOf(const SymbolicProgram& program) {
  StatusOr<SearchSpace> space = SearchSpace::Create(program);
  INFO(space.status());
  REQUIRE(space.ok());
  return *space;
}

Function Convolution() {
  ConvShape shape;
  shape.height = shape.width = 56;
  shape.channels = shape.filters = 64;
  shape.kernel_h = shape.kernel_w = 3;
  shape.stride = 1;
  shape.pad = 1;
  return ConvFunction(shape);
}

size_t SizesThatDiffer(const Point& a, const Point& b) {
  size_t count = 0;
  for (size_t v = 0; v < a.size(); ++v) count += a[v] != b[v];
  return count;
}

}  // namespace

TEST_CASE("every sampled point satisfies domains and constraints", "[schedule][space]") {
  SymbolicProgram program = TiledMatmul();
  SearchSpace space = SpaceOf(program);
  Random random(3);
  std::vector<Point> points = space.Sample(200, random);
  REQUIRE(points.size() == 200);
  for (const Point& point : points) {
    // The plain way, one constraint at a time, and the step's own check of the domains.
    CHECK(Satisfies(program, space.ToDecisions(point)));
    CHECK(Instantiate(MatmulFunction(64, 64, 64), program.trace, space.ToDecisions(point)).ok());
  }
  CHECK(std::set<Point>(points.begin(), points.end()).size() > 150);
}

TEST_CASE("batches say of random points what substitution says", "[schedule][space]") {
  SymbolicProgram program = TiledMatmul();
  SearchSpace space = SpaceOf(program);
  Random random(4);
  std::vector<Point> points;
  for (int i = 0; i < 300; ++i) {
    Point& point = points.emplace_back();
    for (const FreeSize& size : space.sizes()) {
      point.push_back(random.Between(size.var->low, size.var->high));
    }
  }
  std::vector<bool> legal = space.AreLegal(points);
  int64_t count = 0;
  for (size_t p = 0; p < points.size(); ++p) {
    bool allowed = true;
    for (size_t v = 0; v < points[p].size(); ++v) {
      allowed = allowed && Allows(space.sizes()[v], points[p][v]);
    }
    CHECK(legal[p] == (allowed && Satisfies(program, space.ToDecisions(points[p]))));
    CHECK(legal[p] == space.IsLegal(points[p]));
    count += legal[p];
  }
  CHECK(count > 0);
  CHECK(count < 300);
}

TEST_CASE("the same seed samples the same points", "[schedule][space]") {
  SymbolicProgram program = TiledMatmul();
  SearchSpace space = SpaceOf(program);
  Random one(9), same(9), other(10);
  std::vector<Point> points = space.Sample(20, one);
  CHECK(points == space.Sample(20, same));
  CHECK(points != space.Sample(20, other));
}

TEST_CASE("a repair keeps a legal point and mends a broken one", "[schedule][space]") {
  SymbolicProgram program = TiledMatmul();
  SearchSpace space = SpaceOf(program);
  Random random(5);
  Point legal = {8, 4, 16, 8};
  REQUIRE(space.IsLegal(legal));
  CHECK(space.Repair(legal, random) == legal);
  Point broken = {64, 16, 64, 32};  // 4096 threads
  const Constraint* first = FirstBroken(program, space.ToDecisions(broken));
  REQUIRE(first != nullptr);
  CHECK(first->why == "launch 'mm': at most 1024 threads a block");
  std::optional<Point> mended = space.Repair(broken, random);
  REQUIRE(mended.has_value());
  CHECK(space.IsLegal(*mended));
  CHECK(Satisfies(program, space.ToDecisions(*mended)));
}

TEST_CASE("where no point is legal, none is sampled", "[schedule][space]") {
  SymbolicProgram program = TiledMatmul();
  program.constraints.push_back({Expr(1) + program.trace.sizes[0].var, "never"});
  SearchSpace space = SpaceOf(program);
  Random random(6);
  CHECK_FALSE(space.Sample(random).has_value());
  CHECK(space.Sample(100, random).empty());
}

TEST_CASE("neighbours are legal and differ by one step of one size", "[schedule][space]") {
  SymbolicProgram program = TiledMatmul();
  SearchSpace space = SpaceOf(program);
  Point point = {8, 4, 16, 8};
  std::vector<Point> neighbours = space.Neighbours(point);
  CHECK(neighbours.size() >= 4);
  for (const Point& neighbour : neighbours) {
    CHECK(space.IsLegal(neighbour));
    CHECK(SizesThatDiffer(point, neighbour) == 1);
  }
  // The third size allows divisors of 64 alone.
  CHECK(std::ranges::count(neighbours, Point{8, 4, 32, 8}) == 1);
  CHECK(std::ranges::count(neighbours, Point{8, 4, 8, 8}) == 1);
}

TEST_CASE("a child takes each axis from one parent", "[schedule][space]") {
  SymbolicProgram program = TiledMatmul();
  SearchSpace space = SpaceOf(program);
  Random random(8);
  Point a = {8, 4, 16, 8}, b = {16, 2, 4, 32};
  REQUIRE(space.IsLegal(a));
  REQUIRE(space.IsLegal(b));
  std::set<Point> children;
  for (int i = 0; i < 40; ++i) {
    std::optional<Point> child =
        space.Crossover(space.ToDecisions(a), space.ToDecisions(b), random);
    REQUIRE(child.has_value());
    CHECK(space.IsLegal(*child));
    children.insert(*child);
  }
  CHECK(children.contains(Point{8, 4, 4, 8}));
  CHECK(children.contains(Point{8, 4, 16, 32}));
  CHECK_FALSE(children.contains(Point{8, 2, 16, 8}));  // half an axis
  CHECK(children.size() > 4);
}

TEST_CASE("a point moves to a sibling sketch by the names of its sizes", "[schedule][space]") {
  SymbolicProgram program = TiledMatmul();
  SearchSpace space = SpaceOf(program);
  Random random(2);
  Decisions sibling = {{"mm_i.1", 8}, {"mm_j.1", 15}, {"mm_k.1", 500}, {"mm_x.3", 7}};
  CHECK(space.ToPoint(sibling, {{"mm_i.2", 4}, {"mm_k.1", 3}}) == Point{8, 4, 16, 32});
  std::optional<Point> adopted = space.Adopt(sibling, random, {{"mm_i.2", 4}});
  REQUIRE(adopted.has_value());
  CHECK(space.IsLegal(*adopted));
}

TEST_CASE("legal points of a convolution's sketches are found for every target",
          "[schedule][space]") {
  Function fn = Convolution();
  for (const char* name :
       {"x86-64-v3", "x86-64-v4", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90a"}) {
    for (const Sketch& sketch : GenerateSketches(fn, FindTarget(name).value())) {
      SymbolicProgram program = ProgramFor(fn, sketch.trace, name);
      SearchSpace space = SpaceOf(program);
      Random random(1);
      std::vector<Point> points = space.Sample(50, random);
      CHECK(points.size() == 50);
      for (const Point& point : points) {
        CHECK(Satisfies(program, space.ToDecisions(point)));
      }
      const Constraint* broken =
          FirstBroken(program, space.ToDecisions(space.ToPoint(sketch.start)));
      INFO(name << " " << sketch.name << ": " << (broken ? broken->why : ""));
      CHECK(broken == nullptr);
    }
  }
}

TEST_CASE("a space without a value for a size is refused", "[schedule][space]") {
  SymbolicProgram program =
      ProgramFor(MatmulFunction(64, 64, 64),
                 ParseTrace("tile t 1 15 multiples 16\nsplit mm/i [t]").value(), "native");
  CHECK(Message(SearchSpace::Create(program).status()) ==
        "no value is allowed for 'tile t 1 15 multiples 16'");
}
