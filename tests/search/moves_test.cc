#include "search/space/moves.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/search/sample_database.h"
#include "tests/search/sample_workloads.h"

using namespace tcc;

namespace {

struct Task {
  explicit Task(const Workload& of, std::span<const SketchRule> rules = {})
      : workload(of), space(workload, SearchTarget(), rules) {}

  const Workload workload;
  TaskSpace space;
};

Workload TwoVariants() {
  return WithVariants({ProductWorkload("product"), ProductWorkload("turned", {.turned = true})}, 0);
}

std::vector<SketchState> FitNothing(const SketchState&, const Block&, const Target&) {
  return {};
}

constexpr SketchRule kNoRules[] = {{"nothing", FitNothing, "no block"}};

// The start of each live sketch and some of its other points.
std::vector<SearchPoint> SomePoints(TaskSpace& space, size_t each, Random& random) {
  std::vector<SearchPoint> points;
  for (size_t sketch : space.live()) {
    points.push_back(space.Start(sketch).value());
    for (Point& point : space.Points(sketch)->Sample(each, random)) {
      points.push_back({sketch, std::move(point)});
    }
  }
  return points;
}

void CheckMove(TaskSpace& space, const SearchPoint& from, const SearchPoint& moved) {
  INFO("from sketch " << from.sketch << " to sketch " << moved.sketch);
  CHECK(moved != from);
  REQUIRE(moved.sketch < space.size());
  CHECK(space.IsLive(moved.sketch));
  CHECK(space.Points(moved.sketch)->IsLegal(moved.point));
}

std::vector<size_t> SizesThatDiffer(const Point& a, const Point& b) {
  std::vector<size_t> sizes;
  for (size_t s = 0; s < a.size(); ++s) {
    if (a[s] != b[s]) sizes.push_back(s);
  }
  return sizes;
}

double LogDistance(const Point& a, const Point& b) {
  double distance = 0;
  for (size_t s = 0; s < a.size(); ++s) {
    double difference = std::log2(static_cast<double>(a[s])) - std::log2(static_cast<double>(b[s]));
    distance += difference * difference;
  }
  return distance;
}

enum class Kind : uint8_t { kExchanged, kAlone, kOtherSketch, kOtherVariant, kRepaired };

Kind KindOf(TaskSpace& space, const SearchPoint& from, const SearchPoint& moved) {
  if (space.sketch(from.sketch).variant != space.sketch(moved.sketch).variant) {
    return Kind::kOtherVariant;
  }
  if (from.sketch != moved.sketch) return Kind::kOtherSketch;
  std::vector<size_t> differ = SizesThatDiffer(from.point, moved.point);
  if (differ.size() == 1) return Kind::kAlone;
  if (differ.size() != 2) return Kind::kRepaired;
  const std::vector<FreeSize>& sizes = space.Points(from.sketch)->sizes();
  auto product = [&](const Point& point) { return point[differ[0]] * point[differ[1]]; };
  bool exchanged = AxisOf(sizes[differ[0]]) == AxisOf(sizes[differ[1]]) &&
                   product(from.point) == product(moved.point);
  return exchanged ? Kind::kExchanged : Kind::kRepaired;
}

// All points that have each axis from one of the parents, which are of one sketch.
std::vector<Point> ChildrenOf(const SearchSpace& space, const Point& a, const Point& b) {
  std::map<std::string, size_t> axes;
  for (const FreeSize& size : space.sizes()) axes.emplace(AxisOf(size), axes.size());
  std::vector<Point> children;
  for (size_t choice = 0; choice < size_t{1} << axes.size(); ++choice) {
    Point& child = children.emplace_back();
    for (size_t s = 0; s < a.size(); ++s) {
      bool from_a = ((choice >> axes.at(AxisOf(space.sizes()[s]))) & 1) == 1;
      child.push_back(from_a ? a[s] : b[s]);
    }
  }
  return children;
}

}  // namespace

TEST_CASE("a move leads to another legal point of a live sketch", "[search][moves]") {
  for (const Workload& workload : {ProductWorkload("product"), TwoVariants(), SmallWorkload()}) {
    INFO(workload.name);
    Task task(workload);
    Random random(3);
    std::vector<SearchPoint> points = SomePoints(task.space, 30, random);
    std::vector<std::optional<SearchPoint>> many = MutateMany(task.space, points, random);
    REQUIRE(many.size() == points.size());
    for (size_t p = 0; p < points.size(); ++p) {
      if (many[p]) CheckMove(task.space, points[p], *many[p]);
    }
    CHECK(std::ranges::count_if(many, [](const auto& moved) { return moved.has_value(); }) >=
          std::ssize(points) / 2);
  }
}

TEST_CASE("moves of many points come in the order of the points", "[search][moves]") {
  Task task(ProductWorkload("product"));
  Random random(4);
  const SearchPoint near = task.space.Start(0).value();
  SearchPoint far = near;
  for (const Point& point : task.space.Points(0)->Sample(200, random)) {
    if (LogDistance(point, near.point) > LogDistance(far.point, near.point)) far.point = point;
  }
  REQUIRE(LogDistance(far.point, near.point) > 8);
  std::vector<SearchPoint> from;
  for (size_t i = 0; i < 120; ++i) from.push_back(i % 3 == 0 ? near : far);
  std::vector<std::optional<SearchPoint>> moved = MutateMany(task.space, from, random);
  REQUIRE(moved.size() == from.size());
  size_t compared = 0, nearer = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    if (!moved[i] || moved[i]->sketch != 0) continue;
    const SearchPoint& other = i % 3 == 0 ? far : near;
    ++compared;
    nearer +=
        LogDistance(moved[i]->point, from[i].point) < LogDistance(moved[i]->point, other.point);
  }
  CHECK(compared >= 60);
  CHECK(nearer >= compared * 3 / 4);
  CHECK(MutateMany(task.space, {}, random).empty());
}

