#include "codegen_cuda/text/place_shared.h"

#include <catch2/catch.hpp>

#include "codegen_cuda/text/launch.h"
#include "ir/text/parser.h"
#include "tests/codegen_cuda/as_interpreted.h"

using namespace tcc;
using namespace tcc::test;

namespace {

// Each block reverses its row twice, by way of `first`, then of `second`; `between` stands between
// them.
std::string TwoTurns(const std::string& between) {
  return R"(
fn turn(X: f32[4096], Y: f32[4096], Z: i32[4096]) lowered {
  for b in 0..4 blockIdx.x {
    alloc first: f32[1024] shared
    alloc second: i32[1024] shared
    for t in 0..64 threadIdx.x { for i in 0..16 { first[t * 16 + i] = X[b * 1024 + t * 16 + i] } }
    barrier(shared)
    for t in 0..64 threadIdx.x { for i in 0..16 { Y[b * 1024 + t * 16 + i] = first[1023 - t * 16 - i] } }
)" + between +
         R"(
    for t in 0..64 threadIdx.x { for i in 0..16 { second[t * 16 + i] = i32(t * 16 + i) } }
    barrier(shared)
    for t in 0..64 threadIdx.x { for i in 0..16 { Z[b * 1024 + t * 16 + i] = second[1023 - t * 16 - i] } }
  }
})";
}

LaunchBody LaunchOf(const std::string& text) {
  StatusOr<Function> fn = ParseFunction(text);
  INFO(text << fn.status());
  REQUIRE(fn.ok());
  StatusOr<LaunchBodies> bodies = FindLaunches(*fn, *FindTarget("sm_86"));
  REQUIRE(bodies.ok());
  REQUIRE(bodies->launches.size() == 1);
  return bodies->launches[0];
}

}  // namespace

TEST_CASE("shared memory is used again after a barrier of all threads", "[codegen_cuda][shared]") {
  const std::string text = TwoTurns("    barrier(shared)");
  LaunchBody launch = LaunchOf(text);
  CHECK(launch.places.reused);
  CHECK(launch.places.offsets == std::vector<int64_t>{0, 0});
  CHECK(launch.launch.static_shared_bytes == 0);
  CHECK(launch.launch.dynamic_shared_bytes == 4096);
  CheckAsInterpreted(text);
}

TEST_CASE("shared memory is not used again where threads do not meet", "[codegen_cuda][shared]") {
  for (const char* between : {"", "    if b < 2 { barrier(shared) }",
                              "    for i in 0..3 { barrier(shared) }", "    barrier(warp)"}) {
    const std::string text = TwoTurns(between);
    LaunchBody launch = LaunchOf(text);
    CHECK_FALSE(launch.places.reused);
    CHECK(launch.launch.static_shared_bytes == 8192);
    CheckAsInterpreted(text);
  }
}

TEST_CASE("what a loop in order uses lives as long as the loop", "[codegen_cuda][shared]") {
  const std::string text = R"(
fn turn(X: f32[1024], Y: f32[1024]) lowered {
  for b in 0..1 blockIdx.x {
    alloc first: f32[1024] shared
    alloc second: f32[1024] shared
    for k in 0..3 {
      for t in 0..64 threadIdx.x { for i in 0..16 { first[t * 16 + i] = X[t * 16 + i] } }
      barrier(shared)
      for t in 0..64 threadIdx.x { for i in 0..16 { second[t * 16 + i] = first[1023 - t * 16 - i] } }
      barrier(shared)
      for t in 0..64 threadIdx.x { for i in 0..16 { Y[t * 16 + i] = second[1023 - t * 16 - i] } }
    }
  }
})";
  CHECK_FALSE(LaunchOf(text).places.reused);
  CheckAsInterpreted(text);
}

