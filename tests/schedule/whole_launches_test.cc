#include "schedule/space/whole_launches.h"

#include <catch2/catch.hpp>

#include "ir/text/parser.h"
#include "schedule/space/trace.h"
#include "tests/programs/spike_programs.h"

using namespace tcc;

namespace {

std::string WhyNotWhole(const std::string& steps) {
  Trace trace = ParseTrace(steps).value();
  Function fn = Replay(MatmulFunction(4, 5, 6), trace).value();
  return Message(ExpectWholeLaunches(fn));
}

const std::string kAccumulator = R"(
bind mm/i blockIdx.x
bind mm/j threadIdx.x
cache_write mm C local C_l
)";

}  // namespace

TEST_CASE("launches share only global memory", "[schedule][whole_launches]") {
  CHECK(WhyNotWhole("bind mm/i blockIdx.x\ncache_read A [mm] global A_g").empty());
  CHECK(WhyNotWhole("bind mm/i blockIdx.x\ncache_read A [mm] shared A_s") ==
        "shared buffer 'A_s' lives round the launches; place it in a loop of one");
  CHECK(WhyNotWhole(kAccumulator) ==
        "local buffer 'C_l' lives round the launches; place it in a loop of one");
}

TEST_CASE("a thread's own memory is placed inside the thread's loop",
          "[schedule][whole_launches]") {
  CHECK(WhyNotWhole(kAccumulator + "reverse_compute_at C_l mm/j").empty());
  CHECK(WhyNotWhole(kAccumulator + "reverse_compute_at C_l mm/i") ==
        "local buffer 'C_l' is written by the threads of loop 'mm/j', each its own copy");
}

TEST_CASE("a warp's memory is placed inside the loop over warps", "[schedule][whole_launches]") {
  auto why = [](int lanes, const std::string& place) {
    Function wide = ParseFunction(R"(
      fn f(A: f32[4, 64], C: f32[4, 64]) tensor {
        for i in 0..4 @mm/i { for j in 0..64 @mm/j {
          block mm(i: spatial 4 = i, j: spatial 64 = j) { C[i, j] = A[i, j] } } } })")
                        .value();
    Trace trace = ParseTrace(fmt::format("bind mm/i blockIdx.x\nsplit mm/j [{}]\n"
                                         "bind mm/j.0 threadIdx.y\nbind mm/j.1 threadIdx.x\n"
                                         "cache_write mm C warp C_w\nreverse_compute_at C_w {}",
                                         lanes, place))
                      .value();
    return Message(ExpectWholeLaunches(Instantiate(wide, trace).value().fn));
  };
  CHECK(why(32, "mm/j.0").empty());
  CHECK(why(32, "mm/i") ==
        "warp buffer 'C_w' is written by the threads of loop 'mm/j.0', each its own copy");
  // A warp would be threads of several rows, each with a window of its own.
  CHECK(why(16, "mm/j.0") ==
        "warp buffer 'C_w' is in a launch with 16 threads along x; expected 32");
  CHECK(why(64, "mm/j.0") ==
        "warp buffer 'C_w' is in a launch with 64 threads along x; expected 32");
  CHECK(why(32, "mm/j.1") ==
        "warp buffer 'C_w' lives inside loop 'mm/j.1', which is bound to threadIdx.x");
}

TEST_CASE("the lanes of a warp may be threads along x and y", "[schedule][whole_launches]") {
  auto why = [](int y, const std::string& place) {
    Function wide = ParseFunction(R"(
      fn f(A: f32[4, 64], C: f32[4, 64]) tensor {
        for i in 0..4 @mm/i { for j in 0..64 @mm/j {
          block mm(i: spatial 4 = i, j: spatial 64 = j) { C[i, j] = A[i, j] } } } })")
                        .value();
    Trace trace = ParseTrace(fmt::format("bind mm/i blockIdx.x\nsplit mm/j [{}, 4]\n"
                                         "bind mm/j.0 threadIdx.z\nbind mm/j.1 threadIdx.y\n"
                                         "bind mm/j.2 threadIdx.x\n"
                                         "cache_write mm C warp C_w\nreverse_compute_at C_w {}",
                                         y, place))
                      .value();
    return Message(ExpectWholeLaunches(Instantiate(wide, trace).value().fn));
  };
  CHECK(why(8, "mm/j.0").empty());
  CHECK(why(8, "mm/j.1") ==
        "warp buffer 'C_w' lives inside loop 'mm/j.1', which is bound to threadIdx.y");
  CHECK(why(4, "mm/j.0") == "warp buffer 'C_w' is in a launch with 4 threads along x; expected 32");
}

