#include "support/option_values.h"

#include <catch2/catch.hpp>

using namespace tcc;

namespace {

std::string ErrorOf(const std::string& text) {
  auto value = ParseDim("--dim", text);
  return value.ok() ? "no error" : Message(value.status());
}

}  // namespace

TEST_CASE("a dimension is an extent or a range of which each number may be left out",
          "[support][options]") {
  using Dim = std::variant<int64_t, DimRange>;
  const std::pair<const char*, Dim> kTexts[] = {
      {"8", 8},
      {"0", 0},
      {"1..32", DimRange{.low = 1, .high = 32}},
      {"1..32:8", DimRange{.low = 1, .high = 32, .usual = 8}},
      {"4..", DimRange{.low = 4}},
      {"..4", DimRange{.high = 4}},
      {"..:16", DimRange{.usual = 16}},
      {"..", DimRange{}},
  };
  for (const auto& [text, expected] : kTexts) {
    INFO(text);
    StatusOr<Dim> dim = ParseDim("--dim", text);
    REQUIRE(dim.status() == OkStatus());
    CHECK(*dim == expected);
  }
  for (const char* text : {"", "-1", "8:4", "1..b", "a..", "1...3", "1..32:", "1..32:8:8", "..-3",
                           "1..99999999999999999999", "1 ..3"}) {
    INFO(text);
    CHECK(ErrorOf(text) ==
          std::string("--dim: expected a whole number, or a range as 1..32 or 1..32:8, got '") +
              text + "'");
  }
}

TEST_CASE("a shape may leave extents open", "[support][options]") {
  CHECK(*ParseShape("--shape", "?x3x?") == std::vector<int64_t>{kOpenExtent, 3, kOpenExtent});
  CHECK(Message(ParseShape("--shape", "N?x3").status()) ==
        "--shape: expected a whole number, got 'N?'");
  CHECK(!ParseShape("--shape", "-1x3").ok());
}
