#include "graph/variants/value_set.h"

#include <catch2/catch.hpp>

#include "graph/passes/infer_shapes.h"
#include "support/storage_types.h"
#include "tests/graph/one_node.h"

namespace tcc {
namespace {

const DType kU8 = DType(DTypeCode::kUInt8);
const DType kI8 = DType(DTypeCode::kInt8);

std::optional<ValueSet> SetOf(const TestGraph& test, ValueId id) {
  Graph graph = test.Build();
  REQUIRE(InferShapes(graph).ok());
  return ValueSetsOf(graph, std::vector{id})[0];
}

std::optional<ValueSet> SetOf(const Tensor& constant) {
  TestGraph test;
  return SetOf(test, test.Constant("c", constant));
}

// The bytes of Clip(x, low, high) / scale + zero.
std::optional<ValueSet> Quantized(DType type, double low, double high, double scale, double zero) {
  TestGraph test;
  const ValueId x = test.Input("x", kFloat32, {4});
  const ValueId clipped =
      test.Add("c", OpKind::kClip,
               {x, test.Constant("low", F32({}, {low})), test.Constant("high", F32({}, {high}))});
  return SetOf(test, test.Add("q", OpKind::kQuantizeLinear,
                              {clipped, test.Constant("s", F32({}, {scale})),
                               test.Constant("z", Of(type, {}, {zero}))},
                              {{"axis", int64_t{1}}, {"to", ToString(type)}}));
}

}  // namespace

TEST_CASE("a constant's values are its own, in steps of a power of two", "[graph][variants]") {
  CHECK(SetOf(Of(kI8, {4}, {-1, 1, 1, -1})) == ValueSet{-1, 1, 2});
  CHECK(SetOf(Of(kU8, {3}, {8, 0, 24})) == ValueSet{0, 24, 8});
  CHECK(SetOf(Of(kU8, {3}, {3, 9, 15})) == ValueSet{3, 15, 2});
  CHECK(SetOf(Of(kU8, {2}, {9, 9})) == ValueSet{9, 9, 1});
  CHECK(SetOf(Of(kI8, {3}, {-8, 7, 0})) == ValueSet{-8, 7, 1});
  CHECK(SetOf(Of(kI8, {3}, {-8, 8, 1})) == ValueSet{-128, 127, 1});
  CHECK(SetOf(Of(DType(DTypeCode::kUInt4), {2}, {2, 1})) == ValueSet{1, 2, 1});
  CHECK_FALSE(SetOf(F32({1}, {1})));
}

TEST_CASE("casts and copies keep the values of a packed type", "[graph][variants]") {
  TestGraph test;
  const ValueId x = test.Input("x", DType(DTypeCode::kInt2), {1, 2, 3});
  const ValueId wide = test.Add("wide", OpKind::kCast, {x}, {{"to", ToString(kI8)}});
  const ValueId turned = test.Add("turned", OpKind::kTranspose, {wide}, {{"perm", Ints{2, 1, 0}}});
  const ValueId wrapped = test.Add("wrapped", OpKind::kCast, {turned}, {{"to", ToString(kU8)}});
  CHECK(SetOf(test, x) == ValueSet{-2, 1, 1});
  CHECK(SetOf(test, turned) == ValueSet{-2, 1, 1});
  CHECK(SetOf(test, wrapped) == ValueSet{0, 255, 1});
}

TEST_CASE("a Clip bounds integers only by constants in order", "[graph][variants]") {
  TestGraph test;
  const ValueId x = test.Input("x", kU8, {3});
  const ValueId three = test.Constant("three", Of(kU8, {}, {3}));
  const ValueId nine = test.Constant("nine", Of(kU8, {}, {9}));
  const ValueId bound = test.Input("bound", kU8, {});
  auto clip = [&](const char* name, ValueId low, ValueId high) {
    return SetOf(test, test.Add(name, OpKind::kClip, {x, low, high}));
  };
  CHECK(clip("both", three, nine) == ValueSet{3, 9, 1});
  CHECK(clip("above", kNoValue, three) == ValueSet{0, 3, 1});
  CHECK(clip("crossed", nine, three) == ValueSet{0, 255, 1});
  CHECK(clip("unknown", bound, nine) == ValueSet{0, 255, 1});
}

TEST_CASE("a Clip before QuantizeLinear bounds the integers, NaN's 0 included",
          "[graph][variants]") {
  CHECK(Quantized(kU8, 0, 1.5, 0.5, 0) == ValueSet{0, 3, 1});
  CHECK(Quantized(kU8, 0, 0.3f, 0.1f, 0) == ValueSet{0, 3, 1});
  CHECK(Quantized(kU8, 0, 0.35, 0.1, 0) == ValueSet{0, 4, 1});
  CHECK(Quantized(kI8, -1, 0.5, 0.5, 0) == ValueSet{-2, 1, 1});
  CHECK(Quantized(kU8, 0, 1.5, 0.5, 7) == ValueSet{0, 10, 1});
  CHECK(Quantized(kU8, -9, 1e9, 1e-3, 0) == ValueSet{0, 255, 1});
  CHECK(Quantized(kU8, 0, 1.5, 0, 0) == ValueSet{0, 255, 1});
}

TEST_CASE("a pool keeps values where each window has an element", "[graph][variants]") {
  auto pooled = [](const Ints& pads) {
    TestGraph test;
    const ValueId x = test.Input("x", DType(DTypeCode::kUInt4), {1, 2, 6, 6});
    const ValueId wide = test.Add("wide", OpKind::kCast, {x}, {{"to", ToString(kU8)}});
    return SetOf(test, test.Add("pool", OpKind::kMaxPool, {wide},
                                {{"kernel_shape", Ints{2, 2}}, {"pads", pads}}));
  };
  CHECK(pooled({1, 1, 1, 1}) == ValueSet{0, 15, 1});
  CHECK(pooled({0, 2, 0, 0}) == ValueSet{0, 255, 1});
}

}  // namespace tcc
