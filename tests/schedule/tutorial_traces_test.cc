#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "schedule/space/schedule.h"
#include "tests/programs/point_check.h"
#include "tests/schedule/step_check.h"

// The schedules of docs/tutorial/schedule.md.
namespace tcc {
namespace {

Function Product(int64_t rows, int64_t columns, int64_t depth) {
  return FunctionOf(fmt::format(
      R"(
    fn mm(B: f32[{2}, {1}] constant, A: f32[{0}, {2}], C: f32[{0}, {1}]) tensor {{
      for i in 0..{0} @mm/i {{ for j in 0..{1} @mm/j {{ for k in 0..{2} @mm/k {{
        block mm(i: spatial {0} = i, j: spatial {1} = j, k: reduce {2} = k) {{
          reduce sum_f32 init (C[i, j]) with (A[i, k] * B[k, j])
        }}
      }} }} }}
    }})",
      rows, columns, depth));
}

Schedule ScheduleIn(const std::filesystem::path& folder) {
  std::ifstream file(folder / "mm.trace");
  std::ostringstream text;
  text << file.rdbuf();
  StatusOr<Schedule> schedule = ParseSchedule(text.str());
  INFO(schedule.status());
  REQUIRE(schedule.ok());
  return *schedule;
}

}  // namespace

TEST_CASE("the tutorial's schedules compute the product at sizes that no tile divides",
          "[schedule][docs]") {
  Random random(5);
  int applied = 0;
  for (const auto& folder : std::filesystem::directory_iterator("docs/tutorial/schedule")) {
    Schedule schedule = ScheduleIn(folder);
    INFO(folder.path());
    if (folder.path().filename() == "refused") {
      CHECK_FALSE(Replay(Product(3, 5, 7), schedule.trace).ok());
      continue;
    }
    for (const Function& fn : {Product(3, 5, 7), Product(19, 70, 6), Product(8, 32, 4)}) {
      StatusOr<SymbolicProgram> program = Instantiate(fn, schedule.trace);
      REQUIRE(program.status() == OkStatus());
      PointReport report = CheckPoint(fn, *program, schedule.decisions, random);
      INFO(report.message);
      CHECK(report.outcome == PointOutcome::kRight);
      ++applied;
    }
  }
  CHECK(applied >= 3 * 6);
}

}  // namespace tcc
