#pragma once

#include "models/onnx/value_facts.h"

namespace tcc {

// Returns a function for ImportOptions::facts_of of one import. It infers the shapes of the nodes
// behind a value apart from the graph, and evaluates the value if it is a small list of integers or
// bools. The work is bounded; beyond the bound nothing is known.
ValueFactsFunction PartialEvaluator();

}  // namespace tcc
