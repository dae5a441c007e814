#include "codegen_cuda/text/c_types.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "support/check.h"

namespace tcc {
namespace {

struct NarrowingRow {
  DTypeCode code;
  const char* function;
};

constexpr NarrowingRow kNarrowing[] = {
    {DTypeCode::kFloat16, "tcc_f16"},       {DTypeCode::kBFloat16, "tcc_bf16"},
    {DTypeCode::kFloat8E4M3, "tcc_f8e4m3"}, {DTypeCode::kFloat8E5M2, "tcc_f8e5m2"},
    {DTypeCode::kTFloat32, "tcc_tf32"},
};

}  // namespace

std::string MemoryTypeText(const Dialect& dialect, DType dtype) {
  return std::string(dialect.WordsOf(dtype).memory);
}

std::string RegisterTypeText(const Dialect& dialect, DType dtype) {
  return std::string(dialect.WordsOf(dtype).in_register);
}

std::string NarrowingFunction(DType dtype) {
  for (const NarrowingRow& row : kNarrowing) {
    if (row.code == dtype.code()) return row.function;
  }
  return "";
}

bool IsNarrowFloat(DType dtype) {
  return !NarrowingFunction(dtype).empty();
}

std::string IntegerLiteral(const Dialect& dialect, DType dtype, int64_t value) {
  if (dtype.is_bool()) return value != 0 ? "true" : "false";
  const std::string_view suffix = dialect.WordsOf(dtype).suffix;
  if (suffix.starts_with("u")) {
    int bits = dtype.bits();
    uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    return fmt::format("{}{}", static_cast<uint64_t>(value) & mask, suffix);
  }
  // -2^63 and -2^31 cannot be written as literals.
  if (value == INT64_MIN) return fmt::format("(-9223372036854775807{} - 1)", suffix);
  if (dtype.bits() == 32 && value == INT32_MIN) return "(-2147483647 - 1)";
  return fmt::format("{}{}", value, suffix);
}

std::string FloatLiteral(const Dialect& dialect, DType dtype, double value) {
  if (dtype.code() == DTypeCode::kFloat64) {
    if (!std::isfinite(value)) {
      return fmt::format("tcc_bits_to_double({:#x}{})", __builtin_bit_cast(uint64_t, value),
                         dialect.WordsOf(DTypeCode::kUInt64).suffix);
    }
    std::string text = fmt::format("{:.17g}", value);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  }
  auto single = static_cast<float>(value);
  if (dtype.code() == DTypeCode::kFloat16) single = HalfToFloat(FloatToHalf(single));
  if (dtype.code() == DTypeCode::kBFloat16) single = BFloat16ToFloat(FloatToBFloat16(single));
  if (dtype.code() == DTypeCode::kTFloat32) single = RoundToTFloat32(single);
  if (!std::isfinite(single)) {
    return fmt::format("tcc_bits_to_float({:#x}u)", __builtin_bit_cast(uint32_t, single));
  }
  std::string text = fmt::format("{:.9g}", single);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

std::string NarrowLiteral(const Dialect& dialect, DType dtype, float value) {
  uint32_t bits = FloatToBFloat16(value);
  if (dtype.code() == DTypeCode::kFloat16) bits = FloatToHalf(value);
  if (dtype.code() == DTypeCode::kTFloat32) {
    bits = __builtin_bit_cast(uint32_t, RoundToTFloat32(value));
  }
  return fmt::format(fmt::runtime(dialect.narrow_literal), MemoryTypeText(dialect, dtype), bits);
}

}  // namespace tcc
