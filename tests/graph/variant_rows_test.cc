#include <catch2/catch.hpp>
#include <set>

#include "graph/variants/task.h"

namespace tcc {

TEST_CASE("each row of variants has a name and a place of its own", "[graph][variants]") {
  std::set<std::string_view> names;
  std::set<int> places;
  for (const VariantRow& row : VariantRows()) {
    INFO(row.name);
    CHECK(names.insert(row.name).second);
    CHECK(places.insert(row.place).second);
  }
  CHECK(*places.begin() == 1);
  CHECK(*places.rbegin() == static_cast<int>(places.size()));
}

TEST_CASE("a variant gains only on targets that have what it needs", "[graph][variants]") {
  for (const VariantRow& row : VariantRows()) {
    for (const Target& target : AllTargets()) {
      INFO(row.name << " on " << target.name);
      CHECK((!row.gains(target) || row.needs(target)));
    }
  }
}

}  // namespace tcc
