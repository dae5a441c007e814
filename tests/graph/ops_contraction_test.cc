#include <catch2/catch.hpp>
#include <cmath>

#include "tests/graph/one_node.h"

using namespace tcc;

namespace {

using Doubles = std::vector<double>;

const Tensor kLeft = F32({2, 3}, {1, 2, 3, 4, 5, 6});
const Tensor kRight = F32({3, 2}, {1, 0, 0, 1, 1, 1});
const Doubles kProduct = {4, 5, 10, 11};

}  // namespace

TEST_CASE("gemm transposes, scales and adds a broadcast matrix", "[graph][ops]") {
  CHECK(ValuesOf(ResultOf({.op = OpKind::kGemm, .inputs = {kLeft, kRight}})) == kProduct);

  Tensor left = F32({3, 2}, {1, 4, 2, 5, 3, 6});
  Tensor right = F32({2, 3}, {1, 0, 1, 0, 1, 1});
  OneNode node = {
      .op = OpKind::kGemm,
      .inputs = {left, right, F32({2}, {10, 20})},
      .attributes = {
          {"transA", int64_t{1}}, {"transB", int64_t{1}}, {"alpha", 2.0}, {"beta", 0.5}}};
  CHECK(ValuesOf(ResultOf(node)) == Doubles{13, 20, 25, 32});
  node.inputs[2] = F32({2, 1}, {10, 20});
  CHECK(ValuesOf(ResultOf(node)) == Doubles{13, 15, 30, 32});
  node.inputs[2] = F32({}, {2});
  CHECK(ValuesOf(ResultOf(node)) == Doubles{9, 11, 21, 23});
}

TEST_CASE("a constant transposed operand of a gemm is transposed once", "[graph][ops]") {
  OneNode node = {.op = OpKind::kGemm,
                  .inputs = {RandomF32({4, 5}, 1), RandomF32({3, 5}, 2), RandomF32({3}, 3)},
                  .attributes = {{"transB", int64_t{1}}},
                  .constants = {1, 2}};
  StatusOr<std::vector<Tensor>> optimized = RunOptimized(node);
  REQUIRE(optimized.ok());
  CHECK(ValuesOf((*optimized)[0]) == ValuesOf(ResultOf(node)));
}

TEST_CASE("matmul takes vectors as a row or a column and broadcasts batches", "[graph][ops]") {
  auto matmul = [](const Tensor& a, const Tensor& b) {
    return ResultOf({.op = OpKind::kMatMul, .inputs = {a, b}});
  };
  CHECK(ValuesOf(matmul(kLeft, kRight)) == kProduct);
  Tensor row = matmul(F32({3}, {1, 2, 3}), kRight);
  CHECK(row.shape == Ints{2});
  CHECK(ValuesOf(row) == Doubles{4, 5});
  Tensor column = matmul(kLeft, F32({3}, {1, 0, 1}));
  CHECK(column.shape == Ints{2});
  CHECK(ValuesOf(column) == Doubles{4, 10});
  Tensor dot = matmul(F32({3}, {1, 2, 3}), F32({3}, {4, 5, 6}));
  CHECK(dot.shape.empty());
  CHECK(ValuesOf(dot) == Doubles{32});

  Tensor batched = matmul(RandomF32({2, 1, 2, 3}, 1), RandomF32({4, 3, 2}, 2));
  CHECK(batched.shape == Ints{2, 4, 2, 2});
  Doubles a = ValuesOf(RandomF32({2, 1, 2, 3}, 1));
  Doubles b = ValuesOf(RandomF32({4, 3, 2}, 2));
  Doubles got = ValuesOf(batched);
  for (int at = 0; at < 32; ++at) {
    int batch = at / 16, matrix = at / 4 % 4, i = at / 2 % 2, j = at % 2;
    double sum = 0;
    for (int k = 0; k < 3; ++k) sum += a[batch * 6 + i * 3 + k] * b[matrix * 6 + k * 2 + j];
    CHECK(got[at] == sum);
  }
}

TEST_CASE("a product of integers wraps in its type", "[graph][ops]") {
  Tensor a = Of(kInt32, {1, 2}, {2147483647, 1});
  Tensor b = Of(kInt32, {2, 1}, {2, 3});
  CHECK(ValuesOf(ResultOf({.op = OpKind::kMatMul, .inputs = {a, b}})) == Doubles{1});
}

TEST_CASE("products of halves are summed in f32", "[graph][ops]") {
  // In f16 2048 + 1 + 1 would stay 2048.
  Tensor a = Of(kFloat16, {1, 3}, {2048, 1, 1});
  Tensor b = Of(kFloat16, {3, 1}, {1, 1, 1});
  CHECK(ValuesOf(ResultOf({.op = OpKind::kMatMul, .inputs = {a, b}})) == Doubles{2050});
}

TEST_CASE("matrices that do not fit are reported", "[graph][ops][error]") {
  CHECK(ErrorOf({.op = OpKind::kMatMul, .inputs = {kLeft, kLeft}}) ==
        "node 'node' (MatMul): operands of shapes 2x3 and 2x3 disagree on the inner dimension");
  CHECK(
      ErrorOf({.op = OpKind::kGemm, .inputs = {kLeft, kRight, F32({3}, {1, 2, 3})}}) ==
      "node 'node' (Gemm): operands of shapes 2x2 and 3 do not broadcast: dimension 1 is 2 and 3");
}

