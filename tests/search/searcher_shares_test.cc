#include "search/tuning/task_tuner.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>
#include <string>

#include "support/random.h"

using namespace tcc;

namespace {

constexpr std::string_view kNames[] = {"a", "b", "c"};
constexpr double kFloor = 0.1 / 3;  // of three

struct Trials {
  Trials& Add(const std::string& searcher, double seconds,
              MeasureStatus status = MeasureStatus::kOk, int times = 1) {
    for (int i = 0; i < times; ++i) history.Add({{0, {next++}}, status, seconds, searcher});
    return *this;
  }
  // Trials that are far from the best.
  Trials& AddPoor(const std::string& searcher, int times) {
    return Add(searcher, 100, MeasureStatus::kOk, times);
  }
  std::vector<double> shares() const { return SharesOf(history, kNames); }

  TaskHistory history;
  int64_t next = 1;
};

}  // namespace

TEST_CASE("without trials all searchers share alike", "[search][shares]") {
  for (double share : Trials().shares()) CHECK(share == Approx(1.0 / 3));
  Trials started;
  started.Add("start", 2).Add("imported", 1);
  for (double share : started.shares()) CHECK(share == Approx(1.0 / 3));
  constexpr std::string_view kAlone[] = {"a"};
  CHECK(SharesOf(started.history, kAlone)[0] == Approx(1));
  CHECK(SharesOf(started.history, {}).empty());
}

TEST_CASE("shares add up to one and nobody is below the floor", "[search][shares]") {
  constexpr MeasureStatus kStatuses[] = {MeasureStatus::kOk, MeasureStatus::kOk,
                                         MeasureStatus::kSlow, MeasureStatus::kWrong,
                                         MeasureStatus::kRefused};
  constexpr std::string_view kBy[] = {"a", "b", "c", "start", "someone"};
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    INFO(seed);
    Random random(seed);
    Trials trials;
    for (int i = 0; i < 100; ++i) {
      trials.Add(std::string(kBy[random.Below(5)]), 1 + random.Unit() / (i + 1),
                 kStatuses[random.Below(5)]);
      std::vector<double> shares = trials.shares();
      CHECK(std::accumulate(shares.begin(), shares.end(), 0.0) == Approx(1));
      CHECK(*std::ranges::min_element(shares) >= kFloor);
    }
  }
}

TEST_CASE("who gained most recently has the largest share", "[search][shares]") {
  for (bool a_last : {false, true}) {
    INFO(a_last);
    const std::string first = a_last ? "b" : "a", last = a_last ? "a" : "b";
    Trials trials;
    trials.Add("start", 8);
    trials.Add(first, 4).AddPoor(first, 15);
    trials.AddPoor("c", 16);
    trials.AddPoor(last, 15).Add(last, 2);
    std::vector<double> shares = trials.shares();
    double of_first = shares[a_last ? 1 : 0], of_last = shares[a_last ? 0 : 1];
    CHECK(of_last > of_first);
    CHECK(of_first > shares[2]);
    // A searcher that gains no more loses its share to what others gained before.
    shares = trials.AddPoor(last, 40).shares();
    CHECK(shares[a_last ? 1 : 0] > shares[a_last ? 0 : 1]);
  }
}

TEST_CASE("the larger of two gains has the larger share", "[search][shares]") {
  Trials trials;
  trials.Add("start", 8).Add("a", 7).Add("b", 3);
  std::vector<double> shares = trials.shares();
  CHECK(shares[1] > shares[0]);
}

TEST_CASE("a searcher that nothing is known of counts as good as the best", "[search][shares]") {
  Trials trials;
  trials.Add("start", 8).Add("a", 4).AddPoor("b", 5);
  std::vector<double> shares = trials.shares();
  CHECK(shares[2] == Approx(shares[0]));
  CHECK(shares[1] < shares[0]);
}

TEST_CASE("failures gain nothing", "[search][shares]") {
  for (MeasureStatus status :
       {MeasureStatus::kSlow, MeasureStatus::kWrong, MeasureStatus::kRefused, MeasureStatus::kHang,
        MeasureStatus::kFault, MeasureStatus::kBuildFailed}) {
    INFO(NameOf(status));
    Trials trials;
    trials.Add("start", 8).Add("a", 1e-6, status, 5).AddPoor("b", 5);
    std::vector<double> shares = trials.shares();
    CHECK(shares[0] == Approx(shares[1]));
    // Nor are they the best that others are held against.
    trials.Add("c", 4);
    shares = trials.shares();
    CHECK(shares[2] > 0.8);
  }
}

TEST_CASE("trials near to the best gain a little", "[search][shares]") {
  Trials trials;
  trials.Add("start", 8).Add("c", 4);
  for (int i = 0; i < 5; ++i) trials.Add("a", 4.2).AddPoor("b", 1);
  std::vector<double> shares = trials.shares();
  CHECK(shares[0] > shares[1]);
  CHECK(shares[0] < shares[2]);
}

TEST_CASE("a gain counts from the best of all, whoever found it", "[search][shares]") {
  Trials before, after;
  before.Add("start", 8).Add("a", 4).AddPoor("b", 1).AddPoor("c", 1);
  after.Add("start", 2).Add("a", 4).AddPoor("b", 1).AddPoor("c", 1);
  CHECK(before.shares()[0] > 0.8);
  for (double share : after.shares()) CHECK(share == Approx(1.0 / 3));
}
