#pragma once

#include <string>

#include "codegen_cuda/text/dialect.h"
#include "support/dtype.h"

// The spelling of elements. In memory each dtype has a type of its own in CUDA C, and in OpenCL C
// the integer of its bits. In registers a narrow float (16 or 8 bits, or tf32) is a `float` whose
// value the narrow format holds exactly, and an i4, u4, i2 or u2 is a char.
namespace tcc {

// Returns the type of one element; "unsigned char" for packed types, whose elements share it.
std::string MemoryTypeText(const Dialect& dialect, DType dtype);
std::string RegisterTypeText(const Dialect& dialect, DType dtype);

// Returns the prelude's function that rounds a float to the memory type of a narrow float
// ("tcc_f16"); "" for every other type.
std::string NarrowingFunction(DType dtype);
bool IsNarrowFloat(DType dtype);

// Returns a literal of the register type. A float that no literal spells is made from its bits.
std::string IntegerLiteral(const Dialect& dialect, DType dtype, int64_t value);
std::string FloatLiteral(const Dialect& dialect, DType dtype, double value);
// Returns a literal of the memory type of f16, bf16 or tf32.
std::string NarrowLiteral(const Dialect& dialect, DType dtype, float value);

}  // namespace tcc
