#include "search/tuning/in_place.h"

#include <catch2/catch.hpp>

#include <algorithm>

#include "support/random.h"
#include "tests/search/in_place_records.h"

using namespace tcc;
using Catch::Contains;

namespace {

using Artefacts = std::vector<std::vector<uint8_t>>;
using Outcomes = std::vector<std::optional<InPlaceOutcome>>;

constexpr double kMargin = 0.01;

std::vector<uint8_t> Bytes(const std::string& text) {
  return {text.begin(), text.end()};
}

// Candidates of so many seconds; 0: none. A name tells candidates of equal seconds apart.
Artefacts Candidates(const std::vector<double>& seconds, const std::string& name = "") {
  Artefacts artefacts;
  for (double one : seconds) {
    artefacts.push_back(one > 0 ? Bytes(fmt::format("{} {}", one, name)) : Bytes(""));
  }
  return artefacts;
}

FakeNetworkOptions SecondsAsText() {
  return {.seconds = [](const std::string& artefact) { return std::stod(artefact); }};
}

// A network of tasks that have one call of a thousandth of a second each, and a contest in it.
struct Arena {
  explicit Arena(size_t tasks, FakeNetworkOptions options = SecondsAsText(),
                 std::vector<std::set<size_t>> consumers = {})
      : workloads(tasks),
        network(workloads, std::move(options)),
        contest(network, tasks, std::move(consumers)) {}

  void Begin() {
    Status begun = contest.Begin(Candidates(std::vector<double>(workloads.size(), 1e-3)));
    INFO(begun);
    REQUIRE(begun.ok());
  }
  Outcomes Challenge(const Artefacts& challengers, double margin = kMargin) {
    StatusOr<Outcomes> outcomes = contest.Challenge(challengers, {.margin = margin});
    INFO(outcomes.status());
    REQUIRE(outcomes.ok());
    REQUIRE(outcomes->size() == workloads.size());
    return *outcomes;
  }
  // The incumbent's seconds as a challenger of a thousandth finds them.
  double IncumbentSeconds(size_t task) {
    std::vector<double> seconds(workloads.size(), 0);
    seconds[task] = 1e-3;
    return 1e-3 / Challenge(Candidates(seconds, "probe"), 0.999)[task]->ratio;
  }

  std::vector<Workload> workloads;
  FakeNetwork network;
  InPlaceContest contest;
};

}  // namespace

TEST_CASE("the faster challenger becomes the incumbent, whatever the clock", "[search][in_place]") {
  for (const WanderingClock& clock : kClocks) {
    INFO(clock.name);
    FakeNetworkOptions options = SecondsAsText();
    options.clock = clock.factor;
    Arena arena(4, options);
    arena.Begin();
    // Faster, slower, within the margin, none.
    Outcomes outcomes = arena.Challenge(Candidates({0.7e-3, 1.3e-3, 0.995e-3, 0}));
    REQUIRE((outcomes[0] && outcomes[1] && outcomes[2]));
    CHECK(outcomes[0]->won);
    CHECK_FALSE(outcomes[1]->won);
    CHECK_FALSE(outcomes[2]->won);
    CHECK_FALSE(outcomes[3].has_value());
    CHECK(outcomes[0]->ratio == Approx(0.7));
    CHECK(outcomes[1]->ratio == Approx(1.3));
    CHECK(outcomes[2]->ratio == Approx(0.995));
    CHECK(arena.contest.task_seconds(0) == Approx(0.7e-3));
    CHECK(arena.contest.task_seconds(1) == Approx(1e-3));
    CHECK(arena.IncumbentSeconds(0) == Approx(0.7e-3));
    for (size_t task : {1, 2, 3}) CHECK(arena.IncumbentSeconds(task) == Approx(1e-3));
  }
}

TEST_CASE("the margin is what a challenger has to win by", "[search][in_place]") {
  for (double margin : {0.0, 0.01, 0.03}) {
    INFO(margin);
    Arena arena(1);
    arena.Begin();
    Outcomes outcomes = arena.Challenge(Candidates({0.98e-3}), margin);
    CHECK(outcomes[0]->won == (margin < 0.02));
    // Its equal never takes its place.
    CHECK_FALSE(arena.Challenge(Candidates({0.98e-3}, "equal"), margin)[0]->won);
  }
}

TEST_CASE("a challenger that looks faster once is timed again and loses", "[search][in_place]") {
  // The challenger's task is fast in its first two runs only.
  size_t lucky = 0;
  FakeNetworkOptions options = SecondsAsText();
  options.factor = [&](size_t, std::span<const std::string> artefacts) {
    return artefacts[0].ends_with("lucky") && ++lucky <= 2 ? 0.5 : 1;
  };
  Arena arena(1, options);
  arena.Begin();
  Outcomes outcomes = arena.Challenge(Candidates({1.1e-3}, "lucky"));
  CHECK(lucky > 2);
  CHECK_FALSE(outcomes[0]->won);
  CHECK(outcomes[0]->ratio == Approx(1.1));
}

