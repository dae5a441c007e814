#pragma once

#include "models/onnx/condition_facts.h"

namespace tcc {

// Returns a function for ImportOptions::facts_of of one import. It evaluates a condition by
// inferring the shapes of the nodes behind it, apart from the graph. The work is bounded; beyond
// the bound, conditions count as unknown.
ConditionFunction ConditionEvaluator();

}  // namespace tcc
