#pragma once

#include "models/onnx/onnx_graph_importer.h"

namespace tcc {

// Returns whether the operator takes or gives values that are no tensors: a sequence, an optional,
// or what Identity copies.
bool IsContainerOperator(const OnnxOp& op);

// Imports such an operator. Sequences and optionals are resolved here: a sequence is the list of
// its elements' values, an optional its element or nothing, and only nodes that compute elements
// come into the graph.
//
// Fails with Unimplemented for a structure that only a run knows (a position, the extent of an axis
// to split), with InvalidArgument for a position outside the sequence and for operands of other
// kinds or types than the operator takes.
Status ImportContainer(OnnxGraphImporter& importer, onnxpb::Node& proto, const OnnxOp& op);

}  // namespace tcc
