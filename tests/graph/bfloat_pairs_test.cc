#include <catch2/catch.hpp>

#include "graph/variants/variants.h"
#include "ir/expr/visitor.h"
#include "ir/interpret/interpreter.h"
#include "ir/text/printer.h"
#include "tests/graph/one_task.h"

namespace tcc {
namespace {

const DType kBFloat16(DTypeCode::kBFloat16);

struct Case {
  const char* name;
  OpKind op;
  std::vector<int64_t> x, w;
  Attributes attributes = {};
  bool is_paired = true;
  bool is_constant = true;
};

Tensor Values(DType type, const std::vector<int64_t>& shape, uint64_t seed) {
  Tensor wide = RandomF32(shape, seed), tensor = MakeZeroTensor(type, shape);
  for (int64_t i = 0; i < ElementCount(shape).value(); ++i) {
    SetElement(tensor, i, ElementAsDouble(wide, i));
  }
  return tensor;
}

Task TaskOf(const Case& c, DType type, NumericMode numeric) {
  TestGraph test;
  ValueId x = test.Input("x", type, c.x);
  ValueId w = c.is_constant ? test.Constant("w", Values(type, c.w, 3)) : test.Input("w", type, c.w);
  ValueId y = test.Add("relu", OpKind::kRelu, {test.Add("y", c.op, {x, w}, c.attributes)});
  test.Output(test.Add("wide", OpKind::kCast, {y}, {{"to", ToString(kFloat32)}}));
  return OneTask(test, numeric);
}

std::vector<double> ResultOf(const Function& fn) {
  std::vector<Tensor> arguments;
  for (size_t i = 0; i < fn.params.size(); ++i) {
    std::vector<int64_t> shape = ShapeOf(fn.params[i]);
    bool is_result = i + 1 == fn.params.size();
    DType type = fn.params[i].dtype();
    arguments.push_back(is_result ? MakeZeroTensor(type, shape) : Values(type, shape, i + 1));
  }
  REQUIRE(Interpret(fn, arguments).ok());
  return ValuesOf(arguments.back());
}

bool IsInPairs(const Function& fn) {
  bool found = false;
  PreOrderExprs(fn.body, [&](const Expr& expr) {
    const auto* call = expr.as<Call>();
    found = found || (call && call->op == ScalarOp::kDotBf16x2);
  });
  return found;
}

const Attributes kPadded = {{"pads", Ints{1, 0, 1, 2}}};
const Case kCases[] = {
    {"padded", OpKind::kConv, {2, 6, 5, 4}, {3, 6, 3, 3}, kPadded},
    {"odd channels", OpKind::kConv, {1, 3, 6, 6}, {4, 3, 3, 2}, kPadded},
    {"strided", OpKind::kConv, {1, 4, 7, 9}, {5, 4, 3, 3}, {{"strides", Ints{2, 3}}}},
    {"one tap", OpKind::kConv, {1, 5, 4, 3}, {6, 5, 1, 1}},
    {"product", OpKind::kMatMul, {7, 9}, {9, 5}},
    {"batches", OpKind::kMatMul, {2, 3, 8}, {8, 5}},
    {"depthwise", OpKind::kConv, {1, 4, 5, 5}, {4, 1, 3, 3}, {{"group", int64_t{4}}}, false},
    {"no constant", OpKind::kMatMul, {7, 9}, {9, 5}, {}, false, false},
};

// Checks the variant in pairs against the direct one, whose sums of f32 are in another order.
void CheckPairs(const Task& task, bool is_paired, double epsilon) {
  const Variant* pairs = FindVariant(task, "bfloat_pairs");
  CHECK((pairs != nullptr) == is_paired);
  if (!pairs) return;
  INFO(Print(pairs->fn));
  CHECK(IsInPairs(pairs->fn));
  std::vector<double> want = ResultOf(task.variants[0].fn), got = ResultOf(pairs->fn);
  REQUIRE(got.size() == want.size());
  for (size_t i = 0; i < got.size(); ++i)
    CHECK(got[i] == Approx(want[i]).epsilon(epsilon).margin(1e-5));
}

}  // namespace

TEST_CASE("products of bf16 in pairs are those of single numbers", "[graph][variants]") {
  for (const Case& c : kCases) {
    INFO(c.name);
    CheckPairs(TaskOf(c, kBFloat16, NumericMode::kStrict), c.is_paired, 0x1p-7);
  }
}

TEST_CASE("pairs round f32 as --numeric bf16 does, and as no other mode", "[graph][variants]") {
  for (const Case& c : kCases) {
    INFO(c.name);
    CheckPairs(TaskOf(c, kFloat32, NumericMode::kBf16), c.is_paired, 1e-5);
  }
  for (NumericMode mode : {NumericMode::kStrict, NumericMode::kTf32, NumericMode::kFp16}) {
    CHECK_FALSE(FindVariant(TaskOf(kCases[0], kFloat32, mode), "bfloat_pairs"));
  }
}

TEST_CASE("products of f16 keep their type where f32 is rounded to bf16", "[graph][variants]") {
  CHECK_FALSE(FindVariant(TaskOf(kCases[0], kFloat16, NumericMode::kBf16), "bfloat_pairs"));
}

}  // namespace tcc
