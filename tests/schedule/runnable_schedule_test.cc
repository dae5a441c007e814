#include "schedule/space/runnable_schedule.h"

#include <catch2/catch.hpp>

#include "ir/text/parser.h"
#include "ir/text/printer.h"

using namespace tcc;

namespace {

constexpr const char* kMatmul = R"(
fn mm(A: f32[13, 31], B: f32[31, 17], C: f32[13, 17]) tensor {
  for i in 0..13 @C/i { for j in 0..17 @C/j { for k in 0..31 @C/k {
    block C(i: spatial 13 = i, j: spatial 17 = j, k: reduce 31 = k) {
      reduce sum_f32 init (C[i, j]) with (A[i, k] * B[k, j])
    }
  } } }
})";

Function Matmul() {
  StatusOr<Function> fn = ParseFunction(kMatmul);
  INFO(fn.status());
  REQUIRE(fn.ok());
  return *fn;
}

Schedule ScheduleOf(const std::string& text) {
  StatusOr<Schedule> schedule = ParseSchedule(text);
  INFO(text << schedule.status());
  REQUIRE(schedule.ok());
  return *schedule;
}

std::string ErrorOf(const std::string& text, const char* target = "x86-64-v3") {
  return Message(ReplayFor(*FindTarget(target), Matmul(), ScheduleOf(text)).status());
}

}  // namespace

// These gave wrong results, crashed what they made, or kept the compiler busy for ever.
TEST_CASE("sizes that would leave 64 bits are refused by the step", "[schedule]") {
  const std::string kCopied = "cache_read B [C] global B_s\n";
  for (const std::string step :
       {"storage_align B_s 0 4611686018427387904 1",
        "transform_layout B_s [0 by 4294967296, 1 by 4294967296] [0, 1, 2, 3]",
        "split C/i [4294967296, 4294967296]", "pipeline C/k 4611686018427387904 pipelined"}) {
    std::string error = ErrorOf(kCopied + step);
    INFO(step << ": " << error);
    CHECK(error.starts_with("step 2 (" + step));
  }
  const std::string kPadded = "cache_read A [C] global A_s\ncache_read B [C] global B_s\n";
  std::string error = ErrorOf(kPadded + "pad C k 4611686018427387904");
  INFO(error);
  CHECK(error.starts_with("step 3 (pad C k 4611686018427387904): number 4611686018427387904; "));
  // Each by itself is modest.
  CHECK(ErrorOf("split C/i [1073741824]\nsplit C/j [1073741824]")
            .starts_with("step 2 (split C/j [1073741824]): the body of loop "));
}

TEST_CASE("code beyond what is compiled is refused by the step", "[schedule]") {
  CHECK(ErrorOf("unroll C/i\nunroll C/j\nunroll C/k") == "");
  CHECK(ErrorOf("split C/i [64]\nunroll C/i.1\nunroll C/j\nunroll C/k")
            .starts_with("step 4 (unroll C/k): nest 'C' has 67456 statements once unrolled; "
                         "expected at most 65536"));
  CHECK(ErrorOf("split C/i [64]\nbind C/i.1 vthread\nunroll C/j\nunroll C/k", "sm_86")
            .starts_with("step 4 (unroll C/k): nest 'C' has 67456 statements once unrolled; "));
}

// 4 div 0 crashed what it made, and a factor of 0 gave wrong results.
TEST_CASE("sizes that are no numbers or break a condition are refused by the step", "[schedule]") {
  CHECK(ErrorOf("split C/i [(4 div 0)]") ==
        "step 1 (split C/i [4 div 0]): size 4 div 0 is no number");
  CHECK(ErrorOf("cache_read B [C] global B_s\nstorage_align B_s 0 (8 div 0) 1")
            .ends_with("size 8 div 0 is no number"));
  CHECK(ErrorOf("cache_read B [C] global B_s\ntransform_layout B_s [0 by (4 div 0)] [0, 1, 2]")
            .ends_with("size 4 div 0 is no number"));
  CHECK(ErrorOf("split C/i [shift_left(1, 64)]")
            .ends_with("1 - shift_left(1, 64) is 1; expected at most 0, since a split factor is at "
                       "least 1"));
  CHECK(ErrorOf("tile t 1 4\nsplit C/k [(8 div (t - 1))]\nset t 1").ends_with(" is no number"));
  CHECK(ErrorOf("tile t 1 4\nsplit C/k [(t - 1)]\nset t 2").empty());
  CHECK(
      ErrorOf("tile t 1 4\nsplit C/k [(t - 1)]\nset t 1")
          .starts_with("step 1 (split C/k [1 - 1]): split: factor 1 - 1 of loop 'C/k'; expected "));
}

TEST_CASE("what a GPU cannot run is refused by the step", "[schedule]") {
  CHECK(ErrorOf("bind C/j blockIdx.x", "sm_86")
            .starts_with("step 1 (bind C/j blockIdx.x): loop 'C/j', which is bound to blockIdx.x, "
                         "is inside loop 'C/i', which is serial"));
  CHECK(ErrorOf("split C/i [2048]\nbind C/i.0 blockIdx.x\nbind C/i.1 threadIdx.x", "sm_86") ==
        "step 3 (bind C/i.1 threadIdx.x): nest 'C' has 2048 threads a block; expected at most "
        "1024");
  CHECK(ErrorOf("bind C/i blockIdx.x\ncache_read B [C] shared B_s\ncompute_at B_s C/i\n"
                "transform_layout B_s [0 by 2000] [0, 1, 2]\nbind B_s/ax1 threadIdx.x",
                "sm_86")
            .starts_with("step 4 (transform_layout B_s [0 by 2000] [0, 1, 2]): nest 'C' has 136000 "
                         "bytes of shared memory; expected at most 101376"));
  CHECK(ErrorOf("bind C/i threadIdx.x") ==
        "step 1 (bind C/i threadIdx.x): the schedule binds loop 'C/i' to threadIdx.x, which target "
        "'x86-64-v3' does not have");
}

TEST_CASE("sizes that are left open are chosen within the limits", "[schedule]") {
  Schedule schedule = ScheduleOf(
      "tile a 1 64\ntile b 1 64\nsplit C/i [a]\nsplit C/j [b]\nunroll C/i.1\nunroll C/j.1\n"
      "set a 11");
  const Target target = *FindTarget("x86-64-v3");
  StatusOr<Decisions> decisions = DecideOpenSizes(Matmul(), schedule, target);
  REQUIRE(decisions.ok());
  CHECK(decisions->at("a") == 11);
  CHECK(decisions->at("b") >= 1);
  CHECK(*decisions == DecideOpenSizes(Matmul(), schedule, target).value());
  schedule.decisions = *decisions;
  CHECK(ReplayFor(target, Matmul(), schedule).ok());

  std::string huge = Message(
      DecideOpenSizes(Matmul(), ScheduleOf("tile a 1 99999999\nsplit C/i [a]"), target).status());
  CHECK(huge ==
        "'tile a 1 99999999' has more than 1048576 values; expected one of them by 'set a VALUE'");
}
