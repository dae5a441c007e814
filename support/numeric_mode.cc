#include "support/numeric_mode.h"

#include <fmt/ranges.h>

#include <vector>

#include "support/check.h"

namespace tcc {
namespace {

// If operands are rounded by a relative u, a product is off by 2 u + u^2: u is 2^-11 for mantissas
// of 10 bits, 2^-8 for 7. 3xtf32 drops 2^-22 of each operand, and the product of their parts below
// 2^-11.
constexpr double kTenBits = 0x1p-10 + 0x1p-22;
constexpr double kSevenBits = 0x1p-7 + 0x1p-16;
constexpr double kTwiceTenBits = 3 * 0x1p-22 + 0x1p-31;

// clang-format off
constexpr NumericModeRow kRows[] = {
    {NumericMode::kStrict, "strict", 0, std::nullopt, "operands as they are"},
    {NumericMode::k3xTf32, "3xtf32", kTwiceTenBits, std::nullopt,
     "operands as sums of two numbers with mantissas of 10 bits, three products of these"},
    {NumericMode::kTf32, "tf32", kTenBits, DType(DTypeCode::kTFloat32),
     "operands rounded to mantissas of 10 bits; the range of f32"},
    {NumericMode::kBf16, "bf16", kSevenBits, DType(DTypeCode::kBFloat16),
     "operands rounded to bfloat16: mantissas of 7 bits; the range of f32"},
    {NumericMode::kFp16, "fp16", kTenBits, kFloat16,
     "operands rounded to float16: mantissas of 10 bits; infinite from 65520 on"},
};
// clang-format on

}  // namespace

std::span<const NumericModeRow> NumericModes() {
  return kRows;
}

const NumericModeRow& RowOf(NumericMode mode) {
  for (const NumericModeRow& row : kRows) {
    if (row.mode == mode) return row;
  }
  TCC_UNREACHABLE();
}

StatusOr<NumericMode> FindNumericMode(std::string_view name) {
  std::vector<std::string_view> known;
  for (const NumericModeRow& row : kRows) {
    if (row.name == name) return row.mode;
    known.push_back(row.name);
  }
  return UsageError("unknown numeric mode '{}'; expected one of {}", name, fmt::join(known, ", "));
}

}  // namespace tcc
