#include <fmt/core.h>

#include <catch2/catch.hpp>

#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/trace.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

// A depthwise convolution of `taps` x `taps`.
Function Depthwise(int64_t taps) {
  return FunctionOf(fmt::format(R"(
    fn f(X: f32[{0}, {1}, 40], W: f32[{2}, {2}, 40], Y: f32[6, 9, 40]) tensor {{
      for h in 0..6 @y/h {{ for w in 0..9 @y/w {{ for c in 0..40 @y/c {{
        for a in 0..{2} @y/a {{ for b in 0..{2} @y/b {{
          block y(h: spatial 6 = h, w: spatial 9 = w, c: spatial 40 = c,
                  a: reduce {2} = a, b: reduce {2} = b) {{
            reduce sum_f32 init (Y[h, w, c]) with (X[h + a, w + b, c] * W[a, b, c]) }} }} }} }} }} }}
    }})",
                                5 + taps, 8 + taps, taps));
}

// A convolution whose results share cells along the last axis, too.
Function Convolution() {
  return FunctionOf(R"(
    fn f(X: f32[8, 11, 16], W: f32[3, 3, 16, 40], Y: f32[6, 9, 40]) tensor {
      for h in 0..6 @y/h { for w in 0..9 @y/w { for o in 0..40 @y/o {
        for a in 0..3 @y/a { for b in 0..3 @y/b { for c in 0..16 @y/c {
          block y(h: spatial 6 = h, w: spatial 9 = w, o: spatial 40 = o,
                  a: reduce 3 = a, b: reduce 3 = b, c: reduce 16 = c) {
            reduce sum_f32 init (Y[h, w, o]) with (X[h + a, w + b, c] * W[a, b, c, o]) } } } } } } }
    })");
}

// The traces of the sketches that copy nothing to shared memory; they are right.
std::vector<std::string> WithoutSharedMemory(const Function& fn) {
  std::vector<std::string> traces;
  for (const Sketch& sketch : GenerateSketches(fn, FindTarget("sm_90a").value())) {
    std::string trace = Print(sketch.trace);
    if (trace.find("cache_read") != std::string::npos) continue;
    CheckStepResult(fn, trace, sketch.start);
    traces.push_back(trace);
  }
  return traces;
}

bool Unrolls(const std::string& trace, const std::string& loop) {
  return trace.find("\nunroll " + loop + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("a depthwise convolution may have a thread for each result, which reads through L1",
          "[schedule][window]") {
  std::vector<std::string> small = WithoutSharedMemory(Depthwise(3));
  REQUIRE(small.size() == 1);
  CHECK(Unrolls(small[0], "y/a"));
  CHECK(Unrolls(small[0], "y/b"));

  std::vector<std::string> large = WithoutSharedMemory(Depthwise(7));
  REQUIRE(large.size() == 1);
  CHECK_FALSE(Unrolls(large[0], "y/a"));
  CHECK_FALSE(Unrolls(large[0], "y/b"));

  CHECK(WithoutSharedMemory(Convolution()).empty());
}
