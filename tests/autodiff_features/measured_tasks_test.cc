#include "autodiff_features/measured_tasks.h"

#include <catch2/catch.hpp>

#include "support/random.h"

namespace tcc {
namespace {

MeasuredRecord RecordOf(const std::string& task) {
  return {.task = task,
          .name = "name of " + task,
          .fn = "f",
          .trace = "t",
          .set = {{"mm.i.1", 4}},
          .seconds = 2e-6,
          .noise = 0.03,
          .precise = true,
          .threads = 1,
          .policy = "warm"};
}

MeasuredTask TaskNamed(const std::string& key) {
  MeasuredTask task;
  task.key = key;
  return task;
}

std::string RandomKey(Random& random) {
  std::string key;
  for (uint64_t letters = 1 + random.Below(40); letters > 0; --letters) {
    key += static_cast<char>('a' + random.Below(26));
  }
  return key;
}

}  // namespace

TEST_CASE("Records of one task, number of threads and policy are points of one task",
          "[autodiff_features]") {
  MeasuredTasks measured;
  MeasuredRecord more_threads = RecordOf("b"), cold = RecordOf("b");
  more_threads.threads = 2;
  cold.policy = "rotate-64M";
  for (const MeasuredRecord& record : {RecordOf("b"), RecordOf("a"), more_threads, RecordOf("b"),
                                       cold, RecordOf("a"), more_threads}) {
    measured.Add(record);
  }
  std::vector<MeasuredTask> tasks = std::move(measured).Take();
  REQUIRE(tasks.size() == 4);
  std::vector<std::string> keys;
  std::vector<size_t> points;
  for (const MeasuredTask& task : tasks) {
    keys.push_back(task.key);
    points.push_back(task.points.size());
  }
  CHECK(keys == std::vector<std::string>{"b", "a", "b", "b"});
  CHECK(points == std::vector<size_t>{2, 2, 2, 1});
  CHECK(tasks[0].name == "name of b");
  CHECK(tasks[0].settings.threads == 1);
  CHECK(tasks[2].settings.threads == 2);
  CHECK(tasks[2].policy == "warm");
  CHECK(tasks[3].policy == "rotate-64M");
  CHECK_FALSE(tasks[0].settings.cold_activations);
  CHECK(tasks[3].settings.cold_activations);
}

TEST_CASE("Records of two devices or targets are never points of one task", "[autodiff_features]") {
  MeasuredTasks measured;
  MeasuredRecord zen = RecordOf("a"), xeon = RecordOf("a"), other_target = RecordOf("a");
  zen.target = xeon.target = "native";
  zen.device = other_target.device = "zen";
  xeon.device = "xeon";
  other_target.target = "x86-64-v3";
  for (const MeasuredRecord& record : {zen, xeon, RecordOf("a"), other_target, zen}) {
    measured.Add(record);
  }
  std::vector<MeasuredTask> tasks = std::move(measured).Take();
  REQUIRE(tasks.size() == 4);
  CHECK(tasks[0].points.size() == 2);
  CHECK(tasks[0].target == "native");
  CHECK(tasks[0].device == "zen");
  CHECK(tasks[1].device == "xeon");
  CHECK(tasks[2].target.empty());
  CHECK(tasks[2].device.empty());
  CHECK(tasks[3].target == "x86-64-v3");
  // On one side of a training, all the same.
  for (const MeasuredTask& task : tasks) CHECK(task.key == "a");
}

TEST_CASE("A point is what its record says", "[autodiff_features]") {
  MeasuredTasks measured;
  MeasuredRecord slow = RecordOf("a");
  slow.set = {{"mm.i.1", 8}, {"mm.j.1", 2}};
  slow.seconds = 0.5;
  slow.noise = 0.25;
  slow.precise = false;
  measured.Add(RecordOf("a"));
  measured.Add(slow);
  std::vector<MeasuredTask> tasks = std::move(measured).Take();
  REQUIRE(tasks.size() == 1);
  const MeasuredPoint &first = tasks[0].points.at(0), &second = tasks[0].points.at(1);
  CHECK(first.set == Decisions{{"mm.i.1", 4}});
  CHECK(first.seconds == 2e-6);
  CHECK(first.noise == 0.03);
  CHECK(first.precise);
  CHECK(second.set == slow.set);
  CHECK(second.seconds == 0.5);
  CHECK(second.noise == 0.25);
  CHECK_FALSE(second.precise);
  CHECK(tasks[0].BestSeconds() == 2e-6);
  CHECK(MeasuredTask().BestSeconds() == 0);
}

TEST_CASE("Points of one function and trace share a sketch", "[autodiff_features]") {
  MeasuredTasks measured;
  MeasuredRecord other_trace = RecordOf("a"), other_fn = RecordOf("a");
  other_trace.trace = "u";
  other_fn.fn = "g";
  for (const MeasuredRecord& record :
       {RecordOf("a"), other_trace, RecordOf("a"), other_fn, other_trace, RecordOf("b")}) {
    measured.Add(record);
  }
  std::vector<MeasuredTask> tasks = std::move(measured).Take();
  REQUIRE(tasks.size() == 2);
  REQUIRE(tasks[0].sketches.size() == 3);
  CHECK(tasks[0].sketches[0].fn == "f");
  CHECK(tasks[0].sketches[0].trace == "t");
  CHECK(tasks[0].sketches[1].trace == "u");
  CHECK(tasks[0].sketches[2].fn == "g");
  std::vector<size_t> sketches;
  for (const MeasuredPoint& point : tasks[0].points) sketches.push_back(point.sketch);
  CHECK(sketches == std::vector<size_t>{0, 1, 0, 2, 1});
  CHECK(tasks[1].sketches.size() == 1);
  CHECK(tasks[1].points[0].sketch == 0);
}

TEST_CASE("Records are numbered as they come, with those that are skipped", "[autodiff_features]") {
  MeasuredTasks measured;
  CHECK(measured.records() == 0);
  CHECK(measured.Skip() == 0);
  CHECK(measured.Add(RecordOf("a")) == 1);
  CHECK(measured.Add(RecordOf("b")) == 2);
  CHECK(measured.Skip() == 3);
  CHECK(measured.Skip() == 4);
  CHECK(measured.Add(RecordOf("a")) == 5);
  CHECK(measured.records() == 6);
  std::vector<MeasuredTask> tasks = std::move(measured).Take();
  REQUIRE(tasks.size() == 2);
  CHECK(tasks[0].points[0].record == 1);
  CHECK(tasks[0].points[1].record == 5);
  CHECK(tasks[1].points[0].record == 2);
}

TEST_CASE("Names of policies stand for what is cold", "[autodiff_features]") {
  struct Row {
    std::string policy;
    bool cold_weights, cold_activations;
  };
  for (const Row& row : {Row{"warm", false, false}, Row{"rotate-weights-64M", true, false},
                         Row{"in-place", true, false}, Row{"rotate-64M", true, true}}) {
    INFO(row.policy);
    RunSettings settings = SettingsOf(row.policy, 7);
    CHECK(settings.threads == 7);
    CHECK(settings.cold_weights == row.cold_weights);
    CHECK(settings.cold_activations == row.cold_activations);
  }
}

TEST_CASE("The asked share of tasks is held back, by their keys alone", "[autodiff_features]") {
  Random random(12);
  int fifth = 0, half = 0;
  for (int i = 0; i < 2000; ++i) {
    MeasuredTask task = TaskNamed(RandomKey(random)), other = TaskNamed(task.key);
    other.name = "another";
    other.settings.threads = 16;
    other.policy = "rotate-64M";
    other.points.emplace_back();
    REQUIRE(IsHeldOut(task, 0.2) == IsHeldOut(other, 0.2));
    // A larger share holds back the tasks of a smaller one.
    if (IsHeldOut(task, 0.2)) REQUIRE(IsHeldOut(task, 0.5));
    fifth += IsHeldOut(task, 0.2);
    half += IsHeldOut(task, 0.5);
    REQUIRE_FALSE(IsHeldOut(task, 0));
    REQUIRE(IsHeldOut(task, 1));
  }
  CHECK(fifth > 0.15 * 2000);
  CHECK(fifth < 0.25 * 2000);
  CHECK(half > 0.45 * 2000);
  CHECK(half < 0.55 * 2000);
}

}  // namespace tcc
