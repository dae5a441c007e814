#pragma once

#include "models/onnx/onnx_graph_importer.h"

namespace tcc {

// If, Loop and Scan in the form of ir/graph/graph.h, their bodies imported. What a body reads of
// the graphs around it becomes operands, but for constants, which it gets copies of.
//
// Fails with InvalidArgument where numbers or types of operands, results and bodies do not fit.
Status ImportControlFlow(OnnxGraphImporter& importer, onnxpb::Node& proto, const OnnxOp& op,
                         OnnxBodies& bodies);

}  // namespace tcc
