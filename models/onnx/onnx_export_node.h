#pragma once

#include "ir/graph/graph.h"
#include "models/onnx/onnx.pb.h"

namespace tcc {

// A node in the form of ir/graph/graph.h as an operator of kExportOpset. Unimplemented, naming the
// node, for what that opset cannot say.
Status WriteOnnxNode(const Graph& graph, const Node& node, onnxpb::Node& proto);

// Type, shape and raw data.
void WriteOnnxTensor(const Tensor& tensor, onnxpb::Tensor& proto);

}  // namespace tcc
