#pragma once

#include <vector>

#include "graph/passes/edit.h"
#include "ir/graph/graph.h"

// The part of a graph that an accelerator takes: products of bytes, and what makes bytes of their
// sums (runtime/vdla/vdla_isa.h). Expects AssignLayouts to have run.
namespace tcc {

// Returns whether an accelerator of whole blocks of bytes takes the node: a ConvInteger or
// MatMulInteger of bytes with a constant zero point by a constant weight of i8 without one, without
// groups, of known shapes, whose inputs and outputs are multiples of 16.
bool IsOffloadable(const Graph& graph, const Node& node);

// Returns the nodes that make bytes of an offloadable product's sums, in order: each is the only
// reader of the one before, is an operation of the accelerator's output stage, and has constant
// operands with one number or one for each channel. The last one gives bytes; none if there is no
// such node.
std::vector<int> OutputStageOf(const Graph& graph, const ValueUses& uses, int product);

}  // namespace tcc
