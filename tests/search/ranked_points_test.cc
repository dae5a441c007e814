#include "search/searchers/ranked_points.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <set>

#include "search/model/nearest_ranker.h"
#include "tests/search/sample_database.h"
#include "tests/search/sample_workloads.h"

using namespace tcc;

namespace {

// A sketch whose points are an outer and an inner size of one axis.
Sketch TwoLevels() {
  return {.name = "tiled",
          .trace = ParseTrace("tile b0.i0.1 1 64\ntile b0.i0.2 1 16\n"
                              "split b0/i0 [b0.i0.1, b0.i0.2]\n")
                       .value(),
          .start = {{"b0.i0.1", 1}, {"b0.i0.2", 4}}};
}

// Two such sketches.
struct Search {
  SearchContext context() { return {space, history, ranker, nullptr}; }
  // Leaves nothing that points could be drawn from.
  void RetireAll() {
    for (size_t sketch : space.live()) space.Retire(sketch);
  }
  void Add(const SearchPoint& point, double seconds, MeasureStatus status = MeasureStatus::kOk) {
    history.Add({point, status, seconds, "test"});
  }

  const Workload workload = SmallWorkload(1024);
  TaskSpace space{workload, SearchTarget(), std::vector<Sketch>{TwoLevels(), TwoLevels()}};
  TaskHistory history;
  NearestRanker ranker{space, history, nullptr};
};

SearchPoint At(int64_t outer, int64_t inner, size_t sketch = 0) {
  return {sketch, {outer, inner}};
}

}  // namespace

TEST_CASE("the least predicted points are picked, in their order", "[search][ranked]") {
  Search search;
  search.RetireAll();
  RankedPoints points(search.context());
  std::vector<SearchPoint> expected;
  // Added out of order: 5 is coprime to 11.
  for (int64_t i = 0; i < 11; ++i) {
    int64_t rank = i * 5 % 11;
    points.Add(At(3, rank + 1, i % 2), {static_cast<double>(rank), 0});
  }
  for (int64_t rank = 0; rank < 8; ++rank) {
    int64_t i = 0;
    while (i * 5 % 11 != rank) ++i;
    expected.push_back(At(3, rank + 1, i % 2));
  }
  Random random(1);
  CHECK(points.Pick(8, 0, random) == expected);
  expected.resize(3);
  CHECK(points.Pick(3, 0, random) == expected);
  CHECK(points.Pick(0, 0, random).empty());
}

TEST_CASE("with hope a point that may be better comes first", "[search][ranked]") {
  Search search;
  search.RetireAll();
  RankedPoints points(search.context());
  points.Add(At(1, 1), {-6, 0});
  points.Add(At(1, 2), {-5, 2});
  Random random(1);
  CHECK(points.Pick(2, 0, random) == std::vector<SearchPoint>{At(1, 1), At(1, 2)});
  CHECK(points.Pick(2, 0.4, random) == std::vector<SearchPoint>{At(1, 1), At(1, 2)});
  CHECK(points.Pick(2, 1, random) == std::vector<SearchPoint>{At(1, 2), At(1, 1)});
}

TEST_CASE("points that the history knows are not picked", "[search][ranked]") {
  Search search;
  search.Add(At(1, 1), 1e-3);
  search.Add(At(1, 2), 0, MeasureStatus::kWrong);
  search.history.MarkProposed(At(1, 3));
  RankedPoints points(search.context());
  for (int64_t inner = 1; inner <= 6; ++inner) {
    points.Add(At(1, inner), {static_cast<double>(inner), 0});
  }
  Random random(2);
  for (int round = 0; round < 20; ++round) {
    std::vector<SearchPoint> picked = points.Pick(16, 0, random);
    for (const SearchPoint& point : picked) CHECK_FALSE(search.history.Knows(point));
    CHECK(std::ranges::find(picked, At(1, 4)) != picked.end());
  }
}

TEST_CASE("points of which nothing is expected are not picked", "[search][ranked]") {
  Search search;
  search.RetireAll();
  RankedPoints points(search.context());
  points.Add(At(1, 1), {});
  points.Add(At(1, 2), {-5, 0});
  points.Add(At(1, 3), {std::nan(""), 1});
  Random random(3);
  CHECK(points.Pick(4, 0.5, random) == std::vector<SearchPoint>{At(1, 2)});
}

TEST_CASE("a point that is added twice is picked once", "[search][ranked]") {
  Search search;
  search.RetireAll();
  RankedPoints points(search.context());
  for (int i = 0; i < 3; ++i) points.Add(At(1, 2), {-5, 0});
  Random random(3);
  CHECK(points.Pick(4, 0, random) == std::vector<SearchPoint>{At(1, 2)});
}

