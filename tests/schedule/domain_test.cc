#include "schedule/space/domain.h"

#include <catch2/catch.hpp>

using namespace tcc;

namespace {

FreeSize Read(const std::string& line) {
  StatusOr<FreeSize> size = ParseFreeSize(line);
  INFO(size.status());
  REQUIRE(size.ok());
  return *size;
}

}  // namespace

TEST_CASE("a free size lists exactly the values that it allows", "[schedule][domain]") {
  struct Row {
    std::string line;
    std::vector<int64_t> values;
  };
  const Row rows[] = {
      {"tile t 2 5", {2, 3, 4, 5}},
      {"tile t 1 12 divisors 12", {1, 2, 3, 4, 6, 12}},
      {"tile t 2 6 divisors 12", {2, 3, 4, 6}},
      {"tile t 1 13 divisors 13", {1, 13}},
      {"tile t 1 40 multiples 16", {16, 32}},
      {"tile t 1 15 multiples 16", {}},
      {"tile t 1 64 choice 1 16 64", {1, 16, 64}},
      {"tile t 2 63 choice 1 16 64", {16}},
  };
  for (const Row& row : rows) {
    INFO(row.line);
    FreeSize size = Read(row.line);
    CHECK(Print(size) == row.line);
    CHECK(ValuesOf(size) == row.values);
    std::vector<int64_t> allowed;
    for (int64_t value = 1; value <= 100; ++value) {
      if (Allows(size, value)) allowed.push_back(value);
    }
    CHECK(allowed == row.values);
  }
}

// A choice within the terms of a sum of 2^62 is not sought among them.
TEST_CASE("values are listed in a time that does not grow with the range", "[schedule][domain]") {
  CHECK(ValuesOf(Read("tile t 1 4611686018427387904 choice 1 16 64")) ==
        std::vector<int64_t>{1, 16, 64});
  CHECK(ValuesOf(Read("tile t 1 4611686018427387904 divisors 6")) ==
        std::vector<int64_t>{1, 2, 3, 6});
  CHECK(ValuesOf(Read("tile t 1 9223372036854775807 multiples 4611686018427387904")) ==
        std::vector<int64_t>{4611686018427387904});
}

TEST_CASE("a malformed domain says what is expected of which size", "[schedule][domain]") {
  for (std::string tail :
       {"divisors", "divisors 0", "divisors 3 4", "multiples -2", "multiples x", "choice",
        "choice 4 4", "choice 3 2", "choice 1 2 x", "primes 7", "any 3"}) {
    std::string line = "tile mm.i.1 1 9 " + tail;
    INFO(line);
    CHECK(Message(ParseFreeSize(line).status()) ==
          "'" + line +
              "'; the domain of 'mm.i.1' is expected to be 'any', 'divisors N', 'multiples N' or "
              "'choice N1 N2 ...' with rising N >= 1");
  }
}

TEST_CASE("a size has a name that expressions can hold", "[schedule][domain]") {
  CHECK(ParseFreeSize("tile mm.i_j.1 1 9").ok());
  for (std::string name : {"mm/i.1", "1x", "a..b", "a.", "x*y"}) {
    std::string line = "tile " + name + " 1 9";
    CHECK(Message(ParseFreeSize(line).status()) ==
          "'" + line + "'; expected letters, digits, '_' and '.' in '" + name + "'");
  }
}
