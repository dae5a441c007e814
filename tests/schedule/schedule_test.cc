#include "schedule/space/schedule.h"

#include <catch2/catch.hpp>

using namespace tcc;

TEST_CASE("a schedule is steps, a variant and values for its sizes", "[schedule]") {
  const std::string text = "variant 2\ntile t 1 9\nsplit mm/i [t]\nset t 3\n";
  StatusOr<Schedule> schedule = ParseSchedule(text);
  REQUIRE(schedule.ok());
  CHECK(schedule->variant == 2);
  CHECK(schedule->decisions == Decisions{{"t", 3}});
  CHECK(Print(*schedule) == text);
}

TEST_CASE("a malformed decision is a message with its line", "[schedule]") {
  auto error = [](const std::string& text) { return Message(ParseSchedule(text).status()); };
  for (const char* line : {"set t", "set t three", "set t 3 4"}) {
    CHECK(error(std::string("tile t 1 9\n") + line) ==
          std::string("line 2: '") + line + "'; expected 'set NAME VALUE'");
  }
  CHECK(error("set t 3\nset t 3") == "line 2: 't' is set twice");
  for (const char* line : {"variant one", "variant -1", "variant 1 2"}) {
    CHECK(error(line) == std::string("line 1: '") + line + "'; expected 'variant NUMBER'");
  }
}
