#include <catch2/catch.hpp>

#include "graph/ops/node_lowering.h"
#include "graph/passes/infer_shapes.h"
#include "support/random.h"
#include "tests/graph/free_node.h"
#include "tests/ir/parsed_graph.h"

using namespace tcc;

namespace {

const char* const kAutoPads[] = {"NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};

// Batch, height and width of input 0.
const std::vector<FreeDim> kImage = {{0, 0, "N"}, {0, 2, "H"}, {0, 3, "W"}};

Attributes RandomWindow(Random& random) {
  std::string auto_pad = kAutoPads[random.Below(std::size(kAutoPads))];
  Attributes attributes = {{"strides", Ints{random.Between(1, 3), random.Between(1, 3)}},
                           {"dilations", Ints{random.Between(1, 2), random.Between(1, 2)}},
                           {"auto_pad", auto_pad}};
  if (auto_pad == "NOTSET") {
    attributes["pads"] = Ints{random.Between(0, 2), random.Between(0, 2), random.Between(0, 2),
                              random.Between(0, 2)};
  }
  return attributes;
}

Tensor RandomImage(Random& random, int64_t channels) {
  return RandomF32({random.Between(1, 2), channels, random.Between(1, 9), random.Between(1, 9)},
                   random.Next());
}

// A pool with the attributes of a random window and of this operator.
FreeNode RandomPool(Random& random, OpKind op) {
  FreeNode free = {
      .node = {.op = op, .inputs = {RandomImage(random, 2)}, .attributes = RandomWindow(random)},
      .dims = kImage};
  Attributes& attributes = free.node.attributes;
  attributes["kernel_shape"] = Ints{random.Between(1, 3), random.Between(1, 3)};
  attributes["ceil_mode"] = random.Between(0, 1);
  return free;
}

Tensor Ints64(const Ints& numbers) {
  return I64({static_cast<int64_t>(numbers.size())}, numbers);
}

Tensor RandomInts(Random& random, size_t count, int64_t low, int64_t high) {
  Ints numbers;
  for (size_t i = 0; i < count; ++i) numbers.push_back(random.Between(low, high));
  return Ints64(numbers);
}

}  // namespace

TEST_CASE("convolutions of free images are the bound ones at every size", "[graph][ops][free]") {
  Random random(11);
  int checked = 0;
  for (int round = 0; round < 150; ++round) {
    INFO("round " << round);
    int64_t group = random.Between(1, 2);
    Tensor weight =
        RandomF32({2 * group, random.Between(1, 2), random.Between(1, 3), random.Between(1, 3)},
                  random.Next());
    FreeNode free = {.node = {.op = OpKind::kConv,
                              .inputs = {RandomImage(random, group * weight.shape[1]), weight,
                                         RandomF32({2 * group}, random.Next())},
                              .attributes = RandomWindow(random)},
                     .dims = kImage};
    free.node.attributes["group"] = group;
    checked += CheckSameAsBound(free) ? 1 : 0;
  }
  CHECK(checked > 100);
}

TEST_CASE("transposed convolutions of free images are the bound ones", "[graph][ops][free]") {
  Random random(12);
  int checked = 0;
  for (int round = 0; round < 150; ++round) {
    INFO("round " << round);
    FreeNode free = {
        .node = {.op = OpKind::kConvTranspose,
                 .inputs = {RandomImage(random, 2),
                            RandomF32({2, 2, random.Between(1, 4), random.Between(1, 4)},
                                      random.Next())},
                 .attributes = RandomWindow(random)},
        .dims = kImage};
    if (random.OneIn(3)) free.node.attributes["output_padding"] = Ints{1, 0};
    if (random.OneIn(4)) {
      free.node.attributes["output_shape"] = Ints{random.Between(1, 9), random.Between(1, 9)};
    }
    checked += CheckSameAsBound(free) ? 1 : 0;
  }
  CHECK(checked > 100);
}

TEST_CASE("pools of free images are the bound ones at every size", "[graph][ops][free]") {
  Random random(13);
  int checked = 0;
  for (int round = 0; round < 300; ++round) {
    INFO("round " << round);
    OpKind op = round % 3 == 0   ? OpKind::kMaxPool
                : round % 3 == 1 ? OpKind::kAveragePool
                                 : OpKind::kLpPool;
    FreeNode free = RandomPool(random, op);
    if (op == OpKind::kMaxPool) {
      free.node.outputs = static_cast<int>(random.Between(1, 2));
      free.node.attributes["storage_order"] = random.Between(0, 1);
    }
    if (op == OpKind::kAveragePool)
      free.node.attributes["count_include_pad"] = random.Between(0, 1);
    if (op == OpKind::kLpPool) free.node.attributes["p"] = random.Between(1, 2);
    checked += CheckSameAsBound(free) ? 1 : 0;
  }
  CHECK(checked > 200);
}

TEST_CASE("windows along a free time have formulas of it", "[graph][ops][free]") {
  FreeNode free = {.node = {.op = OpKind::kConv,
                            .inputs = {RandomF32({2, 1, 9}, 1), RandomF32({4, 1, 3}, 2)},
                            .attributes = {{"strides", Ints{2}}, {"pads", Ints{1, 1}}}},
                   .dims = {{0, 0, "N"}, {0, 2, "T"}}};
  CHECK(FreeShapeOf(free) == "Nx4x((T + 1) div 2)");
  free.node.attributes = {{"pads", Ints{1, 1}}};
  CHECK(FreeShapeOf(free) == "Nx4xT");
  free.node.attributes = {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2}}};
  CHECK(FreeShapeOf(free) == "Nx4x((T + 1) div 2)");
  free.node.op = OpKind::kMaxPool;
  free.node.inputs.pop_back();
  free.node.attributes = {
      {"kernel_shape", Ints{3}}, {"strides", Ints{2}}, {"ceil_mode", int64_t{1}}};
  CHECK(FreeShapeOf(free) == "Nx1x(T div 2)");
}

