#include <sys/wait.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/text/parser.h"
#include "search/measure/local_measurer.h"
#include "tests/runtime/measured_artefact.h"

// Bad candidates among good ones, in the worker that users get.
namespace tcc {
namespace {

using Catch::Contains;
using Clock = std::chrono::steady_clock;

// Deadlines in seconds. A good candidate takes milliseconds, an endless one any deadline.
constexpr double kAmple = 100;
constexpr double kShort = 0.3;

struct Kind {
  const char* name;
  const char* kernel;  // of measured_kernels.c
  MeasureStatus status;
  const char* message;
  double deadline = kAmple;
};

// The signal depends on whether a sanitizer reports the fault and exits.
constexpr Kind kKinds[] = {
    {"store to null", "stores_to_null", MeasureStatus::kFault, "the worker ended "},
    {"ud2", "traps", MeasureStatus::kFault, "the worker ended "},
    {"endless loop", "never_returns", MeasureStatus::kHang, "no answer within 0.3 s", kShort},
    {"wrong result", "wrong_by_one_element", MeasureStatus::kWrong, "p2[17] is "},
    {"out of memory", "needs_too_much", MeasureStatus::kOutOfMemory, "memory"},
    {"stack overflow", "recurses", MeasureStatus::kFault, "the worker ended "},
    {"exit_group", "exits", MeasureStatus::kFault, "the worker ended with exit code 41"},
    {"write past the end", "writes_after_its_end", MeasureStatus::kWrong,
     "wrote right after operand p2"},
};

bool EndsItsWorker(const Kind& kind) {
  return kind.status == MeasureStatus::kFault || kind.status == MeasureStatus::kHang;
}

// Counts children that wait to be collected as well.
bool HasChildren() {
  siginfo_t ignored{};
  return waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

// The function that measured_kernels.c has kernels of.
Workload MeasuredWorkload() {
  StatusOr<Function> fn = ParseFunction(R"(
    fn kernel(p0: f32[1024], p1: f32[1024] constant, p2: f32[1024]) tensor {
      for i in 0..1024 @b0/i {
        block b0(i: spatial 1024 = i) { p2[i] = p0[i] + p1[i] * 2.0 } } })");
  INFO(fn.status());
  REQUIRE(fn.ok());
  Workload workload;
  workload.name = "measured";
  workload.variants = {*fn};
  workload.inputs = 2;
  return workload;
}

// A candidate's deadline is its request's stop_beyond, so that a short one strikes nobody else.
std::unique_ptr<Measurer> OpenReal(std::vector<std::string>& warnings) {
  StatusOr<std::unique_ptr<Measurer>> measurer = MakeLocalMeasurer({
      .runner = {
          .worker = TCC_REAL_WORKER,
          .deadline_seconds = [](const ExpectedTime& expected) { return expected.stop_beyond; },
          .warn = [&](const std::string& message) { warnings.push_back(message); }},
  });
  INFO(measurer.status());
  REQUIRE(measurer.ok());
  StatusOr<Measurement> opened =
      (*measurer)->Open(MeasuredWorkload(), ArtefactBytes(MeasuredArtefact("right")));
  INFO(opened.status());
  REQUIRE(opened.ok());
  return std::move(*measurer);
}

void Submit(Measurer& measurer, size_t id, const char* kernel, double deadline) {
  measurer.Submit(
      {.id = id, .artefact = ArtefactBytes(MeasuredArtefact(kernel)), .stop_beyond = deadline});
}

Measurement TakeOf(Measurer& measurer, size_t id) {
  StatusOr<std::optional<MeasureReport>> report = measurer.Take();
  INFO(report.status());
  REQUIRE(report.ok());
  REQUIRE(report->has_value());
  CHECK((*report)->id == id);
  return (*report)->measurement;
}

void CheckIsBlamed(const Kind& kind, const Measurement& measured) {
  CHECK(NameOf(measured.status) == NameOf(kind.status));
  CHECK_THAT(measured.message, Contains(kind.message));
  CHECK(measured.seconds == 0);
}

void CheckIsGood(const Measurement& measured) {
  INFO(measured.message);
  CHECK(NameOf(measured.status) == NameOf(MeasureStatus::kOk));
  CHECK(measured.seconds > 0);
  CHECK(measured.error == 0);
}

// "fault 100", "ok 1, slow 99"
std::string CountsText(const std::map<std::string, int>& counts) {
  std::string text;
  for (const auto& [status, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", status, count);
  }
  return text;
}

}  // namespace

TEST_CASE("planted candidates get their status, and good ones among them are measured",
          "[search][measurer]") {
  constexpr size_t kRounds = 2;
  std::vector<std::string> warnings;
  std::unique_ptr<Measurer> measurer = OpenReal(warnings);
  size_t id = 0;
  for (size_t round = 0; round < kRounds; ++round) {
    for (const Kind& kind : kKinds) {
      Submit(*measurer, id++, kind.kernel, kind.deadline);
      Submit(*measurer, id++, "right", kAmple);
    }
  }
  id = 0;
  for (size_t round = 0; round < kRounds; ++round) {
    for (const Kind& kind : kKinds) {
      INFO("round " << round << ", " << kind.name);
      CheckIsBlamed(kind, TakeOf(*measurer, id++));
      CheckIsGood(TakeOf(*measurer, id++));
    }
  }
  // Each was tried once more before it was blamed.
  auto ending = static_cast<size_t>(std::ranges::count_if(kKinds, EndsItsWorker));
  CHECK(warnings.size() == kRounds * ending);
  measurer.reset();
  CHECK_FALSE(HasChildren());
}

// search_tests "[planted]"
TEST_CASE("a hundred planted candidates of each kind", "[search][.][planted]") {
  constexpr int kCount = 100;
  std::vector<std::string> warnings;
  std::unique_ptr<Measurer> measurer = OpenReal(warnings);
  fmt::print("{:20} {:>5}  {:24} {:>12} {:>12}\n", "kind", "count", "statuses", "median ms",
             "largest ms");
  size_t id = 0;
  for (const Kind& kind : kKinds) {
    INFO(kind.name);
    std::map<std::string, int> statuses;
    std::vector<double> recovery;  // from the report of a bad one to that of the next good one
    for (int i = 0; i < kCount; ++i) {
      Submit(*measurer, ++id, kind.kernel, kind.deadline);
      Measurement bad = TakeOf(*measurer, id);
      const Clock::time_point blamed = Clock::now();
      CheckIsBlamed(kind, bad);
      ++statuses[std::string(NameOf(bad.status))];
      Submit(*measurer, ++id, "right", kAmple);
      CheckIsGood(TakeOf(*measurer, id));
      recovery.push_back(std::chrono::duration<double, std::milli>(Clock::now() - blamed).count());
    }
    std::ranges::sort(recovery);
    fmt::print("{:20} {:>5}  {:24} {:>12.1f} {:>12.1f}\n", kind.name, kCount, CountsText(statuses),
               recovery[recovery.size() / 2], recovery.back());
  }
  measurer.reset();
  CHECK_FALSE(HasChildren());
}

}  // namespace tcc
