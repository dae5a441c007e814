#pragma once

#include <cstdint>
#include <optional>

#include "graph/variants/word_product.h"
#include "ir/expr/tensor_expr.h"

namespace tcc {

// How a word holds two signed integers of 16 bits. kHalves: each in its own half, as dot_i16x2
// reads them. kSum: high * 2^16 + low, whose high half is one less where low is negative; sums and
// multiples of such words are the words of the sums and multiples.
enum class WordForm : uint8_t { kHalves, kSum };

// Returns the program with its product of bytes two terms at a time (variants.h,
// IntegerPairsVariant), or nullopt if it has none. With kSum the operands of dot_i16x2 still have
// to be brought into halves.
std::optional<WordProgram> PairBytes(const TensorProgram& program, WordForm form);

}  // namespace tcc
