#include "schedule/analysis/tensor_intrinsics.h"

#include <fmt/ranges.h>

#include "ir/text/parser.h"
#include "support/check.h"

namespace tcc {
namespace {

// C[rows, 8] += A[rows, depth] * B[depth, 8].
#define TCC_MMA_OF(rows, depth, a, b, sum, product)                                \
  "fn mma(A: " a "[" rows ", " depth "], B: " b "[" depth ", 8], C: " sum "[" rows \
  ", 8]) tensor {\n"                                                               \
  "  for i in 0.." rows " @m/i { for j in 0..8 @m/j { for k in 0.." depth          \
  " @m/k {\n"                                                                      \
  "    block m(i: spatial " rows " = i, j: spatial 8 = j, k: reduce " depth        \
  " = k) {\n"                                                                      \
  "      reduce sum_" sum " (C[i, j]) with (" product                              \
  ")\n"                                                                            \
  "} } } } }"
#define TCC_MMA(rows, depth, type, sum) \
  TCC_MMA_OF(rows, depth, type, type, sum, sum "(A[i, k]) * " sum "(B[k, j])")
// The product of tf32 numbers, or of f32 numbers that are rounded first.
#define TCC_TF32_MMA(a, b, product) TCC_MMA_OF("16", "8", a, b, "f32", product)
#define TCC_TF32_A "f32(A[i, k])"
#define TCC_TF32_B "f32(B[k, j])"
#define TCC_ROUNDED_A "f32(tf32(A[i, k]))"
#define TCC_ROUNDED_B "f32(tf32(B[k, j]))"
// The two tf32 numbers whose sum is nearly a given f32 (graph/variants/round_operands.cc).
#define TCC_LARGEST_TF32 "3.4011621342146535e+38"
#define TCC_BIG(x)                                                                \
  "select(is_inf(" x "), sign(" x "), f32(tf32(min(max(" x ", -" TCC_LARGEST_TF32 \
  "), " TCC_LARGEST_TF32 "))))"
#define TCC_SMALL(x) "f32(tf32(" x " - " TCC_BIG(x) "))"
#define TCC_3XTF32_PRODUCT                                                                     \
  "((" TCC_BIG("A[i, k]") " * " TCC_SMALL("B[k, j]") " + " TCC_SMALL("A[i, k]") " * " TCC_BIG( \
      "B[k, j]") ") + " TCC_BIG("A[i, k]") " * " TCC_BIG("B[k, j]") ")"
// C[edge, edge] += A[edge, edge] * B[edge, edge] of words of several numbers each.
#define TCC_TILE_DOT(edge, sum, dot)                                                          \
  "fn dot(A: i32[" edge ", " edge "], B: i32[" edge ", " edge "], C: " sum "[" edge ", " edge \
  "]) tensor {\n"                                                                             \
  "  for i in 0.." edge " @t/i { for j in 0.." edge " @t/j { for k in 0.." edge               \
  " @t/k {\n"                                                                                 \
  "    block t(i: spatial " edge " = i, j: spatial " edge " = j, k: reduce " edge             \
  " = k) {\n"                                                                                 \
  "      reduce sum_" sum " (C[i, j]) with (" dot "(A[i, k], B[k, j]))\n} } } } }"
#define TCC_LOAD(rows, columns, type)                                              \
  "fn load(From: " type "[" rows ", " columns "], To: " type "[" rows ", " columns \
  "]) tensor {"                                                                    \
  "  for i in 0.." rows " @l/i { for j in 0.." columns                             \
  " @l/j {\n"                                                                      \
  "    block l(i: spatial " rows " = i, j: spatial " columns                       \
  " = j) { To[i, j] = From[i, j] }\n"                                              \
  "} } }"

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
    {"vdla_gemv_16x16", R"(
fn gemv(A: i8[16], B: i8[16, 16], C: i32[16]) tensor {
  for j in 0..16 @g/j { for k in 0..16 @g/k {
    block g(j: spatial 16 = j, k: reduce 16 = k) {
      reduce sum_i32 (C[j]) with (i32(A[k]) * i32(B[j, k]))
    }
  } }
})",
     "a micro-op of VDLA (runtime/vdla/vdla_isa.h)"},
    {"tile_dot_u8i8x4", TCC_TILE_DOT("16", "i32", "dot_u8i8x4"), "tdpbusd", true},
    {"tile_dot_bf16x2", TCC_TILE_DOT("16", "f32", "dot_bf16x2"), "tdpbf16ps", true},
    {"mmla_u8i8_2x2x8", TCC_TILE_DOT("2", "i32", "dot_u8i8x4"), "usmmla", true},
    {"mmla_i8_2x2x8", TCC_TILE_DOT("2", "i32", "dot_i8i8x4"), "smmla", true},
    {"group_mma_m16n8k16_f16_f32", TCC_MMA("16", "16", "f16", "f32"),
     "wgmma.mma_async.sync.aligned.m64nNk16.f32.f16.f16, by four warps"},
    {"group_mma_m16n8k16_bf16_f32", TCC_MMA("16", "16", "bf16", "f32"),
     "wgmma.mma_async.sync.aligned.m64nNk16.f32.bf16.bf16, by four warps"},
    {"group_mma_m16n8k8_tf32_f32", TCC_TF32_MMA("tf32", "tf32", TCC_TF32_A " * " TCC_TF32_B),
     "wgmma.mma_async.sync.aligned.m64nNk8.f32.tf32.tf32, by four warps"},
    {"group_mma_m16n8k32_s8_s32", TCC_MMA("16", "32", "i8", "i32"),
     "wgmma.mma_async.sync.aligned.m64nNk32.s32.s8.s8, by four warps"},
    {"mma_m16n8k16_f16_f32", TCC_MMA("16", "16", "f16", "f32"),
     "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"},
    {"mma_m16n8k16_bf16_f32", TCC_MMA("16", "16", "bf16", "f32"),
     "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"},
    {"mma_m16n8k8_f16_f32", TCC_MMA("16", "8", "f16", "f32"),
     "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"},
    {"mma_m16n8k8_tf32_f32", TCC_TF32_MMA("tf32", "tf32", TCC_TF32_A " * " TCC_TF32_B),
     "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"},
    {"mma_m16n8k8_tf32_f32_round_a", TCC_TF32_MMA("f32", "tf32", TCC_ROUNDED_A " * " TCC_TF32_B),
     "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"},
    {"mma_m16n8k8_tf32_f32_round_b", TCC_TF32_MMA("tf32", "f32", TCC_TF32_A " * " TCC_ROUNDED_B),
     "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"},
    {"mma_m16n8k8_tf32_f32_round_ab", TCC_TF32_MMA("f32", "f32", TCC_ROUNDED_A " * " TCC_ROUNDED_B),
     "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"},
    {"mma_m16n8k8_3xtf32_f32", TCC_TF32_MMA("f32", "f32", TCC_3XTF32_PRODUCT),
     "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32, three"},
    {"mma_m16n8k32_s8_s32", TCC_MMA("16", "32", "i8", "i32"),
     "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"},
    {"mma_m8n8k16_s8_s32", TCC_MMA("8", "16", "i8", "i32"),
     "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32"},
    {"mma_m16n8k256_b1",
     TCC_MMA_OF("16", "8", "i32", "i32", "i32", "popcount(bit_and(A[i, k], B[k, j]))"),
     "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc"},
    {"load_matrices_16x16_f16", TCC_LOAD("16", "16", "f16"), "ldmatrix.sync.aligned.m8n8.x4"},
    {"load_matrices_16x8_f16", TCC_LOAD("16", "8", "f16"), "ldmatrix.sync.aligned.m8n8.x2"},
    {"load_matrices_8x16_f16", TCC_LOAD("8", "16", "f16"), "ldmatrix.sync.aligned.m8n8.x2"},
    {"load_matrices_16x16_bf16", TCC_LOAD("16", "16", "bf16"), "ldmatrix.sync.aligned.m8n8.x4"},
    {"load_matrices_16x8_f32", TCC_LOAD("16", "8", "f32"), "ldmatrix.sync.aligned.m8n8.x4"},
    {"load_matrices_16x8_tf32", TCC_LOAD("16", "8", "tf32"), "ldmatrix.sync.aligned.m8n8.x4"},
    {"load_matrices_16x8_i32", TCC_LOAD("16", "8", "i32"), "ldmatrix.sync.aligned.m8n8.x4"},
    {"load_matrices_16x32_i8", TCC_LOAD("16", "32", "i8"), "ldmatrix.sync.aligned.m8n8.x4"},
    {"load_matrices_16x16_i8", TCC_LOAD("16", "16", "i8"), "ldmatrix.sync.aligned.m8n8.x2"},
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
