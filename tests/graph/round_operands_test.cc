#include "graph/variants/variants.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "graph/passes/infer_shapes.h"
#include "graph/variants/task.h"
#include "ir/analysis/verifier.h"
#include "ir/interpret/interpreter.h"
#include "ir/text/printer.h"
#include "models/zoo/graph_builder.h"
#include "tests/graph/one_task.h"

namespace tcc {
namespace {

// By bits, of numbers that are not near the ends of a type's range.
float RoundedTo(NumericMode mode, float x) {
  switch (mode) {
    case NumericMode::kStrict:
    case NumericMode::k3xTf32:
      return x;
    case NumericMode::kTf32:
      return std::bit_cast<float>((std::bit_cast<uint32_t>(x) + 0x1000) & 0xffffe000);
    case NumericMode::kBf16:
      return BFloat16ToFloat(FloatToBFloat16(x));
    case NumericMode::kFp16:
      return HalfToFloat(FloatToHalf(x));
  }
  return 0;
}

Tensor Fractions(std::vector<int64_t> shape, uint64_t seed) {
  Random random(seed);
  Tensor tensor = MakeZeroTensor(kFloat32, shape);
  int64_t count = ElementCount(shape).value();
  for (int64_t i = 0; i < count; ++i) SetElement(tensor, i, random.Normal());
  return tensor;
}

struct Product {
  double exact = 0, rounded = 0, magnitude = 0;
};

// Of row i and column j.
Product ProductAt(const Tensor& a, const Tensor& b, int64_t i, int64_t j, NumericMode mode) {
  int64_t depth = a.shape[1];
  Product product;
  for (int64_t k = 0; k < depth; ++k) {
    float x = a.values<float>()[i * depth + k];
    float y = b.values<float>()[k * b.shape[1] + j];
    product.exact += static_cast<double>(x) * y;
    product.rounded += static_cast<double>(RoundedTo(mode, x)) * RoundedTo(mode, y);
    product.magnitude += std::fabs(static_cast<double>(x) * y);
  }
  return product;
}

Task TaskOf(const Graph& graph, NumericMode mode) {
  Graph inferred = graph;
  REQUIRE(InferShapes(inferred).ok());
  return BuildTask(inferred, FuseGraph(inferred)[0], {}, {.mode = mode}).value();
}

Graph MatMulGraph(const Tensor& a, const Tensor& b) {
  TestGraph graph;
  ValueId left = graph.Input("a", a.dtype, a.shape);
  graph.Output(graph.Add("y", OpKind::kMatMul, {left, graph.Constant("b", b)}));
  return graph.Build();
}

std::vector<double> ResultOf(const Function& fn, std::vector<Tensor> arguments) {
  REQUIRE(Verify(fn).ok());
  std::vector<int64_t> shape;
  for (const Expr& dim : fn.params.back().shape) shape.push_back(AsConstant(dim).value());
  arguments.push_back(MakeZeroTensor(fn.params.back().dtype(), shape));
  auto report = Interpret(fn, arguments);
  INFO(report.status());
  REQUIRE(report.ok());
  return ValuesOf(arguments.back());
}

TEST_CASE("a matrix product of rounded operands is that, within its mode's bound", "[graph]") {
  Tensor a = Fractions({9, 200}, 1);
  Tensor b = Fractions({200, 7}, 2);
  for (const NumericModeRow& row : NumericModes()) {
    INFO(row.name);
    Task task = TaskOf(MatMulGraph(a, b), row.mode);
    CHECK(task.numeric == row.mode);
    CHECK_FALSE(task.stays_strict);
    std::vector<double> result = ResultOf(task.variants[0].fn, {a, b});
    double worst = 0;
    for (int64_t i = 0; i < 9; ++i) {
      for (int64_t j = 0; j < 7; ++j) {
        Product product = ProductAt(a, b, i, j, row.mode);
        double got = result[i * 7 + j];
        double eps = 0x1p-24 * product.magnitude;
        // 3xtf32 is no rounding of operands: only its bound is known.
        bool same = row.mode == NumericMode::k3xTf32 || std::fabs(got - product.rounded) <= eps;
        CHECK(same);
        double error = std::fabs(got - product.exact);
        CHECK(error <= row.product_error * product.magnitude + 16 * std::sqrt(200) * eps);
        worst = std::max(worst, error / product.magnitude);
      }
    }
    bool coarse = row.product_error >= 0x1p-10;
    CHECK((worst > 0x1p-16) == coarse);
  }
}

// They became NaN: inf - inf was the small part, and the big one of the largest float was infinite.
TEST_CASE("3xtf32 keeps infinities and the largest numbers", "[graph]") {
  const float most = std::numeric_limits<float>::max();
  const float xs[] = {INFINITY, -INFINITY, most, -most, 0x1.ffep127F, NAN, 1.5F};
  const float ys[] = {0.5F, 1 + 0x1p-12F, -4098.5F, 1e-3F, 1e-30F, INFINITY, 0};
  Tensor a = MakeZeroTensor(kFloat32, {7, 1});
  Tensor b = MakeZeroTensor(kFloat32, {1, 7});
  for (int64_t i = 0; i < 7; ++i) {
    SetElement(a, i, xs[i]);
    SetElement(b, i, ys[i]);
  }
  Task task = TaskOf(MatMulGraph(a, b), NumericMode::k3xTf32);
  std::vector<double> result = ResultOf(task.variants[0].fn, {a, b});
  for (size_t i = 0; i < 7; ++i) {
    for (size_t j = 0; j < 7; ++j) {
      double exact = static_cast<double>(xs[i]) * ys[j];
      double expected = std::fabs(exact) > most ? std::copysign(INFINITY, exact) : exact;
      double got = result[i * 7 + j];
      INFO(xs[i] << " * " << ys[j] << " gives " << got);
      bool same = std::isfinite(expected) ? std::fabs(got - expected) <= 1e-6 * std::fabs(expected)
                                          : got == expected || (got != got && exact != exact);
      CHECK(same);
    }
  }
}

TEST_CASE("constants are rounded in a map of their own, activations too", "[graph]") {
  Task task = TaskOf(MatMulGraph(Fractions({4, 8}, 1), Fractions({8, 5}, 2)), NumericMode::kFp16);
  std::string text = Print(task.variants[0].fn);
  CHECK(text.find("a_f16[i0, i1] = f16(a[i0, i1])") != std::string::npos);
  CHECK(text.find("b_f16[i0, i1] = f16(b[i0, i1])") != std::string::npos);
  CHECK(text.find("with (f32(a_f16[i, k]) * f32(b_f16[k, j]))") != std::string::npos);
}

TEST_CASE("for tf32 constants are rounded when linked, activations in the product", "[graph]") {
  Task task = TaskOf(MatMulGraph(Fractions({4, 8}, 1), Fractions({8, 5}, 2)), NumericMode::kTf32);
  std::string text = Print(task.variants[0].fn);
  CHECK(text.find("b_tf32[i0, i1] = tf32(b[i0, i1])") != std::string::npos);
  CHECK(text.find("with (f32(tf32(a[i, k])) * f32(b_tf32[k, j]))") != std::string::npos);
}

TEST_CASE("every variant of a convolution computes with the same rounded operands", "[graph]") {
  for (const NumericModeRow& row : NumericModes()) {
    if (row.mode == NumericMode::kStrict) continue;
    INFO(row.name);
    Tensor x = Fractions({1, 3, 8, 7}, 3);
    Tensor w = Fractions({4, 3, 3, 3}, 4);
    TestGraph graph;
    ValueId y =
        graph.Add("y", OpKind::kConv, {graph.Input("x", x.dtype, x.shape), graph.Constant("w", w)},
                  {{"pads", Ints{1, 1, 1, 1}}});
    graph.Output(y);
    Task task = TaskOf(graph.Build(), row.mode);
    REQUIRE(task.variants.size() >= 3);  // with zero padding, implicit GEMM
    bool constant_first = task.variants[0].fn.params[0].var->name == "w";
    std::vector<Tensor> arguments = constant_first ? std::vector{w, x} : std::vector{x, w};
    std::vector<double> direct = ResultOf(task.variants[0].fn, arguments);
    for (const auto& [fn, variant, saves_time] : task.variants) {
      std::vector<double> result = ResultOf(fn, arguments);
      double most = 0;
      for (size_t i = 0; i < direct.size(); ++i) {
        most = std::max(most, std::fabs(result[i] - direct[i]));
      }
      CHECK(most <= 1e-6);
      std::string_view name = variant ? variant->name : "direct";
      const char* product = name == "widened_operands" ? "_f32["
                            : name == "bfloat_pairs"   ? "with (dot_bf16x2("
                                                       : "with (f32(";
      if (row.type) CHECK(Print(fn).find(product) != std::string::npos);
    }
  }
}

TEST_CASE("operands of 16 bits are not touched, whatever the mode's type", "[graph]") {
  for (DType type : {kFloat16, DType(DTypeCode::kBFloat16)}) {
    INFO(ToString(type));
    auto text = [&](NumericMode mode) {
      Tensor a = Of(type, {2, 3}, {1, 2, 3, 4, 5, 6});
      Tensor b = Of(type, {3, 1}, {1, 2, 3});
      Task task = TaskOf(MatMulGraph(a, b), mode);
      CHECK(task.numeric == NumericMode::kStrict);
      return Print(task.variants[0].fn);
    };
    std::string strict = text(NumericMode::kStrict);
    CHECK(text(NumericMode::kFp16) == strict);
    CHECK(text(NumericMode::kTf32) == strict);
    CHECK(text(NumericMode::k3xTf32) == strict);
    CHECK(text(NumericMode::kBf16) == strict);
  }
}

TEST_CASE("whole numbers of f32 are not rounded", "[graph]") {
  TestGraph graph;
  ValueId x = graph.Input("x", DType(DTypeCode::kUInt8), {1, 2, 5, 5});
  ValueId w = graph.Constant("w", F32({2, 1, 1, 1}, {253, -251}));
  graph.Output(graph.Add("y", OpKind::kConvInteger, {x, w}, {{"group", int64_t{2}}}));
  Task task = TaskOf(graph.Build(), NumericMode::kBf16);
  CHECK(task.numeric == NumericMode::kStrict);
  CHECK(Print(task.variants[0].fn).find("bf16") == std::string::npos);
}

TEST_CASE("what is no contraction stays strict", "[graph]") {
  TestGraph squares;
  ValueId x = squares.Input("x", kFloat32, {3, 16});
  squares.Output(squares.Add("y", OpKind::kReduceSumSquare, {x}));
  Task task = TaskOf(squares.Build(), NumericMode::kBf16);
  CHECK(task.numeric == NumericMode::kStrict);
  CHECK_FALSE(task.stays_strict);
}

TEST_CASE("the core of attention says that it stays strict", "[graph]") {
  TestGraph graph;
  std::vector<ValueId> inputs;
  for (const char* name : {"q", "k", "v"}) {
    inputs.push_back(graph.Input(name, kFloat32, {1, 2, 5, 8}));
  }
  graph.Output(graph.Add("y", OpKind::kAttention, inputs));
  Task task = TaskOf(graph.Build(), NumericMode::kTf32);
  CHECK(task.stays_strict);
  CHECK(task.numeric == NumericMode::kStrict);
  CHECK_FALSE(TaskOf(graph.Build(), NumericMode::kStrict).stays_strict);
}

}  // namespace
namespace {

struct AttentionCase {
  const char* name;
  std::vector<int64_t> q, k, v;
  Attributes attributes = {};
  DType type = kFloat32;
};

Task TaskOf(const AttentionCase& c, const NumericOptions& numeric) {
  TestGraph test;
  ValueId q = test.Input("q", c.type, c.q), k = test.Input("k", c.type, c.k);
  ValueId y = test.Add("y", OpKind::kAttention, {q, k, test.Input("v", c.type, c.v)}, c.attributes);
  test.Output(y);
  Graph graph = test.Build();
  REQUIRE(InferShapes(graph).ok());
  return BuildTask(graph, FuseGraph(graph)[0], {}, numeric).value();
}

std::vector<double> ResultOf(const Function& fn) {
  std::vector<Tensor> arguments;
  for (size_t i = 0; i + 1 < fn.params.size(); ++i) {
    Tensor wide = RandomF32(ShapeOf(fn.params[i]), i + 1);
    Tensor stored = MakeZeroTensor(fn.params[i].dtype(), ShapeOf(fn.params[i]));
    for (int64_t e = 0; e < static_cast<int64_t>(ValuesOf(wide).size()); ++e) {
      SetElement(stored, e, ElementAsDouble(wide, e));
    }
    arguments.push_back(stored);
  }
  arguments.push_back(MakeZeroTensor(fn.params.back().dtype(), ShapeOf(fn.params.back())));
  REQUIRE(Interpret(fn, arguments).ok());
  return ValuesOf(arguments.back());
}

constexpr NumericOptions kFp16{.mode = NumericMode::kFp16, .rounds_attention = true};

}  // namespace

TEST_CASE("attention in whole tiles of 16 bits is the same attention", "[graph][variants]") {
  const AttentionCase cases[] = {
      {"whole", {1, 2, 16, 16}, {1, 2, 32, 16}, {1, 2, 32, 16}},
      {"tails", {1, 2, 9, 12}, {1, 2, 37, 12}, {1, 2, 37, 32}},
      {"half a tile", {2, 1, 8, 8}, {2, 1, 9, 8}, {2, 1, 9, 16}},
      {"grouped", {1, 4, 11, 8}, {1, 2, 40, 8}, {1, 2, 40, 16}},
      {"causal", {1, 1, 20, 16}, {1, 1, 20, 16}, {1, 1, 20, 16}, {{"is_causal", int64_t{1}}}},
      {"packed",
       {1, 9, 24},
       {1, 17, 24},
       {1, 17, 32},
       {{"q_num_heads", int64_t{2}}, {"kv_num_heads", int64_t{2}}}},
  };
  for (const AttentionCase& c : cases) {
    INFO(c.name);
    Task task = TaskOf(c, kFp16);
    CHECK(task.numeric == NumericMode::kFp16);
    CHECK_FALSE(task.stays_strict);
    const Variant* tiles = FindVariant(task, "attention_in_tiles");
    REQUIRE(tiles);
    INFO(Print(tiles->fn));
    std::vector<double> got = ResultOf(tiles->fn);
    std::vector<double> wanted = ResultOf(TaskOf(c, {}).variants[0].fn);
    REQUIRE(got.size() == wanted.size());
    for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(wanted[i]).margin(0.004));
  }
}

