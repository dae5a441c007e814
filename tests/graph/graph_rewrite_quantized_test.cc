#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "graph/passes/graph_pipeline.h"
#include "graph/passes/infer_shapes.h"
#include "graph/variants/interpret_graph.h"
#include "support/storage_types.h"
#include "tests/graph/graph_check.h"
#include "tests/graph/one_node.h"

namespace tcc {
namespace {

const DType kU8 = DType(DTypeCode::kUInt8);
const DType kI8 = DType(DTypeCode::kInt8);
const DType kU4 = DType(DTypeCode::kUInt4);
const DType kU2 = DType(DTypeCode::kUInt2);
const DType kI2 = DType(DTypeCode::kInt2);

// A product of a quantized input and a quantized weight.
struct Case {
  const char* name;
  OpKind op;
  std::vector<int64_t> x, w;
  Attributes attributes = {};
  DType weight_type = kI8;
  int64_t axis = 0;    // of the scales
  int64_t scales = 1;  // of the weight
  bool has_zeros = false;
  int64_t bias = 0;         // its elements
  int64_t data_scales = 1;  // along axis 1
  bool is_rewritten = true;
  DType data_type = kU8;
  int64_t data_zero = 77;
};

Tensor Filled(DType type, const std::vector<int64_t>& shape, int64_t from, int64_t step) {
  Tensor tensor = MakeZeroTensor(type, shape);
  for (int64_t i = 0; i < ElementCount(shape).value(); ++i) {
    SetElementInt(tensor, i, from + i * step % 101);
  }
  return tensor;
}

Tensor Scales(int64_t count, double first) {
  Tensor scales = MakeZeroTensor(kFloat32, count == 1 ? Ints{} : Ints{count});
  for (int64_t i = 0; i < count; ++i) SetElement(scales, i, first * static_cast<double>(i + 1));
  return scales;
}

// The product, rectified, in bytes again if `is_quantized`.
Graph GraphOf(const Case& c, bool is_quantized = false) {
  TestGraph test;
  auto dequantize = [&](const std::string& name, ValueId value, const Tensor& scale,
                        const Tensor& zero, int64_t axis) {
    std::vector<ValueId> inputs = {value, test.Constant(name + "_scale", scale),
                                   test.Constant(name + "_zero", zero)};
    return test.Add(name + "_real", OpKind::kDequantizeLinear, inputs,
                    {{"axis", axis}, {"to", ToString(kFloat32)}});
  };
  Tensor data_scale = Scales(c.data_scales, 0.02);
  ValueId x = dequantize("x", test.Input("x", c.data_type, c.x), data_scale,
                         Filled(c.data_type, data_scale.shape, c.data_zero, 0), 1);
  Tensor weight_scale = Scales(c.scales, 0.01);
  Tensor zeros = MakeZeroTensor(c.weight_type, weight_scale.shape);
  if (c.has_zeros) zeros = Filled(c.weight_type, weight_scale.shape, 3, 5);
  ValueId w = dequantize("w", test.Constant("w", Filled(c.weight_type, c.w, 0, 37)), weight_scale,
                         zeros, c.axis);
  std::vector<ValueId> inputs = {x, w};
  if (c.bias > 0) inputs.push_back(test.Constant("b", RandomF32({c.bias}, 5)));
  ValueId y = test.Add("y", c.op, inputs, c.attributes);
  ValueId relu = test.Add("relu", OpKind::kRelu, {y});
  std::vector<ValueId> quantized = {relu, test.Constant("step", F32({}, {0.3})),
                                    test.Constant("offset", Of(kU8, {}, {3}))};
  test.Output(is_quantized ? test.Add("q", OpKind::kQuantizeLinear, quantized,
                                      {{"axis", int64_t{1}}, {"to", ToString(kU8)}})
                           : relu);
  return test.Build();
}

std::vector<double> ResultOf(const Graph& graph, const std::vector<int64_t>& shape,
                             DType type = kU8) {
  StatusOr<std::vector<Tensor>> results = InterpretGraph(graph, {Filled(type, shape, 40, 29)});
  REQUIRE(results.ok());
  return ValuesOf(results->at(0));
}

}  // namespace

TEST_CASE("products of dequantized operands are integer products on a CPU", "[graph][passes]") {
  const Attributes padded = {{"pads", Ints{1, 1, 1, 1}}};
  const Case cases[] = {
      {"convolution", OpKind::kConv, {1, 8, 5, 5}, {4, 8, 3, 3}, padded},
      {"scale per filter", OpKind::kConv, {2, 8, 5, 5}, {4, 8, 3, 3}, padded, kI8, 0, 4},
      {"zero points and bias",
       OpKind::kConv,
       {1, 9, 5, 5},
       {4, 9, 3, 3},
       padded,
       kU8,
       0,
       4,
       true,
       4},
      {"groups",
       OpKind::kConv,
       {1, 16, 5},
       {4, 8, 3},
       {{"group", int64_t{2}}},
       kI8,
       -3,
       4,
       false,
       4},
      {"gemm", OpKind::kGemm, {3, 9}, {9, 4}, {}, kI8, 1, 4, false, 4},
      {"transposed", OpKind::kGemm, {3, 9}, {4, 9}, {{"transB", int64_t{1}}}, kI8, 0, 4, true, 4},
      {"matmul", OpKind::kMatMul, {2, 3, 9}, {9, 4}, {}, kI8, -1, 4},
      {.name = "depthwise",
       .op = OpKind::kConv,
       .x = {1, 4, 5, 5},
       .w = {4, 1, 3, 3},
       .attributes = {{"group", int64_t{4}}, {"pads", Ints{1, 1, 1, 1}}},
       .scales = 4,
       .has_zeros = true},
      {.name = "depthwise, unsigned",
       .op = OpKind::kConv,
       .x = {1, 4, 5, 5},
       .w = {4, 1, 3, 3},
       .attributes = {{"group", int64_t{4}}},
       .weight_type = kU8,
       .has_zeros = true,
       .bias = 4},
      {.name = "groups whose sums f32 may not hold",
       .op = OpKind::kConv,
       .x = {1, 8, 9, 9},
       .w = {2, 4, 9, 9},
       .attributes = {{"group", int64_t{2}}},
       .is_rewritten = false},
      {.name = "a scale per channel of the data",
       .op = OpKind::kConv,
       .x = {1, 8, 5, 5},
       .w = {4, 8, 3, 3},
       .data_scales = 8,
       .is_rewritten = false},
      {.name = "a scale per row of the weight",
       .op = OpKind::kMatMul,
       .x = {3, 9},
       .w = {9, 4},
       .axis = 0,
       .scales = 9,
       .is_rewritten = false},
      {.name = "scaled",
       .op = OpKind::kGemm,
       .x = {3, 9},
       .w = {9, 4},
       .attributes = {{"alpha", 0.5}},
       .is_rewritten = false},
      {.name = "sums beyond 32 bits",
       .op = OpKind::kMatMul,
       .x = {1, 66000},
       .w = {66000, 2},
       .is_rewritten = false},
      {.name = "four bits by two",
       .op = OpKind::kConv,
       .x = {1, 9, 5, 5},
       .w = {4, 9, 3, 3},
       .attributes = padded,
       .weight_type = kI2,
       .scales = 4,
       .data_type = kU4,
       .data_zero = 10},
      {.name = "two bits by four with zero points",
       .op = OpKind::kMatMul,
       .x = {3, 9},
       .w = {9, 4},
       .weight_type = kU4,
       .axis = 1,
       .scales = 4,
       .has_zeros = true,
       .data_type = kI2,
       .data_zero = -1},
      {.name = "bytes by two bits, depthwise",
       .op = OpKind::kConv,
       .x = {1, 4, 5, 5},
       .w = {4, 1, 3, 3},
       .attributes = {{"group", int64_t{4}}, {"pads", Ints{1, 1, 1, 1}}},
       .weight_type = kU2,
       .scales = 4,
       .has_zeros = true},
      {.name = "four bits by bytes",
       .op = OpKind::kGemm,
       .x = {3, 9},
       .w = {4, 9},
       .attributes = {{"transB", int64_t{1}}},
       .scales = 4,
       .has_zeros = true,
       .bias = 4,
       .data_type = kU4,
       .data_zero = 3},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    Graph plain = GraphOf(c), rewritten = GraphOf(c), elsewhere = GraphOf(c);
    REQUIRE(InferShapes(plain).ok());
    REQUIRE(RunGraphPasses(rewritten, TargetKind::kCpu).ok());
    REQUIRE(RunGraphPasses(elsewhere, TargetKind::kGpu).ok());
    auto products = [](const Graph& graph) {
      return CountOf(graph, OpKind::kConvInteger) + CountOf(graph, OpKind::kMatMulInteger);
    };
    CHECK(products(rewritten) == (c.is_rewritten ? 1 : 0));
    CHECK(products(elsewhere) == 0);
    if (!c.is_rewritten) continue;
    std::vector<double> want = ResultOf(plain, c.x, c.data_type);
    std::vector<double> got = ResultOf(rewritten, c.x, c.data_type);
    REQUIRE(got.size() == want.size());
    double largest = *std::ranges::max_element(want);
    CHECK(largest > 0);
    for (size_t i = 0; i < want.size(); ++i) {
      CHECK(std::abs(got[i] - want[i]) <= 1e-5 * largest);
    }
  }
}

TEST_CASE("weights of integer products lose zero points of signed bytes on a CPU",
          "[graph][passes]") {
  struct Zero {
    DType type;
    double zero;
    bool stays;
  };
  for (const Zero& c : {Zero{kI8, 0, false}, Zero{kU8, 128, false}, Zero{kI8, 1, true},
                        Zero{kU8, 127, true}, Zero{kU8, 0, false}}) {
    INFO(ToString(c.type) << ", " << c.zero);
    TestGraph test;
    ValueId x = test.Input("x", kU8, {3, 9});
    Tensor weight = Filled(c.type, {9, 4}, 0, 37);
    std::vector<ValueId> inputs = {x, test.Constant("w", weight),
                                   test.Constant("x_zero", Of(kU8, {}, {7})),
                                   test.Constant("w_zero", Of(c.type, {}, {c.zero}))};
    test.Output(test.Add("y", OpKind::kMatMulInteger, inputs));
    Graph plain = test.Build(), rewritten = test.Build();
    REQUIRE(InferShapes(plain).ok());
    REQUIRE(RunGraphPasses(rewritten, TargetKind::kCpu).ok());
    const Node& node = rewritten.nodes.at(0);
    bool has_zero = node.inputs.size() > 3 && node.inputs[3] != kNoValue;
    CHECK(has_zero == c.stays);
    CHECK(ResultOf(rewritten, {3, 9}) == ResultOf(plain, {3, 9}));
  }
}

TEST_CASE("maxima and movements between bytes are those of bytes on a CPU", "[graph][passes]") {
  struct Picked {
    const char* name;
    OpKind op;
    Attributes attributes = {};
    double scale = 0.02, zero = 77;  // of the quantizer
    bool is_read_twice = false;
    bool in_bytes = true;
  };
  const Attributes window = {{"kernel_shape", Ints{3, 2}}, {"pads", Ints{1, 1, 1, 0}}};
  const Picked cases[] = {
      {"pool", OpKind::kMaxPool, window},
      {"transposition", OpKind::kTranspose, {{"perm", Ints{0, 2, 1, 3}}}},
      {"view", OpKind::kFlatten, {{"axis", int64_t{2}}}},
      {.name = "another scale",
       .op = OpKind::kMaxPool,
       .attributes = window,
       .scale = 0.03,
       .in_bytes = false},
      {.name = "another zero point",
       .op = OpKind::kMaxPool,
       .attributes = window,
       .zero = 0,
       .in_bytes = false},
      {.name = "two readers",
       .op = OpKind::kMaxPool,
       .attributes = window,
       .is_read_twice = true,
       .in_bytes = false},
      {.name = "sums", .op = OpKind::kAveragePool, .attributes = window, .in_bytes = false},
  };
  for (const Picked& c : cases) {
    INFO(c.name);
    TestGraph test;
    ValueId scale = test.Constant("scale", F32({}, {0.02}));
    ValueId zero = test.Constant("zero", Of(kU8, {}, {77}));
    ValueId real = test.Add("real", OpKind::kDequantizeLinear,
                            {test.Input("x", kU8, {1, 3, 6, 7}), scale, zero},
                            {{"axis", int64_t{1}}, {"to", ToString(kFloat32)}});
    ValueId picked = test.Add("picked", c.op, {real}, c.attributes);
    if (c.is_read_twice) test.Output(picked);
    std::vector<ValueId> quantized = {picked, test.Constant("step", F32({}, {c.scale})),
                                      test.Constant("offset", Of(kU8, {}, {c.zero}))};
    test.Output(test.Add("q", OpKind::kQuantizeLinear, quantized,
                         {{"axis", int64_t{1}}, {"to", ToString(kU8)}}));
    Graph plain = test.Build(), rewritten = test.Build();
    REQUIRE(InferShapes(plain).ok());
    REQUIRE(RunGraphPasses(rewritten, TargetKind::kCpu).ok());
    CHECK(CountOf(rewritten, OpKind::kQuantizeLinear) == (c.in_bytes ? 0 : 1));
    CHECK(CountOf(rewritten, OpKind::kDequantizeLinear) == (c.in_bytes ? 0 : 1));
    CHECK(ResultOf(rewritten, {1, 3, 6, 7}) == ResultOf(plain, {1, 3, 6, 7}));
  }
}

TEST_CASE("numbers are rectified before they become bytes on a CPU", "[graph][passes]") {
  struct Rectified {
    const char* name;
    double scale = 0.02, zero = 77;  // of the quantizer behind the Relu
    bool is_read_twice = false;      // the bytes before it
    bool is_moved = true;
  };
  const Rectified cases[] = {
      {"the same bytes"},
      {.name = "another scale", .scale = 0.03, .is_moved = false},
      {.name = "another zero point", .zero = 0, .is_moved = false},
      {.name = "two readers", .is_read_twice = true, .is_moved = false},
  };
  for (const Rectified& c : cases) {
    INFO(c.name);
    TestGraph test;
    auto quantized = [&](const std::string& name, ValueId value, double scale, double zero) {
      return test.Add(name, OpKind::kQuantizeLinear,
                      {value, test.Constant(name + "_scale", F32({}, {scale})),
                       test.Constant(name + "_zero", Of(kU8, {}, {zero}))},
                      {{"axis", int64_t{1}}, {"to", ToString(kU8)}});
    };
    ValueId bytes = quantized("bytes", test.Input("x", kFloat32, {4, 60}), 0.02, 77);
    ValueId real = test.Add(
        "real", OpKind::kDequantizeLinear,
        {bytes, test.Constant("scale", F32({}, {0.02})), test.Constant("zero", Of(kU8, {}, {77}))},
        {{"axis", int64_t{1}}, {"to", ToString(kFloat32)}});
    ValueId relu = test.Add("relu", OpKind::kRelu, {real});
    test.Output(quantized("again", relu, c.scale, c.zero));
    if (c.is_read_twice) test.Output(bytes);
    Graph plain = test.Build(), rewritten = test.Build();
    REQUIRE(InferShapes(plain).ok());
    REQUIRE(RunGraphPasses(rewritten, TargetKind::kCpu).ok());
    CHECK(CountOf(rewritten, OpKind::kRelu) == 1);
    CHECK(CountOf(rewritten, OpKind::kQuantizeLinear) == (c.is_moved ? 1 : 2));
    CHECK(CountOf(rewritten, OpKind::kDequantizeLinear) == (c.is_moved ? 0 : 1));
    const std::vector<Tensor> inputs = {RandomF32({4, 60}, 5)};
    StatusOr<std::vector<Tensor>> want = InterpretGraph(plain, inputs);
    StatusOr<std::vector<Tensor>> got = InterpretGraph(rewritten, inputs);
    REQUIRE(want.ok());
    REQUIRE(got.ok());
    CHECK(ValuesOf(got->at(0)) == ValuesOf(want->at(0)));
  }
}

TEST_CASE("the step of the quantizer behind an integer product goes into its constants",
          "[graph][passes]") {
  Case c = {.name = "gemm",
            .op = OpKind::kGemm,
            .x = {3, 9},
            .w = {9, 4},
            .axis = 1,
            .scales = 4,
            .bias = 4};
  Graph plain = GraphOf(c, true), rewritten = GraphOf(c, true);
  REQUIRE(InferShapes(plain).ok());
  REQUIRE(RunGraphPasses(rewritten, TargetKind::kCpu).ok());
  CHECK(CountOf(rewritten, OpKind::kDiv) == 0);
  for (const Node& node : rewritten.nodes) {
    if (node.op != OpKind::kQuantizeLinear) continue;
    CHECK(ValuesOf(*rewritten.ConstantOf(node.inputs[1])) == std::vector<double>{1});
  }
  std::vector<double> want = ResultOf(plain, c.x), got = ResultOf(rewritten, c.x);
  REQUIRE(got.size() == want.size());
  CHECK(*std::ranges::max_element(want) > 20);
  for (size_t i = 0; i < want.size(); ++i) CHECK(std::abs(got[i] - want[i]) <= 1);
}

TEST_CASE("few bits that are dequantized again are bytes within their bounds on a CPU",
          "[graph][passes]") {
  for (DType type : {kU2, kI2, kU4, DType(DTypeCode::kInt4)}) {
    for (bool is_output : {false, true}) {
      INFO(ToString(type) << (is_output ? ", an output" : ""));
      TestGraph test;
      const std::vector<ValueId> operands = {test.Constant("step", F32({}, {0.25})),
                                             test.Constant("zero", Of(type, {}, {1}))};
      const ValueId x = test.Input("x", kFloat32, {3, 70});
      const ValueId few = test.Add("few", OpKind::kQuantizeLinear, {x, operands[0], operands[1]},
                                   {{"axis", int64_t{1}}, {"to", ToString(type)}});
      test.Output(test.Add("y", OpKind::kDequantizeLinear, {few, operands[0], operands[1]},
                           {{"axis", int64_t{1}}, {"to", ToString(kFloat32)}}));
      if (is_output) test.Output(few);
      Graph plain = test.Build();
      REQUIRE(InferShapes(plain).ok());
      Graph rewritten = plain;
      REQUIRE(RunGraphPasses(rewritten, TargetKind::kCpu).ok());
      auto has_packed = [](const Graph& graph) {
        return std::ranges::any_of(graph.nodes, [&](const Node& node) {
          return IsPacked(graph.value(node.outputs[0]).dtype);
        });
      };
      CHECK(has_packed(plain));
      CHECK(has_packed(rewritten) == is_output);
      Tensor values = RandomF32({3, 70}, 5);
      SetElement(values, 0, 1e9);
      SetElement(values, 1, -1e9);
      StatusOr<std::vector<Tensor>> want = InterpretGraph(plain, {values});
      StatusOr<std::vector<Tensor>> got = InterpretGraph(rewritten, {values});
      REQUIRE((want.ok() && got.ok()));
      CHECK(ValuesOf(got->at(0)) == ValuesOf(want->at(0)));
    }
  }
}

}  // namespace tcc
