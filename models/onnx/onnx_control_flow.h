#pragma once

#include "models/onnx/onnx_graph_importer.h"

namespace tcc {

// Imports If, Loop and Scan, with their bodies, into the form of ir/graph/graph.h. Values that a
// body reads from the enclosing graphs become operands, except constants, which are copied into the
// body.
//
// Fails with InvalidArgument where numbers or types of operands, results and bodies do not fit.
Status ImportControlFlow(OnnxGraphImporter& importer, onnxpb::Node& proto, const OnnxOp& op,
                         OnnxBodies& bodies);

}  // namespace tcc
