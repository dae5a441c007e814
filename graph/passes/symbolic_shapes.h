#pragma once

#include <optional>
#include <vector>

#include "ir/graph/graph.h"

namespace tcc {

// What is known of a value while dimensions are free. A dimension or element is a number, a formula
// over shape variables, or a null Expr where nothing is known.
struct SymbolicValue {
  std::optional<std::vector<Expr>> shape;  // nullopt: not even the rank
  // Of an integer or bool tensor of at most kMaxSymbolicElements: shape arithmetic. Flat.
  std::optional<std::vector<Expr>> elements;

  bool HasShape() const;  // every dimension is a number or a formula
};
inline constexpr int64_t kMaxSymbolicElements = 64;

// One entry a value of the graph. Total: what cannot be inferred stays unknown, what is wrong with
// a node is for InferShapes to say, once its dimensions are bound. Formulas assume that the model
// is valid, say that a Reshape's element counts agree.
std::vector<SymbolicValue> InferSymbolicShapes(const Graph& graph);

}  // namespace tcc
