#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>

#include "tests/codegen_cuda/nvrtc_rig.h"

// Buffers' addresses have 64 bits; an index is computed in 32 where its bounds fit them, in 64
// where they do not. Nothing of that size is run.
using namespace tcc;
using namespace tcc::test;

namespace {

constexpr int64_t kInts = int64_t{1} << 31;  // indices that an int counts, from 0

std::string KernelsText(const std::string& function) {
  CudaSource source = SourceOf({MustParse(function)});
  MustCompile(source);
  return KernelsOf(source);
}

bool Has(const std::string& text, const std::string& piece) {
  return text.find(piece) != std::string::npos;
}

// A copy of so many elements, a multiple of 256.
std::string CopyOf(int64_t count) {
  return KernelsText(fmt::format(R"(
fn copy(X: f32[{0}], Y: f32[{0}]) lowered {{
  for b in 0..{1} blockIdx.x {{ for t in 0..256 threadIdx.x {{
    Y[b * 256 + t] = X[b * 256 + t]
  }} }}
}})",
                                 count, count / 256));
}

// Another of rows of 64, whose number is known when it is launched.
std::string CopyOfRows(int64_t most_rows) {
  return KernelsText(fmt::format(R"(
fn copy<shape n in 1..={0}>(X: f32[n * 64], Y: f32[n * 64]) lowered {{
  for b in 0..n blockIdx.x {{ for t in 0..64 threadIdx.x {{
    Y[b * 64 + t] = X[b * 64 + t]
  }} }}
}})",
                                 most_rows));
}

}  // namespace

TEST_CASE("elements beyond 2^31 are reached by 64-bit indices, those below by 32-bit ones",
          "[codegen_cuda]") {
  for (int64_t count : {int64_t{256}, kInts - 256, kInts}) {
    INFO(count);
    CHECK_FALSE(Has(CopyOf(count), "long long"));
  }
  for (int64_t count : {kInts + 256, 2 * kInts, 8 * kInts}) {
    INFO(count);
    const std::string text = CopyOf(count);
    CHECK(Has(text, "(long long)b * (long long)256 + (long long)t]"));
  }
}

TEST_CASE("the greatest extent of a shape decides how wide its indices are", "[codegen_cuda]") {
  const std::string narrow = CopyOfRows(kInts / 64);
  CHECK(Has(narrow, "= (int)n"));
  CHECK_FALSE(Has(narrow, "long long"));
  CHECK(Has(CopyOfRows(kInts / 64 + 1), "(long long)b * (long long)64 + (long long)t]"));
}

TEST_CASE("in a kernel of wide indices those that fit stay narrow", "[codegen_cuda]") {
  const std::string text = KernelsText(R"(
fn staged(X: f32[4294967296], Y: f32[4294967296]) lowered {
  for b in 0..16777216 blockIdx.x {
    alloc T: f32[256] shared
    for t in 0..256 threadIdx.x {
      T[t] = X[b * 256 + t]
      barrier(shared)
      Y[b * 256 + t] = T[255 - t]
    }
  }
})");
  INFO(text);
  CHECK(Has(text, "T[t] = X[(long long)b * (long long)256"));
  CHECK(Has(text, "= T[255 - t]"));
}

TEST_CASE("a loop of more than 2^31 steps counts in 64 bits", "[codegen_cuda]") {
  auto sum_of = [](int64_t count) {
    return KernelsText(fmt::format(R"(
fn sum(X: f32[{0}], Y: f32[1]) lowered {{
  for t in 0..1 threadIdx.x {{
    Y[0] = 0.0
    for k in 0..{0} {{ Y[0] = Y[0] + X[k] }}
  }}
}})",
                                   count));
  };
  CHECK(Has(sum_of(kInts - 1), "for (int k = 0;"));
  CHECK(Has(sum_of(kInts + 1), "for (long long k = 0; k < 2147483649ll;"));
}
