#include <catch2/catch.hpp>

#include "tests/codegen_cuda/as_interpreted.h"
#include "tests/codegen_cuda/nvrtc_rig.h"

using namespace tcc;
using namespace tcc::test;

// The text had no name for a vector's lanes, and ended in a failed check.
TEST_CASE("a let of a vector names each lane", "[codegen_cuda]") {
  CheckAsInterpreted(R"(
fn lets(X: f32[16], I: i64[16], Y: f32[16], Z: f32[16], J: i64[16]) lowered {
  for t in 0..4 threadIdx.x {
    Y[ramp(t * 4, 1, 4)] = X[ramp(t * 4, 1, 4)] + broadcast(0.5, 4)
    let value = Y[ramp(t * 4, 1, 4)]
    let place = I[ramp(t * 4, 1, 4)]
    Y[ramp(t * 4, 1, 4)] = broadcast(0.0, 4)
    Z[ramp(t * 4, 1, 4)] = select(place < broadcast(2, 4), value, value * broadcast(2.0, 4))
    J[ramp(t * 4, 1, 4)] = place + broadcast(1, 4)
  }
})");
}

// Each use in each lane was written out: a TopK of 4,099 elements had 5 MB of text.
TEST_CASE("what the lanes of a vector have in common is written once", "[codegen_cuda]") {
  const std::string function = R"(
fn lanes(I: i64[4], X: f32[16], Y: f32[16]) lowered {
  for t in 0..4 threadIdx.x {
    Y[ramp(t * 4, 1, 4)] = select(
        ramp(t * 4, 1, 4) < broadcast(min(max(I[t], 0), 15), 4) &&
            broadcast(3, 4) < broadcast(min(max(I[t], 0), 15), 4),
        broadcast(X[min(max(I[t], 0), 15)], 4),
        X[ramp(t * 4, 1, 4)])
  }
})";
  CheckAsInterpreted(function);
  const std::string text = KernelsOf(SourceOf({MustParse(function)}));
  INFO(text);
  CHECK(text.find("I[t]") != std::string::npos);
  CHECK(text.find("I[t]") == text.rfind("I[t]"));
}
