#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "api/tcc_c.h"

namespace {

// A DLTensor, by the layout that https://dmlc.github.io/dlpack/latest/c_api.html gives.
struct DlTensor {
  void* data = nullptr;
  int32_t device_type = 1;  // kDLCPU
  int32_t device_id = 0;
  int32_t ndim = 0;
  uint8_t code = 2;  // kDLFloat
  uint8_t bits = 32;
  uint16_t lanes = 1;
  int64_t* shape = nullptr;
  int64_t* strides = nullptr;
  uint64_t byte_offset = 0;
};

struct Described {
  tcc_code code = TCC_OK;
  std::string message;
  tcc_tensor tensor{};
  std::array<int64_t, 4> shape{};
  int32_t device_type = -1, device = -1;
};

Described Describe(const DlTensor& from, uint32_t most_rank = 4) {
  Described result;
  tcc_error* error = nullptr;
  result.code = tcc_from_dlpack(&from, &result.tensor, result.shape.data(), most_rank,
                                &result.device_type, &result.device, &error);
  if (error != nullptr) result.message = tcc_error_message(error);
  tcc_error_free(error);
  return result;
}

TEST_CASE("a dense tensor of DLPack is described where it is", "[api]") {
  std::array<float, 32> memory{};
  std::array<int64_t, 3> shape{2, 1, 3}, strides{3, 77, 1};
  DlTensor from{.data = memory.data(), .ndim = 3, .shape = shape.data(), .byte_offset = 8};
  for (int64_t* given : {static_cast<int64_t*>(nullptr), strides.data()}) {
    from.strides = given;
    Described result = Describe(from);
    REQUIRE(result.message.empty());
    CHECK(result.tensor.name == nullptr);
    CHECK(result.tensor.data == memory.data() + 2);
    CHECK(result.tensor.bytes == 24);
    CHECK(result.tensor.rank == 3);
    CHECK(result.shape == std::array<int64_t, 4>{2, 1, 3, 0});
    CHECK(result.tensor.dtype == TCC_F32);
    CHECK(result.device_type == 1);
    CHECK(result.device == 0);
  }
  from.device_type = 2;  // kDLCUDA
  from.device_id = 3;
  CHECK(Describe(from).device_type == 2);
  CHECK(Describe(from).device == 3);
  // Strides of a tensor without elements mean nothing.
  shape[0] = 0;
  strides = {9, 9, 9};
  CHECK(Describe(from).tensor.bytes == 0);
  CHECK(Describe(from).code == TCC_OK);
  CHECK(Describe({.data = memory.data()}).tensor.bytes == 4);
}

TEST_CASE("types of DLPack become those of the C API", "[api]") {
  struct Type {
    uint8_t code, bits;
    tcc_dtype dtype;
    uint64_t bytes;  // of three elements
  };
  std::array<int64_t, 1> shape{3};
  for (const Type& type : std::initializer_list<Type>{{0, 8, TCC_I8, 3},
                                                      {0, 16, TCC_I16, 6},
                                                      {0, 32, TCC_I32, 12},
                                                      {0, 64, TCC_I64, 24},
                                                      {1, 8, TCC_U8, 3},
                                                      {1, 16, TCC_U16, 6},
                                                      {1, 32, TCC_U32, 12},
                                                      {1, 64, TCC_U64, 24},
                                                      {2, 16, TCC_F16, 6},
                                                      {2, 32, TCC_F32, 12},
                                                      {2, 64, TCC_F64, 24},
                                                      {4, 16, TCC_BF16, 6},
                                                      {6, 8, TCC_BOOL, 3},
                                                      {10, 8, TCC_F8E4M3, 3},
                                                      {12, 8, TCC_F8E5M2, 3},
                                                      {0, 4, TCC_I4, 2},
                                                      {1, 4, TCC_U4, 2}}) {
    Described result =
        Describe({.ndim = 1, .code = type.code, .bits = type.bits, .shape = shape.data()});
    INFO(result.message);
    CHECK(result.code == TCC_OK);
    CHECK(result.tensor.dtype == type.dtype);
    CHECK(result.tensor.bytes == type.bytes);
  }
}

TEST_CASE("a tensor of DLPack that tcc cannot take is refused, and nothing is written", "[api]") {
  std::array<int64_t, 2> shape{2, 3}, transposed{1, 2}, gaps{4, 1}, negative{2, -3};
  const DlTensor good{.ndim = 2, .shape = shape.data()};
  auto refusal = [&](auto&& change, uint32_t most_rank = 4) {
    DlTensor from = good;
    change(from);
    Described result = Describe(from, most_rank);
    CHECK(result.code == TCC_BAD_INPUT);
    CHECK(result.device_type == -1);
    CHECK(result.shape[0] == 0);
    return result.message;
  };
  CHECK(refusal([&](DlTensor& from) { from.strides = transposed.data(); }) ==
        "a DLTensor: axis 1 of [2x3] has stride 2; expected 1: row-major without gaps");
  CHECK(refusal([&](DlTensor& from) { from.strides = gaps.data(); }) ==
        "a DLTensor: axis 0 of [2x3] has stride 4; expected 3: row-major without gaps");
  CHECK(refusal([](DlTensor& from) { from.lanes = 4; }) ==
        "a DLTensor: there is no element type for DLPack's code 2 of 32 bits and 4 lanes");
  CHECK(refusal([](DlTensor& from) { from.code = 5; }) ==
        "a DLTensor: there is no element type for DLPack's code 5 of 32 bits and 1 lanes");
  CHECK(refusal([](DlTensor&) {}, 1) == "a DLTensor: expected a rank from 0 to 1, got 2");
  CHECK(refusal([](DlTensor& from) { from.ndim = -1; }) ==
        "a DLTensor: expected a rank from 0 to 4, got -1");
  CHECK(refusal([&](DlTensor& from) { from.shape = negative.data(); }) ==
        "a DLTensor: shape 2x-3 has a negative dimension");
  CHECK(tcc_from_dlpack(nullptr, nullptr, nullptr, 0, nullptr, nullptr, nullptr) == TCC_USAGE);
}

TEST_CASE("a null address for the description of a DLTensor is told", "[api]") {
  std::array<int64_t, 2> shape{2, 3};
  const DlTensor from{.ndim = 2, .shape = shape.data()};
  tcc_tensor tensor;
  int64_t extents[4];
  int32_t type = 0, device = 0;
  CHECK(tcc_from_dlpack(&from, &tensor, extents, 4, &type, &device, nullptr) == TCC_OK);
  CHECK(tcc_from_dlpack(&from, nullptr, extents, 4, &type, &device, nullptr) == TCC_USAGE);
  CHECK(tcc_from_dlpack(&from, &tensor, nullptr, 4, &type, &device, nullptr) == TCC_USAGE);
  CHECK(tcc_from_dlpack(&from, &tensor, extents, 4, nullptr, &device, nullptr) == TCC_USAGE);
  CHECK(tcc_from_dlpack(&from, &tensor, extents, 4, &type, nullptr, nullptr) == TCC_USAGE);
}

}  // namespace