TEST_CASE("the same seed gives the same moves, another seed others", "[search][moves]") {
  Task task(TwoVariants());
  Random drawn(5);
  const std::vector<SearchPoint> points = SomePoints(task.space, 10, drawn);
  auto moves = [&](uint64_t seed) {
    Random random(seed);
    return MutateMany(task.space, points, random);
  };
  CHECK(moves(7) == moves(7));
  CHECK(moves(7) != moves(8));
}

TEST_CASE("every kind of move happens", "[search][moves]") {
  Task task(TwoVariants());
  Random random(6);
  std::vector<SearchPoint> points = SomePoints(task.space, 100, random);
  std::map<Kind, int> kinds;
  std::vector<std::optional<SearchPoint>> many = MutateMany(task.space, points, random);
  for (size_t p = 0; p < points.size(); ++p) {
    if (many[p]) ++kinds[KindOf(task.space, points[p], *many[p])];
  }
  for (Kind kind : {Kind::kExchanged, Kind::kAlone, Kind::kOtherSketch, Kind::kOtherVariant}) {
    INFO(static_cast<int>(kind));
    CHECK(kinds[kind] > 0);
  }
  // Small changes are the rule.
  CHECK(kinds[Kind::kAlone] > kinds[Kind::kOtherVariant]);
}

TEST_CASE("no move leads to a retired sketch", "[search][moves]") {
  Task task(TwoVariants());
  Random random(8);
  std::vector<SearchPoint> points;
  for (const Point& point : task.space.Points(0)->Sample(300, random)) points.push_back({0, point});
  for (size_t sketch = 1; sketch < task.space.size(); ++sketch) {
    if (sketch % 2 == 1) task.space.Retire(sketch);
  }
  for (const auto& moved : MutateMany(task.space, points, random)) {
    if (moved) CHECK(task.space.IsLive(moved->sketch));
  }
  for (size_t sketch = 1; sketch < task.space.size(); ++sketch) task.space.Retire(sketch);
  size_t moves = 0;
  for (const auto& moved : MutateMany(task.space, points, random)) {
    if (!moved) continue;
    ++moves;
    CHECK(moved->sketch == 0);
  }
  CHECK(moves >= points.size() / 2);
}

TEST_CASE("there is no move in a space of one point", "[search][moves]") {
  Task task(SmallWorkload(), kNoRules);
  const SearchPoint only{0, {}};
  REQUIRE(task.space.Start(0) == only);
  Random random(1);
  const std::vector<SearchPoint> twice = {only, only};
  CHECK(MutateMany(task.space, twice, random) ==
        std::vector<std::optional<SearchPoint>>(2, std::nullopt));
  CHECK(Recombine(task.space, only, only, random) == only);
}

TEST_CASE("a child has each axis from one of its parents", "[search][moves]") {
  Task task(ProductWorkload("product"));
  const SearchSpace& space = *task.space.Points(0);
  Random random(9);
  std::vector<Point> points = space.Sample(400, random);
  size_t pairs = 0, mixed = 0;
  for (size_t p = 0; p + 1 < points.size(); p += 2) {
    std::vector<Point> children = ChildrenOf(space, points[p], points[p + 1]);
    std::vector<bool> legal = space.AreLegal(children);
    // A child that breaks a constraint would be moved.
    if (std::ranges::find(legal, false) != legal.end()) continue;
    ++pairs;
    std::optional<SearchPoint> child =
        Recombine(task.space, {0, points[p]}, {0, points[p + 1]}, random);
    REQUIRE(child);
    CHECK(child->sketch == 0);
    CHECK(std::ranges::find(children, child->point) != children.end());
    mixed += child->point != points[p] && child->point != points[p + 1];
  }
  CHECK(pairs >= 20);
  CHECK(mixed >= pairs / 8);
}

TEST_CASE("a child of two sketches is a legal point of the first parent's", "[search][moves]") {
  Task task(TwoVariants());
  Random random(10);
  std::vector<SearchPoint> points = SomePoints(task.space, 12, random);
  size_t between_sketches = 0;
  for (const SearchPoint& a : points) {
    const SearchPoint& b = points[random.Below(points.size())];
    std::optional<SearchPoint> child = Recombine(task.space, a, b, random);
    if (task.space.sketch(a.sketch).variant != task.space.sketch(b.sketch).variant) {
      CHECK_FALSE(child);
    } else if (child) {
      CHECK(child->sketch == a.sketch);
      CHECK(task.space.Points(child->sketch)->IsLegal(child->point));
      between_sketches += a.sketch != b.sketch;
    }
  }
  CHECK(between_sketches > 0);
}

TEST_CASE("the same seed gives the same child", "[search][moves]") {
  Task task(ProductWorkload("product"));
  Random random(11);
  std::vector<Point> points = task.space.Points(0)->Sample(40, random);
  for (size_t p = 0; p + 1 < points.size(); p += 2) {
    Random first(p), second(p);
    CHECK(Recombine(task.space, {0, points[p]}, {0, points[p + 1]}, first) ==
          Recombine(task.space, {0, points[p]}, {0, points[p + 1]}, second));
  }
}

TEST_CASE("the axis of a size is its name without the level", "[search][moves]") {
  CHECK(AxisOf({TileVar("mm.i.1", 1, 4)}) == "mm.i");
  CHECK(AxisOf({TileVar("b0.i12.3", 1, 4)}) == "b0.i12");
}
