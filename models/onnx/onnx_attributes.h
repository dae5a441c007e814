#pragma once

#include <map>
#include <string>

#include "ir/graph/graph.h"
#include "models/onnx/onnx_ops.h"
#include "models/onnx/onnx_tensor.h"

namespace tcc {

bool IsDefaultDomain(const std::string& domain);
// "Conv"; with its domain where that is not the default one: "com.microsoft.Gelu".
std::string OperatorName(const onnxpb::Node& node);
// The opset that the node's operator is of: of other domains there is only version 1.
int64_t OpsetFor(const onnxpb::Node& node, int64_t default_opset);
// The node's name, or its first output's where it has none.
std::string NodeName(const onnxpb::Node& node);

// The operator's attribute of that name in that opset; nullptr if there is none.
const OnnxAttribute* FindAttribute(const OnnxOp& op, const std::string& name, int64_t opset);

// The node's attributes with defaults filled in and ignored ones left out. Refuses an attribute of
// another type than the table says, one given twice, and a required one that is missing.
StatusOr<std::map<std::string, Attribute>> ReadAttributes(onnxpb::Node& node, const OnnxOp& op,
                                                          int64_t opset, ExternalData& files,
                                                          const TensorLimits& limits);

}  // namespace tcc
