// Convolutions by implicit GEMM, and of few channels by rows in which the taps of a row lie
// together.

#include <algorithm>
#include <catch2/catch.hpp>

#include "graph/passes/graph_pipeline.h"
#include "graph/variants/variants.h"
#include "ir/analysis/verifier.h"
#include "ir/expr/visitor.h"
#include "ir/interpret/interpreter.h"
#include "ir/text/printer.h"
#include "tests/graph/one_task.h"

namespace tcc {
namespace {

// A convolution with a bias and a ReLU behind it.
struct Case {
  const char* what;
  Ints input, weight;
  Attributes how;
  DType type = kFloat32;
};

const Case kCases[] = {
    {"three channels, stride 2",
     {1, 3, 15, 13},
     {5, 3, 7, 7},
     {{"pads", Ints{3, 3, 3, 3}}, {"strides", Ints{2, 2}}}},
    {"one channel, no padding", {2, 1, 6, 9}, {3, 1, 3, 5}, {}},
    {"two channels, stride 3, padded unevenly",
     {1, 2, 9, 11},
     {4, 2, 2, 4},
     {{"pads", Ints{0, 2, 1, 3}}, {"strides", Ints{3, 3}}}},
    {"four channels, stride 4",
     {1, 4, 12, 17},
     {4, 4, 8, 8},
     {{"pads", Ints{2, 1, 2, 1}}, {"strides", Ints{4, 4}}}},
    {"strides longer than the window",
     {1, 3, 8, 11},
     {2, 3, 2, 2},
     {{"strides", Ints{1, 4}}, {"pads", Ints{0, 1, 0, 0}}}},
    {"dilated",
     {1, 3, 12, 10},
     {4, 3, 3, 3},
     {{"pads", Ints{2, 2, 2, 2}}, {"dilations", Ints{1, 2}}}},
    {"one dimension", {2, 2, 19}, {3, 2, 4}, {{"strides", Ints{2}}, {"pads", Ints{1, 2}}}},
    {"three dimensions",
     {1, 3, 4, 5, 7},
     {2, 3, 2, 3, 3},
     {{"strides", Ints{1, 2, 2}}, {"pads", Ints{0, 1, 1, 1, 1, 1}}}},
    {"f16", {1, 3, 7, 9}, {4, 3, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}, kFloat16},
};

Tensor RandomOf(DType type, const Ints& shape, uint64_t seed) {
  return Of(type, shape, ValuesOf(RandomF32(shape, seed)));
}

Graph GraphOf(const Case& c) {
  TestGraph test;
  ValueId x = test.Input("x", c.type, c.input);
  ValueId w = test.Constant("w", RandomOf(c.type, c.weight, 1));
  ValueId b = test.Constant("b", RandomOf(c.type, {c.weight[0]}, 2));
  test.Output(test.Add("r", OpKind::kRelu, {test.Add("y", OpKind::kConv, {x, w, b}, c.how)}));
  Graph graph = test.Build();
  REQUIRE(RunGraphPasses(graph).ok());
  return graph;
}

// Returns the task of the convolution, which gathers its input or reads a repacked one.
Task TaskOf(const Graph& graph, Fusion fusion) {
  for (const Subgraph& subgraph : FuseGraph(graph, fusion)) {
    if (subgraph.kind != SubgraphKind::kKernel) continue;
    Task task = BuildTask(graph, subgraph).value();
    if (std::ranges::find(task.nodes, "y") != task.nodes.end()) return task;
  }
  FAIL("no task has the convolution");
  return {};
}
Task TaskOf(const Case& c, Fusion fusion) {
  return TaskOf(GraphOf(c), fusion);
}

std::vector<double> ResultOf(const Function& fn) {
  std::vector<Tensor> arguments;
  for (const Buffer& param : fn.params) {
    arguments.push_back(RandomOf(param.dtype(), ShapeOf(param), arguments.size() + 3));
  }
  REQUIRE(Interpret(fn, arguments).ok());
  return ValuesOf(arguments.back());
}

// Returns the extent of the rows of the variant.
int64_t WidthOfRows(const Function& fn) {
  int64_t width = 0;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    const auto* allocate = stmt.as<Allocate>();
    if (!allocate || !allocate->buffer.var->name.ends_with("_rows")) return;
    width = AsConstant(allocate->buffer.shape.back()).value();
  });
  return width;
}

}  // namespace

TEST_CASE("implicit gemm keeps the operands of an f16 convolution in f16", "[graph][variants]") {
  const Case c{"f16", {1, 3, 6, 5}, {4, 3, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}, kFloat16};
  const Task task = TaskOf(c, Fusion::kFused);
  const Variant* product = FindVariant(task, "implicit_gemm");
  REQUIRE(product);
  std::string text = Print(product->fn);
  INFO(text);
  CHECK(text.find("_columns: f16[30, 27]") != std::string::npos);
  CHECK(text.find("_matrix: f16[27, 4]") != std::string::npos);
  CHECK(text.find("_product: f32[30, 4]") != std::string::npos);
  CHECK(ResultOf(product->fn) == ResultOf(task.variants[0].fn));
}