TEST_CASE("shared memory is placed inside the blocks' loops", "[schedule][whole_launches]") {
  const std::string steps = "bind mm/j blockIdx.x\ncache_read A [mm] shared A_s\n";
  CHECK(WhyNotWhole(steps + "compute_at A_s mm/j").empty());
  CHECK(WhyNotWhole(steps + "compute_at A_s mm/i") ==
        "shared buffer 'A_s' lives round loop 'mm/j', which is bound to blockIdx.x");
}

TEST_CASE("iterations in parallel do not share a launch's shared memory: a race",
          "[schedule][whole_launches]") {
  const std::string launch = "bind mm/j threadIdx.x\ncache_read A [mm] shared A_s\n";
  CHECK(WhyNotWhole(launch + "compute_at A_s mm/i\nbind mm/i blockIdx.x").empty());
  CHECK(WhyNotWhole(launch + "compute_at A_s mm/i\nparallel mm/i") ==
        "loop 'mm/i' of a launch is parallel, round shared memory; expected one in order");
  // The threads of a reduction exchange what they have there.
  CHECK(WhyNotWhole("bind mm/k threadIdx.x\nparallel mm/j\nbind mm/i blockIdx.x") ==
        "loop 'mm/j' of a launch is parallel, round shared memory; expected one in order");
  CHECK(WhyNotWhole("parallel mm/j\nbind mm/i blockIdx.x").empty());
}

TEST_CASE("what lives inside a launch is not global", "[schedule][whole_launches]") {
  CHECK(WhyNotWhole("bind mm/i threadIdx.x\ncache_read A [mm] global A_g\ncompute_at A_g mm/i") ==
        "global buffer 'A_g' lives inside a launch; expected a shared or local one");
  CHECK(WhyNotWhole("bind mm/i vthread\ncache_read A [mm] local A_l\ncompute_at A_l mm/i").empty());
}

TEST_CASE("thread blocks of a launch do not wait for each other", "[schedule][whole_launches]") {
  const std::string steps = "decompose_reduction mm mm/j\n";
  CHECK(WhyNotWhole(steps + "bind mm/i blockIdx.x").empty());
  CHECK(WhyNotWhole(steps + "bind mm.init/j threadIdx.x").empty());
  CHECK(WhyNotWhole(steps + "bind mm.init/j blockIdx.x") ==
        "blocks 'mm.init' and 'mm' of one launch share buffer 'C', but not all of their blockIdx "
        "loops");
  CHECK(WhyNotWhole("decompose_reduction mm mm/i\nbind mm.init/j blockIdx.x").empty());
}

TEST_CASE("a launch goes on behind its blocks along y", "[schedule][whole_launches]") {
  const std::string parts =
      "split mm/k [3]\nrfactor mm mm/k.0 0 global part\nreorder [part/i, part/k.0, part/j]\n"
      "decompose_reduction part part/j\nreverse_compute_at mm part/i\n";
  CHECK(WhyNotWhole(parts + "bind part/i blockIdx.x\nbind part/k.0 blockIdx.y").empty());
  const std::string why =
      "block 'mm' is in a launch that goes on behind loops over blocks; expected loops along y, "
      "directly inside one along x";
  CHECK(WhyNotWhole(parts + "bind part/k.0 blockIdx.y") == why);
  CHECK(WhyNotWhole(parts + "bind part/i blockIdx.x\nbind part/k.0 blockIdx.z") == why);
  CHECK(WhyNotWhole(parts + "bind part/i blockIdx.y\nbind part/k.0 blockIdx.x") == why);
  // Its initialisation would be every block's.
  CHECK(WhyNotWhole(parts + "decompose_reduction part part/k.0\nbind part/i blockIdx.x\n"
                            "bind part/k.0 blockIdx.y") == why);
}

TEST_CASE("without hardware indices everything is whole", "[schedule][whole_launches]") {
  CHECK(WhyNotWhole("cache_write mm C local C_l").empty());
}