TEST_CASE("reductions drop or keep their axes", "[graph][ops]") {
  Tensor x = F32({2, 3}, {1, 2, 3, 4, 5, 6});
  auto reduce = [&](OpKind op, const Ints& axes, int64_t keep) {
    return ResultOf({.op = op,
                     .inputs = {x, I64({static_cast<int64_t>(axes.size())}, axes)},
                     .attributes = {{"keepdims", keep}},
                     .constants = {1}});
  };
  CHECK(ValuesOf(reduce(OpKind::kReduceSum, {0}, 0)) == Doubles{5, 7, 9});
  CHECK(reduce(OpKind::kReduceSum, {0}, 0).shape == Ints{3});
  CHECK(reduce(OpKind::kReduceSum, {-1}, 1).shape == Ints{2, 1});
  CHECK(ValuesOf(reduce(OpKind::kReduceMean, {-1}, 1)) == Doubles{2, 5});
  CHECK(ValuesOf(reduce(OpKind::kReduceMax, {1}, 0)) == Doubles{3, 6});
  CHECK(ValuesOf(reduce(OpKind::kReduceMin, {0, 1}, 0)) == Doubles{1});
  CHECK(ValuesOf(reduce(OpKind::kReduceProd, {0}, 0)) == Doubles{4, 10, 18});
}

TEST_CASE("no axes mean all of them, or none if asked", "[graph][ops]") {
  OneNode node = {.op = OpKind::kReduceSum,
                  .inputs = {F32({2, 2}, {1, 2, 3, 4})},
                  .attributes = {{"keepdims", int64_t{1}}}};
  CHECK(ValuesOf(ResultOf(node)) == Doubles{10});
  node.attributes["noop_with_empty_axes"] = int64_t{1};
  CHECK(ValuesOf(ResultOf(node)) == Doubles{1, 2, 3, 4});
}

TEST_CASE("a reduction over nothing gives the identity", "[graph][ops]") {
  auto empty = [](OpKind op, DType dtype) {
    OneNode node = {.op = op,
                    .inputs = {MakeZeroTensor(dtype, {2, 0}), I64({1}, {1})},
                    .attributes = {{"keepdims", int64_t{0}}},
                    .constants = {1}};
    return ValuesOf(ResultOf(node));
  };
  CHECK(empty(OpKind::kReduceSum, kFloat32) == Doubles{0, 0});
  CHECK(empty(OpKind::kReduceProd, kFloat32) == Doubles{1, 1});
  CHECK(empty(OpKind::kReduceMax, kFloat32) == Doubles{-INFINITY, -INFINITY});
  CHECK(empty(OpKind::kReduceMin, kInt32) == Doubles{2147483647, 2147483647});
}

TEST_CASE("bools reduce by or and by and", "[graph][ops]") {
  OneNode node = {.op = OpKind::kReduceMax,
                  .inputs = {Of(kBool, {2, 2}, {0, 1, 0, 0}), I64({1}, {1})},
                  .attributes = {{"keepdims", int64_t{0}}},
                  .constants = {1}};
  CHECK(ValuesOf(ResultOf(node)) == Doubles{1, 0});
  node.op = OpKind::kReduceMin;
  CHECK(ValuesOf(ResultOf(node)) == Doubles{0, 0});
}

TEST_CASE("softmax does not overflow and sums to one", "[graph][ops]") {
  Tensor x = F32({2, 3}, {1000, 1001, 1002, -INFINITY, 0, 0});
  Doubles row = ValuesOf(ResultOf({.op = OpKind::kSoftmax, .inputs = {x}}));
  double total = std::exp(-2.0) + std::exp(-1.0) + 1;
  CHECK(row[0] == Approx(std::exp(-2.0) / total));
  CHECK(row[2] == Approx(1 / total));
  CHECK(Doubles{row[3], row[4], row[5]} == Doubles{0, 0.5, 0.5});

  OneNode log = {.op = OpKind::kLogSoftmax,
                 .inputs = {F32({2, 2}, {0, 1, 0, 3})},
                 .attributes = {{"axis", int64_t{0}}}};
  Doubles logs = ValuesOf(ResultOf(log));
  CHECK(logs[0] == Approx(-std::log(2.0)));
  CHECK(logs[3] == Approx(-std::log1p(std::exp(-2.0))));
}

TEST_CASE("batch normalization uses each channel's numbers", "[graph][ops]") {
  OneNode node = {.op = OpKind::kBatchNormalization,
                  .inputs = {F32({1, 2, 2}, {1, 2, 3, 4}), F32({2}, {2, 1}), F32({2}, {0, 10}),
                             F32({2}, {1, 3}), F32({2}, {4, 1})},
                  .attributes = {{"epsilon", 0.0}}};
  CHECK(ValuesOf(ResultOf(node)) == Doubles{0, 1, 10, 11});
}