TEST_CASE("at most a quarter have the same innermost sizes while there are others",
          "[search][ranked]") {
  Search search;
  search.RetireAll();
  RankedPoints points(search.context());
  // The best twelve differ in the outer size alone.
  for (int64_t outer = 1; outer <= 12; ++outer) {
    points.Add(At(outer, 4), {-20 + static_cast<double>(outer), 0});
  }
  auto alike = [](const std::vector<SearchPoint>& picked) {
    return std::ranges::count_if(
        picked, [](const SearchPoint& point) { return point.sketch == 0 && point.point[1] == 4; });
  };
  Random random(4);
  SECTION("others") {
    for (int64_t inner = 1; inner <= 16; ++inner) {
      if (inner != 4) points.Add(At(1, inner), {static_cast<double>(inner), 0});
    }
    std::vector<SearchPoint> picked = points.Pick(16, 0, random);
    CHECK(picked.size() == 16);
    CHECK(alike(picked) == 4);
    for (int64_t outer = 1; outer <= 4; ++outer) {
      CHECK(picked[static_cast<size_t>(outer - 1)] == At(outer, 4));
    }
  }
  SECTION("the same sizes of another sketch are not alike") {
    for (int64_t outer = 1; outer <= 12; ++outer) {
      points.Add(At(outer, 4, 1), {static_cast<double>(outer), 0});
    }
    std::vector<SearchPoint> picked = points.Pick(8, 0, random);
    CHECK(picked.size() == 8);
    for (int64_t outer = 1; outer <= 2; ++outer) {
      CHECK(std::ranges::find(picked, At(outer, 4, 1)) != picked.end());
    }
  }
  SECTION("no others") {
    std::vector<SearchPoint> picked = points.Pick(8, 0, random);
    CHECK(picked.size() == 8);
    CHECK(alike(picked) == 8);
  }
}

TEST_CASE("the picks are as many as asked, all different", "[search][ranked]") {
  Search search;
  RankedPoints points(search.context());
  for (int64_t inner = 1; inner <= 3; ++inner) points.Add(At(2, inner), {-1, 0});
  Random random(5);
  for (size_t count : {1, 2, 3, 8, 20}) {
    std::vector<SearchPoint> picked = points.Pick(count, 0, random);
    std::set<SearchPoint> different(picked.begin(), picked.end());
    CHECK(different.size() == picked.size());
    CHECK(picked.size() <= count);
    // Draws may meet what is picked already.
    CHECK(picked.size() >= (count <= 3 ? 1 : count * 3 / 5));
    for (const SearchPoint& point : picked) {
      CHECK(search.space.Points(point.sketch)->IsLegal(point.point));
    }
  }
}

TEST_CASE("a few picks are drawn from everywhere", "[search][ranked]") {
  Search search;
  RankedPoints points(search.context());
  for (int64_t outer = 1; outer <= 16; ++outer) {
    for (int64_t inner = 1; inner <= 16; ++inner) points.Add(At(outer, inner), {-1, 0});
  }
  Random random(6);
  size_t picks = 0, elsewhere = 0;
  for (int round = 0; round < 60; ++round) {
    for (const SearchPoint& point : points.Pick(10, 0, random)) {
      ++picks;
      elsewhere += point.sketch == 1;
    }
  }
  CHECK(picks >= 500);
  CHECK(elsewhere > 0);
  CHECK(elsewhere < picks / 10);
}

TEST_CASE("samples are legal points of every live sketch", "[search][ranked]") {
  Search search;
  Random random(7);
  for (size_t retired : {2, 1}) {
    if (retired < 2) search.space.Retire(retired);
    std::vector<size_t> live = search.space.live();
    std::vector<SearchPoint> sampled = SampleAll(search.context(), 40, random);
    CHECK(sampled.size() == 40);
    for (size_t sketch : live) {
      CHECK(std::ranges::count(sampled, sketch, &SearchPoint::sketch) ==
            static_cast<std::ptrdiff_t>(40 / live.size()));
    }
    for (const SearchPoint& point : sampled) {
      CHECK(search.space.Points(point.sketch)->IsLegal(point.point));
    }
  }
  search.RetireAll();
  CHECK(SampleAll(search.context(), 40, random).empty());
}

TEST_CASE("the best measured points were right, differ and are of live sketches",
          "[search][ranked]") {
  Search search;
  search.Add(At(1, 1), 3e-3);
  search.Add(At(1, 2), 1e-3, MeasureStatus::kWrong);
  search.Add(At(1, 3), 1e-3, MeasureStatus::kSlow);
  search.Add(At(1, 4), 2e-3);
  search.Add(At(1, 4), 1e-3);
  search.Add(At(1, 5, 1), 5e-4);
  CHECK(BestMeasured(search.context(), 9) ==
        std::vector<SearchPoint>{At(1, 5, 1), At(1, 4), At(1, 1)});
  CHECK(BestMeasured(search.context(), 2) == std::vector<SearchPoint>{At(1, 5, 1), At(1, 4)});
  search.space.Retire(1);
  CHECK(BestMeasured(search.context(), 9) == std::vector<SearchPoint>{At(1, 4), At(1, 1)});
}