TEST_CASE("only challengers that promise something are timed again", "[search][in_place]") {
  Arena arena(2);
  arena.Begin();
  Outcomes outcomes = arena.Challenge(Candidates({0.7e-3, 1.3e-3}));
  CHECK(outcomes[0]->runs > outcomes[1]->runs);
  CHECK(outcomes[1]->runs >= arena.contest.runs());
  CHECK(outcomes[1]->runs % arena.contest.runs() == 0);
  const size_t before = arena.network.runs();
  // The first one is within the margin of its incumbent.
  Outcomes slow = arena.Challenge(Candidates({0.699e-3, 1.3e-3}));
  CHECK(slow[0]->runs == slow[1]->runs);
  CHECK(static_cast<int64_t>(arena.network.runs() - before) * arena.contest.runs() ==
        2 * slow[0]->runs);
}

TEST_CASE("incumbents are timed at the beginning, short networks in more runs",
          "[search][in_place]") {
  for (double seconds : {1e-5, 1e-3, 1.0}) {
    INFO(seconds);
    std::vector<Workload> workloads(2);
    workloads[1].runs = 3;
    FakeNetwork network(workloads, SecondsAsText());
    InPlaceContest contest(network, 2);
    REQUIRE(contest.Begin(Candidates({seconds, seconds})).ok());
    CHECK(contest.seconds() == Approx(4 * seconds));
    CHECK(contest.task_seconds(0) == Approx(seconds));
    CHECK(contest.task_seconds(1) == Approx(3 * seconds));
    CHECK(contest.runs() >= 1);
    CHECK((contest.runs() > 50) == (seconds == 1e-5));
    CHECK(network.network_runs() == 1 + contest.runs());
  }
}

TEST_CASE("a task without an incumbent is an error of the network", "[search][in_place]") {
  Arena arena(2);
  Status status = arena.contest.Begin(Candidates({1e-3, 0}));
  CHECK(status == absl::InternalError("task 1 has no candidate"));
}

TEST_CASE("a worker that ended once is tried once more", "[search][in_place]") {
  FakeNetworkOptions options = SecondsAsText();
  options.ends = [](const std::string& artefact) { return artefact.ends_with("bad"); };
  options.endings = 1;
  Arena arena(2, options);
  arena.Begin();
  Outcomes outcomes = arena.Challenge(Candidates({0.7e-3, 1.3e-3}, "bad"));
  CHECK(arena.network.aborted() == 1);
  REQUIRE((outcomes[0] && outcomes[1]));
  CHECK(outcomes[0]->won);
  CHECK(outcomes[0]->ratio == Approx(0.7));
  CHECK(outcomes[1]->ratio == Approx(1.3));
}

TEST_CASE("a challenger that ends workers is found, and the others have their outcomes",
          "[search][in_place]") {
  FakeNetworkOptions options = SecondsAsText();
  options.ends = [](const std::string& artefact) { return artefact.ends_with("bad"); };
  Arena arena(3, options);
  arena.Begin();
  Artefacts challengers = Candidates({0.7e-3, 0.7e-3, 0.7e-3});
  challengers[1] = Bytes("0.7e-3 bad");
  Outcomes outcomes = arena.Challenge(challengers);
  // Twice together and twice alone.
  CHECK(arena.network.aborted() == 4);
  CHECK_FALSE(outcomes[1].has_value());
  CHECK(arena.contest.task_seconds(1) == Approx(1e-3));
  CHECK(arena.IncumbentSeconds(1) == Approx(1e-3));
  // Without it the others win.
  REQUIRE((outcomes[0] && outcomes[2]));
  CHECK((outcomes[0]->won && outcomes[2]->won));
}

TEST_CASE("one that ends two workers when it is timed again has no outcome", "[search][in_place]") {
  FakeNetworkOptions options = SecondsAsText();
  size_t runs = 0;
  options.ends = [&](const std::string& artefact) {
    return artefact.ends_with("bad") && ++runs > 2;
  };
  Arena arena(1, options);
  arena.Begin();
  Outcomes outcomes = arena.Challenge(Candidates({0.7e-3}, "bad"));
  CHECK_FALSE(outcomes[0].has_value());
  CHECK(arena.IncumbentSeconds(0) == Approx(1e-3));
}

