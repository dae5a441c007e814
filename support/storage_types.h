#pragma once

#include <cstdint>

#include "support/dtype.h"

// The storage-only types: 8-bit floats, and integers of 4 and 2 bits, several to a byte.
namespace tcc {

bool IsFloat8(DType dtype);
// Returns whether several elements share a byte: integers of 4 and 2 bits.
bool IsPacked(DType dtype);
// Returns the elements of a byte: 2 or 4 for packed types, 1 for others.
int PackedPerByte(DType dtype);
// Returns whether negative numbers are held: floats, signed integers, packed ones included.
bool IsSigned(DType dtype);
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

// Returns element `index` of a packed type, sign-extended for the signed ones. The first element of
// a byte lies in its low bits.
int64_t PackedAt(DType dtype, const uint8_t* bytes, int64_t index);
// Writes the low bits of `value`.
void SetPacked(DType dtype, uint8_t* bytes, int64_t index, int64_t value);

}  // namespace tcc
