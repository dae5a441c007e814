#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "tests/graph/one_node.h"

using namespace tcc;

namespace {

using Doubles = std::vector<double>;

struct Statistics {
  double mean = 0;
  double variance = 0;
};

Statistics StatisticsOf(const Doubles& x) {
  Statistics s;
  for (double v : x) s.mean += v / static_cast<double>(x.size());
  for (double v : x) s.variance += (v - s.mean) * (v - s.mean) / static_cast<double>(x.size());
  return s;
}

// Rows of `width` neighbours, each brought to mean 0 and variance 1.
Doubles NormalizedRows(const Doubles& x, size_t width, double epsilon) {
  Doubles result;
  for (size_t begin = 0; begin < x.size(); begin += width) {
    Doubles row(x.begin() + static_cast<std::ptrdiff_t>(begin),
                x.begin() + static_cast<std::ptrdiff_t>(begin + width));
    Statistics s = StatisticsOf(row);
    for (double v : row) result.push_back((v - s.mean) / std::sqrt(s.variance + epsilon));
  }
  return result;
}

void CheckClose(const Doubles& got, const Doubles& expected, double tolerance = 1e-5) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    INFO("element " << i);
    CHECK(got[i] == Approx(expected[i]).epsilon(tolerance).margin(tolerance));
  }
}

Tensor Ones(Ints shape) {
  int64_t count = ElementCount(shape).value();
  return F32(std::move(shape), Doubles(static_cast<size_t>(count), 1));
}

}  // namespace

TEST_CASE("a layer normalization gives rows of mean 0 and variance 1", "[graph][ops]") {
  Tensor x = RandomF32({3, 5, 7}, 1);
  for (int64_t axis : {int64_t{-1}, int64_t{1}, int64_t{0}}) {
    INFO("axis " << axis);
    Ints tail(x.shape.begin() + (axis < 0 ? 2 : axis), x.shape.end());
    auto width = static_cast<size_t>(ElementCount(tail).value());
    Tensor y = ResultOf({.op = OpKind::kLayerNormalization,
                         .inputs = {x, Ones(tail)},
                         .attributes = {{"axis", axis}, {"epsilon", 1e-5}}});
    CheckClose(ValuesOf(y), NormalizedRows(ValuesOf(x), width, 1e-5));
  }
}

TEST_CASE("a layer normalization gives means and inverse deviations if asked", "[graph][ops]") {
  Tensor x = F32({2, 4}, {1, 2, 3, 4, -1, -1, 1, 1});
  StatusOr<std::vector<Tensor>> got = Run({.op = OpKind::kLayerNormalization,
                                           .inputs = {x, Ones({4}), F32({1}, {0.5})},
                                           .attributes = {{"axis", int64_t{1}}, {"epsilon", 0.0}},
                                           .outputs = 3});
  REQUIRE(got.ok());
  CHECK((*got)[1].shape == Ints{2, 1});
  CheckClose(ValuesOf((*got)[1]), {2.5, 0});
  CheckClose(ValuesOf((*got)[2]), {1 / std::sqrt(1.25), 1});
  CHECK(ValuesOf((*got)[0])[7] == Approx(1.5));
}

TEST_CASE("a mean far above the deviation does not swallow it", "[graph][ops]") {
  // Multiples of 1/8 near 2^16 are exact in f32, their sum is not; E[x^2] - E[x]^2 would be noise.
  Doubles values;
  for (int i = 0; i < 769; ++i) values.push_back(65536 + 0.125 * (i % 13));
  Tensor x = F32({1, 769}, values);
  Tensor y = ResultOf({.op = OpKind::kLayerNormalization,
                       .inputs = {x, Ones({769})},
                       .attributes = {{"axis", int64_t{-1}}, {"epsilon", 0.0}}});
  CheckClose(ValuesOf(y), NormalizedRows(values, 769, 0), 1e-5);
}

TEST_CASE("halves are normalised in f32", "[graph][ops]") {
  // The squares overflow f16.
  Tensor x = Of(kFloat16, {1, 4}, {1000, 2000, 3000, 4000});
  Tensor scale = Of(kFloat16, {4}, {1, 1, 1, 1});
  for (OpKind op : {OpKind::kLayerNormalization, OpKind::kRMSNormalization}) {
    Tensor y = ResultOf({.op = op, .inputs = {x, scale}, .attributes = {{"axis", int64_t{-1}}}});
    CHECK(y.dtype == kFloat16);
    double mean = op == OpKind::kLayerNormalization ? 2500 : 0;
    double deviation = op == OpKind::kLayerNormalization ? std::sqrt(1.25e6) : std::sqrt(7.5e6);
    CHECK(ValuesOf(y)[3] == Approx((4000 - mean) / deviation).epsilon(1e-3));
  }
}

TEST_CASE("an RMS normalization divides by the root of the mean square", "[graph][ops]") {
  Tensor x = F32({2, 2}, {3, 4, 0, 0});
  Tensor y = ResultOf({.op = OpKind::kRMSNormalization,
                       .inputs = {x, F32({2}, {2, 10})},
                       .attributes = {{"axis", int64_t{-1}}, {"epsilon", 0.5}}});
  double root = std::sqrt(12.5 + 0.5);
  CheckClose(ValuesOf(y), {6 / root, 40 / root, 0, 0});
}

