#include <catch2/catch.hpp>

#include "ir/analysis/verifier.h"
#include "ir/text/printer.h"
#include "lower/passes/passes.h"
#include "tests/lower/pass_check.h"
#include "tests/programs/equal_up_to_names.h"

using namespace tcc;

namespace {

void CheckNames(const std::string& before, const std::string& after) {
  const std::string head =
      "fn f<shape n in 1..=64 usual 8, shape m in 1..=64 usual 9>"
      "(A: f32[n * m * 4], B: f32[n * m * 4]) lowered { ";
  Function got = NameDivisions(ParsedFunction(head + before + " }"));
  Function want = ParsedFunction(head + after + " }");
  INFO(Print(got) << Print(want));
  CHECK(EqualUpToNames(got, want));
  CHECK(Verify(got).ok());
}

}  // namespace

TEST_CASE("divisions by shapes are named where their variables are bound", "[lower][passes]") {
  CheckNames(R"(
    for f in 0..n * m {
      for i in 0..4 {
        if i < f div m { B[f mod m * 4 + i] = A[f mod m * 4 + i] }
      }
    })",
             R"(
    for f in 0..n * m {
      let d = f div m
      let q = f mod m
      for i in 0..4 {
        if i < d { B[q * 4 + i] = A[q * 4 + i] }
      }
    })");
}

TEST_CASE("a named division stands in others, those of shapes alone at the root",
          "[lower][passes]") {
  CheckNames(R"(
    for f in 0..ceildiv(n, 4) * m {
      B[f div ceildiv(n, 4 * m) mod m] = 1.0
    })",
             R"(
    let c = ceildiv(n, 4 * m)
    for f in 0..ceildiv(n, 4) * m {
      let d = f div c
      let q = d mod m
      B[q] = 1.0
    })");
}

TEST_CASE("divisions by numbers and of what is read stay", "[lower][passes]") {
  const std::string body = R"(
    for f in 0..n * m {
      B[f mod 4] = A[f div 8]
      B[i64(A[f]) mod m] = A[f]
    })";
  CheckNames(body, body);
}
