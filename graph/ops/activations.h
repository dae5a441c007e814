#pragma once

#include <vector>

#include "ir/graph/graph.h"

// Activation functions as expressions over a node's operands, which have one type: f32 or f64, or
// an integer type where ONNX allows it. Attributes are the node's. Intermediate values do not
// overflow unless an operand is infinite, and small arguments keep their relative precision.
namespace tcc {

Expr CeluOf(const Node& node, const std::vector<Expr>& x);
Expr EluOf(const Node& node, const std::vector<Expr>& x);
Expr GeluOf(const Node& node, const std::vector<Expr>& x);
Expr HardSigmoidOf(const Node& node, const std::vector<Expr>& x);
Expr HardSwishOf(const Node& node, const std::vector<Expr>& x);
Expr LeakyReluOf(const Node& node, const std::vector<Expr>& x);
Expr MishOf(const Node& node, const std::vector<Expr>& x);
Expr PReluOf(const Node& node, const std::vector<Expr>& x);
Expr ReluOf(const Node& node, const std::vector<Expr>& x);
Expr SeluOf(const Node& node, const std::vector<Expr>& x);
Expr ShrinkOf(const Node& node, const std::vector<Expr>& x);
Expr SoftplusOf(const Node& node, const std::vector<Expr>& x);
Expr SoftsignOf(const Node& node, const std::vector<Expr>& x);
Expr SwishOf(const Node& node, const std::vector<Expr>& x);
Expr ThresholdedReluOf(const Node& node, const std::vector<Expr>& x);

}  // namespace tcc
