#include <catch2/catch.hpp>

#include "ir/simplify/simplify.h"
#include "tests/fuzz/expr_point.h"

using namespace tcc;

TEST_CASE("random expressions keep what the algebra promises", "[ir][simplify][fuzz]") {
  ExprHistogram histogram;
  for (uint64_t seed = 1; seed <= 20000; ++seed) {
    std::optional<ExprFailure> failure = CheckExprPoint(seed, histogram);
    INFO("tcc-fuzz expr --points 1 --seed " << seed);
    CHECK((failure ? failure->property : "") == "");
  }
  CHECK(histogram["decided by Prove"] > 500);
  // Bounds may decide a division before a size is set and not after; that must stay rare.
  CHECK(histogram["size substitutions with another normal form"] * 500 <
        histogram["size substitutions"]);
}
