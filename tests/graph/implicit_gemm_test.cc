#include "graph/variants/variants.h"

#include <catch2/catch.hpp>

#include "graph/passes/infer_shapes.h"
#include "graph/variants/task.h"
#include "ir/interpret/interpreter.h"
#include "ir/text/printer.h"
#include "tests/graph/one_node.h"

namespace tcc {
namespace {

std::vector<double> ResultOf(const Function& fn, std::vector<Tensor> arguments) {
  std::vector<int64_t> shape;
  for (const Expr& dim : fn.params.back().shape) shape.push_back(AsConstant(dim).value());
  arguments.push_back(MakeZeroTensor(fn.params.back().dtype(), shape));
  REQUIRE(Interpret(fn, arguments).ok());
  return ValuesOf(arguments.back());
}

Tensor Halves(const std::vector<int64_t>& shape, uint64_t seed) {
  return Of(kFloat16, shape, ValuesOf(RandomF32(shape, seed)));
}

TEST_CASE("implicit gemm keeps the operands of an f16 convolution in f16", "[graph]") {
  Tensor x = Halves({1, 3, 6, 5}, 1);
  Tensor w = Halves({4, 3, 3, 3}, 2);
  TestGraph test;
  ValueId in = test.Input("x", x.dtype, x.shape);
  ValueId y = test.Add("y", OpKind::kConv, {in, test.Input("w", w.dtype, w.shape)},
                       {{"pads", Ints{1, 1, 1, 1}}});
  test.Output(y);
  Graph graph = test.Build();
  REQUIRE(InferShapes(graph).ok());
  Task task = BuildTask(graph, FuseGraph(graph)[0]).value();
  bool found = false;
  for (const auto& [variant, row, saves_time] : task.variants) {
    std::string text = Print(variant);
    if (text.find("_columns") == std::string::npos) continue;
    found = true;
    CHECK(text.find("_columns: f16[30, 27]") != std::string::npos);
    CHECK(text.find("_matrix: f16[27, 4]") != std::string::npos);
    CHECK(text.find("_product: f32[30, 4]") != std::string::npos);
    bool x_first = variant.params[0].var->name == "x";
    std::vector<Tensor> arguments = x_first ? std::vector{x, w} : std::vector{w, x};
    CHECK(ResultOf(variant, arguments) == ResultOf(task.variants[0].fn, arguments));
  }
  CHECK(found);
}

}  // namespace
}  // namespace tcc