TEST_CASE("instances and groups are normalised over their own channels", "[graph][ops]") {
  Tensor x = RandomF32({2, 6, 5}, 3);
  Doubles values = ValuesOf(x);
  Tensor instance = ResultOf({.op = OpKind::kInstanceNormalization,
                              .inputs = {x, Ones({6}), F32({6}, Doubles(6, 0))},
                              .attributes = {{"epsilon", 1e-5}}});
  CheckClose(ValuesOf(instance), NormalizedRows(values, 5, 1e-5));

  Attributes three = {{"epsilon", 1e-5}, {"num_groups", int64_t{3}}};
  Tensor group = ResultOf({.op = OpKind::kGroupNormalization,
                           .inputs = {x, Ones({6}), F32({6}, Doubles(6, 0))},
                           .attributes = three});
  Doubles expected = NormalizedRows(values, 10, 1e-5);
  CheckClose(ValuesOf(group), expected);

  // Opset 18: a scale and a bias for each group.
  Tensor per_group = ResultOf({.op = OpKind::kGroupNormalization,
                               .inputs = {x, F32({3}, {1, 2, 3}), F32({3}, {0, 0, 7})},
                               .attributes = three});
  for (size_t i = 0; i < expected.size(); ++i) {
    size_t g = i / 10 % 3;
    expected[i] = expected[i] * static_cast<double>(g + 1) + (g == 2 ? 7 : 0);
  }
  CheckClose(ValuesOf(per_group), expected);
}

TEST_CASE("groups that do not divide the channels are refused", "[graph][ops][error]") {
  CHECK(ErrorOf({.op = OpKind::kGroupNormalization,
                 .inputs = {RandomF32({1, 6, 2}, 1), Ones({6}), Ones({6})},
                 .attributes = {{"num_groups", int64_t{4}}}}) ==
        "node 'node' (GroupNormalization): 4 groups of 6 channels");
}

TEST_CASE("a batch normalization that trains moves its statistics", "[graph][ops]") {
  Tensor x = F32({2, 1, 2}, {1, 2, 3, 4});
  StatusOr<std::vector<Tensor>> got =
      Run({.op = OpKind::kBatchNormalization,
           .inputs = {x, Ones({1}), F32({1}, {0}), F32({1}, {10}), F32({1}, {20})},
           .attributes = {{"epsilon", 0.0}, {"momentum", 0.75}, {"training_mode", int64_t{1}}},
           .outputs = 3});
  REQUIRE(got.ok());
  CheckClose(ValuesOf((*got)[0]), NormalizedRows({1, 2, 3, 4}, 4, 0));
  CheckClose(ValuesOf((*got)[1]), {7.5 + 0.25 * 2.5});
  CheckClose(ValuesOf((*got)[2]), {15 + 0.25 * 1.25});
}

TEST_CASE("a batch of plain numbers is normalized as one channel", "[graph][ops]") {
  OneNode node = {
      .op = OpKind::kBatchNormalization,
      .inputs = {F32({3}, {1, 3, 5}), F32({1}, {2}), F32({1}, {10}), F32({1}, {3}), F32({1}, {4})},
      .attributes = {{"epsilon", 0.0}}};
  CheckClose(ValuesOf(ResultOf(node)), {8, 10, 12});
  node.inputs[1] = Ones({3});
  CHECK(ErrorOf(node) ==
        "node 'node' (BatchNormalization): input 1 has shape 3; expected 1 channels");
}

TEST_CASE("a local response is divided by neighbouring channels", "[graph][ops]") {
  Tensor x = F32({1, 5, 1}, {1, 2, 3, 4, 5});
  // An even window reaches one channel further behind.
  Tensor y = ResultOf(
      {.op = OpKind::kLRN,
       .inputs = {x},
       .attributes = {{"size", int64_t{2}}, {"alpha", 2.0}, {"beta", 1.0}, {"bias", 0.0}}});
  CheckClose(ValuesOf(y),
             {1.0 / (1 + 4), 2.0 / (4 + 9), 3.0 / (9 + 16), 4.0 / (16 + 25), 5.0 / 25});
}

TEST_CASE("a window of local responses may be wider than all channels", "[graph][ops]") {
  Attributes wide = {{"size", INT64_MAX}, {"alpha", 0.0}, {"beta", 1.0}, {"bias", 2.0}};
  Tensor x = F32({1, 2, 1}, {4, 6});
  CheckClose(ValuesOf(ResultOf({.op = OpKind::kLRN, .inputs = {x}, .attributes = wide})), {2, 3});
}

TEST_CASE("a row of zeros has length 0 and stays", "[graph][ops]") {
  Tensor x = F32({2, 2}, {3, -4, 0, 0});
  auto normalized = [&](int64_t p) {
    Attributes attributes = {{"axis", int64_t{-1}}, {"p", p}};
    return ValuesOf(
        ResultOf({.op = OpKind::kLpNormalization, .inputs = {x}, .attributes = attributes}));
  };
  CheckClose(normalized(2), {0.6, -0.8, 0, 0});
  CheckClose(normalized(1), {3.0 / 7, -4.0 / 7, 0, 0});
}

TEST_CASE("mean and variance are taken over the axes that are named", "[graph][ops]") {
  Tensor x = RandomF32({2, 3, 2, 2}, 5);
  Tensor y = ResultOf({.op = OpKind::kMeanVarianceNormalization,
                       .inputs = {x},
                       .attributes = {{"axes", Ints{2, 3}}}});
  CheckClose(ValuesOf(y), NormalizedRows(ValuesOf(x), 4, 0), 1e-4);
}

TEST_CASE("normalizations of nothing give nothing", "[graph][ops]") {
  Tensor none = F32({0, 3}, {});
  CHECK(ResultOf({.op = OpKind::kLayerNormalization, .inputs = {none, Ones({3})}}).shape ==
        Ints{0, 3});
  CHECK(ResultOf({.op = OpKind::kLpNormalization, .inputs = {none}}).shape == Ints{0, 3});
}
