#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "support/target.h"

namespace tcc {

enum class SubgraphKind : uint8_t {
  kKernel,  // becomes a Task
  kView,    // nothing to run: the output has the bytes of the input, a plan aliases the two
  kPart,    // nothing to run: its outputs lie in other values, or others write their parts
  kLoop,    // one node each, whose bodies have subgraphs of their own
  kIf,
};

// A set of nodes that are computed together.
struct Subgraph {
  std::string name;  // the first node's name, then the operators that follow
  SubgraphKind kind = SubgraphKind::kKernel;
  std::vector<int> nodes;  // indices into graph.nodes, ascending
  // The values that its nodes read from outside, in order of first use, including parameters of the
  // operators (axes, shapes, ...); a kernel's arguments are Task::inputs.
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;  // the outputs of the last node
  // The operands and results that already lie where they are needed (alias_parts.h) and are not
  // copied.
  std::set<ValueId> done_elsewhere = {};
  std::vector<std::vector<Subgraph>> bodies = {};  // per body of the node of a kLoop or kIf
};

// Partitions the nodes into subgraphs, in an executable order. A reduction, window or contraction
// takes the elementwise nodes behind it, including residual additions with values that were
// computed before; elementwise nodes of one shape join each other. No value is read from outside
// between the first and the last node of a subgraph. Expects AssignLayouts to have run. Names are
// unique in their graph.
//
// kChained also puts a pointwise convolution and the depthwise one that alone reads it together,
// where what is between them is too large for the second caches: a schedule may then compute it in
// pieces. kGathering puts a repack of few channels into the convolution that alone reads it, whose
// schedule fetches the elements of a column one by one anyway. kOffloading is kChained but puts
// nothing to a product that an accelerator takes but what its output stage computes
// (offloading.h). kNodeByNode makes a subgraph for each node.
enum class Fusion : uint8_t { kFused, kChained, kGathering, kOffloading, kNodeByNode };
std::vector<Subgraph> FuseGraph(const Graph& graph, Fusion fusion = Fusion::kFused);

// Returns the fusion for the target's kernels: kChained for a CPU, kOffloading for one with an
// accelerator, kGathering for a GPU.
Fusion FusionFor(const Target& target);

// Returns whether the node's output has its first input's bytes in their order.
bool IsView(const Graph& graph, const Node& node);

}  // namespace tcc
