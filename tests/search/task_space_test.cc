#include "search/space/task_space.h"

#include <catch2/catch.hpp>

#include <set>

#include "tests/search/sample_database.h"
#include "tests/search/sample_workloads.h"

using namespace tcc;

namespace {

std::vector<Workload> Workloads() {
  Workload plain = ProductWorkload("product");
  Workload turned = ProductWorkload("turned", {.turned = true});
  Workload narrow = ProductWorkload("narrow", {.rows = 3, .columns = 5, .depth = 700});
  return {SmallWorkload(), plain, turned, narrow, WithVariants({plain, turned}, 1)};
}

Schedule ScheduleOf(const std::string& text) {
  StatusOr<Schedule> schedule = ParseSchedule(text);
  INFO(text << schedule.status());
  REQUIRE(schedule.ok());
  return *schedule;
}

// What a database has kept of a candidate finds its point again.
void CheckFindsAgain(const Workload& workload, TaskSpace& space, const SearchPoint& point) {
  Candidate candidate = space.ToCandidate(point);
  const std::string& key = workload.variant_keys[candidate.schedule.variant];
  CHECK(candidate.rules == space.sketch(point.sketch).name);
  CHECK(space.Find(key, candidate.schedule) == point);
  CHECK(space.Find(key, ScheduleOf(Print(candidate.schedule))) == point);
}

std::vector<SketchState> FitNothing(const SketchState&, const Block&, const Target&) {
  return {};
}

}  // namespace

TEST_CASE("every sketch of a task starts from a point of its own space", "[search][space]") {
  for (const Workload& workload : Workloads()) {
    TaskSpace space(workload, SearchTarget());
    REQUIRE(space.size() > 0);
    for (size_t s = 0; s < space.size(); ++s) {
      INFO(workload.name << "\n" << Print(space.sketch(s).trace));
      std::optional<SearchPoint> start = space.Start(s);
      REQUIRE(start);
      CHECK(start->sketch == s);
      CHECK(space.Points(s)->IsLegal(start->point));
      CHECK(space.ToCandidate(*start).schedule.decisions == space.sketch(s).start);
    }
  }
}

TEST_CASE("a recorded candidate finds its point again", "[search][space]") {
  Random random(11);
  for (const Workload& workload : Workloads()) {
    TaskSpace space(workload, SearchTarget());
    for (size_t s = 0; s < space.size(); ++s) {
      INFO(workload.name << "\n" << Print(space.sketch(s).trace));
      CheckFindsAgain(workload, space, space.Start(s).value());
      for (const Point& point : space.Points(s)->Sample(20, random)) {
        CheckFindsAgain(workload, space, {s, point});
      }
    }
  }
}

TEST_CASE("the sketch of the variant that is compiled without a search comes first",
          "[search][space]") {
  Workload plain = ProductWorkload("product");
  Workload turned = ProductWorkload("turned", {.turned = true});
  for (size_t first : {0, 1}) {
    Workload workload = WithVariants({plain, turned}, first);
    TaskSpace space(workload, SearchTarget());
    Sketch sketch = FirstSketch(workload.variants[first], SearchTarget());
    CHECK(Print(space.sketch(0).trace) == Print(sketch.trace));
    CHECK(space.sketch(0).start == sketch.start);
    std::vector<size_t> variants;
    for (size_t s = 0; s < space.size(); ++s) variants.push_back(space.sketch(s).variant);
    size_t of_first = TaskSpace(first == 0 ? plain : turned, SearchTarget()).size();
    std::vector<size_t> expected(of_first, first);
    expected.resize(space.size(), 1 - first);
    CHECK(variants == expected);
    CHECK(space.size() > of_first);
  }
}

TEST_CASE("sketches of equal variants come once", "[search][space]") {
  Workload plain = ProductWorkload("product");
  Workload turned = ProductWorkload("turned", {.turned = true});
  auto sketches = [](const Workload& workload) {
    return TaskSpace(workload, SearchTarget()).size();
  };
  CHECK(sketches(WithVariants({plain, plain}, 1)) == sketches(plain));
  CHECK(sketches(WithVariants({plain, turned, plain}, 0)) == sketches(plain) + sketches(turned));
}

TEST_CASE("a recorded schedule that the task no longer has is not found", "[search][space]") {
  Workload workload = ProductWorkload("product");
  TaskSpace space(workload, SearchTarget());
  Schedule schedule = space.ToCandidate(space.Start(0).value()).schedule;
  REQUIRE(space.Find(workload.key, schedule));
  SECTION("another variant's") {
    CHECK_FALSE(space.Find("no key", schedule));
  }
  SECTION("another trace") {
    CHECK_FALSE(space.Find(workload.key, TrialOf(workload, 4, 1e-3).schedule));
    schedule.trace.steps.pop_back();
    CHECK_FALSE(space.Find(workload.key, schedule));
  }
  SECTION("a value that its size does not allow") {
    REQUIRE_FALSE(schedule.decisions.empty());
    schedule.decisions.begin()->second = 1'000'003;
    CHECK_FALSE(space.Find(workload.key, schedule));
  }
  SECTION("a size that is not decided, or that there is not") {
    Decisions decisions = schedule.decisions;
    schedule.decisions.erase(schedule.decisions.begin());
    CHECK_FALSE(space.Find(workload.key, schedule));
    schedule.decisions = decisions;
    schedule.decisions["no_size"] = 1;
    CHECK_FALSE(space.Find(workload.key, schedule));
  }
}

TEST_CASE("a recorded point that breaks a constraint is not found", "[search][space]") {
  Workload workload = ProductWorkload("product");
  TaskSpace space(workload, SearchTarget());
  const SearchSpace& points = *space.Points(0);
  // The largest of everything is far more than the vector registers hold.
  Schedule schedule = space.ToCandidate(space.Start(0).value()).schedule;
  for (const FreeSize& size : points.sizes()) {
    schedule.decisions[size.var->name] = ValuesOf(size).back();
  }
  REQUIRE_FALSE(points.IsLegal(points.ToPoint(schedule.decisions)));
  CHECK_FALSE(space.Find(workload.key, schedule));
}

TEST_CASE("a retired sketch is no longer live but keeps its points", "[search][space]") {
  Workload workload = ProductWorkload("product");
  TaskSpace space(workload, SearchTarget());
  REQUIRE(space.size() >= 2);
  REQUIRE(space.live().size() == space.size());
  space.Retire(1);
  CHECK_FALSE(space.IsLive(1));
  CHECK(space.IsLive(0));
  std::vector<size_t> live = space.live();
  CHECK(live.size() == space.size() - 1);
  CHECK(std::set<size_t>(live.begin(), live.end()).count(1) == 0);
  CHECK(space.Points(1) != nullptr);
}

TEST_CASE("rules of a caller replace the target's", "[search][space]") {
  Workload workload = ProductWorkload("product");
  constexpr SketchRule kRules[] = {{"nothing", FitNothing, "no block"}};
  TaskSpace space(workload, SearchTarget(), kRules);
  REQUIRE(space.size() == 1);
  CHECK(space.sketch(0).trace.steps.empty());
  CHECK(space.Start(0) == SearchPoint{0, {}});
}
