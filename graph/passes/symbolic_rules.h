#pragma once

#include <vector>

#include "graph/passes/symbolic_shapes.h"

// The rules of symbolic shape inference. Each reads what is known of a node's operands, a
// SymbolicValue each (of no value at all for one that is left out).
namespace tcc {

struct SymbolicOperands {
  const Node& node;
  std::vector<const SymbolicValue*> values;

  bool Has(size_t input) const { return input < values.size() && values[input] != nullptr; }
  // nullptr where nothing is known.
  const std::vector<Expr>* Shape(size_t input) const;
  const std::vector<Expr>* Elements(size_t input) const;
  // The elements if every one is a number.
  std::optional<std::vector<int64_t>> Ints(size_t input) const;
};

using SymbolicShape = std::optional<std::vector<Expr>>;

// symbolic_dims.cc: the shapes of the node's outputs; empty where no rule fits.
std::vector<SymbolicShape> SymbolicOutputShapes(const SymbolicOperands& operands);

// symbolic_elements.cc: the elements of the node's first output, whose shape is known.
std::optional<std::vector<Expr>> SymbolicElements(const SymbolicOperands& operands,
                                                  const std::vector<Expr>& shape);

// The formula in its normal form; null if an operand is.
Expr NormalForm(const Expr& expr);
// What broadcasting two dimensions gives: the one that is not 1.
Expr BroadcastDim(const Expr& a, const Expr& b);
// Whether the condition holds for every value of the shape variables.
bool Holds(const Expr& condition);
std::optional<int64_t> NumberOf(const Expr& expr);  // nullopt for a null Expr too

}  // namespace tcc
