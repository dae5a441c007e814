#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace tcc {

// What is known of an If's condition during the import.
struct ConditionFacts {
  std::optional<bool> value = {};        // nullopt for one that only a run knows
  std::vector<std::string> inputs = {};  // the model's inputs that it is computed from
};

// Returns the facts about a value of an incomplete graph, whose computed values have no shapes yet.
using ConditionFunction = std::function<ConditionFacts(const Graph& graph, ValueId condition)>;

}  // namespace tcc
