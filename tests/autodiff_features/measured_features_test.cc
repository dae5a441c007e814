#include "autodiff_features/measured_features.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace tcc {
namespace {

constexpr const char* kScale = R"(
fn kernel(A: f32[64], B: f32[64]) tensor {
  for i in 0..64 @c/i { block c(i: spatial 64 = i) { B[i] = A[i] * 2.0 } }
})";

Target Cpu() {
  return *FindTarget("x86-64-v3");
}

// Three points of one task; the size of the last is out of its range.
std::vector<MeasuredTask> ScaleTasks() {
  MeasuredTasks measured;
  for (int64_t size : {4, 8, 100}) {
    measured.Add({.task = kScale,
                  .name = "scale",
                  .fn = kScale,
                  .trace = "tile t 1 16\nsplit c/i [t]\n",
                  .set = {{"t", size}},
                  .seconds = 1e-6,
                  .policy = "warm"});
  }
  return std::move(measured).Take();
}

bool Mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("Points with infinite features are told, not predicted and not trained on",
          "[autodiff_features]") {
  CpuProfile profile = ProfileOf(Cpu());
  profile.hertz = 1e-310;
  MeasuredFeatures measured = FeaturesOf(ScaleTasks(), Cpu(), profile);
  REQUIRE(measured.problems.size() == 2);
  CHECK(Mentions(measured.problems[0], "does not allow (1 of 3 points)"));
  CHECK(measured.problems[1] == "'scale': features that are not finite (2 of 3 points)");
  TaskPredictions by_prior = measured.ByPrior();
  REQUIRE(by_prior[0].size() == 3);
  for (double ln_seconds : by_prior[0]) CHECK(std::isnan(ln_seconds));
  CHECK(measured.ToTraining()[0].points.empty());
  CHECK_FALSE(ExpectSomeReplay(measured).ok());

  MeasuredFeatures finite = FeaturesOf(ScaleTasks(), Cpu(), ProfileOf(Cpu()));
  CHECK(finite.problems.size() == 1);
  CHECK(finite.ToTraining()[0].points.size() == 2);
}

TEST_CASE("Measurements of which none can be replayed are an error that counts them",
          "[autodiff_features]") {
  CHECK(ExpectSomeReplay(FeaturesOf(ScaleTasks(), Cpu(), ProfileOf(Cpu()))).ok());
  std::vector<MeasuredTask> tasks = ScaleTasks();
  tasks[0].sketches[0].trace = "fold c/i\n";
  Status status = ExpectSomeReplay(FeaturesOf(tasks, Cpu(), ProfileOf(Cpu())));
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  INFO(status);
  CHECK(Message(status).starts_with(
      "expected measured points that can be replayed, got none in 3 timed records; 'scale': "));
  CHECK(Mentions(Message(status), "fold"));
  status = ExpectSomeReplay({});
  CHECK(Message(status) ==
        "expected measured points that can be replayed, got none in 0 timed records");
}

}  // namespace tcc
