#pragma once

#include <vector>

#include "ir/graph/graph.h"

// Activation functions as expressions over a node's operands, which are of one type: f32 or f64, or
// an integer where ONNX allows it. Attributes are the node's. No result but that of an infinite
// operand is lost to overflow on the way, and small arguments keep their relative precision.
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
