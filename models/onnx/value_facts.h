#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace tcc {

// Facts about a value that are known during the import.
struct ValueFacts {
  StatusOr<std::vector<Expr>> shape = Unsupported("the import infers no shapes");  // or why not
  // The value of a condition, a position or a list of extents; nullopt if only a run knows it.
  std::optional<Tensor> constant = {};
  std::vector<std::string> inputs = {};  // the model's inputs that it is computed from
};

// Returns the facts about a value of an incomplete graph, whose computed values have no shapes yet.
using ValueFactsFunction = std::function<ValueFacts(const Graph& graph, ValueId value)>;

}  // namespace tcc
