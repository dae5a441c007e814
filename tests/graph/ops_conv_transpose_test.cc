#include <catch2/catch.hpp>

#include "graph/passes/graph_pipeline.h"
#include "graph/passes/infer_shapes.h"
#include "graph/variants/interpret_graph.h"
#include "graph/variants/task.h"
#include "ir/expr/visitor.h"
#include "ir/interpret/interpreter.h"
#include "support/random.h"
#include "tests/graph/one_node.h"

using namespace tcc;

namespace {

// Two dimensions, NCHW, as plain loops that scatter what each input contributes.
struct Transposed2d {
  int64_t batch = 1, in_channels = 1, out_channels = 1, group = 1;
  Ints input = {1, 1};
  Ints kernel = {1, 1};
  Ints strides = {1, 1};
  Ints dilations = {1, 1};
  Ints pads = {0, 0, 0, 0};
  Ints extra = {0, 0};

  int64_t Output(int d) const {
    return (input[d] - 1) * strides[d] + (kernel[d] - 1) * dilations[d] + 1 + extra[d] - pads[d] -
           pads[2 + d];
  }
  Attributes ToAttributes() const {
    return {{"group", group}, {"strides", strides},     {"dilations", dilations},
            {"pads", pads},   {"kernel_shape", kernel}, {"output_padding", extra}};
  }
};

std::vector<double> PlainConvTranspose(const Transposed2d& conv, const Tensor& x, const Tensor& w,
                                       const Tensor& bias) {
  int64_t height = conv.Output(0), width = conv.Output(1);
  int64_t group_in = conv.in_channels / conv.group, group_out = conv.out_channels / conv.group;
  std::vector<double> out(conv.batch * conv.out_channels * height * width);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = ElementAsDouble(bias, static_cast<int64_t>(i) / (height * width) % conv.out_channels);
  }
  auto add = [&](int64_t n, int64_t c, int64_t m, Ints at, Ints tap) {
    int64_t y = at[0] * conv.strides[0] + tap[0] * conv.dilations[0] - conv.pads[0];
    int64_t z = at[1] * conv.strides[1] + tap[1] * conv.dilations[1] - conv.pads[1];
    if (y < 0 || y >= height || z < 0 || z >= width) return;
    int64_t o = c / group_in * group_out + m;
    int64_t from = ((n * conv.in_channels + c) * conv.input[0] + at[0]) * conv.input[1] + at[1];
    int64_t by = ((c * group_out + m) * conv.kernel[0] + tap[0]) * conv.kernel[1] + tap[1];
    out[((n * conv.out_channels + o) * height + y) * width + z] +=
        ElementAsDouble(x, from) * ElementAsDouble(w, by);
  };
  for (int64_t n = 0; n < conv.batch; ++n)
    for (int64_t c = 0; c < conv.in_channels; ++c)
      for (int64_t m = 0; m < group_out; ++m)
        for (int64_t i = 0; i < conv.input[0] * conv.input[1]; ++i)
          for (int64_t k = 0; k < conv.kernel[0] * conv.kernel[1]; ++k)
            add(n, c, m, {i / conv.input[1], i % conv.input[1]},
                {k / conv.kernel[1], k % conv.kernel[1]});
  return out;
}

OneNode Line(const std::vector<double>& x, const std::vector<double>& w, Attributes attributes) {
  return {.op = OpKind::kConvTranspose,
          .inputs = {F32({1, 1, static_cast<int64_t>(x.size())}, x),
                     F32({1, 1, static_cast<int64_t>(w.size())}, w)},
          .attributes = std::move(attributes)};
}

}  // namespace

TEST_CASE("transposed convolutions equal the definition, in either layout",
          "[graph][ops][layout]") {
  Random random(11);
  int compared = 0;
  for (int round = 0; round < 120; ++round) {
    Transposed2d conv{.batch = random.Between(1, 2), .group = random.Between(1, 3)};
    conv.in_channels = conv.group * random.Between(1, 2);
    conv.out_channels = conv.group * random.Between(1, 2);
    for (int d : {0, 1}) {
      conv.input[d] = random.Between(1, 5);
      conv.kernel[d] = random.Between(1, 5);
      conv.strides[d] = random.Between(1, 4);
      conv.dilations[d] = random.Between(1, 4);
      conv.pads[d] = random.Between(0, 3);
      conv.pads[2 + d] = random.Between(0, 3);
      conv.extra[d] = random.Between(0, 2);
    }
    if (conv.Output(0) < 1 || conv.Output(1) < 1) continue;
    ++compared;
    Tensor x = RandomF32({conv.batch, conv.in_channels, conv.input[0], conv.input[1]}, round);
    Tensor w = RandomF32(
        {conv.in_channels, conv.out_channels / conv.group, conv.kernel[0], conv.kernel[1]},
        100 + round);
    Tensor bias = RandomF32({conv.out_channels}, 200 + round);
    OneNode node = {.op = OpKind::kConvTranspose,
                    .inputs = {x, w, bias},
                    .attributes = conv.ToAttributes(),
                    .constants = {1, 2}};
    std::vector<double> expected = PlainConvTranspose(conv, x, w, bias);

    INFO("round " << round << ", group " << conv.group << ", strides "
                  << ShapeToString(conv.strides) << ", dilations " << ShapeToString(conv.dilations)
                  << ", kernel " << ShapeToString(conv.kernel) << ", input "
                  << ShapeToString(conv.input));
    Tensor result = ResultOf(node);
    CHECK(result.shape == Ints{conv.batch, conv.out_channels, conv.Output(0), conv.Output(1)});
    CHECK(ValuesOf(result) == expected);
    for (const std::vector<int>& constants : {std::vector<int>{1, 2}, std::vector<int>{}}) {
      node.constants = constants;
      StatusOr<std::vector<Tensor>> last = RunOptimized(node);
      REQUIRE(last.ok());
      CHECK(ValuesOf((*last)[0]) == expected);
    }
  }
  CHECK(compared > 80);
}

