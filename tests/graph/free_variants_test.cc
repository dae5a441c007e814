// Variants of tasks whose other axes, a batch above all, are known at run time.

#include <algorithm>
#include <catch2/catch.hpp>

#include "graph/passes/infer_shapes.h"
#include "graph/variants/task.h"
#include "graph/variants/variants.h"
#include "ir/expr/evaluate.h"
#include "ir/expr/substitute.h"
#include "ir/interpret/interpreter.h"
#include "ir/text/printer.h"
#include "support/random.h"
#include "tests/graph/one_node.h"
#include "tests/ir/parsed_graph.h"

namespace tcc {
namespace {

using Names = std::vector<std::string>;
using Sizes = std::vector<int64_t>;

const DType kI8 = DType(DTypeCode::kInt8);
const DType kBf16 = DType(DTypeCode::kBFloat16);

struct Case {
  const char* what;
  const char* items;  // of a graph with the dimensions M, perhaps H and W
  Names variants;
  DType weight_type = kFloat32;
  Sizes weight = {};
  NumericMode numeric = NumericMode::kStrict;
  double tolerance = 0;
};

// Multiples of 1/8, or any integers of the type.
Tensor RandomOf(DType type, const Sizes& shape, uint64_t seed) {
  if (type.is_float()) return Of(type, shape, ValuesOf(RandomF32(shape, seed)));
  Tensor tensor = MakeZeroTensor(type, shape);
  Random random(seed);
  const int64_t lowest = type.is_signed_integer() ? -128 : 0;
  for (int64_t i = 0; i < ElementCount(shape).value(); ++i) {
    SetElementInt(tensor, i, lowest + random.Between(0, 255));
  }
  return tensor;
}

constexpr const char* kConv = R"(
  dim N in 1..64 usual 8
  input x: f32[N, 4, 9, 7]
  constant w: f32[5, 4, 3, 3]
  y = Conv(x, w) {pads: [1, 1, 1, 1]} : f32[]
  return y)";
constexpr const char* kImage = R"(
  dim N in 1..64 usual 2
  dim H in 1..64 usual 12
  dim W in 1..64 usual 16
  input x: f32[N, 4, H, W]
  constant w: f32[5, 4, 3, 3]
  y = Conv(x, w) {pads: [1, 1, 1, 1]} : f32[]
  return y)";
constexpr const char* kStrided = R"(
  dim N in 1..64 usual 2
  dim H in 1..64 usual 12
  dim W in 1..64 usual 16
  input x: f32[N, 4, H, W]
  constant w: f32[5, 4, 3, 3]
  y = Conv(x, w) {pads: [1, 1, 1, 1], strides: [2, 2]} : f32[]
  return y)";
constexpr const char* kColours = R"(
  dim N in 1..64 usual 2
  dim H in 1..64 usual 12
  dim W in 1..64 usual 16
  input x: f32[N, 3, H, W]
  constant w: f32[5, 3, 3, 3]
  y = Conv(x, w) {pads: [1, 1, 1, 1]} : f32[]
  return y)";
constexpr const char* kWideConv = R"(
  dim N in 1..64 usual 2
  dim H in 1..64 usual 12
  input x: f32[N, 32, H, 9]
  constant w: f32[3, 32, 3, 3]
  y = Conv(x, w) {pads: [1, 1, 1, 1]} : f32[]
  return y)";
constexpr const char* kOneTap = R"(
  dim N in 1..64 usual 2
  dim H in 1..64 usual 12
  dim W in 1..64 usual 16
  input x: f32[N, 4, H, W]
  constant w: f32[5, 4, 1, 1]
  c = Conv(x, w) : f32[]
  y = Relu(c) : f32[]
  return y)";
constexpr const char* kRows = R"(
  dim N in 1..64 usual 8
  dim H in 1..64 usual 13
  input x: f32[N, H, 24]
  constant w: f32[24, 5]
  c = MatMul(x, w) : f32[]
  y = Relu(c) : f32[]
  return y)";
