#include "support/dtype.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <limits>

#include "support/check.h"

namespace tcc {
namespace {

enum class Kind : uint8_t { kBoolKind, kIntKind, kUIntKind, kFloatKind, kStorageKind };

struct Row {
  std::string_view text;
  int bits;
  Kind kind;
};

constexpr Row kRows[] = {
#define TCC_DTYPE_ROW(text, code, bits, kind) {text, bits, Kind::kind},
    TCC_DTYPES(TCC_DTYPE_ROW)
#undef TCC_DTYPE_ROW
};

const Row& RowOf(DType dtype) {
  return kRows[static_cast<int>(dtype.code())];
}

}  // namespace

bool DType::is_bool() const {
  return code_ == DTypeCode::kBool;
}
bool DType::is_float() const {
  return RowOf(*this).kind == Kind::kFloatKind;
}
bool DType::is_integer() const {
  return RowOf(*this).kind == Kind::kIntKind || RowOf(*this).kind == Kind::kUIntKind;
}
bool DType::is_signed_integer() const {
  return RowOf(*this).kind == Kind::kIntKind;
}
bool DType::is_storage_only() const {
  return RowOf(*this).kind == Kind::kStorageKind;
}
int DType::bits() const {
  return RowOf(*this).bits;
}

int DType::bytes() const {
  TCC_CHECK(bits() % 8 == 0) << ToString(*this);
  return bits() / 8;
}

std::string ToString(DType dtype) {
  std::string text(RowOf(dtype).text);
  return dtype.lanes() == 1 ? text : fmt::format("{}x{}", text, dtype.lanes());
}

std::optional<DType> ParseDType(std::string_view text) {
  for (int i = 0; i < static_cast<int>(std::size(kRows)); ++i) {
    if (!text.starts_with(kRows[i].text)) continue;
    DType scalar(static_cast<DTypeCode>(i));
    std::string_view rest = text.substr(kRows[i].text.size());
    if (rest.empty()) return scalar;
    int lanes = 0;
    if (rest[0] != 'x') continue;
    auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), lanes);
    bool whole = error == std::errc() && end == rest.data() + rest.size();
    if (whole && lanes >= 2 && lanes <= 4096) return scalar.WithLanes(lanes);
  }
  return std::nullopt;
}

int64_t MinValue(DType dtype) {
  if (dtype.code() == DTypeCode::kInt4) return -8;
  if (dtype.code() == DTypeCode::kInt2) return -2;
  if (!dtype.is_signed_integer()) return 0;
  return dtype.bits() == 64 ? std::numeric_limits<int64_t>::min()
                            : -(int64_t{1} << (dtype.bits() - 1));
}

int64_t MaxValue(DType dtype) {
  if (dtype.is_bool()) return 1;
  if (dtype.bits() < 8) return (int64_t{1} << dtype.bits()) - 1 + MinValue(dtype);
  TCC_CHECK(dtype.is_integer()) << ToString(dtype);
  if (dtype.bits() == 64)
    return dtype.is_signed_integer() ? std::numeric_limits<int64_t>::max() : -1;
  return (int64_t{1} << (dtype.bits() - dtype.is_signed_integer())) - 1;
}

uint16_t FloatToHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;   // NaN, made quiet
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // 65520 and more round to infinity
  if (magnitude < 0x38800000) {
    // Below 2^-14 the result is subnormal: adding 0.5 aligns its last bit with ulp 2^-24.
    float aligned = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(aligned) - 0x3f000000);
  }
  uint32_t odd = (magnitude >> 13) & 1;
  return sign | static_cast<uint16_t>((magnitude - 0x38000000 + 0xfff + odd) >> 13);
}

float HalfToFloat(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  uint32_t exponent = (bits >> 10) & 0x1f;
  uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | (mantissa << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

uint16_t FloatToBFloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float BFloat16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

float RoundToTFloat32(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  // A NaN must not lose all its bits: it is made quiet.
  bits = value != value ? bits | 0x400000 : bits + 0x1000;
  return std::bit_cast<float>(bits & ~0x1fffU);
}

}  // namespace tcc
