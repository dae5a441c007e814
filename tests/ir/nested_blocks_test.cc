#include "ir/analysis/nested_blocks.h"

#include <catch2/catch.hpp>

#include "ir/analysis/verifier.h"
#include "ir/expr/compare.h"
#include "ir/interpret/interpreter.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"

using namespace tcc;

namespace {

// What `text` computes, before and after its blocks are unnested, from A[i] = i + 1.
void CheckUnnested(const std::string& text) {
  StatusOr<Function> fn = ParseFunction(text);
  INFO(text << fn.status());
  REQUIRE(fn.ok());
  REQUIRE(Verify(*fn).ok());
  Function plain = UnnestBlocks(*fn);
  INFO(Print(plain));
  CHECK(Verify(plain).ok());
  CHECK(HasNestedBlocks(fn->body));
  CHECK_FALSE(HasNestedBlocks(plain.body));
  std::vector<float> values(10);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1);
  std::vector<Tensor> results;
  for (const Function& f : {*fn, plain}) {
    std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(values.data()), 40);
    std::vector<Tensor> arguments = {MakeTensor(kFloat32, {10}, bytes),
                                     MakeZeroTensor(kFloat32, {10})};
    REQUIRE(Interpret(f, arguments, {}).ok());
    results.push_back(arguments[1]);
  }
  for (int64_t i = 0; i < 10; ++i) {
    CHECK(ElementAsDouble(results[0], i) == ElementAsDouble(results[1], i));
  }
}

}  // namespace

TEST_CASE("an unnested block has the guards of those round it", "[ir][nested_blocks]") {
  CheckUnnested(R"(
    fn f(A: f32[10], B: f32[10]) scheduled {
      for i0 in 0..4 @i0 {
        block o(a: spatial 3 = i0) guard (i0 < 2) {
          for i1 in 0..4 @i1 { block b(i: spatial 10 = a * 4 + i1) { B[i] = A[i] } }
        }
      }
    })");
}

TEST_CASE("a block whose binding is negative does not exist unnested either",
          "[ir][nested_blocks]") {
  CheckUnnested(R"(
    fn f(A: f32[10], B: f32[10]) scheduled {
      for i0 in 0..4 @i0 {
        block o(a: spatial 4 = i0 - 2) {
          for i1 in 0..2 @i1 { block b(i: spatial 10 = a * 2 + i1 + 4) { B[i] = A[i] } }
        }
      }
    })");
}

TEST_CASE("the predicate of a block round others is a condition", "[ir][nested_blocks]") {
  CheckUnnested(R"(
    fn f(A: f32[10], B: f32[10]) scheduled {
      for i0 in 0..5 @i0 {
        block o(a: spatial 5 = i0) where 1 <= a {
          for i1 in 0..2 @i1 {
            block m(c: spatial 2 = i1) {
              block b(i: spatial 10 = a * 2 + c) { B[i] = A[i] }
            }
          }
        }
      }
    })");
}

TEST_CASE("a function without nested blocks stays as it is", "[ir][nested_blocks]") {
  Function fn = ParseFunction(R"(
    fn f(A: f32[10], B: f32[10]) scheduled {
      for i in 0..10 @i { block b(i: spatial 10 = i) { B[i] = A[i] } }
    })")
                    .value();
  CHECK(UnnestBlocks(fn).body.same_as(fn.body));
  CHECK(OutermostBlocksOf(fn.body).size() == 1);
}