TEST_CASE("attention of 16 bits has tiles of its own type", "[graph][variants]") {
  AttentionCase c{"", {1, 1, 9, 16}, {1, 1, 9, 16}, {1, 1, 9, 16}};
  for (DType type : {kFloat16, DType(DTypeCode::kBFloat16)}) {
    c.type = type;
    const Task task = TaskOf(c, kFp16);
    const Variant* tiles = FindVariant(task, "attention_in_tiles");
    REQUIRE(tiles);
    CHECK(Print(tiles->fn).find("attention_by_" + ToString(type)) != std::string::npos);
  }
}

TEST_CASE("attention has no tiles where it stays strict", "[graph][variants]") {
  const AttentionCase c{"", {1, 1, 16, 16}, {1, 1, 16, 16}, {1, 1, 16, 16}};
  for (NumericOptions numeric :
       {NumericOptions{}, NumericOptions{.mode = NumericMode::kFp16},
        NumericOptions{.mode = NumericMode::kTf32, .rounds_attention = true}}) {
    Task task = TaskOf(c, numeric);
    CHECK_FALSE(FindVariant(task, "attention_in_tiles"));
    CHECK(task.stays_strict == (numeric.mode != NumericMode::kStrict));
  }
  const AttentionCase unfit[] = {
      {"values of half a tile", {1, 1, 16, 16}, {1, 1, 16, 16}, {1, 1, 16, 8}},
      {"few queries", {1, 1, 7, 16}, {1, 1, 16, 16}, {1, 1, 16, 16}},
      {"terms of part of a vector", {1, 1, 16, 14}, {1, 1, 16, 14}, {1, 1, 16, 16}},
  };
  for (const AttentionCase& unfitting : unfit) {
    INFO(unfitting.name);
    CHECK_FALSE(FindVariant(TaskOf(unfitting, kFp16), "attention_in_tiles"));
  }
}

}  // namespace tcc
