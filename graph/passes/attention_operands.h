#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/passes/pattern.h"

// What an Attention node reads, found behind what exporters put before products and softmax. All
// shapes are static; nodes that are needed go into Rewrite::before.
namespace tcc {

// Heads of queries, and how the leading dimensions of scores are divided into batch and heads.
struct AttentionHeads {
  int64_t batch = 1;
  int64_t heads = 1;
};

// A value times a number.
struct Scaled {
  ValueId value = kNoValue;
  double factor = 1;
};

// What is left of a value when the numbers it is multiplied with and divided by are taken apart.
Scaled WithoutFactors(const Rewrite& rewrite, ValueId value);

// Keys [.., length, size] of columns [.., size, length], without factors.
Scaled KeysOfColumns(Rewrite& rewrite, ValueId columns);

// The value under this shape of as many elements.
ValueId Reshaped(Rewrite& rewrite, ValueId value, const std::vector<int64_t>& shape);

// [batch, heads of its own, length, size] of keys or values that were repeated (Expand between two
// views) to give all heads of queries theirs, or that all heads share; nullopt where the leading
// dimensions are others.
std::optional<ValueId> WithoutRepeats(Rewrite& rewrite, ValueId value, const AttentionHeads& heads);
// The same with all heads.
std::optional<ValueId> WithAllHeads(Rewrite& rewrite, ValueId value, const AttentionHeads& heads);

// A mask that broadcasts to scores of this shape, [leading.., queries, keys], as one that does to
// [batch, heads, queries, keys]; nullopt if it does not, or varies along a part of the batch.
std::optional<ValueId> MaskOfHeads(Rewrite& rewrite, ValueId mask,
                                   const std::vector<int64_t>& scores, const AttentionHeads& heads);

}  // namespace tcc
