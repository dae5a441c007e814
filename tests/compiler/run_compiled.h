#pragma once

#include "ir/graph/graph.h"
#include "runtime/artefact/artefact.h"
#include "runtime/executor/module.h"
#include "support/numeric_mode.h"
#include "support/status.h"
#include "support/target.h"

// Graphs compiled and run, for the tests of what compiling puts together. Each fails the test where
// a step before the comparison does.
namespace tcc {

Artefact Compiled(const Graph& graph, const Target& target, int threads = 1,
                  NumericMode numeric = NumericMode::kStrict);
Artefact Compiled(const Graph& graph, const std::string& target, int threads = 1);
Module Loaded(Artefact artefact);
// Of the graph as it is, by the interpreter.
std::vector<Tensor> Expected(Graph graph, const std::vector<Tensor>& inputs,
                             NumericMode numeric = NumericMode::kStrict);
// The failure of running the graph compiled for the target twice, against the interpreter.
Status DifferenceOn(const Graph& graph, const Target& target,
                    NumericMode numeric = NumericMode::kStrict);
Status DifferenceOn(const Graph& graph, const std::string& target);

}  // namespace tcc