TEST_CASE("that a window fits is checked where some sizes are too small for it",
          "[graph][ops][free]") {
  FreeNode free = {.node = {.op = OpKind::kMaxPool,
                            .inputs = {RandomF32({1, 1, 1}, 1)},
                            .attributes = {{"kernel_shape", Ints{3}}, {"strides", Ints{2}}}},
                   .dims = {{0, 2, "T"}}};
  StatusOr<FreeResults> results = RunFree(free);
  REQUIRE(results.ok());
  CHECK_FALSE(results->agrees);
  free.node.inputs = {RandomF32({1, 1, 3}, 1)};
  CHECK(CheckSameAsBound(free));
  REQUIRE(RunFree(free).ok());
  CHECK(RunFree(free)->agrees);
}

TEST_CASE("an empty image has an empty convolution, transposed or not", "[graph][ops][free]") {
  FreeNode conv = {
      .node = {.op = OpKind::kConv, .inputs = {{}, RandomF32({3, 2, 2}, 2)}, .attributes = {}},
      .dims = {{0, 2, "T"}},
      .low = 0};
  FreeNode transposed = conv;
  transposed.node.op = OpKind::kConvTranspose;
  transposed.node.inputs[1] = RandomF32({2, 3, 1}, 3);
  transposed.node.attributes = {{"strides", Ints{2}}, {"pads", Ints{1, 0}}};
  for (FreeNode& free : {std::ref(conv), std::ref(transposed)}) {
    for (int64_t extent : {0, 1, 2, 5}) {
      INFO(ToString(free.node.op) << " of " << extent);
      free.node.inputs[0] = RandomF32({1, 2, extent}, 1);
      StatusOr<FreeResults> results = RunFree(free);
      REQUIRE(results.ok());
      // One element is too short for the window, and is cut off.
      CHECK(results->agrees == (extent != 1));
      if (results->agrees) CHECK(CheckSameAsBound(free));
    }
  }
}

TEST_CASE("a bias of free extent is taken to have the output channels of its convolution",
          "[graph][ops][free]") {
  FreeNode free = {
      .node = {.op = OpKind::kConv,
               .inputs = {RandomF32({1, 1, 5}, 1), RandomF32({3, 1, 2}, 2), RandomF32({3}, 3)}},
      .dims = {{2, 0, "C"}}};
  CHECK(CheckSameAsBound(free));
  free.low = 4;
  CHECK(FreeShapeOf(free) == "node 'node' (Conv): bias has shape C; expected 3");
}

