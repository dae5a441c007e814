#pragma once

#include <vector>

#include "graph/passes/symbolic_shapes.h"

// The rules of symbolic shape inference. Each reads the SymbolicValue of every operand of a node
// (an empty one for an omitted operand).
namespace tcc {

struct SymbolicOperands {
  const Node& node;
  std::vector<const SymbolicValue*> values;

  bool Has(size_t input) const { return input < values.size() && values[input] != nullptr; }
  // Return nullptr if nothing is known.
  const std::vector<Expr>* Shape(size_t input) const;
  const std::vector<Expr>* Elements(size_t input) const;
  // Returns the elements if all are numbers.
  std::optional<std::vector<int64_t>> Ints(size_t input) const;
};

using SymbolicShape = std::optional<std::vector<Expr>>;

// symbolic_dims.cc: returns the shapes of the node's outputs; empty if no rule fits.
std::vector<SymbolicShape> SymbolicOutputShapes(const SymbolicOperands& operands);

// symbolic_elements.cc: returns the elements of the node's first output, whose shape is known.
std::optional<std::vector<Expr>> SymbolicElements(const SymbolicOperands& operands,
                                                  const std::vector<Expr>& shape);

// Returns the formula in its normal form; null if an operand is null.
Expr NormalForm(const Expr& expr);
// Returns the broadcast of two dimensions: the one that is not 1.
Expr BroadcastDim(const Expr& a, const Expr& b);
// Returns whether the condition holds for every value of the shape variables.
bool Holds(const Expr& condition);
std::optional<int64_t> NumberOf(const Expr& expr);  // nullopt for a null Expr too

}  // namespace tcc
