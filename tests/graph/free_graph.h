#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "support/random.h"

// Graphs over free dimensions, written as text, for the tests of lowerings.
namespace tcc {

// Parses the items of a graph, "dim N in 1..8 input x: f32[N, 4] ...", but for the results. The
// elements of sizes that are all numbers become constants.
Graph FreeGraph(const std::string& items);

// The next three expect a graph of one node. Returns the shapes that the node's lowering gives its
// results, "Nx4, 2"; its error if it fails.
std::string FreeShapes(const std::string& items);
// Returns what the lowering takes for granted, "N * 4 == 12" each, in order.
std::vector<std::string> AgreementsOf(const std::string& items);

// How the sizes of a check fared.
struct LawCounts {
  int same = 0;     // both gave the same results
  int refused = 0;  // the numbers are refused, and the formulas disagree
  int strict = 0;   // the formulas disagree where the numbers would do
};
// Lowers the node once with its dimensions free, and at `rounds` random sizes with numbers. Checks
// that the shapes, evaluated, and the interpreted results are the same; that the formulas disagree
// where the numbers are refused, but for empty results: factors of 0 cancel like any others.
LawCounts CheckLaw(const std::string& items, int rounds, Random& random);

// Infers the shapes of a graph with its dimensions free, and at `rounds` random sizes with numbers.
// Checks that every value has the same shape where agreements hold and the numbers are not refused;
// that all numbers are refused if the formulas are. Returns how many sizes gave the same shapes.
int CheckInference(const std::string& items, int rounds, Random& random);

}  // namespace tcc