TEST_CASE("a tuple's reduction read its operands where other buffers had been placed",
          "[codegen_cuda][shared]") {
  const std::string text = R"(
fn turn(X: f32[1024], Y: f32[1024]) lowered {
  for b in 0..1 blockIdx.x {
    alloc first: f32[1024] shared
    alloc second: f32[1024] shared
    for t in 0..1024 threadIdx.x { first[t] = X[t] }
    barrier(shared)
    for t in 0..1024 threadIdx.x { second[t] = X[t] + 1 }
    barrier(shared)
    for t in 0..1024 threadIdx.x { let turned = first[1023 - t] { Y[t] = turned + second[1023 - t] } }
  }
})";
  CHECK_FALSE(LaunchOf(text).places.reused);
  CheckAsInterpreted(text);
}

TEST_CASE("little is saved where all else would not fit", "[codegen_cuda][shared]") {
  LaunchBody launch = LaunchOf(TwoTurns("    barrier(shared)"));
  const std::vector<int64_t> kBytes = {4096, 512};
  auto place = [&](int64_t most) { return PlaceShared(launch.body, launch.shared, kBytes, most); };
  CHECK_FALSE(place(4608).reused);
  CHECK(place(4607).reused);
  CHECK(place(4607).bytes == 4096);
}

TEST_CASE("shared buffers in blocks begin at multiples of a block", "[codegen_cuda][shared]") {
  const std::string text = R"(
fn turn(X: f32[256], Y: f32[256], Z: i32[256]) lowered {
  for b in 0..1 blockIdx.x {
    alloc few: f32[4] shared
    alloc first: f32[256] shared blocks [0 by 64]
    alloc second: i32[256] shared blocks [0 by 256]
    for t in 0..4 threadIdx.x { few[t] = X[t] }
    for t_1 in 0..64 threadIdx.x { for i in 0..4 { first[t_1 * 4 + i] = X[t_1 * 4 + i] } }
    for t_2 in 0..64 threadIdx.x { for i_2 in 0..4 { second[t_2 * 4 + i_2] = i32(t_2 * 4 + i_2) } }
    barrier(shared)
    for t_3 in 0..64 threadIdx.x { for i_3 in 0..4 { Y[t_3 * 4 + i_3] = first[255 - t_3 * 4 - i_3] + few[t_3 mod 4] } }
    for t_4 in 0..64 threadIdx.x { for i_4 in 0..4 { Z[t_4 * 4 + i_4] = second[255 - t_4 * 4 - i_4] } }
  }
})";
  LaunchBody launch = LaunchOf(text);
  // Without gaps.
  CHECK(launch.places.offsets == std::vector<int64_t>{2048, 1024, 0});
  CHECK(launch.launch.static_shared_bytes == 0);
  CHECK(launch.launch.dynamic_shared_bytes == 2064);
  CheckAsInterpreted(text);
}

TEST_CASE("buffers of a thread and a warp have constant sizes, those of a block a largest one",
          "[codegen_cuda][shared]") {
  auto refusal = [](const std::string& scope, const std::string& most) {
    StatusOr<Function> fn = ParseFunction(R"(
  fn f<shape n in 1..=)" + most + R"( usual 8>(X: f32[n], Y: f32[n]) lowered {
    for t in 0..32 threadIdx.x {
      alloc kept: f32[n] )" + scope + R"(
      for i in 0..n { kept[i] = X[i] }
      for i_1 in 0..n { Y[i_1] = kept[i_1] }
    }
  })");
    INFO(fn.status());
    REQUIRE(fn.ok());
    return Message(FindLaunches(*fn, *FindTarget("sm_86")).status());
  };
  CHECK(refusal("local", "64") == "kernel 'f': buffer 'kept' of scope local has no constant size");
  CHECK(refusal("warp", "64") == "kernel 'f': buffer 'kept' of scope warp has no constant size");
  CHECK(refusal("shared", "64").empty());
  CHECK(refusal("shared", "25344").empty());
  CHECK(refusal("shared", "25345") ==
        "kernel 'f' needs 101392 bytes of shared memory; target 'sm_86' has 101376");
  CHECK(
      refusal("shared", "1000000") ==
      "kernel 'f': shared buffer 'kept' has up to 1000000 cells; target 'sm_86' has 101376 bytes");
}
