#include "bench/operator/operator_check.h"

#include <catch2/catch.hpp>
#include <limits>

namespace tcc::test {
namespace {

Tensor Filled(DType dtype, double value) {
  Tensor tensor = MakeZeroTensor(dtype, {2, 3});
  for (int64_t i = 0; i < 6; ++i) SetElement(tensor, i, value);
  return tensor;
}

TEST_CASE("every output of a network is to be written, not the first alone", "[bench]") {
  const BenchOperator network{"net", NetworkOp{"net"}};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (DType dtype : {kFloat32, kFloat16, DType(DTypeCode::kBFloat16), kFloat64}) {
    CHECK(CheckOperator(network, {}, {}, {Filled(dtype, 1), Filled(dtype, 2)}).ok());
    Tensor unwritten = Filled(dtype, 2);
    SetElement(unwritten, 4, nan);
    for (const Tensor& first : {Filled(dtype, 1), Filled(kInt64, -1)}) {
      CHECK(Message(CheckOperator(network, {}, {}, {first, unwritten}).status()) ==
            "net: output 1: element 4 is nan; expected a finite number");
    }
    CHECK(Message(CheckOperator(network, {}, {}, {unwritten}).status()) ==
          "net: element 4 is nan; expected a finite number");
  }
  Tensor flags = MakeZeroTensor(kBool, {3});
  CHECK(CheckOperator(network, {}, {}, {flags}).ok());
  MutableBytes(flags)[1] = 0xff;
  CHECK_FALSE(CheckOperator(network, {}, {}, {flags}).ok());
}

}  // namespace
}  // namespace tcc::test
