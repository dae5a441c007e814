#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph/graph_bodies.h"

// Edits of nodes that have bodies.
namespace tcc {

// Captured operands that are constants become constants of the bodies, their bytes shared.
void SinkConstants(const Graph& graph, Node& node);

// Captured operands that no body reads go.
void RemoveUnusedCaptures(Node& node);

// Results that `wanted` does not name go, with what the bodies compute for them alone: any of an
// If, the scans of a Loop, and carried values of a Loop that nothing else reads. One result stays.
void RemoveUnusedResults(Node& node, const std::vector<bool>& wanted);

// The nodes of a body as nodes of `graph`, where the body's inputs are `inputs` and its results
// are to be `results` (kNoValue for one that nobody wants). Names get `suffix` and are made unique;
// a result that the body does not compute is an Identity, or becomes a constant.
std::vector<Node> InlineBody(Graph& graph, Graph body, const std::vector<ValueId>& inputs,
                             const std::vector<ValueId>& results, const std::string& suffix = "");

// How often a Loop without a condition runs, if that is known; 0 for a count below.
std::optional<int64_t> KnownTripCount(const Graph& graph, const Node& loop);

// Of a value that Identities alone stand between: the one before them.
ValueId BehindIdentities(const Graph& graph, ValueId id);

// The value of a constant of one bool; nullopt for what is computed.
std::optional<bool> KnownBool(const Graph& graph, ValueId id);

}  // namespace tcc
