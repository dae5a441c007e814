#include "schedule/sketches/parts/shared_log.h"

#include <catch2/catch.hpp>

#include <string>

using namespace tcc;

namespace {

std::vector<std::string> Items(const SharedLog<std::string>& log) {
  return {log.begin(), log.end()};
}

using Strings = std::vector<std::string>;

}  // namespace

TEST_CASE("copies of a log go on apart, whichever is added to first", "[schedule]") {
  SharedLog<std::string> log;
  log.Add("a");
  SharedLog<std::string> first = log, second = log;
  first.Add("b");
  second.Add("c");
  first.Add("d");
  CHECK(Items(log) == Strings{"a"});
  CHECK(Items(first) == Strings{"a", "b", "d"});
  CHECK(Items(second) == Strings{"a", "c"});
  log.Add("e");
  CHECK(Items(log) == Strings{"a", "e"});
  CHECK(Items(first) == Strings{"a", "b", "d"});
}

TEST_CASE("a log goes on from where it was when a copy that had gone on is dropped", "[schedule]") {
  SharedLog<std::string> log;
  log.Add("a");
  {
    SharedLog<std::string> dropped = log;
    dropped.Add("b");
  }
  log.Add("c");
  CHECK(Items(log) == Strings{"a", "c"});
  CHECK(log.size() == 2);
}
