#include "schedule/space/overflow.h"

#include <catch2/catch.hpp>

#include "tests/programs/random_trace.h"
#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

std::string ErrorOf(const Function& fn, const std::string& steps) {
  return Message(Instantiate(fn, ParseTrace(steps).value()).status());
}

}  // namespace

TEST_CASE("a step's numbers are at most 2^40, and so is their product", "[schedule][overflow]") {
  Function mm = MatmulFunction(4, 5, 6);
  CHECK(ErrorOf(mm, "split mm/i [1099511627776]").empty());
  CHECK(ErrorOf(mm, "split mm/i [1099511627777]") ==
        "step 1 (split mm/i [1099511627777]): number 1099511627777; expected at most "
        "1099511627776");
  CHECK(ErrorOf(mm, "split mm/i [1048576, 1048577]") ==
        "step 1 (split mm/i [1048576, 1048577]): the product of its factors is 1099512676352; "
        "expected at most 1099511627776");
}

TEST_CASE("loops run and buffers hold what 2^53 counts", "[schedule][overflow]") {
  Function mm = MatmulFunction(4, 5, 6);
  CHECK(ErrorOf(mm, "split mm/i [1099511627776]\nsplit mm/j [1099511627776]") ==
        "step 2 (split mm/j [1099511627776]): the body of loop 'mm/j.1' runs 1.21e+24 times; "
        "expected fewer than 2^53");
  CHECK(ErrorOf(MatmulFunction(4096, 5, 6),
                "cache_read A [mm] global A_s\nstorage_align A_s 0 1099511627776 0") ==
        "step 2 (storage_align A_s 0 1099511627776 0): buffer 'A_s' takes 1.8e+16 bytes; expected "
        "fewer than 2^53");
}

TEST_CASE("a random trace never binds the one term of a sum to threads", "[schedule][overflow]") {
  Function mm = MatmulFunction(3, 2, 1);
  Random random(7);
  for (int i = 0; i < 300; ++i) {
    Trace trace = RandomTrace(mm, {.steps = 6, .hardware = true}, random);
    INFO(Print(trace));
    CHECK(Message(Instantiate(mm, trace).status()).empty());
  }
}
