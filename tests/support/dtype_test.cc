#include "support/dtype.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

using namespace tcc;

TEST_CASE("every half survives the way to float and back", "[support][dtype]") {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = HalfToFloat(static_cast<uint16_t>(bits));
    if (std::isnan(value)) continue;
    REQUIRE(FloatToHalf(value) == bits);
  }
}

TEST_CASE("halves and bfloat16 round to nearest even", "[support][dtype]") {
  CHECK(FloatToHalf(2049.0f) == FloatToHalf(2048.0f));
  CHECK(FloatToHalf(2051.0f) == FloatToHalf(2052.0f));
  CHECK(HalfToFloat(FloatToHalf(65519.0f)) == 65504.0f);
  CHECK(std::isinf(HalfToFloat(FloatToHalf(65520.0f))));
  CHECK(HalfToFloat(FloatToHalf(0x1p-25f)) == 0.0f);
  CHECK(HalfToFloat(FloatToHalf(0x1.8p-25f)) == 0x1p-24f);
  CHECK(BFloat16ToFloat(FloatToBFloat16(257.0f)) == 256.0f);
  CHECK(BFloat16ToFloat(FloatToBFloat16(259.0f)) == 260.0f);
}

TEST_CASE("tf32 keeps ten bits of mantissa, halves away from zero", "[support][dtype]") {
  CHECK(RoundToTFloat32(2049.0f) == 2050.0f);
  CHECK(RoundToTFloat32(-2049.0f) == -2050.0f);
  CHECK(RoundToTFloat32(2048.9f) == 2048.0f);
  CHECK(RoundToTFloat32(0x1.ffep127f) == INFINITY);
  CHECK(RoundToTFloat32(-INFINITY) == -INFINITY);
  // The bits that say so are not those that are dropped.
  float nan = RoundToTFloat32(std::bit_cast<float>(0xff800001));
  CHECK(std::isnan(nan));
  CHECK((std::bit_cast<uint32_t>(nan) & 0x1fff) == 0);
}

TEST_CASE("a data type's text parses back", "[support][dtype]") {
  for (const char* text : {"bool", "i8", "u64", "f16", "bf16", "tf32", "f32", "f32x16", "i64x4"}) {
    INFO(text);
    REQUIRE(ParseDType(text));
    CHECK(ToString(*ParseDType(text)) == text);
  }
  CHECK_FALSE(ParseDType("f32x1"));
  CHECK_FALSE(ParseDType("f33"));
}
