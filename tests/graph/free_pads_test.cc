#include <catch2/catch.hpp>

#include "support/random.h"
#include "tests/graph/free_node.h"

using namespace tcc;

namespace {

Tensor Ints64(const Ints& numbers) {
  return I64({static_cast<int64_t>(numbers.size())}, numbers);
}

Tensor RandomInts(Random& random, size_t count, int64_t low, int64_t high) {
  Ints numbers;
  for (size_t i = 0; i < count; ++i) numbers.push_back(random.Between(low, high));
  return Ints64(numbers);
}

}  // namespace

TEST_CASE("free dimensions are padded and cropped as bound ones", "[graph][ops][free]") {
  static const char* const kModes[] = {"constant", "reflect", "edge", "wrap"};
  Random random(14);
  int checked = 0;
  for (int round = 0; round < 200; ++round) {
    INFO("round " << round);
    FreeNode free = {
        .node = {.op = OpKind::kPad,
                 .inputs = {RandomF32({random.Between(1, 5), random.Between(1, 5)}, random.Next()),
                            RandomInts(random, 4, -2, 4), F32({}, {7})},
                 .attributes = {{"mode", std::string(kModes[round % 4])}},
                 .constants = {1, 2}},
        .dims = {{0, 0, "H"}, {0, 1, "W"}},
        .low = random.Between(0, 1)};
    checked += CheckSameAsBound(free) ? 1 : 0;
  }
  CHECK(checked > 150);
}

TEST_CASE("a free dimension that turns out empty is padded with zeros", "[graph][ops][free]") {
  for (const char* mode : {"constant", "reflect", "edge", "wrap"}) {
    FreeNode free = {.node = {.op = OpKind::kPad,
                              .inputs = {F32({0}, {}), Ints64({1, 1})},
                              .attributes = {{"mode", std::string(mode)}},
                              .constants = {1}},
                     .dims = {{0, 0, "H"}},
                     .low = 0};
    StatusOr<FreeResults> results = RunFree(free);
    REQUIRE(results.ok());
    CHECK(ValuesOf(results->tensors[0]) == std::vector<double>{0, 0});
  }
}

TEST_CASE("pads may be formulas of the dimensions", "[graph][ops][free]") {
  // To the next multiple of 4, as exporters write it for windows; a part goes before.
  static constexpr auto kToFour = [](const std::vector<Var>& vars) {
    Expr missing = FloorModulo(Expr(0) - vars[0], Expr(4));
    return std::vector<Expr>{FloorDivide(missing, Expr(2)),
                             missing - FloorDivide(missing, Expr(2))};
  };
  for (const char* mode : {"constant", "reflect", "edge", "wrap"}) {
    for (int64_t extent = 1; extent <= 9; ++extent) {
      INFO(mode << " of " << extent);
      int64_t missing = (4 - extent % 4) % 4;
      FreeNode free = {
          .node = {.op = OpKind::kPad,
                   .inputs = {RandomF32({extent}, 3), Ints64({missing / 2, missing - missing / 2})},
                   .attributes = {{"mode", std::string(mode)}},
                   .constants = {1}},
          .dims = {{0, 0, "H"}},
          .elements = {{1, kToFour}}};
      CHECK(CheckSameAsBound(free));
    }
  }
}

TEST_CASE("the middle of a free dimension has the wanted size", "[graph][ops][free]") {
  for (int64_t extent = 1; extent <= 9; ++extent) {
    INFO("extent " << extent);
    FreeNode free = {.node = {.op = OpKind::kCenterCropPad,
                              .inputs = {RandomF32({2, extent}, 3), Ints64({4})},
                              .attributes = {{"axes", Ints{1}}},
                              .constants = {1}},
                     .dims = {{0, 1, "W"}}};
    CHECK(CheckSameAsBound(free));
    free.node.inputs[1] = Ints64({(extent + 1) / 2});
    free.elements = {{1, [](const std::vector<Var>& vars) {
                        return std::vector<Expr>{CeilDivide(vars[0], Expr(2))};
                      }}};
    CHECK(CheckSameAsBound(free));
  }
}

TEST_CASE("crops that leave nothing of any size are refused", "[graph][ops][error][free]") {
  FreeNode free = {.node = {.op = OpKind::kPad,
                            .inputs = {RandomF32({9}, 1), Ints64({-40, -40})},
                            .constants = {1}},
                   .dims = {{0, 0, "T"}}};
  CHECK(FreeShapeOf(free) ==
        "node 'node' (Pad): pads -40 and -40 leave nothing of dimension 0 = T");
}