constexpr const char* kHalfRows = R"(
  dim N in 1..64 usual 8
  dim H in 1..64 usual 13
  input x: f16[N, H, 24]
  constant w: f16[24, 16]
  y = MatMul(x, w) : f16[]
  return y)";
constexpr const char* kBFloatRows = R"(
  dim N in 1..64 usual 8
  dim H in 1..64 usual 13
  input x: bf16[N, H, 24]
  constant w: bf16[24, 16]
  y = MatMul(x, w) : bf16[]
  return y)";
constexpr const char* kByteRows = R"(
  dim N in 1..64 usual 16
  input x: u8[N, 70]
  constant w: i8[70, 20]
  y = MatMulInteger(x, w) : i32[]
  return y)";
constexpr const char* kByteConv = R"(
  dim N in 1..64 usual 8
  input x: u8[N, 6, 9, 7]
  constant w: i8[5, 6, 3, 3]
  y = ConvInteger(x, w) {pads: [1, 1, 1, 1]} : i32[]
  return y)";
constexpr const char* kPool = R"(
  dim N in 1..64 usual 2
  dim H in 1..64 usual 12
  input x: f32[N, 3, H, 16]
  y = MaxPool(x) {kernel_shape: [7, 7], pads: [3, 3, 3, 3]} : f32[]
  return y)";
constexpr const char* kSum = R"(
  dim N in 1..64 usual 8
  input x: f32[N, 400]
  constant axes: i64[1]
  y = ReduceSum(x, axes) {keepdims: 0} : f32[]
  return y)";

const Case kCases[] = {
    {"a batch of convolutions",
     kConv,
     {"winograd", "zero_padding", "implicit_gemm", "merged_taps"},
     kFloat32,
     {5, 4, 3, 3},
     NumericMode::kStrict,
     1e-5},
    {"convolutions of any image",
     kImage,
     {"winograd", "zero_padding", "implicit_gemm", "merged_taps"},
     kFloat32,
     {5, 4, 3, 3},
     NumericMode::kStrict,
     1e-5},
    {"strided convolutions of any image",
     kStrided,
     {"zero_padding", "implicit_gemm", "merged_taps"},
     kFloat32,
     {5, 4, 3, 3}},
    {"three channels",
     kColours,
     {"winograd", "zero_padding", "implicit_gemm", "merged_taps"},
     kFloat32,
     {5, 3, 3, 3},
     NumericMode::kStrict,
     1e-5},
    {"many channels",
     kWideConv,
     {"winograd", "wide_winograd", "zero_padding", "implicit_gemm"},
     kFloat32,
     {3, 32, 3, 3},
     NumericMode::kStrict,
     1e-4},
    {"one tap", kOneTap, {"merged_axes", "implicit_gemm"}, kFloat32, {5, 4, 1, 1}},
    {"batch and rows", kRows, {"merged_axes"}, kFloat32, {24, 5}},
    {"rows of f16", kHalfRows, {"merged_axes", "widened_operands"}, kFloat16, {24, 16}},
    {"rows of bf16",
     kBFloatRows,
     {"merged_axes", "widened_operands", "bfloat_pairs", "whole_tiles"},
     kBf16,
     {24, 16}},
    {"rows rounded to bf16",
     kRows,
     {"merged_axes", "widened_operands", "bfloat_pairs"},
     kFloat32,
     {24, 5},
     NumericMode::kBf16},
    {"rows of bytes",
     kByteRows,
     {"integer_pairs", "integer_quads", "signed_integer_quads", "small_tiles", "whole_tiles"},
     kI8,
     {70, 20}},
    {"a batch of byte convolutions",
     kByteConv,
     {"winograd", "implicit_gemm", "integer_pairs", "integer_quads", "signed_integer_quads"},
     kI8,
     {5, 6, 3, 3}},
    {"a pool of any image", kPool, {"padded_pool", "separable_window"}},
    {"sums of rows", kSum, {"split_reduction"}, kInt64, {}},
};

Graph GraphOf(const Case& c) {
  std::vector<std::pair<std::string, Tensor>> constants = {
      {"w", c.weight.empty() ? MakeZeroTensor(kFloat32, {}) : RandomOf(c.weight_type, c.weight, 3)},
      {"axes", I64({1}, {1})}};
  std::string text = std::string("graph g {") + c.items + "\n}";
  return ParsedGraph(text, constants);
}

