#include <catch2/catch.hpp>

#include "graph/passes/graph_pipeline.h"
#include "graph/passes/infer_shapes.h"
#include "graph/variants/interpret_graph.h"
#include "tests/graph/one_node.h"

using namespace tcc;

namespace {

const DType kU4 = DType(DTypeCode::kUInt4);
const DType kU8 = DType(DTypeCode::kUInt8);
const DType kI8 = DType(DTypeCode::kInt8);
const DType kI16 = DType(DTypeCode::kInt16);
const DType kU16 = DType(DTypeCode::kUInt16);

Tensor Scalar(DType dtype, double value) {
  return Of(dtype, {}, {value});
}

OneNode Quantize(const Tensor& x, const Tensor& scale, const Tensor& zero,
                 Attributes attributes = {}) {
  attributes["to"] = ToString(zero.dtype);
  return {.op = OpKind::kQuantizeLinear, .inputs = {x, scale, zero}, .attributes = attributes};
}

OneNode Dequantize(const Tensor& x, const Tensor& scale, const Tensor& zero,
                   Attributes attributes = {}) {
  attributes["to"] = ToString(scale.dtype);
  return {.op = OpKind::kDequantizeLinear, .inputs = {x, scale, zero}, .attributes = attributes};
}

}  // namespace

TEST_CASE("quantizing rounds halves to even, then saturates", "[graph][ops]") {
  Tensor x = F32({8}, {0.5, 1.5, 2.5, -0.5, -3, 126.4, 300, -1e30});
  CHECK(ValuesOf(ResultOf(Quantize(x, Scalar(kFloat32, 1), Scalar(kU8, 1)))) ==
        std::vector<double>{1, 3, 3, 1, 0, 127, 255, 0});
  CHECK(ValuesOf(ResultOf(Quantize(x, Scalar(kFloat32, 0.5), Scalar(kI8, -1)))) ==
        std::vector<double>{0, 2, 4, -2, -7, 127, 127, -128});
  Tensor wide = F32({4}, {70000, -70000, 32767.5, 3});
  CHECK(ValuesOf(ResultOf(Quantize(wide, Scalar(kFloat32, 1), Scalar(kI16, 0)))) ==
        std::vector<double>{32767, -32768, 32767, 3});
  CHECK(ValuesOf(ResultOf(Quantize(wide, Scalar(kFloat32, 2), Scalar(kU16, 32768)))) ==
        std::vector<double>{65535, 0, 49152, 32770});
}

TEST_CASE("scales are of the tensor, of an axis or of blocks along it", "[graph][ops]") {
  Tensor x = F32({2, 4}, {2, 4, 6, 8, 20, 40, 60, 80});
  Tensor rows = F32({2}, {2, 10});
  Tensor row_zeros = Of(kU8, {2}, {0, 5});
  CHECK(ValuesOf(ResultOf(Quantize(x, rows, row_zeros, {{"axis", int64_t{0}}}))) ==
        std::vector<double>{1, 2, 3, 4, 7, 9, 11, 13});
  Tensor blocks = F32({2, 2}, {1, 2, 10, 20});
  Tensor block_zeros = Of(kU8, {2, 2}, {0, 1, 2, 3});
  CHECK(ValuesOf(ResultOf(Quantize(x, blocks, block_zeros,
                                   {{"axis", int64_t{-1}}, {"block_size", int64_t{2}}}))) ==
        std::vector<double>{2, 4, 4, 5, 4, 6, 6, 7});
  Tensor q = Of(kI8, {2, 4}, {1, 2, 3, 4, -1, -2, -3, -4});
  CHECK(ValuesOf(ResultOf(Dequantize(q, blocks, Of(kI8, {2, 2}, {0, 1, 0, 2}),
                                     {{"axis", int64_t{1}}, {"block_size", int64_t{2}}}))) ==
        std::vector<double>{1, 2, 4, 6, -10, -20, -100, -120});
}

