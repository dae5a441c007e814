#include "compiler/check/check_sizes.h"

#include <catch2/catch.hpp>

using namespace tcc;

namespace {

using Sizes = std::vector<std::vector<int64_t>>;

// N and S, which are free.
Metadata FreeModel(ShapeVariable n, ShapeVariable s) {
  Metadata metadata;
  metadata.shape_variables = {std::move(n), std::move(s)};
  return metadata;
}

}  // namespace

TEST_CASE("a model that takes any size is checked at the least, a prime, the usual and its double",
          "[compiler][check]") {
  auto sizes = [](const Metadata& metadata, const DimSizes& given = {}) {
    return *SizesToCheck(metadata, given);
  };
  auto range = [](const char* name, int64_t low, int64_t high, int64_t usual) {
    return ShapeVariable{.name = name, .low = low, .high = high, .usual = usual};
  };
  const Metadata wide = FreeModel(range("N", 1, 32, 8), range("S", 16, 16777216, 128));
  CHECK(sizes(wide) == Sizes{{1, 16}, {7, 127}, {8, 128}, {16, 256}});
  CHECK(sizes(wide, {{"N", 9}, {"K", 3}}) == Sizes{{9, 16}, {9, 127}, {9, 128}, {9, 256}});
  CHECK(sizes(wide, {{"N", 9}, {"S", 90}}) == Sizes{{9, 90}});
  // No size leaves its range.
  CHECK(sizes(FreeModel(range("N", 1, 1000, 1), range("S", 8, 10, 8))) ==
        Sizes{{1, 8}, {2, 8}, {2, 10}});
  CHECK(sizes(FreeModel(range("N", 0, 4, 3), range("S", 6, 7, 7))) ==
        Sizes{{0, 6}, {2, 7}, {3, 7}, {4, 7}});
  CHECK(sizes(Metadata()).empty());
}

TEST_CASE("a model of listed sizes is checked at those that agree", "[compiler][check]") {
  Metadata metadata =
      FreeModel({.name = "N", .low = 1, .high = 4}, {.name = "S", .low = 8, .high = 16});
  metadata.sizes = {{1, 8}, {1, 16}, {4, 16}};
  CHECK(*SizesToCheck(metadata, {}) == metadata.sizes);
  CHECK(*SizesToCheck(metadata, {{"S", 16}}) == Sizes{{1, 16}, {4, 16}});
  CHECK(Message(SizesToCheck(metadata, {{"N", 4}, {"S", 8}}).status()) ==
        "the model was not compiled for N=4,S=8; its sizes are N=1,S=8; N=1,S=16; N=4,S=16");
  CHECK(ToListed(metadata, metadata.sizes, {{"N", 1}}) ==
        std::vector<DimSizes>{{{"S", 8}}, {{"S", 16}}, {{"S", 16}}});
}
