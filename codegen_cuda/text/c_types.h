#pragma once

#include <string>

#include "support/dtype.h"

// How elements are spelled in CUDA C. In memory each dtype has a type of its own; in registers the
// narrow floats (16 and 8 bits) are a `float` whose value the narrow format holds exactly, and i4
// and u4 a char.
namespace tcc {

// Of one element; "unsigned char" for i4 and u4, two of which share it.
std::string MemoryTypeText(DType dtype);
std::string RegisterTypeText(DType dtype);

// f16, bf16, f8*: their name in the prelude's function that rounds a float to the memory type
// ("tcc_f16"); "" for every other type.
std::string NarrowingFunction(DType dtype);
bool IsNarrowFloat(DType dtype);

// Literals of the register type. Floats that a literal cannot spell are made from their bits.
std::string IntegerLiteral(DType dtype, int64_t value);
std::string FloatLiteral(DType dtype, double value);

}  // namespace tcc
