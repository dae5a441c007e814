#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "ir/analysis/verifier.h"
#include "ir/text/parser.h"

using namespace tcc;

namespace {

// A warp's share of products, between the statements given.
std::string Message(const std::string& before, const std::string& behind) {
  const std::string text = fmt::format(R"(
fn f(Y: f32[128]) lowered {{
  for w in 0..4 threadIdx.y {{
    alloc C: f32[128] warp
    alloc A: f16[1024] shared
    alloc B: f16[128] shared
    for t in 0..3 {{
      {0}
      intrinsic group_mma_m16n8k16_f16_f32 {{
        for i in 0..16 {{ for j in 0..8 {{ for k in 0..16 {{
          C[i * 8 + j] = C[i * 8 + j] + f32(A[w * 256 + i * 16 + k]) * f32(B[j * 16 + k])
        }} }} }}
      }}
      {1}
  }}
}})",
                                       before, behind);
  StatusOr<Function> fn = ParseFunction(text);
  INFO(text << fn.status());
  REQUIRE(fn.ok());
  return tcc::Message(Verify(*fn));
}

}  // namespace

TEST_CASE("the results of products in flight may be touched behind their wait alone", "[ir]") {
  const std::string touched =
      "function 'f': 'C' is touched while products of four warps still add to it";
  CHECK(Message("", "product_commit product_wait(0) Y[0] = C[0] }") == "");
  CHECK(Message("", "product_commit Y[0] = C[0] product_wait(0) }") == touched);
  CHECK(Message("", "product_commit } product_wait(0) Y[0] = C[0]") == "");
  CHECK(Message("", "product_commit product_wait(1) } Y[0] = C[0]") == touched);
  CHECK(Message("", "product_commit product_wait(1) } product_wait(0) Y[0] = C[0]") == "");
  // The loop comes round.
  CHECK(Message("C[0] = 0.0", "product_commit }") == touched);
  CHECK(Message("C[0] = 0.0", "product_commit product_wait(0) }") == "");
  // One branch waits.
  CHECK(Message("", "product_commit if w < 1 { product_wait(0) } Y[0] = C[0] }") == touched);
}
