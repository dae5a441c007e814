#include <catch2/catch.hpp>

#include "ir/analysis/verifier.h"
#include "ir/text/parser.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

// Sums along both dimensions from the first cell on: each cell reads what was stored before.
Function RunningSums() {
  return FunctionOf(R"(
    fn sums(X: f32[3, 4, 5], S: f32[3, 4, 5]) tensor {
      for b in 0..3 @s/b { for i in 0..4 @s/i { for j in 0..5 @s/j {
        block s(b: spatial 3 = b, i: reduce 4 = i, j: reduce 5 = j) {
          S[b, i, j] = X[b, i, j] + select(j < 1, 0.0, S[b, i, j - 1])
        }
      } } }
    })");
}

}  // namespace

TEST_CASE("loops of an ordered block are split and fused, and not taken out of their order",
          "[schedule][ordered]") {
  Function fn = RunningSums();
  CheckStepResult(fn, "split s/j [2]");
  CheckStepResult(fn, "fuse s/i s/j");
  CheckStepResult(fn, "reorder [s/i, s/b]");
  CheckStepResult(fn, "parallel s/b");
  CHECK(RefusalOf(fn, "reorder [s/j, s/i]") ==
        "reorder: the loops of block 's' that have an order would lose it");
  CHECK(RefusalOf(fn, "reorder [s/j, s/b]") ==
        "reorder: the loops of block 's' that have an order would lose it");
  CHECK(RefusalOf(fn, "split s/j [2]\nreorder [s/j.1, s/j.0]") ==
        "reorder: the loops of block 's' that have an order would lose it");
  for (const char* step : {"parallel s/j", "vectorize s/j", "bind s/i threadIdx.x"}) {
    CHECK(RefusalOf(fn, step).find("feeds a reduction; expected a loop of spatial axes") !=
          std::string::npos);
  }
}

TEST_CASE("an ordered block's result is not cached, as it reads it itself", "[schedule][ordered]") {
  CHECK(RefusalOf(RunningSums(), "cache_write s S local S_l") ==
        "cache_write: block 's' reads buffer 'S' in the nest of its writer 's'; expected readers "
        "in later nests");
}

TEST_CASE("the verifier refuses threads along an ordered axis", "[schedule][ordered]") {
  StatusOr<Function> fn = ParseFunction(R"(
    fn sums(X: f32[5], S: f32[5]) scheduled {
      for j in 0..5 threadIdx.x @s/j {
        block s(j: reduce 5 = j) { S[j] = X[j] + select(j < 1, 0.0, S[j - 1]) }
      }
    })");
  INFO(fn.status());
  REQUIRE(fn.ok());
  CHECK(Message(Verify(*fn)) ==
        "function 'sums': threadIdx.x loop 's/j' feeds reduce variable 'j' of block 's'");
}

TEST_CASE("an ordered block's value is neither inlined nor padded", "[schedule][ordered]") {
  CHECK(RefusalOf(RunningSums(), "compute_inline s") ==
        "compute_inline: variable 'i' of block 's' runs in order; expected spatial ones");
  Function last = FunctionOf(R"(
    fn last(X: f32[3, 5], S: f32[3]) tensor {
      for b in 0..3 @s/b { for j in 0..5 @s/j {
        block s(b: spatial 3 = b, j: reduce 5 = j) { S[b] = X[b, j] }
      } }
    })");
  CHECK(RefusalOf(last, "cache_read X [s] global X_s\npad s j 4") ==
        "pad: variable 'j' of block 's' runs in order; expected a reduction");
}
