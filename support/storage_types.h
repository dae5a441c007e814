#pragma once

#include <cstdint>

#include "support/dtype.h"

// The types that only hold values: floats of 8 bits, and integers of 4 of which two share a byte.
namespace tcc {

bool IsFloat8(DType dtype);
bool IsNibble(DType dtype);
// A float, 8-bit ones too.
bool HoldsFloats(DType dtype);
// Of one element, rounded up.
int WholeBytes(DType dtype);

// What an 8-bit float stands for. f8e4m3 has no infinity and one NaN of each sign (Micikevicius et
// al., FP8 Formats for Deep Learning, 2022); f8e5m2 has what IEEE formats have.
double Float8ToDouble(DType dtype, uint8_t bits);
// To nearest, halves to even; what is larger than the largest number becomes it, but for infinity
// where the format has that, and NaN 0x7f of either sign.
uint8_t DoubleToFloat8(DType dtype, double value);

// The nibble of element `index`, sign-extended for i4: even elements lie in the low halves of
// bytes.
int64_t NibbleAt(DType dtype, const uint8_t* bytes, int64_t index);
void SetNibble(uint8_t* bytes, int64_t index, int64_t value);

}  // namespace tcc
