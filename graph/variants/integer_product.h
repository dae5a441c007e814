#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ir/expr/tensor_expr.h"

// Products of bytes whose operands are packed into words, several numbers along one axis to each.
namespace tcc {

// A factor of an integer product, with the one element that it reads along the packed axis.
struct IntegerFactor {
  Expr value;  // i32: the widened element, perhaps less a zero point
  Ref<Load> element;
  size_t dim = 0;  // the index of `element` that is the packed axis
};

// A stage that sums data(.., c, ..) * weight(.., c, ..) over c and other axes in i32.
struct IntegerProduct {
  size_t stage = 0;
  Axis axis;  // c
  IntegerFactor data;
  IntegerFactor weight;  // of a constant parameter
};

// Returns the first such stage, or nullopt if there is none: bytes less their zero points, extents
// that are known, an axis that both factors have as an index. The last such axis is packed: the
// channels of operands that are stored channels last.
std::optional<IntegerProduct> FindIntegerProduct(const TensorProgram& program);

// Returns whether the value is an i32 that was an integer of 8 bits before it was widened.
bool WasByte(const Expr& value);

// A way of packing a factor's numbers.
struct WordPacking {
  int64_t numbers = 2;  // in a word
  std::function<Expr(const std::vector<Expr>& numbers)> pack;
};

// Adds a buffer for a factor's words, which is kept, since readers would compute them again and
// again. Returns it.
Buffer AddWords(TensorProgram& program, const IntegerProduct& product, const IntegerFactor& factor,
                const char* suffix, int64_t numbers);

// Returns the stage words[.., p, ..] = pack(factor at n p, .., n p + n - 1), n numbers to a word,
// those beyond the axis 0. Returns nullopt if a zero point varies along an axis that is no index of
// the element.
std::optional<ComputeExpr> WordStage(const TensorProgram& program, const IntegerProduct& product,
                                     const IntegerFactor& factor, const Buffer& words,
                                     const WordPacking& packing);

// Returns the load of a factor's words where its element was read.
Expr WordAt(const Buffer& words, const IntegerFactor& factor, const Var& word);

// Replaces the product by the sum over p of dot(data[.., p, ..], weight[.., p, ..]) of words.
void SumWords(ComputeExpr& stage, const IntegerProduct& product, ScalarOp dot, const Buffer& data,
              const Buffer& weight);

}  // namespace tcc