TEST_CASE("a transposed convolution whose windows do not overlap sums without a predicate",
          "[graph][ops]") {
  for (int64_t size : {1, 2, 3}) {
    TestGraph graph;
    ValueId x = graph.Input("x", kFloat32, {1, 2, 5, 5});
    ValueId w = graph.Constant("w", RandomF32({2, 3, size, size}, 5));
    graph.Output(
        graph.Add("grow", OpKind::kConvTranspose, {x, w}, {{"strides", Ints{size, size}}}));
    Graph built = graph.Build();
    REQUIRE(InferShapes(built).ok());
    int sums = 0;
    auto look = [&](const Task& task, std::vector<Tensor>& arguments) -> Status {
      for (const Ref<Block>& block : BlocksOf(task.variants[0].fn.body)) {
        if (!block->body.as<Reduce>()) continue;
        ++sums;
        CHECK(IsConstant(block->predicate, 1));
      }
      return Interpret(task.variants[0].fn, arguments).status();
    };
    REQUIRE(InterpretGraph(built, {RandomF32({1, 2, 5, 5}, 6)}, {.run_task = look}).ok());
    CHECK(sums == 1);
  }
}

TEST_CASE("a transposed convolution has one and three dimensions too", "[graph][ops]") {
  CHECK(ValuesOf(ResultOf(Line({1, 2, 3}, {1, 10}, {{"strides", Ints{2}}}))) ==
        std::vector<double>{1, 10, 2, 20, 3, 30});
  OneNode cube = {.op = OpKind::kConvTranspose,
                  .inputs = {F32({1, 1, 1, 1, 2}, {1, 2}), F32({1, 1, 2, 1, 2}, {1, 10, 3, 5})}};
  CHECK(ValuesOf(ResultOf(cube)) == std::vector<double>{1, 12, 20, 3, 11, 10});
}

TEST_CASE("output_shape and auto_pad say what a transposed convolution cuts off", "[graph][ops]") {
  // In full: 1, 10, 102, 20, 203, 30, 300.
  std::vector<double> x = {1, 2, 3}, w = {1, 10, 100};
  CHECK(ValuesOf(ResultOf(Line(x, w, {{"strides", Ints{2}}}))) ==
        std::vector<double>{1, 10, 102, 20, 203, 30, 300});
  CHECK(ValuesOf(ResultOf(Line(x, w, {{"strides", Ints{2}}, {"output_shape", Ints{9}}}))) ==
        std::vector<double>{1, 10, 102, 20, 203, 30, 300, 0, 0});
  CHECK(ValuesOf(ResultOf(
            Line(x, w, {{"strides", Ints{2}}, {"auto_pad", std::string("SAME_UPPER")}}))) ==
        std::vector<double>{1, 10, 102, 20, 203, 30});
  CHECK(ValuesOf(ResultOf(
            Line(x, w, {{"strides", Ints{2}}, {"auto_pad", std::string("SAME_LOWER")}}))) ==
        std::vector<double>{10, 102, 20, 203, 30, 300});
}

TEST_CASE("one weight may serve a convolution and its transpose", "[graph][layout]") {
  TestGraph graph;
  ValueId x = graph.Input("x", kFloat32, {1, 1, 4, 4});
  ValueId w = graph.Constant("w", RandomF32({2, 1, 2, 2}, 5));
  ValueId code = graph.Add("encode", OpKind::kConv, {x, w}, {{"strides", Ints{2, 2}}});
  graph.Output(graph.Add("decode", OpKind::kConvTranspose, {code, w}, {{"strides", Ints{2, 2}}}));
  Tensor input = RandomF32({1, 1, 4, 4}, 6);
  Graph plain = graph.Build();
  REQUIRE(InferShapes(plain).ok());
  Graph optimized = graph.Build();
  REQUIRE(RunGraphPasses(optimized).ok());
  StatusOr<std::vector<Tensor>> expected = InterpretGraph(plain, {input});
  StatusOr<std::vector<Tensor>> results = InterpretGraph(optimized, {input});
  REQUIRE(expected.ok());
  REQUIRE(results.ok());
  CHECK(ValuesOf((*results)[0]) == ValuesOf((*expected)[0]));
}

TEST_CASE("a weight that does not fit its transposed convolution is reported",
          "[graph][ops][error]") {
  OneNode node = {.op = OpKind::kConvTranspose,
                  .inputs = {RandomF32({1, 6, 5, 5}, 1), RandomF32({4, 3, 3, 3}, 2)}};
  CHECK(ErrorOf(node) ==
        "node 'node' (ConvTranspose): weight has 4 input channels; expected 6 (input 1x6x5x5)");
  node.inputs[1] = RandomF32({6, 3, 3, 3}, 2);
  node.attributes = {{"pads", Ints{4, 0, 4, 0}}};
  CHECK(ErrorOf(node) ==
        "node 'node' (ConvTranspose): pads 4 and 4 leave nothing of 7 in dimension 0");
}

TEST_CASE("a convolution of no channels in countless groups is reported", "[graph][ops][error]") {
  for (OpKind op : {OpKind::kConv, OpKind::kConvTranspose}) {
    OneNode node = {.op = op,
                    .inputs = {RandomF32({1, 0, 5, 5}, 1), RandomF32({0, 3, 3, 3}, 2)},
                    .attributes = {{"group", INT64_MAX}}};
    CHECK_THAT(ErrorOf(node), Catch::Contains("expected a divisor of 0 input channels"));
  }
}
