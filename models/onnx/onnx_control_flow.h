#pragma once

#include "models/onnx/onnx_graph_importer.h"

namespace tcc {

// Imports If, Loop and Scan, with their bodies, into the form of ir/graph/graph.h. Values that a
// body reads from the enclosing graphs become operands, except constants, which are copied into the
// body. The branch of an If whose condition is known stands in place of the If; the other one is
// not looked at.
//
// Fails with InvalidArgument where numbers or types of operands, results and bodies do not fit;
// with Unimplemented where the branches of an unknown condition give other numbers or types of
// results.
Status ImportControlFlow(OnnxGraphImporter& importer, onnxpb::Node& proto, const OnnxOp& op,
                         OnnxBodies& bodies);

}  // namespace tcc
