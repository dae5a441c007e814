#include <catch2/catch.hpp>
#include <cmath>

#include "graph/passes/fractional_resizes.h"
#include "graph/passes/infer_shapes.h"
#include "tests/graph/one_node.h"

using namespace tcc;

namespace {

using Doubles = std::vector<double>;

// Of four numbers in a row, by a scale or to a size.
OneNode Resize(const char* mode, const char* transformation, double scale, int64_t size) {
  OneNode node = {.op = OpKind::kResize,
                  .inputs = {F32({4}, {1, 2, 3, 4}), {}, {}, {}},
                  .attributes = {{"mode", std::string(mode)},
                                 {"coordinate_transformation_mode", std::string(transformation)}},
                  .constants = {1, 2, 3}};
  if (size == 0) {
    node.inputs[2] = F32({1}, {scale});
  } else {
    node.inputs[3] = I64({1}, {size});
  }
  return node;
}

// The reflections of a ramp: what lies beyond either end of 0, 1, 2.
Doubles Sampled(const char* padding, int64_t align_corners, const Doubles& grid) {
  auto count = static_cast<int64_t>(grid.size());
  return ValuesOf(ResultOf({.op = OpKind::kGridSample,
                            .inputs = {F32({1, 1, 3}, {10, 20, 30}), F32({1, count, 1}, grid)},
                            .attributes = {{"mode", std::string("linear")},
                                           {"padding_mode", std::string(padding)},
                                           {"align_corners", align_corners}}}));
}

}  // namespace

TEST_CASE("nearest places are rounded as asked", "[graph][resize]") {
  OneNode node = Resize("nearest", "half_pixel", 0, 8);
  CHECK(ValuesOf(ResultOf(node)) == Doubles{1, 1, 2, 2, 3, 3, 4, 4});
  node = Resize("nearest", "asymmetric", 0, 8);
  // 0, 0.5, 1, ...
  node.attributes["nearest_mode"] = std::string("floor");
  CHECK(ValuesOf(ResultOf(node)) == Doubles{1, 1, 2, 2, 3, 3, 4, 4});
  node.attributes["nearest_mode"] = std::string("ceil");
  CHECK(ValuesOf(ResultOf(node)) == Doubles{1, 2, 2, 3, 3, 4, 4, 4});
  node.attributes["nearest_mode"] = std::string("round_prefer_ceil");
  CHECK(ValuesOf(ResultOf(node)) == Doubles{1, 2, 2, 3, 3, 4, 4, 4});
  node.attributes["nearest_mode"] = std::string("round_prefer_floor");
  CHECK(ValuesOf(ResultOf(node)) == Doubles{1, 1, 2, 2, 3, 3, 4, 4});
}

TEST_CASE("linear interpolation meets the corners or the pixels' centres", "[graph][resize]") {
  CHECK(ValuesOf(ResultOf(Resize("linear", "align_corners", 0, 7))) ==
        Doubles{1, 1.5, 2, 2.5, 3, 3.5, 4});
  CHECK(ValuesOf(ResultOf(Resize("linear", "half_pixel", 2, 0))) ==
        Doubles{1, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4});
  CHECK(ValuesOf(ResultOf(Resize("linear", "asymmetric", 2, 0))) ==
        Doubles{1, 1.5, 2, 2.5, 3, 3.5, 4, 4});
}

// The kernel is stretched to four pixels: triangles round 0.5 and 2.5, of weights 3, 3, 1 (of 8,
// less what lies outside).
TEST_CASE("antialiasing takes in all pixels when it shrinks", "[graph][resize]") {
  OneNode node = Resize("linear", "half_pixel", 0.5, 0);
  node.attributes["antialias"] = int64_t{1};
  node.attributes["exclude_outside"] = int64_t{1};
  Doubles result = ValuesOf(ResultOf(node));
  REQUIRE(result.size() == 2);
  CHECK(result[0] == Approx((3.0 * 1 + 3 * 2 + 1 * 3) / 7));
  CHECK(result[1] == Approx((1.0 * 2 + 3 * 3 + 3 * 4) / 7));
}

