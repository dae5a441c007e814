#include "search/candidate/result_bound.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "ir/text/parser.h"

using namespace tcc;

namespace {

Function Parsed(const std::string& text) {
  StatusOr<Function> fn = ParseFunction(text);
  INFO(text);
  INFO(fn.status());
  REQUIRE(fn.ok());
  return *fn;
}

// B[i] = value, for a parameter A of one type and B of another.
double EpsilonOfMap(const std::string& from, const std::string& to, const std::string& value) {
  return EpsilonOf(Parsed("fn f(A: " + from + "[4], B: " + to +
                          "[4]) { for i in 0..4 { B[i] = " + value + " } }"));
}

}  // namespace

TEST_CASE("the block that reduces most says how many terms a result has", "[search][bound]") {
  Function fn = Parsed(R"(
    fn f(A: f32[2, 3, 5], S: f32[2], T: f32[2]) tensor {
      for i in 0..2 @s/i { for j in 0..3 @s/j { for k in 0..5 @s/k {
        block s(i: spatial 2 = i, j: reduce 3 = j, k: reduce 5 = k) {
          reduce sum_f32 init (S[i]) with (A[i, j, k]) } } } }
      for i in 0..2 @t/i { for j in 0..3 @t/j {
        block t(i: spatial 2 = i, j: reduce 3 = j) {
          reduce sum_f32 init (T[i]) with (A[i, j, 0]) } } } })");
  CHECK(TermsOf(fn) == 15);
}

TEST_CASE("a function that reduces nothing has one term", "[search][bound]") {
  CHECK(TermsOf(Parsed("fn f(A: f32[7], B: f32[7]) { for i in 0..7 { B[i] = A[i] } }")) == 1);
}

TEST_CASE("the least precise float gives the epsilon", "[search][bound]") {
  CHECK(EpsilonOfMap("f32", "f32", "A[i]") == std::ldexp(1, -23));
  CHECK(EpsilonOfMap("f64", "f64", "A[i]") == std::ldexp(1, -52));
  CHECK(EpsilonOfMap("f32", "f16", "f16(A[i])") == std::ldexp(1, -10));
  CHECK(EpsilonOfMap("bf16", "f32", "f32(A[i])") == std::ldexp(1, -7));
}

TEST_CASE("a buffer inside the function counts", "[search][bound]") {
  Function fn = Parsed(R"(
    fn f(A: f32[4], B: f32[4]) {
      alloc H: f16[4]
      for i in 0..4 { H[i] = f16(A[i]) }
      for i in 0..4 { B[i] = f32(H[i]) } })");
  CHECK(EpsilonOf(fn) == std::ldexp(1, -10));
}

TEST_CASE("rounding within an expression counts", "[search][bound]") {
  CHECK(EpsilonOfMap("f32", "f32", "f32(bf16(A[i]))") == std::ldexp(1, -7));
}

TEST_CASE("8-bit floats count where they are written", "[search][bound]") {
  CHECK(EpsilonOfMap("f8e4m3", "f32", "f32(A[i])") == std::ldexp(1, -23));
  CHECK(EpsilonOfMap("f32", "f8e4m3", "f8e4m3(A[i])") == std::ldexp(1, -3));
}

TEST_CASE("integers have no epsilon", "[search][bound]") {
  CHECK(EpsilonOfMap("i32", "i64", "i64(A[i])") == 0);
}