TEST_CASE("an incumbent that ends two workers at the beginning is an error", "[search][in_place]") {
  FakeNetworkOptions options = SecondsAsText();
  options.ends = [](const std::string&) { return true; };
  Arena arena(1, options);
  CHECK(absl::IsAborted(arena.contest.Begin(Candidates({1e-3}))));
  CHECK(arena.network.runs() == 2);
}

TEST_CASE("the whole is compared with what wins and with what it began with",
          "[search][in_place]") {
  for (const WanderingClock& clock : kClocks) {
    INFO(clock.name);
    FakeNetworkOptions options = SecondsAsText();
    options.clock = clock.factor;
    Arena arena(3, options);
    arena.Begin();
    arena.Challenge(Candidates({0.5e-3, 0.8e-3, 1.5e-3}));
    StatusOr<InPlaceContest::Whole> whole =
        arena.contest.CompareWhole(Candidates({1e-3, 1e-3, 1e-3}));
    REQUIRE(whole.ok());
    CHECK(whole->incumbents == Approx(2.3e-3));
    CHECK(whole->others == Approx(3e-3));
    CHECK(arena.contest.seconds() == Approx(2.3e-3));
    // Nobody's place changes.
    CHECK(arena.IncumbentSeconds(0) == Approx(0.5e-3));
  }
}

TEST_CASE("a challenger is charged what its consumers lose beside it", "[search][in_place]") {
  FakeNetworkOptions options = SecondsAsText();
  double loss = GENERATE(1.2, 1.7);
  options.factor = [&](size_t task, std::span<const std::string> artefacts) {
    return task == 1 && artefacts[0].ends_with("greedy") ? loss : 1;
  };
  // Task 1 has a challenger of its own, which is timed apart from that of task 0.
  Arena arena(3, options, {{1}, {}, {0}});
  arena.Begin();
  Outcomes outcomes = arena.Challenge(Candidates({0.5e-3, 0.4e-3, 0.8e-3}, "greedy"));
  REQUIRE((outcomes[0] && outcomes[1] && outcomes[2]));
  CHECK(outcomes[0]->ratio == Approx(0.5 + (loss - 1)));
  CHECK(outcomes[0]->won == (loss < 1.5));
  CHECK(outcomes[1]->won);
  CHECK(outcomes[1]->ratio == Approx(0.4));
  CHECK((outcomes[2]->won && outcomes[2]->ratio == Approx(0.8)));
}

TEST_CASE("what consumers gain beside a challenger is not credited to it", "[search][in_place]") {
  FakeNetworkOptions options = SecondsAsText();
  options.factor = [](size_t task, std::span<const std::string> artefacts) {
    return task == 1 && artefacts[0].ends_with("lucky") ? 0.5 : 1;
  };
  Arena arena(2, options, {{1}, {}});
  arena.Begin();
  Outcomes outcomes = arena.Challenge(Candidates({0.9e-3, 0}, "lucky"));
  REQUIRE(outcomes[0]);
  CHECK(outcomes[0]->won);
  CHECK(outcomes[0]->ratio == Approx(0.9));
}

TEST_CASE("equal challengers on a noisy machine add up little of their luck",
          "[search][in_place]") {
  // Every time is up to 40 % too long, for long spells and for each run.
  Random random(3);
  double spell = 0;
  FakeNetworkOptions options = SecondsAsText();
  options.factor = [&](size_t, std::span<const std::string>) {
    if (random.OneIn(8)) spell = 0.3 * random.Unit();
    return 1 + spell + 0.1 * random.Unit();
  };
  Arena arena(1, options);
  arena.Begin();
  double chain = 1;
  for (int i = 0; i < 200; ++i) {
    Outcomes outcomes = arena.Challenge(Candidates({1e-3}, std::to_string(i)));
    REQUIRE(outcomes[0]);
    if (outcomes[0]->won) chain *= outcomes[0]->ratio;
  }
  // 0.5 to 0.7 where whoever looks faster twice wins, by the ratio of the second look.
  CHECK(chain > 0.72);
}

TEST_CASE("the whole counts what neighbours do to each other", "[search][in_place]") {
  FakeNetworkOptions options = SecondsAsText();
  options.factor = [](size_t task, std::span<const std::string> artefacts) {
    return task == 1 && artefacts[0].ends_with("greedy") ? 3 : 1;
  };
  Arena arena(2, options);
  arena.Begin();
  CHECK(arena.Challenge(Candidates({0.5e-3, 0}, "greedy"))[0]->won);
  StatusOr<InPlaceContest::Whole> whole = arena.contest.CompareWhole(Candidates({1e-3, 1e-3}));
  REQUIRE(whole.ok());
  CHECK(whole->incumbents == Approx(3.5e-3));
  CHECK(whole->others == Approx(2e-3));
}