TEST_CASE("sizes may keep the ratio of the extents", "[graph][resize]") {
  OneNode node = {.op = OpKind::kResize,
                  .inputs = {RandomF32({2, 4}, 1), {}, {}, I64({2}, {6, 6})},
                  .attributes = {{"keep_aspect_ratio_policy", std::string("not_larger")}},
                  .constants = {3}};
  CHECK(ResultOf(node).shape == Ints{3, 6});
  node.attributes["keep_aspect_ratio_policy"] = std::string("not_smaller");
  CHECK(ResultOf(node).shape == Ints{6, 12});
}

TEST_CASE("a resize says what is wrong with its operands", "[graph][resize][error]") {
  OneNode node = Resize("linear", "half_pixel", 2, 0);
  node.inputs[3] = I64({1}, {8});
  CHECK(ErrorOf(node) == "node 'node' (Resize): has 1 scales and 1 sizes; expected 1 of either");
  CHECK(ErrorOf(Resize("linear", "half_pixel", -1, 0)) ==
        "node 'node' (Resize): scale of dimension 0 is -1");
  CHECK(ErrorOf(Resize("linear", "sideways", 2, 0)) ==
        "node 'node' (Resize): coordinate_transformation_mode is 'sideways'");
  CHECK(ErrorOf(Resize("blurry", "half_pixel", 2, 0)) ==
        "node 'node' (Resize): mode is 'blurry'; expected nearest, linear or cubic");
}

TEST_CASE("sampling beyond the image gives zeros, its border or its reflection", "[graph][grid]") {
  // With corners aligned -1, 0 and 1 are the three pixels; 2 is as far beyond as 0 is inside.
  CHECK(Sampled("zeros", 1, {-1, 0, 0.5, 1, 2, -1.5}) == Doubles{10, 20, 25, 30, 0, 5});
  CHECK(Sampled("border", 1, {-9, 9, 1.25}) == Doubles{10, 30, 30});
  CHECK(Sampled("reflection", 1, {2, -2, 1.5, 3, 5}) == Doubles{20, 20, 25, 10, 30});
  // Else a third is half a pixel.
  CHECK(Sampled("zeros", 0, {0, -1, 1, 3}) == Doubles{20, 5, 15, 0});
}

TEST_CASE("coordinates that are no numbers read inside the image", "[graph][grid]") {
  for (const char* padding : {"zeros", "border", "reflection"}) {
    OneNode node = {
        .op = OpKind::kGridSample,
        .inputs = {F32({1, 1, 3}, {10, 20, 30}), F32({1, 3, 1}, {NAN, INFINITY, -INFINITY})},
        .attributes = {{"mode", std::string("nearest")}, {"padding_mode", std::string(padding)}}};
    CHECK(ResultOf(node).shape == Ints{1, 1, 3});
  }
}

namespace {

// Returns the places that a nearest Resize of 0, 1, 2, .. by a scale reads.
std::vector<double> PlacesBy(float scale, int64_t extent, const char* transformation,
                             const char* rounding) {
  std::vector<double> places;
  for (int64_t i = 0; i < extent; ++i) places.push_back(static_cast<double>(i));
  OneNode node = {.op = OpKind::kResize,
                  .inputs = {F32({extent}, places), Tensor{}, F32({1}, {scale})},
                  .attributes = {{"mode", std::string("nearest")},
                                 {"coordinate_transformation_mode", std::string(transformation)},
                                 {"nearest_mode", std::string(rounding)}},
                  .constants = {2}};
  return ValuesOf(ResultOf(node));
}

}  // namespace

