#include "lower/split_prepare.h"

#include <catch2/catch.hpp>

#include "ir/analysis/verifier.h"
#include "ir/expr/compare.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"

using namespace tcc;

namespace {

// U = T = S = W.
constexpr const char* kPrepareInThree = R"(
    fn f_U(W: f32[6] constant, U: f32[6]) scheduled {
      alloc T: f32[6]
      alloc S: f32[6]
      for i in 0..6 @s/i { block s(i: spatial 6 = i) { S[i] = W[i] } }
      for i in 0..6 @t/i { block t(i: spatial 6 = i) { T[i] = S[i] } }
      for i in 0..6 @u/i { block u(i: spatial 6 = i) { U[i] = T[i] } }
    })";

Function FunctionOf(const std::string& text) {
  StatusOr<Function> fn = ParseFunction(text);
  INFO(text);
  INFO(fn.status());
  REQUIRE(fn.ok());
  return *fn;
}

void CheckSame(const Function& got, const std::string& want) {
  INFO(Print(got));
  CHECK(Verify(got).ok());
  CHECK(AlphaEqual(got, FunctionOf(want)));
}

std::string ErrorOf(const std::string& text) {
  return Message(SplitPrepare(FunctionOf(text)).status());
}

}  // namespace

TEST_CASE("nests of constants become functions, and the originals are needed no more",
          "[lower][prepare]") {
  StatusOr<PreparedFunction> parts = SplitPrepare(FunctionOf(R"(
    fn f(A: f32[6], W: f32[6] constant, B: f32[6]) scheduled {
      alloc T: f32[6]
      alloc U: f32[6] constant strides [1, 3] blocks [0 by 3]
      for i in 0..6 @u/i { block u(i: spatial 6 = i) { U[i] = W[i] } }
      for i in 0..6 @t/i { block t(i: spatial 6 = i) { T[i] = A[i] } }
      for i in 0..6 @b/i { block b(i: spatial 6 = i) { B[i] = T[i] + U[i] } }
    })"));
  REQUIRE(parts.ok());
  CheckSame(parts->main, R"(
    fn f(A: f32[6], B: f32[6], U: f32[6] constant strides [1, 3] blocks [0 by 3]) scheduled {
      alloc T: f32[6]
      for i in 0..6 @t/i { block t(i: spatial 6 = i) { T[i] = A[i] } }
      for i in 0..6 @b/i { block b(i: spatial 6 = i) { B[i] = T[i] + U[i] } }
    })");
  REQUIRE(parts->prepare.size() == 1);
  CheckSame(parts->prepare[0], R"(
    fn f_U(W: f32[6] constant, U: f32[6] strides [1, 3] blocks [0 by 3]) scheduled {
      for i in 0..6 @u/i { block u(i: spatial 6 = i) { U[i] = W[i] } }
    })");
}

TEST_CASE("hints at an original that is needed no more go with it", "[lower][prepare]") {
  StatusOr<PreparedFunction> parts = SplitPrepare(FunctionOf(R"(
    fn f(W: f32[6] constant, B: f32[6]) scheduled {
      alloc U: f32[6] constant
      for i in 0..6 @u/i { block u(i: spatial 6 = i) { U[i] = W[i] } }
      for i in 0..6 @b/i {
        for p in 0..1 @W.prefetch/p { prefetch W[i + 1] }
        block b(i: spatial 6 = i) { B[i] = U[i] }
      }
    })"));
  REQUIRE(parts.ok());
  CheckSame(parts->main, R"(
    fn f(B: f32[6], U: f32[6] constant) scheduled {
      for i in 0..6 @b/i { block b(i: spatial 6 = i) { B[i] = U[i] } }
    })");
}

TEST_CASE("a function without constant buffers stays as it is", "[lower][prepare]") {
  const std::string text = R"(
    fn f(A: f32[6], W: f32[6] constant, B: f32[6]) scheduled {
      for i in 0..6 @b/i { block b(i: spatial 6 = i) { B[i] = A[i] + W[i] } }
    })";
  StatusOr<PreparedFunction> parts = SplitPrepare(FunctionOf(text));
  REQUIRE(parts.ok());
  CheckSame(parts->main, text);
  CHECK(parts->prepare.empty());
}

TEST_CASE("what a constant is computed from goes with it", "[lower][prepare]") {
  StatusOr<PreparedFunction> parts = SplitPrepare(FunctionOf(R"(
    fn f(V: f32[6] constant, W: f32[6] constant, B: f32[6]) scheduled {
      alloc U: f32[6] constant
      alloc T: f32[6]
      alloc S: f32[6] constant
      for i in 0..6 @s/i { block s(i: spatial 6 = i) { S[i] = W[i] } }
      for i in 0..6 @t/i { block t(i: spatial 6 = i) { T[i] = S[i] } }
      for i in 0..6 @u/i { block u(i: spatial 6 = i) { U[i] = T[i] } }
      for i in 0..6 @b/i { block b(i: spatial 6 = i) { B[i] = V[i] + W[i] + U[i] } }
    })"));
  REQUIRE(parts.ok());
  CheckSame(parts->main, R"(
    fn f(V: f32[6] constant, W: f32[6] constant, B: f32[6], U: f32[6] constant) scheduled {
      for i in 0..6 @b/i { block b(i: spatial 6 = i) { B[i] = V[i] + W[i] + U[i] } }
    })");
  REQUIRE(parts->prepare.size() == 1);
  CheckSame(parts->prepare[0], kPrepareInThree);
}

// Was refused: tcc-fuzz schedule --points 1 --seed 6712.
TEST_CASE("a copy that a constant and others read is made for each of them", "[lower][prepare]") {
  StatusOr<PreparedFunction> parts = SplitPrepare(FunctionOf(R"(
    fn f(W: f32[6] constant, B: f32[6]) scheduled {
      alloc U: f32[6] constant
      alloc T: f32[6]
      alloc S: f32[6]
      for i in 0..6 @s/i { block s(i: spatial 6 = i) { S[i] = W[i] } }
      for i in 0..6 @t/i { block t(i: spatial 6 = i) { T[i] = S[i] } }
      for i in 0..6 @u/i { block u(i: spatial 6 = i) { U[i] = T[i] } }
      for i in 0..6 @b/i { block b(i: spatial 6 = i) { B[i] = T[i] + U[i] } }
    })"));
  REQUIRE(parts.ok());
  CheckSame(parts->main, R"(
    fn f(W: f32[6] constant, B: f32[6], U: f32[6] constant) scheduled {
      alloc T: f32[6]
      alloc S: f32[6]
      for i in 0..6 @s/i { block s(i: spatial 6 = i) { S[i] = W[i] } }
      for i in 0..6 @t/i { block t(i: spatial 6 = i) { T[i] = S[i] } }
      for i in 0..6 @b/i { block b(i: spatial 6 = i) { B[i] = T[i] + U[i] } }
    })");
  REQUIRE(parts->prepare.size() == 1);
  CheckSame(parts->prepare[0], kPrepareInThree);
}

TEST_CASE("what only looks constant is refused", "[lower][prepare]") {
  CHECK(ErrorOf(R"(
    fn f(A: f32[6], B: f32[6]) scheduled {
      alloc U: f32[6] constant
      for i in 0..6 @u/i { block u(i: spatial 6 = i) { U[i] = A[i] } }
      for i in 0..6 @b/i { block b(i: spatial 6 = i) { B[i] = U[i] } }
    })") == "constant buffer 'U' is computed with 'A', which is not constant");
  CHECK(ErrorOf(R"(
    fn f(W: f32[6] constant, B: f32[6]) scheduled {
      alloc U: f32[6] constant
      alloc T: f32[6]
      for i in 0..6 @u/i {
        block u(i: spatial 6 = i) { U[i] = W[i] }
        block t(i: spatial 6 = i) { T[i] = W[i] }
      }
      for i in 0..6 @b/i { block b(i: spatial 6 = i) { B[i] = U[i] + T[i] } }
    })") == "constant 'U' is computed in one nest with what is none");
  CHECK(ErrorOf(R"(
    fn f(W: f32[6] constant, B: f32[6]) scheduled {
      alloc U: f32[6] constant
      for i in 0..6 threadIdx.x @u/i { block u(i: spatial 6 = i) { U[i] = W[i] } }
      for i in 0..6 @b/i { block b(i: spatial 6 = i) { B[i] = U[i] } }
    })") == "loop 'u/i' of a constant is bound to threadIdx.x; the host runs it");
}
