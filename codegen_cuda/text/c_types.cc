#include "codegen_cuda/text/c_types.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "support/check.h"

namespace tcc {
namespace {

struct TypeRow {
  DTypeCode code;
  const char* memory;
  const char* in_register;
  const char* narrowing;
  const char* suffix;  // the suffix of literals
};

// clang-format off
constexpr TypeRow kTypes[] = {
    {DTypeCode::kBool,      "bool",               "bool",               "",            ""},
    {DTypeCode::kInt8,      "signed char",        "signed char",        "",            ""},
    {DTypeCode::kInt16,     "short",              "short",              "",            ""},
    {DTypeCode::kInt32,     "int",                "int",                "",            ""},
    {DTypeCode::kInt64,     "long long",          "long long",          "",            "ll"},
    {DTypeCode::kUInt8,     "unsigned char",      "unsigned char",      "",            "u"},
    {DTypeCode::kUInt16,    "unsigned short",     "unsigned short",     "",            "u"},
    {DTypeCode::kUInt32,    "unsigned",           "unsigned",           "",            "u"},
    {DTypeCode::kUInt64,    "unsigned long long", "unsigned long long", "",            "ull"},
    {DTypeCode::kFloat16,   "TccF16",             "float",              "tcc_f16",     "f"},
    {DTypeCode::kBFloat16,  "TccBF16",            "float",              "tcc_bf16",    "f"},
    {DTypeCode::kFloat32,   "float",              "float",              "",            "f"},
    {DTypeCode::kFloat64,   "double",             "double",             "",            ""},
    {DTypeCode::kFloat8E4M3, "TccF8E4M3",         "float",              "tcc_f8e4m3",  "f"},
    {DTypeCode::kFloat8E5M2, "TccF8E5M2",         "float",              "tcc_f8e5m2",  "f"},
    {DTypeCode::kInt4,      "unsigned char",      "signed char",        "",            ""},
    {DTypeCode::kUInt4,     "unsigned char",      "unsigned char",      "",            "u"},
    {DTypeCode::kInt2,      "unsigned char",      "signed char",        "",            ""},
    {DTypeCode::kUInt2,     "unsigned char",      "unsigned char",      "",            "u"},
    {DTypeCode::kTFloat32,  "TccTF32",            "float",              "tcc_tf32",    "f"},
};
// clang-format on

const TypeRow& RowOf(DType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.code == dtype.code()) return row;
  }
  TCC_UNREACHABLE();
}

}  // namespace

std::string MemoryTypeText(DType dtype) {
  return RowOf(dtype).memory;
}

std::string RegisterTypeText(DType dtype) {
  return RowOf(dtype).in_register;
}

std::string NarrowingFunction(DType dtype) {
  return RowOf(dtype).narrowing;
}

bool IsNarrowFloat(DType dtype) {
  return RowOf(dtype).narrowing[0] != '\0';
}

std::string IntegerLiteral(DType dtype, int64_t value) {
  if (dtype.is_bool()) return value != 0 ? "true" : "false";
  std::string suffix = RowOf(dtype).suffix;
  if (suffix.starts_with("u")) {
    int bits = dtype.bits();
    uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    return fmt::format("{}{}", static_cast<uint64_t>(value) & mask, suffix);
  }
  // -2^63 and -2^31 cannot be written as literals.
  if (value == INT64_MIN) return "(-9223372036854775807ll - 1)";
  if (dtype.bits() == 32 && value == INT32_MIN) return "(-2147483647 - 1)";
  return fmt::format("{}{}", value, suffix);
}

std::string FloatLiteral(DType dtype, double value) {
  if (dtype.code() == DTypeCode::kFloat64) {
    if (!std::isfinite(value)) {
      return fmt::format("tcc_bits_to_double({:#x}ull)", __builtin_bit_cast(uint64_t, value));
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

std::string NarrowLiteral(DType dtype, float value) {
  uint32_t bits = FloatToBFloat16(value);
  if (dtype.code() == DTypeCode::kFloat16) bits = FloatToHalf(value);
  if (dtype.code() == DTypeCode::kTFloat32) {
    bits = __builtin_bit_cast(uint32_t, RoundToTFloat32(value));
  }
  return fmt::format("{}{{{:#x}}}", MemoryTypeText(dtype), bits);
}

}  // namespace tcc
