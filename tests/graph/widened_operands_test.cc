#include <catch2/catch.hpp>

#include "graph/variants/variants.h"
#include "ir/interpret/interpreter.h"
#include "ir/text/printer.h"
#include "tests/graph/one_task.h"

namespace tcc {
namespace {

struct Case {
  const char* name;
  OpKind op;
  std::vector<int64_t> x, w;
  Attributes attributes = {};
  bool is_widened = true;
  bool is_transformed = false;  // by Winograd
};

Tensor Halves(const std::vector<int64_t>& shape, uint64_t seed) {
  Tensor wide = RandomF32(shape, seed), tensor = MakeZeroTensor(kFloat16, shape);
  for (int64_t i = 0; i < ElementCount(shape).value(); ++i) {
    SetElement(tensor, i, ElementAsDouble(wide, i));
  }
  return tensor;
}

Task TaskOf(const Case& c) {
  TestGraph test;
  ValueId x = test.Input("x", kFloat16, c.x);
  ValueId w = test.Constant("w", Halves(c.w, 3));
  test.Output(test.Add("relu", OpKind::kRelu, {test.Add("y", c.op, {x, w}, c.attributes)}));
  return OneTask(test);
}

std::vector<double> ResultOf(const Function& fn) {
  std::vector<Tensor> arguments;
  for (size_t i = 0; i < fn.params.size(); ++i) {
    std::vector<int64_t> shape = ShapeOf(fn.params[i]);
    bool is_result = i + 1 == fn.params.size();
    arguments.push_back(is_result ? MakeZeroTensor(kFloat16, shape) : Halves(shape, i + 1));
  }
  REQUIRE(Interpret(fn, arguments).ok());
  return ValuesOf(arguments.back());
}

}  // namespace

TEST_CASE("operands of 16 bits are widened before products that read them often",
          "[graph][variants]") {
  const Attributes padded = {{"pads", Ints{1, 1, 1, 1}}};
  const Case cases[] = {
      {"convolution", OpKind::kConv, {1, 4, 6, 6}, {8, 4, 3, 3}, padded, true, true},
      {"strided", OpKind::kConv, {1, 4, 9, 9}, {8, 4, 3, 3}, {{"strides", Ints{2, 2}}}},
      {"one tap", OpKind::kConv, {1, 5, 4, 4}, {8, 5, 1, 1}},
      {"product", OpKind::kMatMul, {2, 9, 6}, {6, 10}},
      {"a row alone reads its weights once", OpKind::kMatMul, {1, 6}, {6, 4}, {}, false},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    Task task = TaskOf(c);
    CHECK((FindVariant(task, "widened_operands") != nullptr) == c.is_widened);
    std::vector<double> want = ResultOf(task.variants[0].fn);
    bool is_transformed = false;
    for (const auto& [fn, row, saves_time] : task.variants) {
      INFO(Print(fn));
      is_transformed = is_transformed || Print(fn).find("y_u:") != std::string::npos;
      CHECK(ResultOf(fn) == want);
    }
    CHECK(is_transformed == c.is_transformed);
  }
}

}  // namespace tcc
