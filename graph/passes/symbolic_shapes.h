#pragma once

#include <optional>
#include <vector>

#include "ir/graph/graph.h"

namespace tcc {

// The known part of a value's shape and elements while dimensions are free. A dimension or element
// is a number, a formula over shape variables, or a null Expr if it is unknown.
struct SymbolicValue {
  std::optional<std::vector<Expr>> shape;  // nullopt: not even the rank
  // The elements, flat, of an integer or bool tensor of at most kMaxSymbolicElements: shape
  // arithmetic.
  std::optional<std::vector<Expr>> elements;

  bool HasShape() const;  // every dimension is a number or a formula
};
inline constexpr int64_t kMaxSymbolicElements = 64;

// Infers one entry per value of the graph. Total: shapes that cannot be inferred stay unknown, and
// invalid nodes are left to InferShapes, once their dimensions are bound. Formulas assume that the
// model is valid, say that a Reshape's element counts agree.
std::vector<SymbolicValue> InferSymbolicShapes(const Graph& graph);

}  // namespace tcc
