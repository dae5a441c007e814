#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tcc {

// The columns: name in text, C++ enumerator, bits, kind.
#define TCC_DTYPES(X)                       \
  X("bool", kBool, 8, kBoolKind)            \
  X("i8", kInt8, 8, kIntKind)               \
  X("i16", kInt16, 16, kIntKind)            \
  X("i32", kInt32, 32, kIntKind)            \
  X("i64", kInt64, 64, kIntKind)            \
  X("u8", kUInt8, 8, kUIntKind)             \
  X("u16", kUInt16, 16, kUIntKind)          \
  X("u32", kUInt32, 32, kUIntKind)          \
  X("u64", kUInt64, 64, kUIntKind)          \
  X("f16", kFloat16, 16, kFloatKind)        \
  X("bf16", kBFloat16, 16, kFloatKind)      \
  X("f32", kFloat32, 32, kFloatKind)        \
  X("f64", kFloat64, 64, kFloatKind)        \
  X("f8e4m3", kFloat8E4M3, 8, kStorageKind) \
  X("f8e5m2", kFloat8E5M2, 8, kStorageKind) \
  X("i4", kInt4, 4, kStorageKind)           \
  X("u4", kUInt4, 4, kStorageKind)          \
  X("tf32", kTFloat32, 32, kFloatKind)      \
  X("i2", kInt2, 2, kStorageKind)           \
  X("u2", kUInt2, 2, kStorageKind)

enum class DTypeCode : uint8_t {
#define TCC_DTYPE_CODE(text, code, bits, kind) code,
  TCC_DTYPES(TCC_DTYPE_CODE)
#undef TCC_DTYPE_CODE
};

// An element type and a number of lanes (1 = scalar; more only at kLowered). A bool takes a byte in
// memory and holds 0 or 1. A tf32 is an f32 whose mantissa has 10 bits; the 13 that it lacks are 0.
// Storage types (f8*, i4, u4, i2, u2) can be loaded, stored and cast, but not computed with.
class DType {
 public:
  constexpr DType() : DType(DTypeCode::kFloat32) {}
  constexpr DType(DTypeCode code, int lanes = 1)
      : code_(code), lanes_(static_cast<uint16_t>(lanes)) {}

  constexpr DTypeCode code() const { return code_; }
  constexpr int lanes() const { return lanes_; }
  constexpr DType element() const { return DType(code_); }
  constexpr DType WithLanes(int lanes) const { return DType(code_, lanes); }

  bool is_bool() const;
  bool is_float() const;
  // Returns true for signed and unsigned integers, not for bool.
  bool is_integer() const;
  bool is_signed_integer() const;
  bool is_storage_only() const;
  // Returns the bits of one element: a multiple of 8 except for i4, u4, i2 and u2.
  int bits() const;
  // Returns the bytes of one element; expects bits() to be a multiple of 8.
  int bytes() const;

  friend constexpr bool operator==(DType, DType) = default;

 private:
  DTypeCode code_;
  uint16_t lanes_;
};

inline constexpr DType kBool{DTypeCode::kBool};
inline constexpr DType kInt32{DTypeCode::kInt32};
inline constexpr DType kInt64{DTypeCode::kInt64};
inline constexpr DType kFloat16{DTypeCode::kFloat16};
inline constexpr DType kFloat32{DTypeCode::kFloat32};
inline constexpr DType kFloat64{DTypeCode::kFloat64};

// Returns e.g. "f32", "i64", "f32x16".
std::string ToString(DType dtype);
std::optional<DType> ParseDType(std::string_view text);

// Return the smallest and the largest value of an integer type or bool, as the type's own bits. The
// largest u64 does not fit int64 and is returned as -1.
int64_t MinValue(DType dtype);
int64_t MaxValue(DType dtype);

// Convert to and from IEEE half and bfloat16, rounding to nearest even.
uint16_t FloatToHalf(float value);
float HalfToFloat(uint16_t bits);
uint16_t FloatToBFloat16(float value);
float BFloat16ToFloat(uint16_t bits);
// Rounds to nearest, halves away from zero: the largest numbers to infinity.
float RoundToTFloat32(float value);

}  // namespace tcc
