#include "compiler/devices/strided_argument.h"

#include <catch2/catch.hpp>
#include <numeric>

namespace tcc {
namespace {

Buffer Rows(std::vector<Expr> shape, std::vector<Expr> strides) {
  Buffer buffer;
  buffer.var = BufferVar("rows", kFloat32);
  buffer.shape = std::move(shape);
  buffer.layout.strides = std::move(strides);
  return buffer;
}

TEST_CASE("rows inside longer ones are taken out and put back", "[compiler][reference]") {
  std::vector<float> memory(12);
  std::iota(memory.begin(), memory.end(), 0.0F);
  Buffer param = Rows({3, 2}, {5, 1});
  StatusOr<StridedArgument> place = ArgumentOver(param, {}, memory.data(), 12 * sizeof(float));
  REQUIRE(place.ok());
  Tensor tensor = TensorOf(*place);
  std::vector<double> got;
  for (int64_t i = 0; i < 6; ++i) got.push_back(ElementAsDouble(tensor, i));
  CHECK(got == std::vector<double>{0, 1, 5, 6, 10, 11});
  for (int64_t i = 0; i < 6; ++i) SetElement(tensor, i, -1);
  StoreBack(tensor, *place);
  CHECK(memory == std::vector<float>{-1, -1, 2, 3, 4, -1, -1, 7, 8, 9, -1, -1});
}

// A damaged artefact may say anything.
TEST_CASE("rows that leave their memory are refused", "[compiler][reference]") {
  float memory[12] = {};
  auto refused = [&](const Buffer& param) {
    return !ArgumentOver(param, {}, memory, sizeof(memory)).ok();
  };
  CHECK_FALSE(refused(Rows({3, 2}, {5, 1})));
  CHECK(refused(Rows({3, 2}, {6, 1})));
  CHECK(refused(Rows({3, 2}, {-5, 1})));
  CHECK(refused(Rows({3, 2}, {INT64_MAX, 1})));
  CHECK(refused(Rows({3, 2}, {INT64_MAX / 2, INT64_MAX / 2})));
  CHECK(refused(Rows({100, 2}, {0, 0})));
  CHECK_FALSE(refused(Rows({0, 2}, {INT64_MAX, 1})));
}

}  // namespace
}  // namespace tcc
