#include "search/searchers/searcher.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "search/model/nearest_ranker.h"
#include "tests/search/fake_measurer.h"
#include "tests/search/sample_database.h"
#include "tests/search/sample_workloads.h"

using namespace tcc;

namespace {

// A task, with what is known of it.
struct Search {
  explicit Search(const Workload& of, std::span<const SketchRule> rules = {})
      : workload(of), space(workload, SearchTarget(), rules) {}

  SearchContext context() { return {space, history, ranker, &estimator}; }

  void Measure(const SearchPoint& point) {
    Candidate candidate = space.ToCandidate(point);
    Measurement measured = FakeMeasurement({}, FakeArtefact(workload, candidate.schedule));
    Add(point, measured.status, measured.seconds);
  }
  void Add(const SearchPoint& point, MeasureStatus status, double seconds) {
    history.Add({.point = point, .status = status, .seconds = seconds, .searcher = "test"});
  }
  // Measures the starts, and what the searcher proposes.
  void Run(const SearcherRow& row, int rounds, uint64_t seed) {
    for (size_t s = 0; s < space.size(); ++s) Measure(space.Start(s).value());
    Random random(seed);
    for (int i = 0; i < rounds; ++i) {
      for (const SearchPoint& point : row.make(context())->Propose(8, random)) Measure(point);
    }
  }

  const Workload workload;
  TaskSpace space;
  TaskHistory history;
  TaskEstimator estimator{space, SearchTarget(), {}, nullptr};
  NearestRanker ranker{space, history, &estimator};
};

std::vector<SketchState> FitNothing(const SketchState&, const Block&, const Target&) {
  return {};
}

constexpr SketchRule kNoRules[] = {{"nothing", FitNothing, "no block"}};

size_t SizesThatDiffer(const Point& a, const Point& b) {
  size_t count = 0;
  for (size_t v = 0; v < a.size(); ++v) count += a[v] != b[v];
  return count;
}

}  // namespace

TEST_CASE("searchers are found by their names", "[search][searchers]") {
  REQUIRE(Searchers().size() >= 2);
  for (const SearcherRow& row : Searchers()) {
    CHECK(SearchersNamed(row.name) == std::vector<const SearcherRow*>{&row});
  }
  CHECK(SearchersNamed("randomly").empty());
  CHECK(SearchersNamed("").empty());
}

TEST_CASE("every searcher proposes points that are legal, fresh and distinct",
          "[search][searchers]") {
  for (const SearcherRow& row : Searchers()) {
    INFO(row.name);
    Search search(ProductWorkload("product"));
    std::unique_ptr<Searcher> searcher = row.make(search.context());
    Random random(5);
    std::set<SearchPoint> seen;
    for (int round = 0; round < 8; ++round) {
      std::vector<SearchPoint> points = searcher->Propose(16, random);
      CHECK(points.size() <= 16);
      for (const SearchPoint& point : points) {
        REQUIRE(point.sketch < search.space.size());
        CHECK(search.space.Points(point.sketch)->IsLegal(point.point));
        CHECK_FALSE(search.history.Knows(point));
        CHECK(seen.insert(point).second);
      }
      for (const SearchPoint& point : points) search.Measure(point);
    }
    CHECK(seen.size() >= 64);
  }
}

TEST_CASE("a point that was proposed and is not yet measured is not proposed again",
          "[search][searchers]") {
  for (const SearcherRow& row : Searchers()) {
    INFO(row.name);
    Search search(SmallWorkload());
    search.Measure(search.space.Start(0).value());
    std::vector<Point> points = LegalPoints(*search.space.Points(0));
    REQUIRE(points.size() >= 3);
    std::set<SearchPoint> seen;
    Random random(7);
    for (int round = 0; round < 10; ++round) {
      for (const SearchPoint& point : row.make(search.context())->Propose(2, random)) {
        CHECK(seen.insert(point).second);
        search.history.MarkProposed(point);
      }
    }
    CHECK(seen.size() == points.size() - 1);
  }
}

TEST_CASE("the same seed proposes the same points, another seed others", "[search][searchers]") {
  for (const SearcherRow& row : Searchers()) {
    INFO(row.name);
    Search search(ProductWorkload("product"));
    search.Run(row, 4, 3);
    auto propose = [&](uint64_t seed) {
      Random random(seed);
      return row.make(search.context())->Propose(8, random);
    };
    CHECK(propose(5) == propose(5));
    // Tiles are constructed, not drawn.
    if (row.name != "rtile") CHECK(propose(5) != propose(6));
  }
}