TEST_CASE("a scale of a third, which f32 cannot hold, reads every third place", "[graph][resize]") {
  CHECK(PlacesBy(1.0F / 3, 9, "asymmetric", "floor") == Doubles{0, 3, 6});
  CHECK(PlacesBy(1.0F / 3, 9, "asymmetric", "ceil") == Doubles{0, 3, 6});
  CHECK(PlacesBy(2.0F / 3, 9, "asymmetric", "floor") == Doubles{0, 1, 3, 4, 6, 7});
  CHECK(PlacesBy(7.0F / 3, 3, "asymmetric", "floor") == Doubles{0, 0, 0, 1, 1, 2, 2});
  CHECK(PlacesBy(1.0F / 3, 9, "half_pixel", "floor") == Doubles{1, 4, 7});
  CHECK(PlacesBy(1.0F / 3, 9, "half_pixel", "ceil") == Doubles{1, 4, 7});
  CHECK(PlacesBy(1.0F / 3, 3, "half_pixel_symmetric", "round_prefer_floor") == Doubles{1});
}

TEST_CASE("a Resize of opset 10 rounds up in the dimensions that shrink", "[graph][resize]") {
  // ONNX 1.5, test_resize_nearest and test_resize_downsample_nearest.
  OneNode node = {.op = OpKind::kResize,
                  .inputs = {F32({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), Tensor{}, F32({2}, {2, 0.6F})},
                  .attributes = {{"mode", std::string("nearest")},
                                 {"coordinate_transformation_mode", std::string("asymmetric")},
                                 {"nearest_mode", std::string("simple")}},
                  .constants = {2}};
  CHECK(ValuesOf(ResultOf(node)) == Doubles{1, 3, 1, 3, 5, 7, 5, 7});
}

TEST_CASE("a place that rounding moved from the middle of two is still in the middle",
          "[graph][resize]") {
  // 3.5 - 2e-7 and 6.5 + 5e-7 in f32.
  CHECK(PlacesBy(2.0F / 7, 7, "asymmetric", "round_prefer_ceil") == Doubles{0, 4});
  CHECK(PlacesBy(19.0F / 14, 14, "half_pixel", "round_prefer_floor")[9] == 6);
}

TEST_CASE("a resize by scales that other runtimes place otherwise is warned of",
          "[graph][resize]") {
  auto warnings = [](const char* mode, const std::vector<int64_t>& shape, const Doubles& scales,
                     const Ints& axes) {
    TestGraph builder;
    ValueId x = builder.Input("x", kFloat32, shape);
    auto count = static_cast<int64_t>(scales.size());
    ValueId by = builder.Constant("scales", F32({count}, scales));
    Attributes attributes = {{"mode", std::string("linear")},
                             {"coordinate_transformation_mode", std::string(mode)}};
    if (!axes.empty()) attributes["axes"] = axes;
    ValueId region = kNoValue;
    if (std::string(mode) == "tf_crop_and_resize") {
      Doubles whole(scales.size(), 0);
      whole.resize(2 * scales.size(), 1);
      region = builder.Constant("roi", F32({2 * count}, whole));
    }
    builder.Output(builder.Add("up", OpKind::kResize, {x, region, by}, attributes));
    Graph graph = builder.Build();
    REQUIRE(InferShapes(graph).ok());
    return FractionalResizes(graph);
  };
  for (const char* mode : {"align_corners", "tf_crop_and_resize"}) {
    INFO(mode);
    std::vector<std::string> lines = warnings(mode, {2, 5}, {1, 1.5}, {});
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].starts_with(
        "node 'up' (Resize): scale 1.5 times extent 5 is 7.5, no whole number; with " +
        std::string(mode) + " tcc divides by 6.5, as ONNX's tests do, ONNX Runtime by 6"));
    CHECK(warnings(mode, {5, 2}, {1.5}, {-2}).size() == 1);
    CHECK(warnings(mode, {2, 6}, {1, 1.5}, {}).empty());
    // In f32 neither 1/3 of 9 nor 0.6 of 5 is 3, but for the rounding of the scale.
    CHECK(warnings(mode, {9, 5}, {1.0 / 3, 0.6}, {}).empty());
    CHECK(warnings(mode, {3}, {0.5}, {}).empty());  // one place
    CHECK(warnings(mode, {1}, {2.5}, {}).empty());
  }
  CHECK(warnings("half_pixel", {5}, {1.5}, {}).empty());
}
