#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph/graph_bodies.h"

// Edits of nodes that have bodies.
namespace tcc {

// Turns captured operands that are constants into constants of the bodies, which share their bytes.
void SinkConstants(const Graph& graph, Node& node);

// Removes captured operands that no body reads. One whose elements a body knows as formulas stays a
// value of the body.
void RemoveUnusedCaptures(Node& node);

// Removes results that `wanted` does not name, with the code in the bodies that only they need: any
// of an If, the scans of a Loop, and carried values of a Loop that nothing else reads. Keeps at
// least one result.
void RemoveUnusedResults(Node& node, const std::vector<bool>& wanted);

// Returns the nodes of a body as nodes of `graph`, where the body's inputs are `inputs` and its
// results become `results` (kNoValue for an unwanted one). Names get `suffix` and are made unique;
// a result that the body does not compute is an Identity, or becomes a constant.
std::vector<Node> InlineBody(Graph& graph, Graph body, const std::vector<ValueId>& inputs,
                             const std::vector<ValueId>& results, const std::string& suffix = "");

// Returns the trip count of a Loop without a condition as a number or a formula over Shape
// variables, if it is known before the loop runs; 0 for a negative one.
std::optional<Expr> TripCount(const Graph& graph, const Node& loop);
// Returns the same; nullopt for a formula.
std::optional<int64_t> KnownTripCount(const Graph& graph, const Node& loop);

// Returns the value at the beginning of a chain of Identity nodes that ends at `id`.
ValueId BehindIdentities(const Graph& graph, ValueId id);

// Returns the value of a constant of one bool; nullopt for a computed value.
std::optional<bool> KnownBool(const Graph& graph, ValueId id);

// Returns whether the Loop may be unrolled completely: its trip count is known, no condition skips
// an iteration, and the result is not too large.
bool MayUnroll(const Graph& graph, const Node& loop);

// Returns the first `trips` iterations of the Loop, one after the other, where `body` is its body.
// The nodes give the Loop's results, and their shapes are still to be inferred. Slices are taken
// and stacked by Gather and Concat.
std::vector<Node> UnrollLoop(Graph& graph, const Node& loop, const Graph& body, int64_t trips);

}  // namespace tcc
