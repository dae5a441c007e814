#pragma once

#include <string>

#include "models/onnx/onnx_ops.h"

namespace tcc {

// Returns the page of supported operators, docs/operators.md, made from the importer's table.
std::string OpsMarkdown();

// Returns how many inputs an operator takes: "2", "1-3", "1...".
std::string InputsText(const OnnxOp& op);

}  // namespace tcc