TEST_CASE("branches of one stride meet without an agreement", "[graph][ops][free]") {
  Graph graph =
      ParsedGraph(R"(graph g {
    dim N in 1..64 usual 8
    dim H in 1..512 usual 128
    input x: f32[N, 2, H, 32]
    constant w3: f32[2x2x3x3]
    constant w1: f32[2x2x1x1]
    a = Conv(x, w3) {strides: [2, 2], pads: [1, 1, 1, 1]} : f32[]
    b = Conv(x, w1) {strides: [2, 2]} : f32[]
    c = Conv(x, w3) {strides: [2, 2], auto_pad: "SAME_UPPER"} : f32[]
    d = MaxPool(x) {kernel_shape: [2, 2], strides: [2, 2], ceil_mode: 1} : f32[]
    ab = Add(a, b) : f32[]
    cd = Add(c, d) : f32[]
    y = Add(ab, cd) : f32[]
    return y
  })",
                  {{"w3", RandomF32({2, 2, 3, 3}, 1)}, {"w1", RandomF32({2, 2, 1, 1}, 2)}});
  REQUIRE(InferShapes(graph) == OkStatus());
  CHECK(graph.agreements.empty());
  CHECK(ShapeText(graph.value(graph.outputs[0]).shape) == "Nx2x((H + 1) div 2)x16");
}

TEST_CASE("a free window tests only bounds that it may cross", "[graph][ops][free]") {
  FreeNode free = {.node = {.op = OpKind::kConv,
                            .inputs = {RandomF32({1, 1, 9}, 1), RandomF32({4, 1, 3}, 2)},
                            .attributes = {{"strides", Ints{2}}}},
                   .dims = {{0, 2, "T"}},
                   .low = 3};
  CHECK(RunFree(free)->condition == "true");
  free.node.attributes["pads"] = Ints{1, 0};
  CHECK(RunFree(free)->condition == "0 <= w * 2 + kw - 1");
  free.node = {.op = OpKind::kConvTranspose,
               .inputs = {RandomF32({1, 1, 9}, 1), RandomF32({1, 4, 2}, 2)},
               .attributes = {{"strides", Ints{2}}}};
  CHECK(RunFree(free)->condition == "true");
}

TEST_CASE("a window that never fits a free dimension is refused", "[graph][ops][error][free]") {
  FreeNode free = {
      .node = {.op = OpKind::kConv, .inputs = {RandomF32({1, 1, 9}, 1), RandomF32({4, 1, 80}, 2)}},
      .dims = {{0, 2, "T"}}};
  CHECK(FreeShapeOf(free) ==
        "node 'node' (Conv): a window of 80 does not fit dimension 0 of T with pads 0 and 0");
}

TEST_CASE("free channels are taken to be those of the weight", "[graph][ops][free]") {
  FreeNode free = {
      .node = {.op = OpKind::kConv, .inputs = {RandomF32({1, 1, 9}, 1), RandomF32({4, 1, 3}, 2)}},
      .dims = {{0, 1, "C"}}};
  CHECK(FreeShapeOf(free) == "1x4x7");
}

TEST_CASE("columns of a free image are summed as a bound one's", "[graph][ops][free]") {
  for (int64_t extent = 3; extent <= 7; ++extent) {
    INFO("extent " << extent);
    int64_t windows = extent - 2;
    FreeNode free = {.node = {.op = OpKind::kCol2Im,
                              .inputs = {RandomF32({2, 18, windows * 2}, 3), I64({2}, {extent, 4}),
                                         I64({2}, {3, 3})},
                              .constants = {1, 2}},
                     .dims = {{0, 0, "N"}, {0, 2, "L"}},
                     .elements = {{1, [](const std::vector<Var>& vars) {
                                     Expr rows = FloorDivide(vars[1], Expr(2)) + Expr(2);
                                     return std::vector<Expr>{rows, Expr(4)};
                                   }}}};
    CHECK(CheckSameAsBound(free));
  }
}

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
