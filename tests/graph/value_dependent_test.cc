#include <catch2/catch.hpp>
#include <cmath>

#include "tests/graph/one_node.h"

using namespace tcc;

namespace {

using Doubles = std::vector<double>;

std::vector<Tensor> UniqueOf(const Tensor& x, Attributes attributes) {
  StatusOr<std::vector<Tensor>> results = Run({.op = OpKind::kUnique,
                                               .inputs = {x},
                                               .attributes = std::move(attributes),
                                               .constants = {0},
                                               .outputs = 4});
  INFO(results.status());
  REQUIRE(results.ok());
  return *results;
}

}  // namespace

TEST_CASE("NonZero lists the indices of a constant's elements", "[graph][value_dependent]") {
  OneNode node = {
      .op = OpKind::kNonZero, .inputs = {F32({2, 3}, {0, 1, 0, -2, 0, 3})}, .constants = {0}};
  Tensor result = ResultOf(node);
  CHECK(result.shape == Ints{2, 3});
  CHECK(ValuesOf(result) == Doubles{0, 1, 1, 1, 0, 2});
  node.inputs = {F32({2}, {0, 0})};
  CHECK(ResultOf(node).shape == Ints{1, 0});
}

TEST_CASE("Compress keeps slices, or elements where it has no axis", "[graph][value_dependent]") {
  OneNode node = {.op = OpKind::kCompress,
                  .inputs = {F32({3, 2}, {1, 2, 3, 4, 5, 6}), Of(kBool, {2}, {0, 1})},
                  .attributes = {{"axis", int64_t{0}}},
                  .constants = {0, 1}};
  CHECK(ValuesOf(ResultOf(node)) == Doubles{3, 4});
  node.attributes["axis"] = int64_t{-1};
  CHECK(ValuesOf(ResultOf(node)) == Doubles{2, 4, 6});
  node.attributes.clear();
  CHECK(ValuesOf(ResultOf(node)) == Doubles{2});
}

TEST_CASE("Unique sorts, or keeps the order of first occurrence", "[graph][value_dependent]") {
  Tensor x = F32({6}, {2, 1, 1, 3, 4, 3});
  std::vector<Tensor> sorted = UniqueOf(x, {});
  CHECK(ValuesOf(sorted[0]) == Doubles{1, 2, 3, 4});
  CHECK(ValuesOf(sorted[1]) == Doubles{1, 0, 3, 4});
  CHECK(ValuesOf(sorted[2]) == Doubles{1, 0, 0, 2, 3, 2});
  CHECK(ValuesOf(sorted[3]) == Doubles{2, 1, 2, 1});
  CHECK(ValuesOf(UniqueOf(x, {{"sorted", int64_t{0}}})[0]) == Doubles{2, 1, 3, 4});
  Tensor rows = F32({3, 2}, {1, 0, 0, 9, 1, 0});
  CHECK(ValuesOf(UniqueOf(rows, {{"axis", int64_t{0}}})[0]) == Doubles{0, 9, 1, 0});
}

TEST_CASE("what values decide the shape of must be constant", "[graph][value_dependent][error]") {
  CHECK(ErrorOf({.op = OpKind::kNonZero, .inputs = {F32({2}, {0, 1})}}) ==
        "node 'node' (NonZero): the shape of the result depends on input 0, which is computed from "
        "'in0' at run time; expected a constant");
  CHECK(ErrorOf({.op = OpKind::kCompress,
                 .inputs = {F32({2}, {0, 1}), Of(kBool, {3}, {1, 1, 1})},
                 .constants = {0, 1}}) ==
        "node 'node' (Compress): condition is bool[3] for 2 slices");
}