TEST_CASE("dequantizing takes the difference exactly and the scale's type", "[graph][ops]") {
  Tensor q = Of(kU8, {3}, {0, 128, 255});
  CHECK(ValuesOf(ResultOf(Dequantize(q, Scalar(kFloat32, 0.5), Scalar(kU8, 255)))) ==
        std::vector<double>{-127.5, -63.5, 0});
  Tensor half = ResultOf(Dequantize(q, Scalar(kFloat16, 0.5), Scalar(kU8, 0)));
  CHECK(half.dtype == kFloat16);
  CHECK(ValuesOf(half) == std::vector<double>{0, 64, 127.5});
  OneNode bias = {.op = OpKind::kDequantizeLinear,
                  .inputs = {Of(kInt32, {2}, {100000, -7}), Scalar(kFloat32, 0.25)},
                  .attributes = {{"to", ToString(kFloat32)}}};
  CHECK(ValuesOf(ResultOf(bias)) == std::vector<double>{25000, -1.75});
}

TEST_CASE("a zero point may be a float between two integers", "[graph][ops]") {
  Tensor q = Of(kU4, {4}, {0, 7, 8, 15});
  CHECK(ValuesOf(ResultOf(Dequantize(q, Scalar(kFloat32, 2), Scalar(kFloat32, 7.25)))) ==
        std::vector<double>{-14.5, -0.5, 1.5, 15.5});
  CHECK(ValuesOf(ResultOf(Dequantize(q, F32({2}, {1, 2}), F32({2}, {0.5, 8.5}),
                                     {{"axis", int64_t{0}}, {"block_size", int64_t{2}}}))) ==
        std::vector<double>{-0.5, 6.5, -1, 13});
  CHECK_FALSE(ErrorOf(Dequantize(q, Scalar(kFloat32, 2), Scalar(kFloat16, 7))).empty());
  Tensor f8 = Of(DTypeCode::kFloat8E4M3, {1}, {1});
  CHECK_FALSE(ErrorOf(Dequantize(f8, Scalar(kFloat32, 2), Scalar(kFloat32, 1))).empty());
}

TEST_CASE("constants are dequantized as computed values are", "[graph][graph]") {
  Tensor q = Of(kI8, {2, 3, 4}, {1,  -2, 3,   4,  5,  -6, 7,  8,   9,  -10, 11, 12,
                                 13, 14, -15, 16, 17, 18, 19, -20, 21, 22,  23, 127});
  std::vector<OneNode> nodes;
  nodes.push_back(Dequantize(q, Scalar(kFloat32, 0.1), Scalar(kI8, 3)));
  nodes.push_back(Dequantize(q, F32({1}, {0.3}), Of(kI8, {1}, {-3})));
  nodes.push_back(Dequantize(q, F32({3}, {0.1, 0.2, 0.3}), Of(kI8, {3}, {1, 0, -5})));
  nodes.push_back(Dequantize(q, F32({4}, {0.1, 0.2, 0.3, 5}), Of(kI8, {4}, {1, 0, -5, 7}),
                             {{"axis", int64_t{-1}}}));
  nodes.push_back(Dequantize(q, RandomF32({2, 2, 4}, 3), Of(kI8, {2, 2, 4}, {1, 2, 3, 4, 5, 6, 7}),
                             {{"block_size", int64_t{2}}}));
  nodes.push_back(Dequantize(q, Scalar(kFloat16, 0.1), Scalar(kI8, 3)));
  nodes.push_back(Dequantize(q, RandomF32({2, 2, 4}, 3), RandomF32({2, 2, 4}, 5),
                             {{"block_size", int64_t{2}}}));
  nodes.push_back(Dequantize(q, Scalar(kFloat16, 0.1), Scalar(kFloat16, 3.3)));
  for (OneNode& node : nodes) {
    std::vector<double> computed = ValuesOf(ResultOf(node));
    node.constants = {0, 1, 2};
    CHECK(ValuesOf(ResultOf(node)) == computed);
  }
}

TEST_CASE("scales per channel hold in the channels-last layout", "[graph][graph][layout]") {
  Tensor x = RandomF32({1, 2, 3, 3}, 4);
  TestGraph graph;
  ValueId in = graph.Input("x", kFloat32, {1, 2, 3, 3});
  ValueId w = graph.Constant("w", RandomF32({2, 2, 1, 1}, 5));
  ValueId scale = graph.Constant("s", F32({2}, {0.25, 0.5}));
  ValueId zero = graph.Constant("z", Of(kU8, {2}, {100, 120}));
  ValueId conv = graph.Add("conv", OpKind::kConv, {in, w});
  ValueId q = graph.Add("q", OpKind::kQuantizeLinear, {conv, scale, zero},
                        {{"axis", int64_t{1}}, {"to", ToString(kU8)}});
  graph.Output(graph.Add("dq", OpKind::kDequantizeLinear, {q, scale, zero},
                         {{"axis", int64_t{1}}, {"to", ToString(kFloat32)}}));
  Graph plain = graph.Build();
  REQUIRE(InferShapes(plain).ok());
  Graph optimized = graph.Build();
  REQUIRE(RunGraphPasses(optimized).ok());
  StatusOr<std::vector<Tensor>> expected = InterpretGraph(plain, {x});
  StatusOr<std::vector<Tensor>> results = InterpretGraph(optimized, {x});
  REQUIRE(expected.ok());
  REQUIRE(results.ok());
  CHECK(ValuesOf((*results)[0]) == ValuesOf((*expected)[0]));
}

