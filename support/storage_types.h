#pragma once

#include <cstdint>

#include "support/dtype.h"

// The storage-only types: 8-bit floats, and 4-bit integers, two to a byte.
namespace tcc {

bool IsFloat8(DType dtype);
bool IsNibble(DType dtype);
// Returns whether the type is a float, 8-bit floats included.
bool HoldsFloats(DType dtype);
// Returns the bytes of one element, rounded up.
int WholeBytes(DType dtype);

// Returns the distance from 1 to the next larger number of a float type, 8-bit floats included; 0
// for other types.
double Epsilon(DType dtype);

// Returns the value of an 8-bit float. f8e4m3 has no infinity and one NaN of each sign
// (Micikevicius et al., FP8 Formats for Deep Learning, 2022); f8e5m2 follows IEEE 754.
double Float8ToDouble(DType dtype, uint8_t bits);
// Rounds to nearest even. Finite values beyond the largest number saturate to it, as does an
// infinity that the format lacks. NaN becomes 0x7f with its sign.
uint8_t DoubleToFloat8(DType dtype, double value);

// Returns the nibble of element `index`, sign-extended for i4. Even elements lie in the low halves
// of bytes.
int64_t NibbleAt(DType dtype, const uint8_t* bytes, int64_t index);
void SetNibble(uint8_t* bytes, int64_t index, int64_t value);

}  // namespace tcc
