#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/passes/pattern.h"

// The operands of an Attention node, found behind the nodes that exporters put before products and
// softmax. New nodes go into Rewrite::before.
namespace tcc {

// The number of query heads, and how the leading dimensions of scores split into batch and heads.
struct AttentionHeads {
  Expr batch = 1;
  Expr heads = 1;
};

// A value times a number.
struct Scaled {
  ValueId value = kNoValue;
  double factor = 1;
};

// Returns whether one node alone reads the value, and its kernel reads rows where they are: an
// attention, a rotary embedding or a Transpose that keeps rows whole, perhaps behind such views.
bool IsReadByRow(const Graph& graph, const ValueUses& uses, ValueId id);

// Separates the constant factors and divisors of a value from the rest.
Scaled WithoutFactors(const Rewrite& rewrite, ValueId value);

// Returns keys [.., length, size] from columns [.., size, length], without factors.
Scaled KeysOfColumns(Rewrite& rewrite, ValueId columns);

// Reshapes the value to a shape of as many elements.
ValueId Reshaped(Rewrite& rewrite, ValueId value, const std::vector<Expr>& shape);

// Returns keys or values as [batch, own heads, length, size]. They may be repeated to give every
// query head its own (Expand between two views), or shared by all heads. nullopt where the leading
// dimensions are others.
std::optional<ValueId> WithoutRepeats(Rewrite& rewrite, ValueId value, const AttentionHeads& heads);
// Returns the same with all heads.
std::optional<ValueId> WithAllHeads(Rewrite& rewrite, ValueId value, const AttentionHeads& heads);

// Turns a mask that broadcasts to scores of this shape, [leading.., queries, keys], into one that
// broadcasts to [batch, heads, queries, keys]; nullopt if it does not, or varies along a part of
// the batch.
std::optional<ValueId> MaskOfHeads(Rewrite& rewrite, ValueId mask, const std::vector<Expr>& scores,
                                   const AttentionHeads& heads);

}  // namespace tcc
