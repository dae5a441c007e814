#pragma once

#include "ir/graph/graph.h"
#include "models/onnx/onnx.pb.h"

namespace tcc {

// Writes a node in the form of ir/graph/graph.h as an operator of kExportOpset. Fails with
// Unimplemented, naming the node, if that opset cannot express it.
Status WriteOnnxNode(const Graph& graph, const Node& node, onnxpb::Node& proto);

// Writes type, shape and raw data.
void WriteOnnxTensor(const Tensor& tensor, onnxpb::Tensor& proto);

}  // namespace tcc
