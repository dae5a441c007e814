#pragma once

#include <string_view>

#include "graph/ops/node_lowering.h"

namespace tcc {

// How fusion and layouts may treat an operator.
enum class OpForm : uint8_t {
  kElementwise,  // each output element from the operands' elements at its place, broadcast
  kView,         // the same elements in the same order under another shape: no code
  kMovement,     // each output element is one input element, or a constant, from elsewhere
  kReduction,    // combines the elements of rows or windows; works in any storage order
  kContraction,  // sums of products: an epilogue may follow, operands are read many times
  kControlFlow,  // runs bodies: not lowered itself
};

struct OpLowering {
  OpKind op;
  OpForm form;
  Status (*lower)(NodeLowering& node);  // nullptr for control flow
};

// Returns the operator's row of the table. Constant has none: its value is known before lowering.
const OpLowering* FindOpLowering(OpKind op);
OpForm FormOf(const Node& node);

// Returns what the node computes. The output shapes and dtypes follow from the program's outputs.
// InvalidArgument for a node that ONNX forbids, Unimplemented for one that tcc does not support;
// the message names node and operator, what was expected and what came.
StatusOr<LoweredNode> LowerNode(const Graph& graph, const Node& node);

}  // namespace tcc
