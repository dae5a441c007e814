#include "support/storage_types.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/check.h"

namespace tcc {
namespace {

struct Float8 {
  int mantissa_bits;
  int least_exponent;  // the least of a normal number
  uint8_t largest;     // the code of the largest number
};

Float8 FormatOf(DType dtype) {
  TCC_CHECK(IsFloat8(dtype)) << ToString(dtype);
  return dtype.code() == DTypeCode::kFloat8E4M3 ? Float8{3, -6, 0x7e} : Float8{2, -14, 0x7b};
}

double MagnitudeOf(const Float8& format, int code) {
  int units = 1 << format.mantissa_bits;
  int exponent = code >> format.mantissa_bits;
  int mantissa = code & (units - 1);
  if (exponent == 0) return std::ldexp(mantissa, format.least_exponent - format.mantissa_bits);
  return std::ldexp(units + mantissa, exponent - 1 + format.least_exponent - format.mantissa_bits);
}

}  // namespace

bool IsFloat8(DType dtype) {
  return dtype.code() == DTypeCode::kFloat8E4M3 || dtype.code() == DTypeCode::kFloat8E5M2;
}

bool IsPacked(DType dtype) {
  return dtype.bits() < 8;
}

int PackedPerByte(DType dtype) {
  return IsPacked(dtype) ? 8 / dtype.bits() : 1;
}

bool IsSigned(DType dtype) {
  return HoldsFloats(dtype) || dtype.is_signed_integer() || dtype.code() == DTypeCode::kInt4 ||
         dtype.code() == DTypeCode::kInt2;
}

bool HoldsFloats(DType dtype) {
  return dtype.is_float() || IsFloat8(dtype);
}

int WholeBytes(DType dtype) {
  return (dtype.bits() + 7) / 8;
}

double Epsilon(DType dtype) {
  switch (dtype.code()) {
    case DTypeCode::kFloat64:
      return 0x1p-52;
    case DTypeCode::kFloat32:
      return 0x1p-23;
    case DTypeCode::kFloat16:
    case DTypeCode::kTFloat32:
      return 0x1p-10;
    case DTypeCode::kBFloat16:
      return 0x1p-7;
    case DTypeCode::kFloat8E4M3:
      return 0x1p-3;
    case DTypeCode::kFloat8E5M2:
      return 0x1p-2;
    case DTypeCode::kBool:
    case DTypeCode::kInt8:
    case DTypeCode::kInt16:
    case DTypeCode::kInt32:
    case DTypeCode::kInt64:
    case DTypeCode::kUInt8:
    case DTypeCode::kUInt16:
    case DTypeCode::kUInt32:
    case DTypeCode::kUInt64:
    case DTypeCode::kInt4:
    case DTypeCode::kUInt4:
    case DTypeCode::kInt2:
    case DTypeCode::kUInt2:
      return 0;
  }
  return 0;
}

double Float8ToDouble(DType dtype, uint8_t bits) {
  Float8 format = FormatOf(dtype);
  int code = bits & 0x7f;
  double magnitude = MagnitudeOf(format, code);
  if (code > format.largest) {
    bool infinite = dtype.code() == DTypeCode::kFloat8E5M2 && code == format.largest + 1;
    magnitude = infinite ? std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  return bits & 0x80 ? -magnitude : magnitude;
}

uint8_t DoubleToFloat8(DType dtype, double value) {
  Float8 format = FormatOf(dtype);
  int sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value)) return static_cast<uint8_t>(sign | 0x7f);
  if (std::isinf(value) && dtype.code() == DTypeCode::kFloat8E5M2) {
    return static_cast<uint8_t>(sign | 0x7c);
  }
  double magnitude = std::min(std::fabs(value), MagnitudeOf(format, format.largest));
  int exponent = magnitude == 0 ? format.least_exponent
                                : std::max(std::ilogb(magnitude), format.least_exponent);
  // Units of 2^(exponent - mantissa_bits). The code counts units from the first number of its
  // exponent on, and carries into the next exponent.
  auto units =
      static_cast<int>(std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent)));
  int code = ((exponent - format.least_exponent) << format.mantissa_bits) + units;
  return static_cast<uint8_t>(sign | std::min<int>(code, format.largest));
}

int64_t PackedAt(DType dtype, const uint8_t* bytes, int64_t index) {
  const int64_t per_byte = PackedPerByte(dtype), bits = dtype.bits();
  int64_t value = bytes[index / per_byte] >> (index % per_byte * bits) & ((1 << bits) - 1);
  return IsSigned(dtype) && value >> (bits - 1) != 0 ? value - (1 << bits) : value;
}

void SetPacked(DType dtype, uint8_t* bytes, int64_t index, int64_t value) {
  const int64_t per_byte = PackedPerByte(dtype), shift = index % per_byte * dtype.bits();
  const int mask = (1 << dtype.bits()) - 1;
  uint8_t& byte = bytes[index / per_byte];
  byte =
      static_cast<uint8_t>((byte & ~(mask << shift)) | (static_cast<int>(value) & mask) << shift);
}

}  // namespace tcc