TEST_CASE("what follows an implicit gemm has its rows, unless the convolution reads it too",
          "[graph][variants]") {
  for (int64_t batch : {1, 2}) {
    for (bool own : {false, true}) {
      INFO("a batch of " << batch << (own ? ", its own input added" : ""));
      TestGraph test;
      ValueId x = test.Input("x", kFloat32, {batch, 4, 6, 5});
      ValueId w = test.Constant("w", RandomF32({4, 4, 3, 3}, 1));
      ValueId b = test.Constant("b", RandomF32({4}, 2));
      ValueId y = test.Add("y", OpKind::kConv, {x, w, b}, {{"pads", Ints{1, 1, 1, 1}}});
      ValueId other = own ? x : test.Input("other", kFloat32, {batch, 4, 6, 5});
      test.Output(test.Add("r", OpKind::kRelu, {test.Add("sum", OpKind::kAdd, {other, y})}));
      Graph graph = test.Build();
      REQUIRE(RunGraphPasses(graph).ok());
      const Task task = TaskOf(graph, Fusion::kFused);
      const Variant* product = FindVariant(task, "implicit_gemm");
      REQUIRE(product);
      INFO(Print(product->fn));
      CHECK(Verify(product->fn).ok());
      const Ints rows = {batch * 30, 4}, image = {batch, 6, 5, 4};
      CHECK(ShapeOf(product->fn.params.back()) == (own ? image : rows));
      std::vector<double> want = ResultOf(task.variants[0].fn), got = ResultOf(product->fn);
      REQUIRE(got.size() == want.size());
      for (size_t i = 0; i < want.size(); ++i) CHECK(got[i] == Approx(want[i]).margin(1e-5));
    }
  }
}

TEST_CASE("merged taps compute the convolution, from either layout of its input",
          "[graph][variants][merged_taps]") {
  for (const Case& c : kCases) {
    for (Fusion fusion : {Fusion::kFused, Fusion::kGathering}) {
      const Task task = TaskOf(c, fusion);
      const Variant* merged = FindVariant(task, "merged_taps");
      INFO(c.what << "\n" << Print(task.variants[0].fn));
      REQUIRE(merged);
      INFO(Print(merged->fn));
      CHECK(Verify(merged->fn).ok());
      CHECK(WidthOfRows(merged->fn) > 0);
      CHECK(WidthOfRows(merged->fn) % 4 == 0);
      std::vector<double> want = ResultOf(task.variants[0].fn);
      CHECK(std::ranges::any_of(want, [](double value) { return value > 0; }));
      CHECK(ResultOf(merged->fn) == want);
    }
  }
}

TEST_CASE("a multiple of four columns reads whole vectors of merged taps",
          "[graph][variants][merged_taps]") {
  const Task task = TaskOf(kCases[0], Fusion::kGathering);
  // 7 taps of 3 channels and 3 steps of 6 cells are 39: one cell more makes ten vectors.
  std::string text = Print(FindVariant(task, "merged_taps")->fn);
  INFO(text);
  CHECK(text.find("y_rows: f32[1, 21, 60]") != std::string::npos);
  CHECK(text.find("c: reduce 4") != std::string::npos);
  CHECK(text.find("where c < 3") != std::string::npos);
  CHECK(text.find("y_rows[n, h * 2 + kh, w * 6 + kw * 3 + c]") != std::string::npos);
}

TEST_CASE("taps merge neither in groups nor with many channels nor where no window slides",
          "[graph][variants][merged_taps]") {
  const Case kOthers[] = {
      {"groups", {1, 4, 6, 6}, {4, 2, 3, 3}, {{"group", int64_t{2}}}},
      {"depthwise", {1, 4, 6, 6}, {4, 1, 3, 3}, {{"group", int64_t{4}}}},
      {"five channels", {1, 5, 6, 6}, {4, 5, 3, 3}, {}},
      {"one tap along a row", {1, 3, 6, 6}, {4, 3, 3, 1}, {}},
  };
  for (const Case& c : kOthers) {
    INFO(c.what);
    CHECK(FindVariant(TaskOf(c, Fusion::kGathering), "merged_taps") == nullptr);
  }
}

TEST_CASE("merged taps save time where the work is worth a launch",
          "[graph][variants][merged_taps]") {
  const Attributes how = {{"pads", Ints{3, 3, 3, 3}}, {"strides", Ints{2, 2}}};
  const Case large{"ResNet's first layer", {1, 3, 224, 224}, {64, 3, 7, 7}, how};
  const Case small{"a small image", {1, 3, 32, 32}, {64, 3, 7, 7}, how};
  CHECK(FindVariant(TaskOf(large, Fusion::kGathering), "merged_taps")->saves_time);
  CHECK_FALSE(FindVariant(TaskOf(small, Fusion::kGathering), "merged_taps")->saves_time);
  // Columns of four channels that lie last are vectors.
  const Case four{"four channels", {1, 4, 224, 224}, {64, 4, 7, 7}, how};
  CHECK(FindVariant(TaskOf(four, Fusion::kGathering), "merged_taps")->saves_time);
  CHECK_FALSE(FindVariant(TaskOf(four, Fusion::kFused), "merged_taps")->saves_time);
}

}  // namespace tcc
