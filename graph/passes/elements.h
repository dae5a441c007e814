#pragma once

#include <vector>

#include "ir/graph/graph.h"

namespace tcc {

// The greatest number of elements that are kept as formulas: more than the rank of any tensor.
inline constexpr int64_t kMaxKnownElements = 64;

// Returns the elements of the node's first output as formulas over Shape variables, in normal form:
// arithmetic on dimensions as exporters write it. Empty where an element is unknown, for types that
// are neither integers nor bools and for more than kMaxKnownElements. Expects the output to have
// its type and shape.
std::vector<Expr> ElementsOf(const Graph& graph, const Node& node);

// Returns whether the node reads the operand's elements when it runs. Elements that are known as
// formulas may decide no more than its shape, or how often a Loop runs.
bool ReadsElements(const Graph& graph, const Node& node, ValueId input);

// Returns the tensor of these elements, flat. Expects a type of integers or bool, unless it is
// empty.
Tensor TensorOfInts(DType dtype, const std::vector<int64_t>& shape,
                    const std::vector<int64_t>& elements);

}  // namespace tcc
