#include <catch2/catch.hpp>

#include "graph/passes/graph_pipeline.h"
#include "graph/passes/infer_shapes.h"
#include "graph/variants/interpret_graph.h"
#include "support/random.h"
#include "tests/graph/one_node.h"

namespace tcc {
namespace {

const DType kU4(DTypeCode::kUInt4), kI4(DTypeCode::kInt4);
const DType kU8(DTypeCode::kUInt8), kI8(DTypeCode::kInt8);

struct Case {
  const char* name;
  DType type = kU4;
  bool is_transposed = true;
  int64_t block = 32;  // 0: a scale per column, -1: one
  bool has_zeros = true;
  std::vector<int64_t> rows = {1};
  bool is_in_words = true;
  DType x_type = kFloat32;
  int64_t depth = 512, columns = 520;
  bool has_float_zeros = false;
};

Tensor Numbers(DType type, const std::vector<int64_t>& shape, uint64_t seed) {
  Tensor tensor = MakeZeroTensor(type, shape);
  Random random(seed);
  int64_t bits = type.bits();
  bool is_signed = type == kI4 || type == kI8;
  int64_t lowest = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
  for (int64_t i = 0; i < ElementCount(shape).value(); ++i) {
    SetElementInt(tensor, i, lowest + random.Between(0, (int64_t{1} << bits) - 1));
  }
  return tensor;
}

// Powers of two, with which all sums are exact.
Tensor Scales(DType type, const std::vector<int64_t>& shape) {
  Tensor tensor = MakeZeroTensor(type, shape);
  Random random(9);
  for (int64_t i = 0; i < ElementCount(shape).value(); ++i) {
    SetElement(tensor, i, random.OneIn(2) ? 0.25 : 0.5);
  }
  return tensor;
}

// x times a dequantized weight.
Graph ProductOf(const Case& c) {
  TestGraph test;
  std::vector<int64_t> x_shape = c.rows;
  x_shape.push_back(c.depth);
  ValueId x = test.Input("x", c.x_type, x_shape);
  std::vector<int64_t> shape = {c.depth, c.columns}, of_blocks = {c.columns};
  if (c.block > 0) of_blocks = {c.depth / c.block, c.columns};
  if (c.block < 0) of_blocks = {};
  int64_t axis = c.block == 0 ? 1 : 0;
  if (c.is_transposed) {
    std::swap(shape[0], shape[1]);
    if (of_blocks.size() == 2) std::swap(of_blocks[0], of_blocks[1]);
    axis = 1 - axis;
  }
  std::vector<ValueId> inputs = {test.Constant("q", Numbers(c.type, shape, 3)),
                                 test.Constant("s", Scales(c.x_type, of_blocks))};
  if (c.has_float_zeros) inputs.push_back(test.Constant("z", RandomF32(of_blocks, 5)));
  if (c.has_zeros) inputs.push_back(test.Constant("z", Numbers(c.type, of_blocks, 5)));
  ValueId w = test.Add(
      "w", OpKind::kDequantizeLinear, inputs,
      {{"axis", axis}, {"block_size", std::max<int64_t>(c.block, 0)}, {"to", ToString(c.x_type)}});
  if (c.is_transposed) w = test.Add("t", OpKind::kTranspose, {w}, {{"perm", Ints{1, 0}}});
  test.Output(test.Add("y", OpKind::kMatMul, {x, w}));
  return test.Build();
}

}  // namespace

TEST_CASE("few rows read narrow weights from words, with the same results", "[graph][passes]") {
  const Case cases[] = {
      {.name = "blocks of nibbles"},
      {.name = "signed nibbles without zeros", .type = kI4, .has_zeros = false},
      {.name = "two bits", .type = DTypeCode::kUInt2},
      {.name = "signed bits by columns",
       .type = DTypeCode::kInt2,
       .is_transposed = false,
       .block = 0,
       .has_zeros = false},
      {.name = "the depth first", .is_transposed = false, .block = 64},
      {.name = "zeros of floats", .has_zeros = false, .has_float_zeros = true},
      {.name = "bytes by columns", .type = kU8, .is_transposed = false, .block = 0},
      {.name = "signed bytes by columns", .type = kI8, .block = 0, .has_zeros = false},
      {.name = "signed bytes with one scale", .type = kI8, .is_transposed = false, .block = -1},
      {.name = "four rows in three dimensions", .rows = {2, 2}},
      {.name = "five rows", .rows = {5}, .is_in_words = false},
      {.name = "blocks of half a word", .block = 4, .is_in_words = false},
      {.name = "rows of f16", .x_type = kFloat16},
      {.name = "no depth", .is_in_words = false, .depth = 0},
      {.name = "a small weight", .is_in_words = false, .depth = 256, .columns = 256},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    Graph graph = ProductOf(c);
    REQUIRE(InferShapes(graph).ok());
    std::vector<int64_t> x_shape = c.rows;
    x_shape.push_back(c.depth);
    const Tensor x = Of(c.x_type, x_shape, ValuesOf(RandomF32(x_shape, 7)));
    std::vector<Tensor> want = InterpretGraph(graph, {x}, {.fusion = Fusion::kNodeByNode}).value();
    REQUIRE(RunGraphPasses(graph, TargetKind::kCpu).ok());
    int in_words = 0;
    for (const Node& node : graph.nodes) in_words += node.op == OpKind::kMatMulWords ? 1 : 0;
    CHECK(in_words == (c.is_in_words ? 1 : 0));
    CHECK(ValuesOf(InterpretGraph(graph, {x}).value()[0]) == ValuesOf(want[0]));
  }
}

TEST_CASE("a GPU's weights are not brought into words", "[graph][passes]") {
  Graph graph = ProductOf({.name = "blocks of nibbles"});
  REQUIRE(RunGraphPasses(graph, TargetKind::kGpu).ok());
  for (const Node& node : graph.nodes) CHECK(node.op != OpKind::kMatMulWords);
}

TEST_CASE("a product with words says what does not fit", "[graph][ops]") {
  OneNode node = {.op = OpKind::kMatMulWords,
                  .inputs = {RandomF32({2, 24}, 1), MakeZeroTensor(kInt32, {3, 5}),
                             MakeZeroTensor(kFloat32, {3, 5})},
                  .attributes = {{"bits", int64_t{4}}}};
  CHECK(ErrorOf(node).empty());
  node.attributes["bits"] = int64_t{5};
  CHECK(ErrorOf(node) == "node 'node' (MatMulWords): numbers have 5 bits; expected 2, 4 or 8");
  node.attributes["bits"] = int64_t{8};
  CHECK(ErrorOf(node) ==
        "node 'node' (MatMulWords): words of shape 3x5 and scales of 3x5 do not fit an operand of "
        "2x24");
}

}  // namespace tcc
