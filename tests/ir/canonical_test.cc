#include "ir/analysis/canonical.h"

#include <catch2/catch.hpp>

#include "ir/text/parser.h"

using namespace tcc;

namespace {

std::string KeyOf(const std::string& text) {
  StatusOr<Function> fn = ParseFunction(text);
  INFO(text);
  INFO(fn.status().ToString());
  REQUIRE(fn.ok());
  return FunctionKey(*fn);
}

std::string WithValue(const std::string& value) {
  return "fn f(A: i64[9], X: f32[9]) { for i in 0..9 { for j in 0..9 { A[i] = " + value + " } } }";
}

std::string WithCondition(const std::string& condition) {
  return "fn f(A: i64[9], n: i64[1]) { for i in 0..9 { if " + condition + " { A[i] = 1 } } }";
}

}  // namespace

TEST_CASE("names are no part of the key", "[ir][canonical]") {
  const std::string one = R"(
    fn f<tile t in 1..=8>(A: f32[7]) scheduled {
      for i in 0..t @b/i { block b(x: spatial 7 = i) { A[x] = A[x] + 1 } } })";
  const std::string other = R"(
    fn g<tile u in 1..=8>(B: f32[7]) scheduled attributes("op" = "Add") {
      for k in 0..u @c/k { block c(y: spatial 7 = k) { B[y] = B[y] + 1 } } })";
  CHECK(KeyOf(one) == KeyOf(other));
  CHECK(KeyOf(one).size() == 64);
}

TEST_CASE("the order of commutative operands is no part of the key", "[ir][canonical]") {
  CHECK(KeyOf(WithValue("i + j * 2")) == KeyOf(WithValue("2 * j + i")));
  CHECK(KeyOf(WithValue("min(i, j)")) == KeyOf(WithValue("min(j, i)")));
  CHECK(KeyOf(WithValue("select(i == j, 1, 2)")) == KeyOf(WithValue("select(j == i, 1, 2)")));
  CHECK(KeyOf(WithCondition("i < 3 && 1 < i")) == KeyOf(WithCondition("1 < i && i < 3")));
}

TEST_CASE("the order of other operands is part of the key", "[ir][canonical]") {
  CHECK(KeyOf(WithValue("i - j")) != KeyOf(WithValue("j - i")));
  CHECK(KeyOf(WithValue("i div 2")) != KeyOf(WithValue("2 div i")));
  CHECK(KeyOf(WithValue("i64(X[i] + X[j])")) != KeyOf(WithValue("i64(X[j] + X[i])")));
  // The first operand keeps the second one's load inside the buffer.
  CHECK(KeyOf(WithCondition("i < 1 && n[i] == 0")) != KeyOf(WithCondition("n[i] == 0 && i < 1")));
}

TEST_CASE("what the function does is part of the key", "[ir][canonical]") {
  const std::string base = "fn f(A: f32[7], B: f32[7]) { for i in 0..7 { B[i] = A[i] + 1 } }";
  const char* others[] = {
      "fn f(A: f32[7], B: f32[7]) { for i in 0..6 { B[i] = A[i] + 1 } }",
      "fn f(A: f32[7], B: f32[7]) { for i in 0..7 { B[i] = A[i] + 2 } }",
      "fn f(A: f32[7], B: f32[7]) { for i in 0..7 { A[i] = B[i] + 1 } }",
      "fn f(A: f32[7], B: f32[7]) { for i in 0..7 parallel { B[i] = A[i] + 1 } }",
      "fn f(A: f32[7], B: f32[8]) { for i in 0..7 { B[i] = A[i] + 1 } }",
      "fn f(A: f64[7], B: f64[7]) { for i in 0..7 { B[i] = A[i] + 1 } }",
      "fn f(A: f32[7], B: f32[7]) scheduled { for i in 0..7 { B[i] = A[i] + 1 } }",
      "fn f<shape n in 1..=7>(A: f32[7], B: f32[7]) { for i in 0..7 { B[i] = A[i] + 1 } }",
      "fn f(A: f32[7], B: f32[7] offset 1) { for i in 0..7 { B[i] = A[i] + 1 } }",
  };
  for (const char* other : others) {
    INFO(other);
    CHECK(KeyOf(base) != KeyOf(other));
  }
}

TEST_CASE("a combiner counts by what it computes", "[ir][canonical]") {
  const std::string fn = "fn f(A: f32[1]) { reduce c (A[0]) with (2) }";
  const std::string sum = KeyOf("combiner c(a: f32 = 0; b: f32) = (a + b)\n" + fn);
  CHECK(sum == KeyOf("fn f(A: f32[1]) { reduce sum_f32 (A[0]) with (2) }"));
  CHECK(sum != KeyOf("combiner c(a: f32 = 1; b: f32) = (a * b)\n" + fn));
  CHECK(sum != KeyOf("combiner c(a: f32 = -0.0; b: f32) = (a + b)\n" + fn));
}

TEST_CASE("keys do not change from one version of tcc to the next unnoticed", "[ir][canonical]") {
  StatusOr<Function> fn = ParseFunction("fn f(A: f32[7]) { for i in 0..7 { A[i] = A[i] + 1 } }");
  REQUIRE(fn.ok());
  CHECK(CanonicalText(*fn) ==
        "(Function lowered [] [( v0:f32 [(IntImm i64 7)] global ( [] []) - -1 ( [] - [] ( 0 0 0)))]"
        " (For v1:i64 (IntImm i64 7) serial _ (Store v0 [v1]"
        " (Add (Load v0 [v1]) (FloatImm f32 3ff0000000000000)) -)))");
}