TEST_CASE("a searcher that is made anew over the same history goes on as the old one",
          "[search][searchers]") {
  for (const SearcherRow& row : Searchers()) {
    INFO(row.name);
    Search search(ProductWorkload("product"));
    std::unique_ptr<Searcher> old = row.make(search.context());
    for (uint64_t round = 0; round < 6; ++round) {
      Random random(round), same(round);
      std::vector<SearchPoint> points = old->Propose(8, random);
      CHECK(points == row.make(search.context())->Propose(8, same));
      for (const SearchPoint& point : points) search.Measure(point);
    }
  }
}

TEST_CASE("a space of one point is proposed once", "[search][searchers]") {
  for (const SearcherRow& row : Searchers()) {
    INFO(row.name);
    Search search(SmallWorkload(), kNoRules);
    Random random(1);
    const SearchPoint only{0, {}};
    CHECK(row.make(search.context())->Propose(4, random) == std::vector<SearchPoint>{only});
    search.Measure(only);
    CHECK(row.make(search.context())->Propose(4, random).empty());
  }
}

TEST_CASE("nothing is proposed where all points are known", "[search][searchers]") {
  for (const SearcherRow& row : Searchers()) {
    INFO(row.name);
    Search search(SmallWorkload());
    REQUIRE(search.space.size() == 1);
    std::vector<Point> points = LegalPoints(*search.space.Points(0));
    for (size_t i = 0; i + 1 < points.size(); ++i) search.Measure({0, points[i]});
    Random random(1);
    CHECK(row.make(search.context())->Propose(8, random) ==
          std::vector<SearchPoint>{{0, points.back()}});
    search.Measure({0, points.back()});
    CHECK(row.make(search.context())->Propose(8, random).empty());
  }
}

TEST_CASE("retired sketches are not proposed", "[search][searchers]") {
  for (const SearcherRow& row : Searchers()) {
    INFO(row.name);
    Search search(ProductWorkload("product"));
    REQUIRE(search.space.size() >= 2);
    search.Run(row, 3, 9);
    // The sketch of the best point is where a searcher would rather stay.
    const size_t retired = search.history.best()->point.sketch;
    search.space.Retire(retired);
    Random random(2);
    std::vector<SearchPoint> points = row.make(search.context())->Propose(32, random);
    CHECK(points.size() >= 8);
    for (const SearchPoint& point : points) CHECK(point.sketch != retired);
    for (size_t sketch : search.space.live()) search.space.Retire(sketch);
    CHECK(row.make(search.context())->Propose(32, random).empty());
  }
}

TEST_CASE("a searcher goes on where nothing was right", "[search][searchers]") {
  for (const SearcherRow& row : Searchers()) {
    INFO(row.name);
    Search search(ProductWorkload("product"));
    std::unique_ptr<Searcher> searcher = row.make(search.context());
    Random random(4);
    for (int round = 0; round < 4; ++round) {
      std::vector<SearchPoint> points = searcher->Propose(8, random);
      CHECK_FALSE(points.empty());
      for (const SearchPoint& point : points) search.Add(point, MeasureStatus::kWrong, 0);
    }
  }
}

TEST_CASE("the coordinate searcher moves one size of the best point", "[search][searchers]") {
  Search search(ProductWorkload("product"));
  search.Run(*SearchersNamed("random")[0], 4, 1);
  const SearchPoint best = search.history.best()->point;
  auto moves = [&](std::string_view name) {
    Random random(3);
    std::vector<SearchPoint> points =
        SearchersNamed(name)[0]->make(search.context())->Propose(16, random);
    return std::ranges::count_if(points, [&](const SearchPoint& point) {
      return point.sketch == best.sketch && SizesThatDiffer(point.point, best.point) == 1;
    });
  };
  CHECK(moves("coordinate") >= 4);
  CHECK(moves("random") < 4);
}

TEST_CASE("the best trial of a history is the fastest that was right", "[search][searchers]") {
  TaskHistory history;
  auto add = [&](size_t sketch, int64_t value, MeasureStatus status, double seconds) {
    history.Add({{sketch, {value}}, status, seconds, "test"});
  };
  CHECK(history.best() == nullptr);
  add(0, 1, MeasureStatus::kWrong, 0);
  add(0, 2, MeasureStatus::kSlow, 1e-6);
  CHECK(history.best() == nullptr);
  CHECK(history.BestBySketch().empty());
  add(0, 3, MeasureStatus::kOk, 3e-3);
  add(1, 1, MeasureStatus::kOk, 2e-3);
  add(1, 2, MeasureStatus::kOk, 2e-3);
  add(1, 3, MeasureStatus::kFault, 0);
  CHECK(history.best()->point == SearchPoint{1, {1}});
  std::vector<const Trial*> best = history.BestBySketch();
  REQUIRE(best.size() == 2);
  CHECK(best[0]->point == SearchPoint{1, {1}});
  CHECK(best[1]->point == SearchPoint{0, {3}});
  CHECK(history.Knows({1, {3}}));
  CHECK_FALSE(history.Knows({2, {1}}));
}
