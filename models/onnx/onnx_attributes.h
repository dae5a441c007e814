#pragma once

#include <map>
#include <string>

#include "ir/graph/graph.h"
#include "models/onnx/onnx_ops.h"
#include "models/onnx/onnx_tensor.h"

namespace tcc {

bool IsDefaultDomain(const std::string& domain);
// Returns the operator's name, "Conv", with its domain unless that is the default one:
// "com.microsoft.Gelu".
std::string OperatorName(const onnxpb::Node& node);
// Returns the opset of the node's operator; domains other than the default one have only version 1.
int64_t OpsetFor(const onnxpb::Node& node, int64_t default_opset);
// Returns the node's name, or its first output's if it has none.
std::string NodeName(const onnxpb::Node& node);

// Returns the operator's attribute of that name in that opset, or nullptr.
const OnnxAttribute* FindAttribute(const OnnxOp& op, const std::string& name, int64_t opset);

// Returns the node's attributes with defaults filled in and ignored ones left out. Refuses an
// attribute of another type than the table's, one given twice, and a required one that is missing.
StatusOr<std::map<std::string, Attribute>> ReadAttributes(onnxpb::Node& node, const OnnxOp& op,
                                                          int64_t opset, ExternalData& files,
                                                          const TensorLimits& limits);

}  // namespace tcc
