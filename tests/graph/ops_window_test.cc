#include <catch2/catch.hpp>
#include <cmath>

#include "support/random.h"
#include "tests/graph/one_node.h"

using namespace tcc;

namespace {

// A 2-d window written out as plain loops over NCHW, from the definition.
struct Window2d {
  int64_t batch = 1, channels = 1, height = 1, width = 1;
  int64_t kernel_h = 1, kernel_w = 1;
  Ints strides = {1, 1};
  Ints pads = {0, 0, 0, 0};
  Ints dilations = {1, 1};

  int64_t OutHeight() const {
    return (height + pads[0] + pads[2] - (kernel_h - 1) * dilations[0] - 1) / strides[0] + 1;
  }
  int64_t OutWidth() const {
    return (width + pads[1] + pads[3] - (kernel_w - 1) * dilations[1] - 1) / strides[1] + 1;
  }
  Attributes ToAttributes() const {
    return {{"strides", strides},
            {"pads", pads},
            {"dilations", dilations},
            {"kernel_shape", Ints{kernel_h, kernel_w}}};
  }
};

std::vector<double> PlainConv(const Window2d& window, int64_t out_channels, int64_t group,
                              const Tensor& input, const Tensor& weight, const Tensor& bias) {
  int64_t group_in = window.channels / group;
  int64_t group_out = out_channels / group;
  std::vector<double> out;
  for (int64_t n = 0; n < window.batch; ++n) {
    for (int64_t o = 0; o < out_channels; ++o) {
      for (int64_t h = 0; h < window.OutHeight(); ++h) {
        for (int64_t w = 0; w < window.OutWidth(); ++w) {
          double sum = ElementAsDouble(bias, o);
          for (int64_t c = 0; c < group_in; ++c) {
            for (int64_t kh = 0; kh < window.kernel_h; ++kh) {
              for (int64_t kw = 0; kw < window.kernel_w; ++kw) {
                int64_t y = h * window.strides[0] + kh * window.dilations[0] - window.pads[0];
                int64_t x = w * window.strides[1] + kw * window.dilations[1] - window.pads[1];
                if (y < 0 || y >= window.height || x < 0 || x >= window.width) continue;
                int64_t channel = o / group_out * group_in + c;
                int64_t at = ((n * window.channels + channel) * window.height + y) * window.width;
                int64_t tap = ((o * group_in + c) * window.kernel_h + kh) * window.kernel_w + kw;
                sum += ElementAsDouble(input, at + x) * ElementAsDouble(weight, tap);
              }
            }
          }
          out.push_back(sum);
        }
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("convolutions equal the definition, in either layout", "[graph][ops][layout]") {
  Random random(7);
  for (int round = 0; round < 40; ++round) {
    Window2d window{.batch = random.Between(1, 2),
                    .height = random.Between(3, 7),
                    .width = random.Between(3, 7),
                    .kernel_h = random.Between(1, 3),
                    .kernel_w = random.Between(1, 3)};
    window.strides = {random.Between(1, 2), random.Between(1, 3)};
    window.dilations = {random.Between(1, 2), 1};
    window.pads = {random.Between(0, 2), random.Between(0, 2), random.Between(1, 2),
                   random.Between(0, 1)};
    int64_t group = random.Between(1, 3);
    window.channels = group * random.Between(1, 3);
    int64_t out_channels = group * random.Between(1, 2);
    if (window.OutHeight() < 1) continue;

    Tensor input = RandomF32({window.batch, window.channels, window.height, window.width}, round);
    Tensor weight = RandomF32(
        {out_channels, window.channels / group, window.kernel_h, window.kernel_w}, 100 + round);
    Tensor bias = RandomF32({out_channels}, 200 + round);
    OneNode node = {.op = OpKind::kConv,
                    .inputs = {input, weight, bias},
                    .attributes = window.ToAttributes(),
                    .constants = {1, 2}};
    node.attributes["group"] = group;
    std::vector<double> expected = PlainConv(window, out_channels, group, input, weight, bias);

    INFO("round " << round << ", group " << group);
    Tensor result = ResultOf(node);
    CHECK(result.shape == Ints{window.batch, out_channels, window.OutHeight(), window.OutWidth()});
    CHECK(ValuesOf(result) == expected);
    StatusOr<std::vector<Tensor>> last = RunOptimized(node);
    REQUIRE(last.ok());
    CHECK(ValuesOf((*last)[0]) == expected);

    node.constants = {};
    StatusOr<std::vector<Tensor>> computed_weight = RunOptimized(node);
    REQUIRE(computed_weight.ok());
    CHECK(ValuesOf((*computed_weight)[0]) == expected);
  }
}

TEST_CASE("convolutions have one and three dimensions too", "[graph][ops]") {
  OneNode line = {.op = OpKind::kConv,
                  .inputs = {F32({1, 1, 4}, {1, 2, 3, 4}), F32({1, 1, 2}, {1, 10})},
                  .attributes = {{"pads", Ints{1, 0}}}};
  CHECK(ValuesOf(ResultOf(line)) == std::vector<double>{10, 21, 32, 43});
  OneNode cube = {
      .op = OpKind::kConv,
      .inputs = {RandomF32({1, 1, 2, 2, 2}, 3), F32({1, 1, 2, 2, 2}, std::vector<double>(8, 1.0))}};
  double sum = 0;
  for (double value : ValuesOf(cube.inputs[0])) sum += value;
  CHECK(ValuesOf(ResultOf(cube)) == std::vector<double>{sum});
}

TEST_CASE("auto_pad SAME puts the odd row at the end or at the start", "[graph][ops]") {
  OneNode node = {.op = OpKind::kConv,
                  .inputs = {F32({1, 1, 4}, {1, 2, 3, 4}), F32({1, 1, 2}, {1, 10})},
                  .attributes = {{"auto_pad", std::string("SAME_UPPER")}}};
  CHECK(ValuesOf(ResultOf(node)) == std::vector<double>{21, 32, 43, 4});
  node.attributes["auto_pad"] = std::string("SAME_LOWER");
  CHECK(ValuesOf(ResultOf(node)) == std::vector<double>{10, 21, 32, 43});
}

TEST_CASE("a max pool ignores its padding and rounds up if asked", "[graph][ops]") {
  OneNode node = {.op = OpKind::kMaxPool,
                  .inputs = {F32({1, 1, 5}, {-5, -1, -3, -4, -2})},
                  .attributes = {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}}};
  CHECK(ValuesOf(ResultOf(node)) == std::vector<double>{-1, -3});
  node.attributes["ceil_mode"] = int64_t{1};
  CHECK(ValuesOf(ResultOf(node)) == std::vector<double>{-1, -3, -2});
  node.attributes["pads"] = Ints{1, 1};
  CHECK(ValuesOf(ResultOf(node)) == std::vector<double>{-5, -1, -2});
}

TEST_CASE("a max pool says where its maxima are", "[graph][ops]") {
  OneNode node = {.op = OpKind::kMaxPool,
                  .inputs = {F32({1, 2, 2, 2}, {1, 9, 9, 2, 3, 4, 8, 7})},
                  .attributes = {{"kernel_shape", Ints{2, 2}}},
                  .outputs = 2};
  StatusOr<std::vector<Tensor>> results = Run(node);
  REQUIRE(results.ok());
  CHECK(ValuesOf((*results)[1]) == std::vector<double>{1, 6});
  node.attributes["storage_order"] = int64_t{1};
  results = Run(node);
  REQUIRE(results.ok());
  CHECK(ValuesOf((*results)[1]) == std::vector<double>{1, 5});
}

TEST_CASE("an average counts taps inside the input, or the padding too", "[graph][ops]") {
  OneNode node = {.op = OpKind::kAveragePool,
                  .inputs = {F32({1, 1, 4}, {4, 8, 12, 16})},
                  .attributes = {{"kernel_shape", Ints{3}}, {"pads", Ints{1, 1}}}};
  CHECK(ValuesOf(ResultOf(node)) == std::vector<double>{6, 8, 12, 14});
  node.attributes["count_include_pad"] = int64_t{1};
  CHECK(ValuesOf(ResultOf(node)) == std::vector<double>{4, 8, 12, 28 / 3.0f});
  // The last window hangs over the end by one, which is no padding.
  OneNode over = {.op = OpKind::kAveragePool,
                  .inputs = {F32({1, 1, 4}, {4, 8, 12, 16})},
                  .attributes = {{"kernel_shape", Ints{3}},
                                 {"strides", Ints{2}},
                                 {"ceil_mode", int64_t{1}},
                                 {"count_include_pad", int64_t{1}}}};
  CHECK(ValuesOf(ResultOf(over)) == std::vector<double>{8, 14});
}

TEST_CASE("a dilated average counts the taps that hit the input", "[graph][ops]") {
  OneNode node = {
      .op = OpKind::kAveragePool,
      .inputs = {F32({1, 1, 5}, {1, 2, 3, 4, 5})},
      .attributes = {{"kernel_shape", Ints{3}}, {"dilations", Ints{2}}, {"pads", Ints{2, 2}}}};
  CHECK(ValuesOf(ResultOf(node)) == std::vector<double>{2, 3, 3, 3, 4});
}

TEST_CASE("global pools leave one cell a channel", "[graph][ops]") {
  Tensor x = F32({1, 2, 2, 2}, {1, 2, 3, 6, -1, -2, -3, -6});
  Tensor mean = ResultOf({.op = OpKind::kGlobalAveragePool, .inputs = {x}});
  CHECK(mean.shape == Ints{1, 2, 1, 1});
  CHECK(ValuesOf(mean) == std::vector<double>{3, -3});
  CHECK(ValuesOf(ResultOf({.op = OpKind::kGlobalMaxPool, .inputs = {x}})) ==
        std::vector<double>{6, -1});
}

TEST_CASE("a weight that does not fit its convolution is reported", "[graph][ops][error]") {
  OneNode node = {.op = OpKind::kConv,
                  .inputs = {RandomF32({1, 6, 5, 5}, 1), RandomF32({4, 3, 3, 3}, 2)}};
  CHECK(ErrorOf(node) ==
        "node 'node' (Conv): weight has 3 input channels; expected 6 (input 1x6x5x5, group 1)");
  node.inputs[1] = RandomF32({4, 6, 7, 7}, 2);
  CHECK(ErrorOf(node) ==
        "node 'node' (Conv): a window of 7 does not fit dimension 0 of 5 with pads 0 and 0");
}
