#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace tcc {

enum class SubgraphKind : uint8_t {
  kKernel,  // is computed: becomes a Task
  kView,    // the output has the bytes of the input: nothing to run, a plan aliases the two
  kPart,    // nothing to run: its outputs lie in other values, or others write their parts
  kLoop,    // one node each, whose bodies have subgraphs of their own
  kIf,
};

// Nodes that are computed together.
struct Subgraph {
  std::string name;  // of the first node, then the operators that follow
  SubgraphKind kind = SubgraphKind::kKernel;
  std::vector<int> nodes;  // indices into graph.nodes, ascending
  // What its nodes read from outside, in order of first use, parameters of the operators (axes,
  // shapes, ...) included; a kernel's arguments are Task::inputs.
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;  // of its last node
  // Operands and results that lie where they are needed already (place_parts.h): not copied.
  std::set<ValueId> done_elsewhere = {};
  std::vector<std::vector<Subgraph>> bodies = {};  // of each body of a kLoop's or kIf's node
};

// Every node in exactly one subgraph, in an order in which they can run. A reduction, window or
// contraction takes the element-wise nodes behind it, residual additions with what was computed
// before as well; element-wise nodes with one shape join each other. Between the first and the last
// node of a subgraph no value is read from outside. Expects AssignLayouts to have run. Names are
// unique in their graph.
enum class Fusion : uint8_t { kFused, kNodeByNode };  // the latter: a subgraph for each node
std::vector<Subgraph> FuseGraph(const Graph& graph, Fusion fusion = Fusion::kFused);

// Whether the node's output has its first input's bytes in their order.
bool IsView(const Graph& graph, const Node& node);

}  // namespace tcc