TEST_CASE("a scale that fits neither the tensor nor the axis is reported", "[graph][ops][error]") {
  OneNode node = Quantize(F32({2, 4}, std::vector<double>(8, 1)), F32({3}, {1, 1, 1}),
                          Of(kU8, {3}, {0, 0, 0}), {{"axis", int64_t{1}}});
  CHECK(ErrorOf(node) ==
        "node 'node' (QuantizeLinear): scale has shape 3; input 0 ('in0', shape 2x4) with axis 1 "
        "and block_size 0 wants another");
  node.inputs[1] = Scalar(kFloat32, 1);
  CHECK(ErrorOf(node) ==
        "node 'node' (QuantizeLinear): zero point has shape 3; expected scalar as the scale");
  node.inputs[2] = Of(kU8, {1}, {7});
  CHECK(ErrorOf(node).empty());
}

TEST_CASE("sums of products of bytes are exact in i32", "[graph][ops]") {
  // 255 * 255 * 1000 needs 26 bits, two more than f32 has.
  int64_t depth = 1000;
  std::vector<double> row(depth, 255), column(depth, 255);
  column[7] = 254;
  OneNode node = {.op = OpKind::kMatMulInteger,
                  .inputs = {Of(kU8, {1, depth}, row), Of(kU8, {depth, 1}, column)}};
  Tensor result = ResultOf(node);
  CHECK(result.dtype == kInt32);
  CHECK(ElementAsInt(result, 0) == int64_t{255} * 255 * 1000 - 255);
}

TEST_CASE("zero points of rows and columns are subtracted", "[graph][ops]") {
  OneNode node = {.op = OpKind::kMatMulInteger,
                  .inputs = {Of(kU8, {2, 2}, {1, 2, 3, 4}), Of(kI8, {2, 2}, {-1, 2, 3, -4}),
                             Of(kU8, {2}, {1, 2}), Of(kI8, {2}, {1, -1})}};
  // [[0, 1], [1, 2]] times [[-2, 3], [2, -3]].
  CHECK(ValuesOf(ResultOf(node)) == std::vector<double>{2, -3, 2, -3});
  node.inputs[2] = Of(kU8, {2, 1}, {1, 2});
  CHECK(ValuesOf(ResultOf(node)) == std::vector<double>{2, -3, 2, -3});
  node.inputs[2] = Of(kU8, {3}, {1, 2, 3});
  CHECK(ErrorOf(node) ==
        "node 'node' (MatMulInteger): zero point 0 has shape 3, which does not fit the operand's, "
        "2x2");
}

TEST_CASE("the padding of an integer convolution is its zero point", "[graph][ops][layout]") {
  OneNode node = {.op = OpKind::kConvInteger,
                  .inputs = {Of(kU8, {1, 1, 2, 2}, {5, 6, 7, 8}),
                             Of(kI8, {2, 1, 2, 2}, {1, 2, 3, 4, 2, 2, 2, 2}), Scalar(kU8, 5),
                             Of(kI8, {2}, {0, 1})},
                  .attributes = {{"pads", Ints{1, 1, 0, 0}}},
                  .constants = {1}};
  // Inputs 0, 1, 2, 3; the second kernel is all ones.
  std::vector<double> expected = {0, 4, 8, 1 * 2 + 2 * 3 + 3 * 4, 0, 1, 2, 6};
  CHECK(ValuesOf(ResultOf(node)) == expected);
  StatusOr<std::vector<Tensor>> last = RunOptimized(node);
  REQUIRE(last.ok());
  CHECK(ValuesOf((*last)[0]) == expected);
}
