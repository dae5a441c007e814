#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ir/expr/tensor_expr.h"

// Products whose operands are packed into words, several numbers along one axis to each.
namespace tcc {

// A factor of a product, with the one element that it reads along the packed axis.
struct WordFactor {
  Expr value;
  Ref<Load> element;
  size_t dim = 0;  // the index of `element` that is the packed axis
};

// A stage that sums data(.., c, ..) * weight(.., c, ..) over c and other axes.
struct WordProduct {
  size_t stage = 0;
  Axis axis;  // c
  WordFactor data;
  WordFactor weight;  // of a constant parameter
};

// The type of the sum, and which factors words may hold.
struct WordNumbers {
  DType sum;
  std::function<bool(const Expr& factor)> may_be;
};

// The numbers of words of integers: i32 that are bytes, perhaps less a zero point.
WordNumbers BytesLessZero();

// Returns the first stage that sums products of such numbers, or nullopt if there is none with an
// axis of known extent that both factors have as an index. The last such axis is
// packed: the channels of operands that are stored channels last.
std::optional<WordProduct> FindWordProduct(const TensorProgram& program,
                                           const WordNumbers& numbers);

// Returns whether the value is an i32 that was an integer of 8 bits before it was widened.
bool WasByte(const Expr& value);

// A way of packing a factor's numbers.
struct WordPacking {
  int64_t numbers = 2;  // in a word
  std::function<Expr(const std::vector<Expr>& numbers)> pack;
};

// Adds a buffer for a factor's words, which is kept, since readers would compute them again and
// again. Returns it.
Buffer AddWords(TensorProgram& program, const WordProduct& product, const WordFactor& factor,
                const char* suffix, int64_t numbers);

// Returns the stage words[.., p, ..] = pack(factor at n p, .., n p + n - 1), n numbers to a word,
// those beyond the axis 0. Returns nullopt if a zero point varies along an axis that is no index of
// the element.
std::optional<ComputeExpr> WordStage(const TensorProgram& program, const WordProduct& product,
                                     const WordFactor& factor, const Buffer& words,
                                     const WordPacking& packing);

// Returns the load of a factor's words where its element was read.
Expr WordAt(const Buffer& words, const WordFactor& factor, const Var& word);

// Replaces the product by the sum over p of dot(data[.., p, ..], weight[.., p, ..]) of words.
void SumWords(ComputeExpr& stage, const WordProduct& product, ScalarOp dot, const Buffer& data,
              const Buffer& weight);

// A program whose product reads words, and their buffers, which are kept: those of the data, and
// those of the weight, the second operand of the dot.
struct WordProgram {
  TensorProgram program;
  Var data, weight;
};

// Returns the program with stages that pack both factors, the weight's first of all, and the sum of
// dots in place of the product; nullopt where WordStage returns that.
std::optional<WordProgram> ProgramInWords(const TensorProgram& program, const WordProduct& product,
                                          const WordPacking& packing, ScalarOp dot);

// Returns the program with its dimensions merged as in MergedAxesVariant, or else with its words
// zero outside a padded input.
TensorProgram MergedOrPadded(const WordProgram& words);

}  // namespace tcc
