#include "schedule/tensor_intrinsics.h"

#include <fmt/ranges.h>

#include "ir/parser.h"
#include "ir/support/check.h"

namespace tcc {
namespace {

constexpr TensorIntrinsic kIntrinsics[] = {
    {"outer_product_f32_8x16", R"(
fn outer_product(A: f32[8, 1], B: f32[1, 16], C: f32[8, 16]) tensor {
  for i in 0..8 @o/i { for j in 0..16 @o/j { for k in 0..1 @o/k {
    block o(i: spatial 8 = i, j: spatial 16 = j, k: reduce 1 = k) {
      reduce sum_f32 (C[i, j]) with (A[i, k] * B[k, j])
    }
  } } }
})",
     ""},
    {"dot_u8s8_i32_16x4", R"(
fn dot(A: u8[4], B: i8[16, 4], C: i32[16]) tensor {
  for j in 0..16 @d/j { for k in 0..4 @d/k {
    block d(j: spatial 16 = j, k: reduce 4 = k) {
      reduce sum_i32 (C[j]) with (i32(A[k]) * i32(B[j, k]))
    }
  } }
})",
     "vpdpbusd"},
    {"mma_m16n8k16_f16_f32", R"(
fn mma(A: f16[16, 16], B: f16[16, 8], C: f32[16, 8]) tensor {
  for i in 0..16 @m/i { for j in 0..8 @m/j { for k in 0..16 @m/k {
    block m(i: spatial 16 = i, j: spatial 8 = j, k: reduce 16 = k) {
      reduce sum_f32 (C[i, j]) with (f32(A[i, k]) * f32(B[k, j]))
    }
  } } }
})",
     "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"},
};

}  // namespace

std::span<const TensorIntrinsic> TensorIntrinsics() {
  return kIntrinsics;
}

StatusOr<const TensorIntrinsic*> FindTensorIntrinsic(std::string_view name) {
  std::vector<std::string_view> names;
  for (const TensorIntrinsic& intrinsic : kIntrinsics) {
    if (intrinsic.name == name) return &intrinsic;
    names.push_back(intrinsic.name);
  }
  return InvalidInput("no tensor intrinsic '{}'; there are {}", name, fmt::join(names, ", "));
}

Function MeaningOf(const TensorIntrinsic& intrinsic) {
  StatusOr<Function> meaning = ParseFunction(std::string(intrinsic.meaning));
  TCC_CHECK(meaning.ok()) << Message(meaning.status());
  return *meaning;
}

}  // namespace tcc
