#include <catch2/catch.hpp>

#include "tests/codegen_cuda/as_interpreted.h"

using namespace tcc::test;

// Every thread added its value to the sum that one was to make.
TEST_CASE("a loop of one thread in a block of many is run by one", "[codegen_cuda]") {
  CheckAsInterpreted(R"(
fn sum(X: f32[64], Y: f32[2]) lowered {
  for b in 0..2 blockIdx.x {
    alloc part: f32[32] shared
    for t in 0..32 threadIdx.x { part[t] = X[b * 32 + t] }
    for one in 0..1 threadIdx.x { Y[b] = 0.0 }
    barrier(shared)
    for k in 0..32 {
      for one in 0..1 threadIdx.x { Y[b] = Y[b] + part[k] }
    }
  }
})");
}

TEST_CASE("a barrier below a loop of fewer threads is reached by all", "[codegen_cuda]") {
  CheckAsInterpreted(R"(
fn turn(X: f32[6], Y: f32[6], Z: f32[32]) lowered {
  for b in 0..1 blockIdx.x {
    alloc part: f32[6] shared
    for y in 0..2 threadIdx.y {
      for x in 0..3 threadIdx.x {
        let place = y * 3 + x
        part[place] = X[place]
        barrier(shared)
        Y[place] = part[5 - place]
      }
    }
    for x in 0..8 threadIdx.x { for y in 0..4 threadIdx.y { Z[x * 4 + y] = 1.0 } }
  }
})");
}

TEST_CASE("of two thread loops of one axis the inner one counts", "[codegen_cuda]") {
  CheckAsInterpreted(R"(
fn rebound(X: f32[8], Y: f32[8], Z: f32[2]) lowered {
  for b in 0..1 blockIdx.x {
    for x in 0..2 threadIdx.x {
      Z[x] = X[x]
      for t in 0..8 threadIdx.x { Y[t] = X[7 - t] }
    }
  }
})");
}