Task TaskOf(Graph graph, NumericMode numeric) {
  REQUIRE(InferShapes(graph).ok());
  std::vector<Subgraph> subgraphs = FuseGraph(graph);
  REQUIRE(subgraphs.size() == 1);
  return BuildTask(graph, subgraphs[0], {}, {.mode = numeric}).value();
}

// The graph with numbers for its dimensions.
Graph Bound(Graph graph, const Assignment& sizes) {
  for (Value& value : graph.values) {
    for (Expr& extent : value.shape) extent = EvaluateInt(extent, sizes).value();
  }
  graph.shape_vars.clear();
  return graph;
}

Names NamesOf(const Task& task) {
  Names names;
  for (const Variant& variant : task.variants) {
    if (variant.row) names.emplace_back(variant.row->name);
  }
  return names;
}

// The result of a variant at numbers for its variables; equal inputs for all variants.
std::vector<double> ResultAt(const Function& fn, const Sizes& values) {
  Assignment numbers;
  for (size_t i = 0; i < fn.vars.size(); ++i) numbers[fn.vars[i]] = values[i];
  std::vector<Tensor> arguments;
  for (const Buffer& param : fn.params) {
    Sizes shape;
    for (const Expr& extent : param.shape) shape.push_back(EvaluateInt(extent, numbers).value());
    arguments.push_back(&param == &fn.params.back()
                            ? MakeZeroTensor(param.dtype(), shape)
                            : RandomOf(param.dtype(), shape, arguments.size() + 1));
  }
  StatusOr<InterpretReport> report = Interpret(fn, arguments, {.var_values = values});
  INFO(Print(fn) << report.status());
  REQUIRE(report.ok());
  return ValuesOf(arguments.back());
}

void CheckSame(const std::vector<double>& got, const std::vector<double>& expected,
               double tolerance) {
  REQUIRE(got.size() == expected.size());
  double largest = 0, difference = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    difference = std::max(difference, std::abs(got[i] - expected[i]));
  }
  CHECK(largest > 0);
  CHECK(difference <= tolerance * largest);
}

// Each dimension at its usual size, at 1, at small primes.
std::vector<Assignment> SizesOf(const Graph& graph) {
  constexpr int64_t kPrimes[][3] = {{3, 5, 7}, {2, 13, 3}, {5, 1, 2}};
  std::vector<Assignment> all(2);
  for (const Var& var : graph.shape_vars) {
    all[0][var] = var->usual;
    all[1][var] = 1;
  }
  for (const auto& primes : kPrimes) {
    Assignment& sizes = all.emplace_back();
    for (size_t i = 0; i < graph.shape_vars.size(); ++i) sizes[graph.shape_vars[i]] = primes[i];
  }
  return all;
}

}  // namespace

TEST_CASE("variants are there while axes that they do not look at are free, and compute the same",
          "[graph][variants][free]") {
  for (const Case& c : kCases) {
    const Graph graph = GraphOf(c);
    const std::vector<Assignment> all = SizesOf(graph);
    const Task task = TaskOf(graph, c.numeric);
    INFO(c.what << "\n" << Print(task.variants[0].fn));
    Names names = NamesOf(task);
    CHECK(names == NamesOf(TaskOf(Bound(graph, all[0]), c.numeric)));
    std::ranges::sort(names);
    Names expected = c.variants;
    std::ranges::sort(expected);
    CHECK(names == expected);
    for (const Assignment& sizes : all) {
      Sizes values;
      for (const Expr& argument : task.shape_arguments) {
        values.push_back(EvaluateInt(argument, sizes).value());
      }
      const std::vector<double> direct = ResultAt(task.variants[0].fn, values);
      for (const Variant& variant : task.variants) {
        INFO(Print(variant.fn));
        CheckSame(ResultAt(variant.fn, values), direct, c.tolerance);
      }
    }
  }
}

}  // namespace tcc
