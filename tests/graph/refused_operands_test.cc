#include <catch2/catch.hpp>

#include "tests/graph/one_node.h"

using namespace tcc;

TEST_CASE("an operand of too few dimensions is called by name, shape and rank",
          "[graph][ops][error]") {
  Tensor list = F32({5}, {1, 2, 3, 4, 5});
  CHECK(ErrorOf({.op = OpKind::kConv, .inputs = {list, F32({1, 1, 1}, {1})}}) ==
        "node 'node' (Conv): input 0 ('in0', shape 5) has rank 1; expected rank 3 or more");
  CHECK(
      ErrorOf(
          {.op = OpKind::kMaxPool, .inputs = {list}, .attributes = {{"kernel_shape", Ints{2}}}}) ==
      "node 'node' (MaxPool): input 0 ('in0', shape 5) has rank 1; expected rank 3 or more");
  CHECK(ErrorOf({.op = OpKind::kMatMul, .inputs = {list, F32({}, {2})}}) ==
        "node 'node' (MatMul): input 1 ('in1', a scalar) has rank 0; expected rank 1 or more");
  CHECK(ErrorOf({.op = OpKind::kDet, .inputs = {list}}) ==
        "node 'node' (Det): input 0 ('in0', shape 5) of f32; expected square matrices of floats");
}

TEST_CASE("an axis of a scalar is refused as such, without an empty range", "[graph][ops][error]") {
  Tensor scalar = F32({}, {2});
  auto expected = [](const char* op, int64_t axis) {
    return fmt::format("node 'node' ({}): axis is {}, but the input is a scalar, which has no axis",
                       op, axis);
  };
  CHECK(ErrorOf({.op = OpKind::kSoftmax, .inputs = {scalar}}) == expected("Softmax", -1));
  CHECK(ErrorOf({.op = OpKind::kArgMax, .inputs = {scalar}}) == expected("ArgMax", 0));
  CHECK(ErrorOf({.op = OpKind::kConcat,
                 .inputs = {scalar, scalar},
                 .attributes = {{"axis", int64_t{0}}}}) == expected("Concat", 0));
  CHECK(ErrorOf({.op = OpKind::kReduceSum, .inputs = {scalar, I64({1}, {-1})}, .constants = {1}}) ==
        expected("ReduceSum", -1));
}
