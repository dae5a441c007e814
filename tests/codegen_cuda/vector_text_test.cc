#include <fmt/format.h>

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

TEST_CASE("a narrow float is converted once where it is stored, and nowhere where it is copied",
          "[codegen_cuda][nvrtc]") {
  for (const std::string type : {"f16", "bf16", "f8e4m3", "f8e5m2"}) {
    // Floats of 8 bits have no literals.
    const std::string half = type.starts_with("f8") ? "G[0]" : "0.5:" + type;
    const std::string function = fmt::format(
        R"(
fn stores(X: f32[64], H: {0}[64], G: {0}[64], Y: {0}[64], Z: {0}[64], U: {0}[64], V: {0}[64],
          W: {0}[64], S: {0}[8], T: {0}[8], R: f32[8]) lowered {{
  for t in 0..8 threadIdx.x {{
    Y[ramp(t * 8, 1, 8)] = {0}x8(X[ramp(t * 8, 1, 8)])
    Z[ramp(t * 8, 1, 8)] = H[ramp(t * 8, 1, 8)]
    U[ramp(t * 8, 1, 8)] = select(broadcast(t < 5, 8), {0}x8(X[ramp(t * 8, 1, 8)]), broadcast({1}, 8))
    V[ramp(t * 8, 1, 8)] = select(broadcast(t < 5, 8), H[ramp(t * 8, 1, 8)], broadcast({1}, 8))
    W[ramp(t * 8, 1, 8)] = select(broadcast(t < 5, 8), H[ramp(t * 8, 1, 8)], G[ramp(t * 8, 1, 8)])
    S[t] = select(t < 5, H[t], select(t < 6, G[t], {0}(X[t])))
    let value = H[t]
    T[t] = value
    R[t] = f32(value)
  }}
}})",
        type, half);
    CheckAsInterpreted(function);
    const std::string text = KernelsOf(SourceOf({MustParse(function)}));
    INFO(text);
    auto count = [&](const std::string& part) {
      size_t times = 0;
      for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++times;
      return times;
    };
    CHECK(count("tcc_" + type + "(") == 8 + 8 + 1);  // Y, U and S
    CHECK(count("tcc_widen(") == 1);                 // R
    for (const std::string& target : GpuTargets()) {
      MustCompile(SourceOf({MustParse(function)}, target), target);
    }
  }
}

TEST_CASE("a copy that is not kept everywhere passes its condition on, narrow ones are stored",
          "[codegen_cuda][nvrtc]") {
  const std::string function = R"(
fn copies(X: f32[30], H: f16[30], Y: f32[48], Z: f16[16]) lowered {
  alloc S: f32[48] shared
  alloc T: f16[16] shared
  for t in 0..8 threadIdx.x {
    async_copy S[t * 4] from X[t * 4 - 4] count 4 where 0 < t && t < 7
    async_copy S[t * 2 + 32] from X[t * 2] count 2 where X[0] < X[t]
    async_copy T[t * 2] from H[t * 2 - 1] count 2 where 0 < t
    async_commit
    async_wait(0)
    barrier(shared)
    for i in 0..6 { Y[t * 6 + i] = S[t * 6 + i] }
    for i in 0..2 { Z[t * 2 + i] = T[t * 2 + i] }
  }
})";
  CheckAsInterpreted(function);
  const std::string text = KernelsOf(SourceOf({MustParse(function)}));
  INFO(text);
  for (const char* line : {
           "tcc_async_copy<4>(S, t * 4, X, t * 4 - 4, 0 < t && t < 7);",
           "tcc_async_copy<2>(S, t * 2 + 32, X, t * 2, X[0] < X[t]);",
           "T[t * 2] = (0 < t ? (TccF16)H[t * 2 - 1] : ",
       }) {
    CHECK(text.find(line) != std::string::npos);
  }
  for (const std::string& target : GpuTargets()) {
    MustCompile(SourceOf({MustParse(function)}, target), target);
  }
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
