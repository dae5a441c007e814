#include <catch2/catch.hpp>

#include "graph/variants/variants.h"
#include "ir/expr/visitor.h"
#include "ir/interpret/interpreter.h"
#include "ir/text/printer.h"
#include "support/random.h"
#include "tests/graph/one_task.h"

namespace tcc {
namespace {

const DType kU8 = DType(DTypeCode::kUInt8);
const DType kI8 = DType(DTypeCode::kInt8);

struct Case {
  const char* name;
  OpKind op;
  std::vector<int64_t> x, w;
  Attributes attributes = {};
  DType weight_type = kI8;
  int64_t weight_zeros = 0;  // how many there are
  bool is_paired = true;
  bool is_constant = true;
  DType data_type = kU8;
  int64_t data_zero = 131;
};

// All bytes, the extreme ones among them more often than others.
Tensor Bytes(DType type, const std::vector<int64_t>& shape, uint64_t seed) {
  Tensor tensor = MakeZeroTensor(type, shape);
  Random random(seed);
  for (int64_t i = 0; i < ElementCount(shape).value(); ++i) {
    int64_t lowest = type == kI8 ? -128 : 0;
    int64_t value = random.OneIn(4) ? 255 * random.Between(0, 1) : random.Between(0, 255);
    SetElementInt(tensor, i, lowest + value);
  }
  return tensor;
}

Task TaskOf(const Case& c) {
  TestGraph test;
  ValueId x = test.Input("x", c.data_type, c.x);
  ValueId w = c.is_constant ? test.Constant("w", Bytes(c.weight_type, c.w, 3))
                            : test.Input("w", c.weight_type, c.w);
  double data_zero = static_cast<double>(c.data_zero);
  std::vector<ValueId> inputs = {x, w, test.Constant("zero", Of(c.data_type, {}, {data_zero}))};
  if (c.data_zero == 0) inputs.pop_back();
  if (c.weight_zeros > 0) {
    inputs.push_back(test.Constant("zeros", Bytes(c.weight_type, {c.weight_zeros}, 7)));
  }
  ValueId y = test.Add("y", c.op, inputs, c.attributes);
  test.Output(test.Add("real", OpKind::kCast, {y}, {{"to", ToString(kFloat32)}}));
  return OneTask(test);
}

std::vector<double> ResultOf(const Function& fn) {
  std::vector<Tensor> arguments;
  for (size_t i = 0; i < fn.params.size(); ++i) {
    std::vector<int64_t> shape = ShapeOf(fn.params[i]);
    bool is_result = i + 1 == fn.params.size();
    arguments.push_back(is_result ? MakeZeroTensor(fn.params[i].dtype(), shape)
                                  : Bytes(fn.params[i].dtype(), shape, i + 1));
  }
  REQUIRE(Interpret(fn, arguments).ok());
  return ValuesOf(arguments.back());
}

bool Multiplies(const Function& fn, ScalarOp dot) {
  bool found = false;
  PreOrderExprs(fn.body, [&](const Expr& expr) {
    const auto* call = expr.as<Call>();
    found = found || (call && call->op == dot);
  });
  return found;
}

// Checks every variant with such products against the direct one. Returns how many there are.
int CheckedVariants(const Task& task, ScalarOp dot) {
  std::vector<double> want = ResultOf(task.variants[0].fn);
  int checked = 0;
  for (const auto& [fn, row, saves_time] : task.variants) {
    if (!Multiplies(fn, dot)) continue;
    ++checked;
    INFO(Print(fn));
    CHECK(ResultOf(fn) == want);
  }
  return checked;
}

int CheckedVariantsInPairs(const Task& task) {
  return CheckedVariants(task, ScalarOp::kDotI16x2);
}

}  // namespace

TEST_CASE("products of bytes in pairs are the same integers", "[graph][variants]") {
  const Attributes padded = {{"pads", Ints{1, 0, 1, 2}}};
  const Case cases[] = {
      {"padded", OpKind::kConvInteger, {2, 6, 5, 4}, {3, 6, 3, 3}, padded},
      {"odd channels", OpKind::kConvInteger, {1, 3, 6, 6}, {4, 3, 3, 2}, padded},
      {"strided",
       OpKind::kConvInteger,
       {1, 4, 7, 9},
       {5, 4, 3, 3},
       {{"strides", Ints{2, 3}}, {"dilations", Ints{1, 2}}}},
      {"one tap", OpKind::kConvInteger, {1, 5, 4, 3}, {6, 5, 1, 1}},
      {"one dimension", OpKind::kConvInteger, {1, 4, 9}, {3, 4, 3}, {{"pads", Ints{1, 1}}}},
      {"zero points per filter", OpKind::kConvInteger, {1, 5, 4, 4}, {6, 5, 3, 3}, padded, kU8, 6},
      {"product", OpKind::kMatMulInteger, {7, 9}, {9, 5}},
      {"batches", OpKind::kMatMulInteger, {2, 3, 8}, {8, 5}, {}, kU8, 5},
      {"depthwise",
       OpKind::kConvInteger,
       {1, 4, 5, 5},
       {4, 1, 3, 3},
       {{"group", int64_t{4}}},
       kI8,
       0,
       false},
      {"no constant", OpKind::kMatMulInteger, {7, 9}, {9, 5}, {}, kI8, 0, false, false},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    Task task = TaskOf(c);
    const Variant* pairs = FindVariant(task, "integer_pairs");
    CHECK((pairs != nullptr) == c.is_paired);
    if (pairs) CHECK(Multiplies(pairs->fn, ScalarOp::kDotI16x2));
    CHECK((CheckedVariantsInPairs(task) > 0) == c.is_paired);
  }
}

TEST_CASE("products of bytes in quads are the same integers", "[graph][variants]") {
  const Attributes padded = {{"pads", Ints{1, 0, 1, 2}}};
  struct Product {
    Case c;
    bool is_in_quads = true;
  };
  const Product products[] = {
      {{"padded", OpKind::kConvInteger, {2, 8, 5, 4}, {3, 8, 3, 3}, padded}},
      {{"odd channels", OpKind::kConvInteger, {1, 7, 6, 6}, {4, 7, 3, 2}, padded}},
      {{"fewer channels than a quad", OpKind::kConvInteger, {1, 3, 6, 6}, {4, 3, 3, 3}, padded}},
      {{.name = "signed data",
        .op = OpKind::kConvInteger,
        .x = {1, 6, 5, 5},
        .w = {4, 6, 3, 3},
        .attributes = padded,
        .data_type = kI8,
        .data_zero = -3}},
      {{.name = "signed data without a zero point",
        .op = OpKind::kConvInteger,
        .x = {1, 6, 5, 5},
        .w = {4, 6, 3, 3},
        .attributes = padded,
        .data_type = kI8,
        .data_zero = 0}},
      {{.name = "unsigned data without a zero point",
        .op = OpKind::kConvInteger,
        .x = {1, 6, 5, 5},
        .w = {4, 6, 3, 3},
        .attributes = padded,
        .data_zero = 0}},
      {{"strided",
        OpKind::kConvInteger,
        {1, 4, 7, 9},
        {5, 4, 3, 3},
        {{"strides", Ints{2, 3}}, {"dilations", Ints{1, 2}}}}},
      {{"groups",
        OpKind::kConvInteger,
        {1, 12, 5, 5},
        {4, 6, 3, 3},
        {{"group", int64_t{2}}, {"pads", Ints{1, 1, 1, 1}}}},
       false},
      {{"one tap", OpKind::kConvInteger, {1, 5, 4, 3}, {6, 5, 1, 1}}},
      // Two dimensions could merge, but the third is padded.
      {{"padded in one dimension",
        OpKind::kConvInteger,
        {1, 8, 4, 5, 6},
        {4, 8, 3, 1, 1},
        {{"pads", Ints{1, 0, 0, 1, 0, 0}}}}},
      {{"product", OpKind::kMatMulInteger, {7, 9}, {9, 5}}},
      {{"batches", OpKind::kMatMulInteger, {2, 3, 8}, {8, 5}}},
      {{.name = "signed rows",
        .op = OpKind::kMatMulInteger,
        .x = {7, 30},
        .w = {30, 6},
        .data_type = kI8,
        .data_zero = 5}},
      {{"unsigned weight", OpKind::kMatMulInteger, {7, 9}, {9, 5}, {}, kU8}, false},
      {{"a zero point of the weight", OpKind::kMatMulInteger, {7, 9}, {9, 5}, {}, kI8, 5}, false},
  };
  for (const auto& [c, is_in_quads] : products) {
    INFO(c.name);
    Task task = TaskOf(c);
    CHECK((FindVariant(task, "integer_quads") != nullptr) == is_in_quads);
    CHECK((FindVariant(task, "signed_integer_quads") != nullptr) == is_in_quads);
    // Tiles of two rows, columns and words have the dot for the data's own sign.
    const int in_quads = is_in_quads ? 1 : 0;
    const int in_tiles = FindVariant(task, "small_tiles") ? 1 : 0;
    const bool is_unsigned = c.data_type == kU8;
    CHECK(CheckedVariants(task, ScalarOp::kDotU8I8x4) == in_quads + (is_unsigned ? in_tiles : 0));
    CHECK(CheckedVariants(task, ScalarOp::kDotI8I8x4) == in_quads + (is_unsigned ? 0 : in_tiles));
  }
}

TEST_CASE("convolutions of bytes by Winograd's transforms are the same integers",
          "[graph][variants]") {
  const Attributes padded = {{"pads", Ints{1, 1, 1, 1}}};
  struct Window {
    Case c;
    int in_pairs;  // 2 with Winograd's variant
  };
  const Window windows[] = {
      {{"padded", OpKind::kConvInteger, {1, 6, 6, 8}, {3, 6, 3, 3}, padded}, 2},
      {{"odd sizes and channels", OpKind::kConvInteger, {2, 5, 7, 5}, {3, 5, 3, 3}, padded}, 2},
      {{"zero points per filter",
        OpKind::kConvInteger,
        {1, 4, 6, 7},
        {5, 4, 3, 3},
        {{"pads", Ints{0, 1, 2, 0}}},
        kU8,
        5},
       2},
      {{"three dimensions", OpKind::kConvInteger, {1, 4, 3, 5, 4}, {2, 4, 3, 3, 3}}, 2},
      {{"five taps", OpKind::kConvInteger, {1, 4, 6, 6}, {2, 4, 5, 5}}, 1},
      {{"strided", OpKind::kConvInteger, {1, 4, 6, 6}, {2, 4, 3, 3}, {{"strides", Ints{2, 2}}}}, 1},
      {{"sums beyond 32 bits", OpKind::kConvInteger, {1, 920, 3, 4}, {1, 920, 3, 3}}, 1},
  };
  for (const Window& window : windows) {
    INFO(window.c.name);
    CHECK(CheckedVariantsInPairs(TaskOf(window.c)) == window.in_pairs);
  }
}

}  // namespace tcc
